"""Whether it stays fast: with a million finished instances, and under a snapshot held open."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import psycopg

from benchmarks.context import Context, Outcome, Sizes, median, spread
from benchmarks.history import fill
from benchmarks.queues import CallClock, Queues
from benchmarks.server import database, settle
from benchmarks.systems import Engine, connect
from benchmarks.throughput import ms_per_call
from benchmarks.turns import Turns
from benchmarks.workers import crew, elapsed

CALLS = ("start", "claim", "complete")


def measure_million(context: Context) -> Outcome:
    """Every call in turn on a database full of finished instances and an empty one; the worst."""
    sizes = context.sizes
    limits = (sizes.batch, 1)
    with (
        database(context.server.url, context.template) as fresh,
        database(context.server.url, context.template) as full,
    ):
        filled = fill(full, sizes.finished_instances)
        for url in (fresh, full):  # so that both are planned on what they hold
            with connect(url) as conn:
                call_costs({"warm": Engine(conn, "warm")}, sizes.batch, 3)
            settle(url)
        context.say(f"  {filled['instances']:,} finished instances in {filled['seconds']:.0f} s")
        with connect(fresh) as fresh_conn, connect(full) as full_conn:
            engines = {"fresh": Engine(fresh_conn, "flat"), "full": Engine(full_conn, "flat")}
            for limit in limits:
                call_costs(engines, limit, 3)  # plans and caches
            runs = [
                {limit: call_costs(engines, limit, sizes.flat_rounds) for limit in limits}
                for _ in range(sizes.repeats)
            ]
            for url in (fresh, full):
                settle(url)
            queues = _queue_costs({"fresh": fresh_conn, "full": full_conn}, sizes)
    samples = {
        f"{call}_{limit}": [r[limit]["fresh"][call] / r[limit]["full"][call] for r in runs]
        for call in CALLS
        for limit in limits
    }
    ratios = {name: median(values) for name, values in samples.items()}
    pairs = {
        name: [a / b for a, b in zip(queues["fresh"][name], queues["full"][name], strict=True)]
        for name in queues["fresh"]
    }
    ratios |= {name: median(values) for name, values in pairs.items()}
    worst = min(ratios, key=lambda name: ratios[name])
    context.say(f"  worst: {worst} {ratios[worst]:.2f} of fresh; of {len(ratios)} calls")
    return Outcome(
        {"flat_1m": ratios[worst]},
        {
            "worst_call": worst,
            **{f"ratio_{name}": ratio for name, ratio in ratios.items()},
            "spread": spread(samples[f"claim_{sizes.batch}"]),
            "samples": samples,
            "finished": filled,
            "median_ms": runs,
            "queues_ms": {
                name: {call: median(ms) for call, ms in calls.items()}
                for name, calls in queues.items()
            },
            "queue_pairs": {name: len(values) for name, values in pairs.items()},
        },
    )


def _queue_costs(
    conns: dict[str, psycopg.Connection[Any]], sizes: Sizes
) -> dict[str, dict[str, list[float]]]:
    """Milliseconds of every other call, a batch through every queue; each call right after the
    same call of the other, who is first in turn."""
    clocks = {name: CallClock() for name in conns}
    turns = Turns(len(conns))
    queues = [
        Queues(conn, turns.timed(number, clocks[name].timed), clocks[name].later)
        for number, (name, conn) in enumerate(conns.items())
    ]
    for one in queues:
        one.prepare()
    once = [partial(one.once, sizes.queue_batch, idle=sizes.flat_idle_calls) for one in queues]
    for number in range(2):  # plans and caches
        turns.run(once, number)
    for clock in clocks.values():
        clock.clear()
    for number in range(sizes.flat_queue_rounds):
        turns.run(once, number % len(queues))
    return {name: dict(clock.seen) for name, clock in clocks.items()}


def call_costs(engines: dict[str, Engine], limit: int, rounds: int) -> dict[str, dict[str, float]]:
    """Median milliseconds per call; a round is one start, three claims, three completions."""
    seen: dict[str, dict[str, list[float]]] = {
        name: {call: [] for call in CALLS} for name in engines
    }
    for number in range(rounds):
        order = list(engines) if number % 2 else list(reversed(engines))
        for name in order:
            _timed(seen[name]["start"], lambda e=engines[name]: e.start(limit))
        for _ in range(3):
            for name in order:
                engine = engines[name]
                claimed = _timed(seen[name]["claim"], lambda e=engine: e.claim(limit))
                assert len(claimed) == limit, f"{len(claimed)} of {limit} tasks claimed"
                _timed(seen[name]["complete"], lambda e=engine, c=claimed: e.complete(c))
    return {
        name: {call: median(samples) * 1000 for call, samples in calls.items()}
        for name, calls in seen.items()
    }


def _timed(samples: list[float], call: Any) -> Any:
    began = time.perf_counter()
    answer = call()
    samples.append(time.perf_counter() - began)
    return answer


def measure_held(context: Context) -> Outcome:
    """Claims and completions of four workers in rounds, while a snapshot is held open.

    Nothing that was claimed or completed can be cleaned away. Fresh is the median of the first
    sixth of the rounds; last are all steps of the last third by all their time, so that what
    autovacuum takes in bursts counts as much as it lasts.
    """
    runs = [_held_run(context) for _ in range(context.sizes.held_repeats)]
    ratios = [run["ratio"] for run in runs]
    for run in runs:
        rates = ", ".join(f"{rate:,.0f}" for rate in run["steps_per_s"])
        context.say(f"  {run['tasks']:,} tasks, {run['ratio']:.2f} of fresh; steps/s: {rates}")
    return Outcome(
        {"flat_held_snapshot": median(ratios)},
        {
            "samples": ratios,
            "spread": spread(ratios),
            "tasks": min(run["tasks"] for run in runs),
            "fresh_steps_per_s": median([run["fresh"] for run in runs]),
            "last_steps_per_s": median([run["last"] for run in runs]),
            "runs": runs,
        },
    )


def _held_run(context: Context) -> dict[str, Any]:
    sizes = context.sizes
    per_round = sizes.held_round_tasks
    rounds = -(-sizes.held_tasks // per_round)
    done: list[tuple[int, float]] = []
    calls: list[dict[str, float]] = []
    with (
        database(context.server.url, context.template) as url,
        connect(url) as feeder,
        crew(url, "engine", sizes.workers, sizes.batch) as workers,
        psycopg.connect(url) as holder,
    ):
        holder.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        holder.execute("select count(*) from bpm_core.task_instance")
        engine = Engine(feeder, "feeder")
        for _ in range(rounds):
            for _ in range(per_round // 3 // sizes.batch):
                engine.start(sizes.batch)
            work = workers.run(0, sizes.batch, tasks=per_round)
            done.append((sum(w.tasks for w in work), elapsed(work)))
            calls.append(ms_per_call(work))
        holder.rollback()
    rates = [_rate([one]) for one in done]
    fresh, last = median(rates[: max(rounds // 6, 1)]), _rate(done[-max(rounds // 3, 1) :])
    return {
        "ratio": last / fresh,
        "fresh": fresh,
        "last": last,
        "tasks": rounds * per_round,
        "steps_per_s": rates,
        "ms_per_call_first": calls[0],
        "ms_per_call_last": calls[-1],
    }


def _rate(done: list[tuple[int, float]]) -> float:
    return sum(tasks for tasks, _ in done) / sum(seconds for _, seconds in done)
