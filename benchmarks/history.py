"""A past: instances in bulk, as if they had run. Copies of what a database holds already."""

from __future__ import annotations

import threading
import time
from typing import Any

import psycopg

from benchmarks.systems import Engine, connect

# Shared out to as many connections as there are lines, the longest first.
_TABLES = (
    ("history_event", "scope", "timer", "subscription", "message", "inbox", "incident"),
    ("task_instance", "result", "dead_letter", "approval_record", "outbox", "delivery_attempt"),
    ("event", "event_process_instance", "routing_decision", "evidence", "subject", "fact",
     "result_evidence"),
    ("process_instance", "workflow_instance", "token", "execution", "parallel_join",
     "parallel_join_arrival"),
)  # fmt: skip

_COLUMNS = """
select a.attname::text, a.atttypid::regtype::text
  from pg_attribute a
 where a.attrelid = %s::regclass and a.attnum > 0 and not a.attisdropped and a.attidentity = ''
 order by a.attnum
"""
_SHARED_IDS = {"business_case_id", "destination_id"}
_NAMES = {
    ("message", "message_id"), ("event", "provider_event_id"), ("subject", "subject_key"),
    ("evidence", "object_key"),
}  # fmt: skip

_JSON_WITH_IDS = {("history_event", "detail"), ("inbox", "payload")}

# The id of copy n: the time in it moved back by n milliseconds, its random part kept. The zero id
# stands for the root scope. In columns it is taken apart once per original and not once per copy,
# which halves the time: _PARTS and _VALUE.
_ID = """
create function pg_temp.id_of(p_id uuid, p_back bigint) returns uuid
language sql immutable parallel safe as $$
  select case when p_id = '00000000-0000-0000-0000-000000000000' then p_id else
    (lpad(to_hex(('x' || left(p_id::text, 8) || substr(p_id::text, 10, 4))::bit(48)::bigint
                 - p_back), 12, '0') || substr(p_id::text, 15))::uuid end
$$"""
_PARTS = """
, case when s.{name} <> '00000000-0000-0000-0000-000000000000' then
    ('x' || left(s.{name}::text, 8) || substr(s.{name}::text, 10, 4))::bit(48)::bigint
  end as at__{name}, substr(s.{name}::text, 15) as rest__{name}"""
_VALUE = """case when s.at__{name} is null then s.{name}
  else (lpad(to_hex(s.at__{name} - n), 12, '0') || s.rest__{name})::uuid end"""
# Which keys of a JSON column hold ids of ours (versions are shared by all copies).
_KEYS = """
select distinct e.key
  from bpm_core.{table} s cross join jsonb_each(s.{column}) e
 where e.value #>> '{{}}' ~ '^[0-9a-f]{{8}}-[0-9a-f]{{4}}-7[-0-9a-f]{{21}}$' and e.key !~ 'version$'
"""


def fill(url: str, instances: int) -> dict[str, Any]:
    """Let one instance run, and copy it until there are ``instances`` that have finished.

    Returns counts and seconds.
    """
    began = time.monotonic()
    with connect(url) as conn:
        engine = Engine(conn, "past")
        engine.start(1)
        for _ in range(3):
            engine.complete(engine.claim(1))
    copies = max(instances - 1, 0)
    multiply(url, copies)
    return {
        "instances": copies + 1,
        "tasks": 3 * (copies + 1),
        "seconds": round(time.monotonic() - began, 1),
    }


def multiply(url: str, copies: int, spacing: int = 1) -> None:
    """Copy every instance with all it has, whatever its state, ``copies`` times.

    Copies lie ``spacing`` milliseconds apart in time, before their originals (more than there are
    copies already, to copy again), and refer to each other as the originals do, so that the
    engine's audit finds nothing in them either.
    """
    faults: list[BaseException] = []

    def work(tables: tuple[str, ...]) -> None:
        try:
            with connect(url) as conn:
                for table in tables:
                    _copy(conn, table, copies, spacing)
        except BaseException as fault:  # raised below, in the caller's thread
            faults.append(fault)

    threads = [threading.Thread(target=work, args=(tables,)) for tables in _TABLES]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise faults[0]


def _copy(conn: psycopg.Connection[Any], table: str, copies: int, spacing: int) -> None:
    columns = dict(conn.execute(_COLUMNS, [f"bpm_core.{table}"]).fetchall())
    values = [_value(conn, table, name, kind) for name, kind in columns.items()]
    parts = "".join(_PARTS.format(name=name) for name, kind in columns.items() if kind == "uuid")
    order = "n desc, s.seq" if table == "history_event" else "n desc"
    with conn.transaction():
        conn.execute("set local session_replication_role = replica")  # the copies' keys are right
        conn.execute(_ID)
        conn.execute(
            f"insert into bpm_core.{table} ({', '.join(columns)})"
            f" select {', '.join(values)}"
            " from generate_series(%s::bigint, %s::bigint, %s::bigint) n"
            f" cross join (select s.*{parts} from bpm_core.{table} s offset 0) s order by {order}",
            [spacing, copies * spacing, spacing],
        )
        conn.execute("drop function pg_temp.id_of")


def _value(conn: psycopg.Connection[Any], table: str, name: str, kind: str) -> str:
    """The expression for a column of copy ``n`` of row ``s``."""
    if kind == "uuid" and name not in _SHARED_IDS and not name.endswith("version_id"):
        return _VALUE.format(name=name)
    if kind == "timestamp with time zone":
        return f"s.{name} - n * interval '1 millisecond'"
    if (table, name) in _JSON_WITH_IDS:
        keys = [key for (key,) in conn.execute(_KEYS.format(table=table, column=name))]
        ids = ", ".join(
            f"'{k}', case when length(s.{name} ->> '{k}') = 36"
            f" then pg_temp.id_of((s.{name} ->> '{k}')::uuid, n) end"
            for k in keys
        )
        return (
            f"case when s.{name} ?| '{{{','.join(keys)}}}'"
            f" then s.{name} || jsonb_strip_nulls(jsonb_build_object({ids})) else s.{name} end"
        )
    if (table, name) in _NAMES:
        return f"s.{name} || ':' || n"
    if (table, name) == ("evidence", "identity_hash"):
        return "bpm_core.evidence_identity(s.sha256, s.object_key || ':' || n)"
    if kind == "uuid[]":
        return f"array(select pg_temp.id_of(i, n) from unnest(s.{name}) i)"
    return f"s.{name}"
