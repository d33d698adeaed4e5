"""The plots of a run: throughput against workers, batch and table size, calls under a snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from benchmarks.context import median
from benchmarks.plot import Plot, Series

Details = dict[str, Any]


def draw(details: Details, folder: Path) -> list[Path]:
    """Write what can be drawn from the details of a result, as they are in ``results.json``.

    Returns the files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    for name, make in PICTURES.items():
        plot = make(details)
        if plot is not None:
            path = folder / f"{name}.svg"
            path.write_text(plot.svg(), encoding="utf-8")
            drawn.append(path)
    return drawn


def _workers(details: Details) -> Plot | None:
    points = details.get("curves", {}).get("curve_workers")
    return points and Plot(
        f"Instances per second by workers, batch {details['set']['batch']}"
        if "set" in details else "Instances per second by workers",
        "workers, one connection each", "instances/s",
        {"": [(p["workers"], p["instances_per_s"]) for p in points]}, even=True,
    )  # fmt: skip


def _batch(details: Details) -> Plot | None:
    points = details.get("curves", {}).get("curve_batch")
    return points and Plot(
        "Instances per second by size of a batch, 4 workers", "items per call", "instances/s",
        {"": [(p["batch"], p["instances_per_s"]) for p in points]}, even=True,
    )  # fmt: skip


def _table_size(details: Details) -> Plot | None:
    points = list(details.get("curves", {}).get("curve_table", []))
    flat = details.get("flat", {})
    for side, count in (("fresh", 0), ("full", flat.get("finished", {}).get("tasks"))):
        runs = [run["100"][side] for run in flat.get("median_ms", []) if "100" in run]
        if runs:
            calls = {f"{call}_ms": median([run[call] for run in runs]) for call in runs[0]}
            points.append({"finished": count, **calls})
    if len(points) < 2:
        return None
    return Plot(
        "Time per call of 100 by finished tasks in the tables", "finished tasks", "ms",
        _by_call(points, "finished"), even=True,
    )  # fmt: skip


def _held(details: Details) -> Plot | None:
    points = details.get("held_all", {}).get("points")
    if not points:
        return None
    series: dict[str, list[tuple[float, float]]] = {}
    for call, measured in _by_call(points, "churned").items():
        fresh = median([y for _, y in measured[: max(len(measured) // 3, 1)]])
        series[call] = [(x, y / fresh) for x, y in measured]
    return Plot(
        "Time per call under a snapshot held open (fresh = 1)",
        "tasks churned since it was taken", "× fresh", series,
    )  # fmt: skip


def _held_throughput(details: Details) -> Plot | None:
    held = details.get("held")
    if not held:
        return None
    runs = held["runs"]
    each = runs[0]["tasks"] / len(runs[0]["steps_per_s"])
    series: Series = {
        f"run {number + 1}": [(each * (n + 1), rate) for n, rate in enumerate(run["steps_per_s"])]
        for number, run in enumerate(runs)
    }
    return Plot(
        "Steps per second under a snapshot held open", "tasks churned since it was taken",
        "steps/s", series,
    )  # fmt: skip


def _by_call(points: Iterable[dict[str, float]], along: str) -> Series:
    """``{along: x, "<call>_ms": y, …}`` → call → points."""
    found: dict[str, list[tuple[float, float]]] = {}
    for point in points:
        for key, value in point.items():
            if key.endswith("_ms"):
                found.setdefault(key[:-3], []).append((point[along], value))
    return dict(found)


PICTURES: dict[str, Callable[[Details], Plot | None]] = {
    "throughput-by-workers": _workers,
    "throughput-by-batch": _batch,
    "calls-by-table-size": _table_size,
    "calls-under-a-snapshot": _held,
    "throughput-under-a-snapshot": _held_throughput,
}
"""File name → how it is drawn from the details; None where they are missing."""
