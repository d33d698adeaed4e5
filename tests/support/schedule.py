"""Which process of a run side by side gets which tests: what takes longest comes first.

A module stays together, since its tests share a database. The pgTAP files share nothing: they go
by their folders.
"""

from __future__ import annotations

from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

PGTAP = "tests/test_pgtap.py::test_pgtap[pgtap/"

LONGEST = (
    "tests/driver/test_plans.py",
    "tests/docs/test_pages.py",
    f"{PGTAP}80_operation",
    f"{PGTAP}40_flow",
    "tests/driver/test_benchmarks.py",
    "tests/chaos/test_crash_points.py",
    "tests/driver/test_server.py",
    "tests/races/test_random_batches.py",
    "tests/properties/test_engine.py",
    "tests/model/test_model.py",
    "tests/driver/test_runner.py",
    "tests/races/test_idempotency.py",
)
"""What takes more than twenty seconds on an idle machine, longest first."""


class LongestFirst(LoadScopeScheduling):  # type: ignore[misc]
    """Whole modules, and folders of pgTAP files, in the order in which they were collected."""

    def __init__(self, config: pytest.Config, log: Any = None) -> None:
        config.option.loadscopereorder = False  # else those of the most tests come first
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        return scope(nodeid)


def scope(nodeid: str) -> str:
    """What stays together with a test."""
    if nodeid.startswith(PGTAP):
        return nodeid[: nodeid.index("/", len(PGTAP))]
    return nodeid.split("::")[0]


def order(items: list[pytest.Item]) -> None:
    """Put the tests of the longest scopes first; the others stay as they are."""
    rank = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(scope(item.nodeid), len(rank)))
