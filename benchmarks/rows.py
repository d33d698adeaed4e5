"""How many rows one ordinary step writes, table by table, counted by the server."""

from __future__ import annotations

from collections import Counter
from typing import Any

import psycopg

from benchmarks.context import Context, Outcome
from benchmarks.server import database
from benchmarks.systems import SYSTEMS, System, connect

_WRITES = """
select coalesce(p.inhparent, s.relid)::regclass::text as relation,
       s.n_tup_ins as inserted, s.n_tup_upd as updated, s.n_tup_del as deleted
  from pg_stat_xact_all_tables s
  left join pg_inherits p on p.inhrelid = s.relid
 where s.schemaname = %s and s.n_tup_ins + s.n_tup_upd + s.n_tup_del > 0
 order by 1
"""

Writes = Counter[str]


def measure_rows(context: Context) -> Outcome:
    """Claim and completion of the middle one of three tasks, counted in their own transaction."""
    count = context.sizes.rows_instances
    with database(context.server.url, context.template) as url, connect(url) as conn:
        counted = {
            name: _phases(conn, schema, SYSTEMS[name](conn, "rows"), count)
            for name, schema in (("engine", "bpm_core"), ("bare", "bare"))
        }
    step = counted["engine"]["second task"]
    return Outcome(
        {"row_writes_per_step": _total(step) / count},
        {
            "instances": count,
            "tables_per_step": {name: n / count for name, n in sorted(step.items())},
            "writes_per_instance": _total_of(counted["engine"]) / count,
            "bare_writes_per_instance": _total_of(counted["bare"]) / count,
            "phases": {
                system: {phase: {k: n / count for k, n in w.items()} for phase, w in phases.items()}
                for system, phases in counted.items()
            },
        },
    )


def _phases(
    conn: psycopg.Connection[Any], schema: str, system: System, count: int
) -> dict[str, Writes]:
    """Rows written by each part of ``count`` instances' lives; each part is one transaction."""
    phases: dict[str, Writes] = {}
    flush = "select pg_stat_force_next_flush()"  # else the counts of the transaction before linger
    conn.execute(flush)
    with conn.transaction():
        system.start(count)
        phases["start"] = _writes(conn, schema)
    conn.execute(flush)
    for name in ("first task", "second task", "third task and end"):
        with conn.transaction():
            claimed = system.claim(count)
            assert len(claimed) == count, f"{len(claimed)} of {count} tasks claimed"
            system.complete(claimed)
            phases[name] = _writes(conn, schema)
        conn.execute(flush)
    return phases


def _writes(conn: psycopg.Connection[Any], schema: str) -> Writes:
    """``table operation`` → rows written in the current transaction."""
    found: Writes = Counter()
    for relation, inserted, updated, deleted in conn.execute(_WRITES, [schema]):
        name = str(relation).partition(".")[2]
        for word, number in (("insert", inserted), ("update", updated), ("delete", deleted)):
            if number:
                found[f"{name} {word}"] += number
    return found


def _total(writes: Writes) -> int:
    return sum(writes.values())


def _total_of(phases: dict[str, Writes]) -> int:
    return sum(_total(writes) for writes in phases.values())
