"""A past: finished instances in bulk, as if they had run."""

from __future__ import annotations

import threading
import time
from typing import Any

import psycopg

from benchmarks.systems import Engine, connect

TABLES = (
    "process_instance", "workflow_instance", "token", "task_instance", "execution", "result",
    "history_event",
)  # fmt: skip
_PARALLEL = (TABLES[:3] + TABLES[4:5], TABLES[3:4] + TABLES[5:6], TABLES[6:])

# An id of copy n: the time of the original's creation moved back, its random part kept.
_ID = """
create function pg_temp.id_of(p_id uuid, p_back bigint) returns uuid
language sql immutable parallel safe as $$
  select (lpad(to_hex(('x' || left(p_id::text, 8) || substr(p_id::text, 10, 4))::bit(48)::bigint
                      - p_back), 12, '0') || substr(p_id::text, 15))::uuid
$$"""

_COLUMNS = """
select a.attname::text, a.atttypid::regtype::text
  from pg_attribute a
 where a.attrelid = %s::regclass and a.attnum > 0 and not a.attisdropped and a.attidentity = ''
 order by a.attnum
"""
_COPIED_IDS = {"id", "process_instance_id", "workflow_instance_id", "token_id", "task_instance_id"}


def fill(url: str, tasks: int) -> dict[str, Any]:
    """Let one instance run, and copy it until there are at least ``tasks`` finished tasks.

    The copies end a millisecond apart, all before the original. References are consistent, so that
    the engine's audit finds nothing. Returns counts and seconds.
    """
    began = time.monotonic()
    with connect(url) as conn:
        original = _run_one(conn)
    copies = -(-tasks // 3) - 1
    faults: list[BaseException] = []

    def work(tables: tuple[str, ...]) -> None:
        try:
            with connect(url) as conn:
                for table in tables:
                    _copy(conn, table, original, copies)
        except BaseException as fault:  # told by the caller
            faults.append(fault)

    threads = [threading.Thread(target=work, args=(tables,)) for tables in _PARALLEL]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise faults[0]
    return {
        "instances": copies + 1,
        "tasks": 3 * (copies + 1),
        "seconds": round(time.monotonic() - began, 1),
    }


def _run_one(conn: psycopg.Connection[Any]) -> tuple[Any, Any]:
    engine = Engine(conn, "past")
    engine.start(1)
    for _ in range(3):
        engine.complete(engine.claim(1))
    query = "select w.process_instance_id, w.id from bpm_core.workflow_instance w"
    row = conn.execute(query).fetchone()
    assert row is not None
    return row[0], row[1]


def _copy(
    conn: psycopg.Connection[Any], table: str, original: tuple[Any, Any], copies: int
) -> None:
    columns = dict(conn.execute(_COLUMNS, [f"bpm_core.{table}"]).fetchall())
    values = []
    for name, kind in columns.items():
        if kind == "uuid" and name in _COPIED_IDS:
            values.append(f"case when s.{name} is not null then pg_temp.id_of(s.{name}, n) end")
        elif kind == "timestamp with time zone":
            values.append(f"s.{name} - n * interval '1 millisecond'")
        elif name == "detail":
            values.append(
                "case when s.detail ? 'task' then s.detail || jsonb_build_object('task',"
                " pg_temp.id_of((s.detail ->> 'task')::uuid, n)) else s.detail end"
            )
        else:
            values.append(f"s.{name}")
    process, workflow = original
    tasks = "select t.id from bpm_core.task_instance t where t.workflow_instance_id = %(workflow)s"
    where = {
        "process_instance": "s.id = %(process)s",
        "workflow_instance": "s.id = %(workflow)s",
        "execution": f"s.task_instance_id in ({tasks})",
        "result": f"s.task_instance_id in ({tasks})",
    }.get(table, "s.workflow_instance_id = %(workflow)s")
    order = "n desc, s.seq" if table == "history_event" else "n desc"
    with conn.transaction():
        conn.execute("set local session_replication_role = replica")  # the copies' keys are right
        conn.execute(_ID)
        conn.execute(
            f"insert into bpm_core.{table} ({', '.join(columns)}) select {', '.join(values)}"
            f" from generate_series(1, %(copies)s) n cross join (select * from bpm_core.{table} s"
            f" where {where}) s order by {order}",
            {"process": process, "workflow": workflow, "copies": copies},
        )
        conn.execute("drop function pg_temp.id_of(uuid, bigint)")
