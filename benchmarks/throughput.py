"""Set-based calls of four workers, beside the bare script: instances per second, and the ratio."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from benchmarks import machine
from benchmarks.context import Context, Outcome, median, spread
from benchmarks.count import Monitor, per_unit
from benchmarks.server import database
from benchmarks.workers import Work, crew, elapsed

SYSTEMS = ("engine", "bare")


def measure_set(context: Context) -> Outcome:
    """Engine and bare script in turn, each time in a fresh database.

    Start, three tasks, end; a call in five is a start, two are claims, two completions, each of
    one batch and one commit.
    """
    found = _compare(context, context.sizes.set_instances, context.sizes.batch)
    rates = found["instances_per_s_engine"]
    return Outcome({"instances_per_s_set": rates, "ratio_to_bare": found["ratio"]}, found)


def measure_single(context: Context) -> Outcome:
    """The same with every call for one: starts, claims and completions of one, a commit each.

    What a commit and a call cost, for both.
    """
    found = _compare(context, context.sizes.single_instances, 1)
    return Outcome({"ratio_to_bare_batch1": found["ratio"]}, found)


def _compare(context: Context, instances: int, batch: int) -> dict[str, Any]:
    rates: dict[str, list[float]] = {name: [] for name in SYSTEMS}
    runs: list[dict[str, Any]] = []
    for number in range(context.sizes.repeats):
        for name in SYSTEMS:
            run = _one_run(context, name, instances, batch)
            rates[name].append(run["instances_per_s"])
            runs.append({"system": name, **run})
            context.say(f"  {name} run {number + 1}: {run['instances_per_s']:,.0f} instances/s")
    engine, bare = median(rates["engine"]), median(rates["bare"])
    ratios = fair_ratios(rates["engine"], rates["bare"])
    costs = [run["cost"] for run in runs if run["system"] == "engine"]
    return {
        "ratio": median(ratios),
        "runs_left_out": len(rates["bare"]) - len(ratios),
        "workers": context.sizes.workers,
        "batch": batch,
        **per_unit(costs),
        "instances_per_s_engine": engine,
        "instances_per_s_bare": bare,
        **_cpu(runs),
        "spread_engine": spread(rates["engine"]),
        "spread_bare": spread(rates["bare"]),
        "spread_ratio": spread(ratios),
        "ratios": ratios,
        "runs": [{**run, "cost": asdict(run["cost"])} for run in runs],
    }


def fair_ratios(engine: list[float], bare: list[float]) -> list[float]:
    """Run by run, each against the script's next to it: a machine's pace drifts.

    Now and then a run of the script falls to a third, which would flatter the engine: runs below
    two thirds of its best are left out.
    """
    best = max(bare)
    return [e / b for e, b in zip(engine, bare, strict=True) if b >= best * 2 / 3]


def _cpu(runs: list[dict[str, Any]]) -> dict[str, float]:
    """Processor time of the server per instance: hardly moved by what else runs."""
    return {
        f"server_cpu_us_{name}": median(
            [r["server_cpu_us_per_instance"] for r in runs if r["system"] == name]
        )
        for name in SYSTEMS
        if all(r["server_cpu_us_per_instance"] for r in runs)
    }


def _one_run(context: Context, system: str, instances: int, batch: int) -> dict[str, Any]:
    sizes = context.sizes
    with database(context.server.url, context.template) as url:
        monitor = Monitor(url)
        with crew(url, system, sizes.workers, batch) as workers:
            pid = context.server.pid
            before = machine.cpu_seconds(pid) if pid else 0.0
            work = workers.run(instances, batch)
            spent = machine.cpu_seconds(pid) - before if pid else None
        cost = monitor.cost(sum(w.tasks for w in work) // 3 + workers.warmed)
    seconds, tasks = elapsed(work), sum(w.tasks for w in work)
    return {
        "instances_per_s": tasks / 3 / seconds,
        "instances": tasks // 3,
        "seconds": seconds,
        "server_cpu_us_per_instance": spent and 1e6 * spent / (tasks / 3),
        "empty_claims": sum(w.empty_claims for w in work),
        "repeats": sum(w.repeats for w in work),
        "cost": cost,
        "ms_per_call": ms_per_call(work),
    }


def ms_per_call(work: list[Work]) -> dict[str, float]:
    """Mean time of each kind of call, as its worker saw it."""
    kinds = sorted({kind for w in work for kind in w.calls or {}})
    return {
        kind: 1000
        * sum((w.seconds or {}).get(kind, 0.0) for w in work)
        / sum((w.calls or {}).get(kind, 0) for w in work)
        for kind in kinds
    }
