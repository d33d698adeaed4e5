"""What every benchmark gets, and what it gives back."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.server import BenchServer


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much each benchmark does; ``repeats`` runs, of which the median counts (fewer of what
    takes long)."""

    repeats: int = 3
    workers: int = 4
    batch: int = 100
    set_instances: int = 12_000
    runner_instances: int = 6_000
    finished_instances: int = 1_000_000
    flat_rounds: int = 60
    flat_queue_rounds: int = 24
    flat_idle_calls: int = 8
    held_repeats: int = 3
    held_tasks: int = 150_000
    held_round_tasks: int = 6_000
    held_all_tasks: int = 500_000
    held_all_points: int = 5
    held_all_rounds: int = 4
    queue_batch: int = 200
    churn_batch: int = 500
    branches: tuple[int, int] = (1_000, 10_000)
    rows_instances: int = 500
    events: int = 12_000
    commands: int = 10_000
    single_instances: int = 1_200
    curve_workers: tuple[int, ...] = (1, 2, 4, 8)
    curve_batches: tuple[int, ...] = (1, 10, 100, 1_000)
    curve_instances: int = 3_000
    curve_finished: tuple[int, ...] = (10_000, 100_000)
    crowd_repeats: int = 3
    crowd: int = 100
    crowd_batch: int = 10
    crowd_pool: int = 20
    crowd_instances: int = 5_000
    wakeups: int = 400


QUICK = Sizes(
    repeats=1,
    workers=2,
    batch=20,
    set_instances=200,
    runner_instances=200,
    finished_instances=1_000,
    flat_rounds=6,
    flat_queue_rounds=2,
    held_repeats=1,
    held_tasks=1_800,
    held_round_tasks=300,
    held_all_tasks=900,
    held_all_points=2,
    held_all_rounds=1,
    queue_batch=10,
    churn_batch=30,
    branches=(20, 100),
    rows_instances=50,
    events=200,
    commands=200,
    single_instances=60,
    curve_workers=(2,),
    curve_batches=(20,),
    curve_instances=100,
    curve_finished=(300,),
    crowd_repeats=1,
    crowd=20,
    crowd_instances=300,
    wakeups=40,
)


@dataclass(frozen=True, slots=True)
class Context:
    """The server, the name of the installed database to copy, the sizes, and where to tell."""

    server: BenchServer
    template: str
    sizes: Sizes
    say: Callable[[str], None]


@dataclass(slots=True)
class Outcome:
    """``values`` are the keys of ``results.json`` this benchmark answers for; ``detail`` is what
    they were computed from."""

    values: dict[str, float]
    detail: dict[str, Any] = field(default_factory=dict)


def median(samples: Sequence[float]) -> float:
    """The median."""
    return float(statistics.median(samples))


def lower_quartile(samples: Sequence[float]) -> float:
    """What a call takes when nothing else disturbs it: a quarter of the samples are below."""
    return sorted(samples)[(len(samples) - 1) // 4]


def spread(samples: Sequence[float]) -> float:
    """(largest - smallest) / median, 0 for one sample."""
    return (max(samples) - min(samples)) / median(samples)
