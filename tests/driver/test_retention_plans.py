"""What retention reads: every row by its key, as much for the last one as for the first."""

from __future__ import annotations

import json
import uuid
from typing import Any

import psycopg
import pytest
from benchmarks.plans import Plan, Scan, captured
from tests.driver import test_plans as all_plans
from tests.races import kit
from tests.support.database import TestDatabase

REMOVE = "select * from bpm.maintain_tenant(%s, %s)"
N = 10
WALKED = 20 * N
"""How many process instances a page of N looks at, at most."""

# Whole prefixes are wanted: everything that hangs on an instance, a task, an event.
PREFIX = all_plans.PREFIX | {
    "task_evidence_pkey": 2,
    "result_evidence_pkey": 2,
    "event_evidence_pkey": 2,
    "event_process_instance_pkey": 2,
    "task_event_pkey": 2,
    "instance_migration_pkey": 2,
    "inclusive_join_pkey": 2,
    "task_comment_of_task": 1,
    # Which signals are still to be heard: all that an inbox holds, and the incidents that are open.
    "inbox_pkey": 1,
    "incident_open": 1,
}
SMALL = all_plans.SMALL | {"retention_pass", "process_definition", "process_version"}

keys = all_plans.keys


def _removed(database: TestDatabase, conn: psycopg.Connection[Any]) -> list[Plan]:
    """The plans of a few pages of every kind."""
    # The least the settings take is a week for events, and only a day passes in each round.
    database.rows(
        "insert into bpm_core.setting (name, value, updated_at, updated_by) values"
        " ('retention.instance_days', '0', now(), 'test'), ('retention.event_days', '0', now(),"
        " 'test'), ('retention.history_months', '1', now(), 'test') on conflict do nothing"
    )
    with captured(conn) as plans:
        for kind in ("instances", "instances", "events", "messages", "signals", "traces"):
            conn.execute(REMOVE, [kind, N])
        conn.execute("select * from bpm.maintain_history()")
    return plans


def _finish(database: TestDatabase) -> None:
    """End whatever is there, so that it can be removed."""
    for row in database.rows("select i.* from bpm.instance i where i.status = 'Running'"):
        database.rows("select bpm.cancel_process(%s)", [row["process_instance_id"]])
    database.rows("select bpm.run_until_idle()")
    database.rows("select bpm.discard_dead_letter(d.dead_letter_id) from bpm.dead_letter d"
                  " where d.state = 'Open'")  # fmt: skip


def _drive(database: TestDatabase) -> None:
    drive = all_plans.Drive(database)
    drive.once(all_plans.N)
    drive.conn.close()


def planned_on_statistics(database: TestDatabase) -> list[Plan]:
    """Fresh statistics."""
    _drive(database)
    _finish(database)
    _drive(database)
    database.rows("vacuum (analyze)")
    return _removed(database, psycopg.connect(database.url, autocommit=True))


def planned_on_empty_statistics(database: TestDatabase) -> list[Plan]:
    """The statistics know of empty tables."""
    database.rows("vacuum (analyze)")
    _drive(database)
    _finish(database)
    _drive(database)
    return _removed(database, psycopg.connect(database.url, autocommit=True))


def fits(scan: Scan, keys: dict[str, list[str]]) -> bool:
    """By a key, or where it lies."""
    if scan.kind == "Tid Scan":
        return True
    if scan.index is None:
        return False
    columns = keys[scan.index]
    return scan.columns >= set(columns[: PREFIX.get(scan.index, len(columns))])


# Not in a session that planned while nothing was there: whoever removes begins a new one.
@pytest.mark.parametrize("session", [planned_on_statistics, planned_on_empty_statistics])
def test_every_row_by_its_key(
    fresh_database: TestDatabase, keys: dict[str, list[str]], session: Any
) -> None:
    all_plans.prepare(fresh_database)
    plans = session(fresh_database)
    found = [(s, p) for p in plans for s in p.scans
             if s.table not in SMALL and not s.table.startswith("pg_")]  # fmt: skip
    assert {s.table for s, _ in found} >= {"process_instance", "token", "task_instance", "event"}
    faults = [(s, p) for s, p in found if not fits(s, keys)]
    assert not faults, all_plans.describe(faults, fresh_database)
    assert fresh_database.value("select count(*) from bpm_core.removed_instance") > N


def _ended(database: TestDatabase, instances: int) -> None:
    kit.deploy(database, kit.process("flat", "start > go > end"))
    with kit.Session(database) as session:
        for _ in range(0, instances, 1000):
            items = [{"code": "flat", "idempotency_key": uuid.uuid4().hex} for _ in range(1000)]
            session.do("select from bpm.start_processes(%s)", json.dumps(items))
            tasks = kit.claim(session, ["go"], 1000)
            session.do(kit.COMPLETE, json.dumps([kit.held(task) for task in tasks]))


@pytest.mark.slow
def test_the_last_costs_as_much_as_the_first(fresh_database: TestDatabase) -> None:
    """Pages read in blocks, while a snapshot keeps every dead index entry where it is."""
    instances, page = kit.sized(4000, 10000), 200
    _ended(fresh_database, instances)
    fresh_database.rows("select bpm.set_setting('retention.instance_days', '0')")
    read: list[int] = []
    with fresh_database.connect(autocommit=False) as holder, fresh_database.connect() as conn:
        holder.execute("set transaction isolation level repeatable read")
        holder.execute("select count(*) from bpm.instance")
        explain = f"explain (analyze, buffers, format json) {REMOVE}"
        for _ in range(instances // page + 1):
            row = conn.execute(explain, ["instances", page]).fetchone()
            assert row is not None
            plan = row["QUERY PLAN"][0]["Plan"]
            read.append(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])
        holder.rollback()
    assert fresh_database.value("select count(*) from bpm.instance") == 0
    first, last = read[2:5], read[-4:-1]
    assert sum(last) < 1.1 * sum(first), read
    assert read[-1] < 0.1 * read[2], "the end of a pass, with nothing left, walks over nothing"
