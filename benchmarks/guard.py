"""Refuses to measure where others work."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator

from benchmarks import machine
from benchmarks.server import BenchServer

FOREIGN_LIMIT = 0.10
"""Cores others may take on average, before and during a benchmark."""
QUIET_S = 3.0
EXIT_LOADED = 3


class OtherLoad(Exception):
    """Somebody else works on this machine."""


class Guard:
    """Looks at what others do. ``disturbed`` tells that it was overridden."""

    def __init__(self, server: BenchServer, force: bool) -> None:
        self._ours = [os.getpid(), *([server.pid] if server.pid else [])]
        self._force = force
        self.disturbed = False
        if not machine.can_watch():
            self._refuse("this system does not tell what else runs (no /proc)")

    def wait_quiet(self) -> None:
        """Look for a few seconds while nothing of ours runs."""
        if machine.can_watch():
            span = machine.Span(self._ours)
            time.sleep(QUIET_S)
            self._judge(span.foreign(), "before the start")

    @contextlib.contextmanager
    def watching(self, name: str, loads: dict[str, float]) -> Iterator[None]:
        """Judge the load of others over the block."""
        span = machine.Span(self._ours) if machine.can_watch() else None
        yield
        if span is not None:
            foreign = span.foreign()
            loads[name] = round(foreign.cores, 3)
            self._judge(foreign, f"while {name} was measured")

    def _judge(self, foreign: machine.Foreign, when: str) -> None:
        if foreign.cores > FOREIGN_LIMIT:
            self._refuse(f"{when}, others took {foreign.describe()}; at most {FOREIGN_LIMIT:.2f}")

    def _refuse(self, why: str) -> None:
        if not self._force:
            raise OtherLoad(why)
        self.disturbed = True
        print(f"WARNING: {why}", file=sys.stderr, flush=True)
