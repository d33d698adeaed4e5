"""Speed that breaks the engine is none: the invariants hold in the database a benchmark leaves."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass

import psycopg

_MOST_INSTANCES = 20_000
_TIMEOUT = "30s"


class Broken(Exception):
    """An invariant is violated."""


@dataclass(slots=True)
class Audit:
    """The audit of one benchmark: its first database that holds instances, and not too many."""

    instances: int = 0
    seconds: float = 0.0
    skipped: str | None = "it left no database with instances"

    def told(self) -> dict[str, float | str]:
        """For ``results.json``: what was audited, or why nothing was."""
        if self.skipped is not None:
            return {"skipped": self.skipped}
        return {"instances": self.instances, "seconds": round(self.seconds, 1)}


_asked: Audit | None = None


@contextlib.contextmanager
def asked() -> Iterator[Audit]:
    """One database of the block is audited."""
    global _asked
    _asked = found = Audit()
    try:
        yield found
    finally:
        _asked = None


def look(url: str) -> None:
    """Audit a database if that is still to be done. Raises :class:`Broken`."""
    if _asked is None or _asked.skipped is None:
        return
    with psycopg.connect(url, autocommit=True) as conn:
        row = conn.execute(
            "select count(*) from (select from bpm_core.workflow_instance limit %s) w",
            [_MOST_INSTANCES + 1],
        ).fetchone()
        assert row is not None
        if row[0] == 0:
            return
        if row[0] > _MOST_INSTANCES:
            _asked.skipped = f"more than {_MOST_INSTANCES:,} instances"
            return
        began = time.monotonic()
        conn.execute("select set_config('statement_timeout', %s, false)", [_TIMEOUT])
        try:
            broken = conn.execute("select * from bpm.check_invariants()").fetchmany(5)
        except psycopg.errors.QueryCanceled:
            _asked.skipped = f"{row[0]:,} instances took longer than {_TIMEOUT}"
            return
    if broken:
        raise Broken("\n".join(str(one) for one in broken))
    _asked.instances, _asked.seconds = row[0], time.monotonic() - began
    _asked.skipped = None
