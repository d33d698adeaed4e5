"""Throughput against the number of workers, the size of a batch and what lies in the tables."""

from __future__ import annotations

from benchmarks.context import Context, Outcome
from benchmarks.flatness import call_costs
from benchmarks.history import fill
from benchmarks.server import database, settle
from benchmarks.systems import Engine, connect
from benchmarks.workers import crew, elapsed

Points = list[dict[str, float]]


def measure_curves(context: Context) -> Outcome:
    """One run each: 1 to 8 workers, batches of 1 to 1,000, calls on tables that fill.

    For the plots; a point of a single run is rougher than the figures of the table.
    """
    sizes = context.sizes
    places = [(n, sizes.batch) for n in sizes.curve_workers]
    places += [(sizes.workers, n) for n in sizes.curve_batches]
    rates = {place: _rate(context, *place) for place in dict.fromkeys(places)}
    return Outcome(
        {},
        {
            "curve_workers": [
                {"workers": n, "instances_per_s": rates[n, sizes.batch]}
                for n in sizes.curve_workers
            ],
            "curve_batch": [
                {"batch": n, "instances_per_s": rates[sizes.workers, n]}
                for n in sizes.curve_batches
            ],
            "curve_table": [_calls(context, n) for n in sizes.curve_finished],
        },
    )


def _rate(context: Context, workers: int, batch: int) -> float:
    """Instances per second; small batches get fewer instances, large ones whole batches."""
    instances = min(context.sizes.curve_instances, 400 * batch)
    instances = max(instances, workers * batch)
    with (
        database(context.server.url, context.template) as url,
        crew(url, "engine", workers, min(batch, 100)) as hands,
    ):
        work = hands.run(instances, batch)
    rate = sum(w.tasks for w in work) / 3 / elapsed(work)
    context.say(f"  {workers} workers, batch {batch}: {rate:,.0f} instances/s")
    return rate


def _calls(context: Context, finished: int) -> dict[str, float]:
    """Milliseconds per call with so many finished tasks; ``flat`` gives the ends of the curve."""
    sizes = context.sizes
    with database(context.server.url, context.template) as url, connect(url) as conn:
        filled = fill(url, -(-finished // 3))
        engines = {"full": Engine(conn, "curve")}
        call_costs(engines, sizes.batch, 3)
        settle(url)
        costs = call_costs(engines, sizes.batch, sizes.flat_rounds // 3)["full"]
    context.say(f"  {finished:,} finished tasks: claim {costs['claim']:.1f} ms")
    return {"finished": filled["tasks"], **{f"{call}_ms": ms for call, ms in costs.items()}}
