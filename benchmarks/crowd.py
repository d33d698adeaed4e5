"""A hundred workers on one queue through a pooler, against eight."""

from __future__ import annotations

from typing import Any

from benchmarks import machine
from benchmarks.context import Context, Outcome, median, spread
from benchmarks.pooler import missing, pooler
from benchmarks.server import database
from benchmarks.throughput import ms_per_call
from benchmarks.workers import crew, elapsed

FEW = 8
THREADS = 25


def measure_crowd(context: Context) -> Outcome:
    """8 and 100 workers in turn, all through one PgBouncer in transaction mode.

    Starts, claims and completions in batches; both from the same few processes.
    """
    why = missing()
    if why is not None:
        context.say(f"  not measured: {why}")
        return Outcome({}, {"missing": why})
    sizes = context.sizes
    runs: dict[int, list[dict[str, Any]]] = {FEW: [], sizes.crowd: []}
    for number in range(sizes.crowd_repeats):
        for workers in list(runs) if number % 2 else reversed(list(runs)):
            found = _one_run(context, workers)
            runs[workers].append(found)
            context.say(f"  {workers} workers: {found['instances_per_s']:,.0f} instances/s")
    few, many = ([run["instances_per_s"] for run in found] for found in runs.values())
    ratios = [m / f for m, f in zip(many, few, strict=True)]
    return Outcome(
        {"workers_100_ratio": median(ratios)},
        {
            "workers": sizes.crowd,
            "batch": sizes.crowd_batch,
            "spread": spread(ratios),
            f"instances_per_s_{FEW}": median(few),
            f"instances_per_s_{sizes.crowd}": median(many),
            "samples": ratios,
            "runs": {str(workers): found for workers, found in runs.items()},
        },
    )


def _one_run(context: Context, workers: int) -> dict[str, Any]:
    sizes = context.sizes
    rounds = max(sizes.crowd // workers, 1)  # all begin with as many instances behind them
    with (
        database(context.server.url, context.template) as url,
        pooler(context.server.url, pool_size=sizes.crowd_pool) as gate,
        crew(
            gate.url_of(url), "engine", workers, sizes.crowd_batch,
            threads=min(THREADS, -(-workers // 4)), prepared=False, rounds=rounds,
        ) as hands,
    ):  # fmt: skip
        pid = context.server.pid
        before = machine.cpu_seconds(pid) if pid else 0.0
        work = hands.run(sizes.crowd_instances, sizes.crowd_batch)
        spent = machine.cpu_seconds(pid) - before if pid else None
    tasks = sum(w.tasks for w in work)
    return {
        "server_cpu_us_per_instance": spent and 3e6 * spent / tasks,
        "instances_per_s": tasks / 3 / elapsed(work),
        "empty_claims": sum(w.empty_claims for w in work),
        "repeats": sum(w.repeats for w in work),
        "ms_per_call": ms_per_call(work),
    }
