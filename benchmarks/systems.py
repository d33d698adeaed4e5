"""The two things compared: the engine, called as a runner would, and the bare script."""

from __future__ import annotations

import json
from typing import Any, Protocol

import psycopg

TYPES = ["first", "second", "third"]
VARIABLES = {"amount": 50, "customer": {"country": "DE", "vip": False}}
PATCH = {"ok": True}

Claimed = list[Any]


class System(Protocol):
    """What a worker does; each call is one transaction."""

    def start(self, count: int) -> None:
        """Start ``count`` instances."""

    def claim(self, limit: int) -> Claimed:
        """Lease up to ``limit`` tasks of any of the three types."""

    def complete(self, claimed: Claimed) -> None:
        """Complete what was claimed. Raises ``AssertionError`` if any was not accepted."""


class Engine:
    """``start_processes``, ``claim_tasks_at`` with positions kept, ``complete_tasks``."""

    def __init__(self, conn: psycopg.Connection[Any], worker: str) -> None:
        self._conn = conn
        self._worker = worker
        self._positions: str | None = None

    def start(self, count: int) -> None:
        items = json.dumps([{"code": "line", "variables": VARIABLES}] * count)
        query = "select count(*) from bpm.start_processes(p_items => %s) s where s.outcome = 'Done'"
        assert _one(self._conn, query, [items]) == count

    def claim(self, limit: int) -> Claimed:
        row = self._conn.execute(
            "select c.tasks, c.positions::text from bpm.claim_tasks_at("
            "p_worker => %s, p_types => %s, p_limit => %s, p_positions => %s::jsonb) c",
            [self._worker, TYPES, limit, self._positions],
        ).fetchone()
        assert row is not None
        self._positions = row[1]
        return list(row[0])

    def complete(self, claimed: Claimed) -> None:
        items = json.dumps(
            [
                {
                    "task_id": task["task_id"],
                    "fencing_token": task["fencing_token"],
                    "variables": PATCH,
                }
                for task in claimed
            ]
        )
        query = "select c.task_id, c.outcome from bpm.complete_tasks(p_items => %s) c"
        outcomes = self._conn.execute(query, [items]).fetchall()
        refused = [outcome for _, outcome in outcomes if outcome != "Completed"]
        assert not refused, f"complete_tasks: {refused[:3]}"


class Bare:
    """The bare script of ``bare.sql``."""

    def __init__(self, conn: psycopg.Connection[Any], worker: str) -> None:
        self._conn = conn
        self._worker = worker

    def start(self, count: int) -> None:
        assert (
            _one(self._conn, "select bare.start(%s, %s)", [count, json.dumps(VARIABLES)]) == count
        )

    def claim(self, limit: int) -> Claimed:
        query = "select c.* from bare.claim(%s, %s, %s) c"
        return self._conn.execute(query, [self._worker, TYPES, limit]).fetchall()

    def complete(self, claimed: Claimed) -> None:
        ids = [task[0] for task in claimed]
        done = _one(self._conn, "select bare.complete(%s, %s)", [ids, json.dumps(PATCH)])
        assert done == len(claimed)


SYSTEMS: dict[str, type[Engine] | type[Bare]] = {"engine": Engine, "bare": Bare}


def connect(url: str, *, prepared: bool = True) -> psycopg.Connection[Any]:
    """An autocommit connection that prepares every statement at its first use, or none: through a
    pooler in transaction mode there is no session to keep them."""
    return psycopg.connect(url, autocommit=True, prepare_threshold=0 if prepared else None)


def _one(conn: psycopg.Connection[Any], query: Any, params: list[Any]) -> Any:
    row = conn.execute(query, params).fetchone()
    assert row is not None
    return row[0]
