"""Every call while a snapshot is held open: time per call against the tasks churned."""

from __future__ import annotations

from typing import Any

import psycopg

from benchmarks.context import Context, Outcome, lower_quartile, median
from benchmarks.queues import CallClock, Queues
from benchmarks.server import database
from benchmarks.systems import Engine, connect
from benchmarks.workers import crew


def measure_held_all(context: Context) -> Outcome:
    """Tasks are churned under a held snapshot; from point to point every call is timed.

    A batch of everything goes through every queue at each point: tasks, leases that run out,
    timers, commands, inbox, messages, approvals, events in and out. Fresh is the lower quartile of
    the first third of the points, last that of the last third: what disturbs only adds.
    """
    points = _points(context)
    calls = sorted(name for name in points[0] if name != "churned")
    edge = max(len(points) // 3, 1)
    ratios = {
        name.removesuffix("_ms"): lower_quartile([s for p in points[:edge] for s in p[name]])
        / lower_quartile([s for p in points[-edge:] for s in p[name]])
        for name in calls
    }
    worst = min(ratios, key=lambda name: ratios[name])
    context.say(f"  worst: {worst} {ratios[worst]:.2f} of fresh; of {len(ratios)} calls")
    return Outcome(
        {"flat_held_snapshot_all": ratios[worst]},
        {
            "worst_call": worst,
            **{f"ratio_{name}": ratio for name, ratio in ratios.items()},
            "tasks": points[-1]["churned"],
            "queue_batch": context.sizes.queue_batch,
            "points": [
                {"churned": p["churned"], **{name: median(p[name]) for name in calls}}
                for p in points
            ],
        },
    )


def _points(context: Context) -> list[dict[str, Any]]:
    sizes = context.sizes
    points: list[dict[str, Any]] = []
    with (
        database(context.server.url, context.template) as url,
        connect(url) as conn,
        crew(url, "engine", sizes.workers, sizes.churn_batch) as workers,
        psycopg.connect(url) as holder,
    ):
        clock = CallClock()
        queues = Queues(conn, clock.timed, clock.later)
        line = Engine(conn, "line")
        queues.prepare()
        for _ in range(2):  # plans and caches
            _sample(queues, line, clock, sizes.queue_batch)
        holder.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        holder.execute("select count(*) from bpm_core.task_instance")
        churned = 0
        step = sizes.held_all_tasks // sizes.held_all_points // 3 * 3
        for number in range(sizes.held_all_points + 1):
            if number > 0:
                churned += sum(w.tasks for w in workers.run(step // 3, sizes.churn_batch))
            clock.clear()
            for _ in range(sizes.held_all_rounds):
                _sample(queues, line, clock, sizes.queue_batch)
            points.append({"churned": churned, **{f"{k}_ms": v for k, v in clock.seen.items()}})
            context.say(f"  {churned:,} tasks: a claim {median(points[-1]['claim_ms']):.1f} ms")
        holder.rollback()
    return points


def _sample(queues: Queues, line: Engine, clock: CallClock, batch: int) -> None:
    queues.once(batch)
    with clock.timed("start"):
        line.start(batch)
    for _ in range(3):
        with clock.timed("claim"):
            tasks = line.claim(batch)
        assert len(tasks) == batch
        with clock.timed("complete"):
            line.complete(tasks)
