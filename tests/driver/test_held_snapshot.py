"""No call walks what died, while a snapshot held open keeps all of it (law 12).

Batch after batch goes through every queue; index entries that each call reads are counted, dead
ones included. They must not grow. Time is the clock of the tests, and no look back from the very
beginning falls due: those are rare by the clock, and walk everything on purpose.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from benchmarks.queues import Queues
from tests.races import kit
from tests.support.database import TestDatabase

BATCH = 20
ROUNDS = kit.sized(7, 40)
SLACK = 4 * BATCH
"""A call that walks what died reads at least a batch more with every round."""

SAFE_SIGNAL = "bpm_core.safe_signal(text,text,bigint)"
PICK_START = "bpm_core.pick_start(bpm_core.pick_position,timestamptz)"
LINE = Path(__file__).parents[2] / "benchmarks" / "line.bpmn"


class Counter:
    """Index entries read per call: ``reads[name]`` has the most of each round."""

    def __init__(self, conn: psycopg.Connection[Any]) -> None:
        self.conn = conn
        self.reads: dict[str, int] = defaultdict(int)

    @contextlib.contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        with self.conn.transaction():
            before = self._count()
            yield
            self.reads[name] = max(self.reads[name], self._count() - before)

    def _count(self) -> int:
        row = self.conn.execute(
            "select sum(pg_stat_get_xact_tuples_returned(i.indexrelid)) from pg_index i"
            "  join pg_class c on c.oid = i.indrelid"
            " where c.relnamespace = 'bpm_core'::regnamespace"
        ).fetchone()
        assert row is not None
        return int(row[0])


@pytest.fixture
def rounds(fresh_database: TestDatabase) -> Iterator[Iterator[dict[str, int]]]:
    """What each call reads at most, round by round, under a snapshot held open."""
    database = fresh_database
    database.rows("select * from bpm.deploy_bpmn(%s)", [LINE.read_text()])
    for table in database.rows(
        "select c.oid::regclass::text as name from pg_class c"
        " where c.relnamespace = 'bpm_core'::regnamespace and c.relkind = 'r'"
    ):
        database.rows(f"alter table {table['name']} set (autovacuum_enabled = off)")
    kit.mutate(database, PICK_START, "30 seconds", "3000 days")
    # Writers of other tests on this server would hold the horizon of positions back.
    kit.mutate(
        database, PICK_START, r"p_position\.horizon is null[^\n]* as settled", "true as settled"
    )
    with (
        psycopg.connect(database.url, autocommit=True) as conn,
        kit.Session(database) as holder,
    ):
        counter = Counter(conn)

        def later(seconds: float) -> None:
            conn.execute("select bpm.advance_clock(make_interval(secs => %s))", [seconds])

        queues = Queues(conn, counter, later, lease_s=600, late_s=3000, rest_s=3600)
        queues.prepare()
        queues.once(BATCH, BATCH)
        holder.do("begin isolation level repeatable read")
        holder.do("select count(*) from bpm_core.token")
        queues.once(BATCH, BATCH)

        def run() -> Iterator[dict[str, int]]:
            for _ in range(ROUNDS):
                counter.reads.clear()
                queues.once(BATCH, BATCH)
                yield dict(counter.reads)

        yield run()
        holder.do("rollback")


def test_no_call_reads_more_than_at_first(rounds: Iterator[dict[str, int]]) -> None:
    first, *_, last = rounds
    assert len(first) >= 18
    grown = {name: (first[name], read) for name, read in last.items() if read > first[name] + SLACK}
    assert not grown, "index entries read in the first round and in the last"


def test_what_walks_is_seen(rounds: Iterator[dict[str, int]], fresh_database: TestDatabase) -> None:
    """The test above can fail: pickers that always begin at the very beginning, signals, too."""
    first = next(rounds)
    kit.mutate(fresh_database, SAFE_SIGNAL, "when r_last.*? then", "when false then")
    kit.mutate(
        fresh_database, PICK_START, r"p_position\.full_at is null.*? as whole", "true as whole"
    )
    *_, last = rounds
    for name in (
        "broadcast",
        "tick_idle",
        "claim_empty",
        "outbox_claim_empty",
        "reaper",
        "publish",
    ):
        assert last[name] > first[name] + SLACK, name
