"""What a run cost by the server's own count: transactions and rows."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from benchmarks.context import median

_OTHERS = """
select count(*)
  from pg_stat_activity a
 where a.datname = current_database() and a.pid <> pg_backend_pid()
   and a.backend_type = 'client backend'
"""
_COUNTS = """
select d.xact_commit, pg_snapshot_xmax(pg_current_snapshot())::text::bigint, r.rows
  from pg_stat_database d
 cross join (select sum(t.n_tup_ins + t.n_tup_upd + t.n_tup_del)::bigint as rows
               from pg_stat_user_tables t) r
 where d.datname = current_database()
"""
_PATIENCE_S = 20.0


@dataclass(frozen=True, slots=True)
class Cost:
    """Transactions, those among them that wrote (transaction ids used, by the whole server), rows
    inserted, updated and deleted."""

    transactions: float
    writing: float
    rows: float


def told(conn: psycopg.Connection[Any]) -> None:
    """Have the server count at once what a session did."""
    conn.execute("select pg_stat_force_next_flush()")
    conn.execute("select 1")  # the counts go out at the end of a transaction


def per_unit(costs: list[Cost]) -> dict[str, float]:
    """The details a table shows: medians."""
    return {
        "transactions_per_unit": median([cost.transactions for cost in costs]),
        "writing_per_unit": median([cost.writing for cost in costs]),
        "rows_per_unit": median([cost.rows for cost in costs]),
    }


class Monitor:
    """One connection that looks on, and knows how often it did."""

    def __init__(self, url: str) -> None:
        self._conn = psycopg.connect(url, autocommit=True)
        self._looks = 0
        self._before = self._counts()

    def value(self, query: str) -> int:
        """The one number a query gives."""
        self._looks += 1
        row = self._conn.execute(sql.SQL(query)).fetchone()
        assert row is not None
        return int(row[0])

    def checkpoint(self) -> None:
        """Have the server write out what it holds. No vacuum and no analyze: statistics of queues
        that are empty just now would mislead the planner of whoever works next."""
        self._looks += 1
        self._conn.execute("checkpoint")

    def cost(self, instances: int, *, alone: bool = True) -> Cost:
        """Per instance, of everything since this was made; then this goes, too.

        Waits until everybody else has gone, for only then what they did is surely counted; not
        ``alone``: they have seen to it themselves (see :func:`told`).
        """
        deadline = time.monotonic() + _PATIENCE_S
        while alone and self.value(_OTHERS):
            if time.monotonic() > deadline:
                raise RuntimeError("somebody stays connected")
            time.sleep(0.05)
        spent = [
            (now - before) / instances
            for now, before in zip(self._counts(), self._before, strict=True)
        ]
        self._conn.close()
        return Cost(*spent)

    def _counts(self) -> tuple[int, int, int]:
        self._conn.execute("select pg_stat_force_next_flush()")
        self._looks += 2
        row: Any = self._conn.execute(_COUNTS).fetchone()
        return int(row[0]) - self._looks, int(row[1]), int(row[2] or 0)
