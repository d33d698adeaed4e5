"""Many tenants at once: everything of one tenant, copied by SQL."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql

Conn = psycopg.Connection[Any]


def clone(conn: Conn, tenant: str, pattern: str, count: int) -> None:
    """Copy all rows of ``tenant`` to tenants ``pattern`` % 1 … count, ids included.

    A superuser's work: keys are unique within a tenant, so the copies need no ids of their own.
    """
    with conn.transaction():
        conn.execute("set local session_replication_role = replica")
        conn.execute("set local synchronous_commit = off")
        conn.execute(
            "create temp table many on commit drop as"
            " select format(%s, g) as tenant_id from generate_series(1, %s) g",
            [pattern, count],
        )
        for table, columns in _tables(conn):
            conn.execute(
                sql.SQL(
                    "insert into bpm_core.{table} (tenant_id, {names}) overriding system value"
                    " select m.tenant_id, {values} from many m, bpm_core.{table} t"
                    " where t.tenant_id = {tenant}"
                ).format(
                    table=sql.Identifier(table),
                    names=sql.SQL(", ").join(sql.Identifier(c) for c in columns),
                    values=sql.SQL(", ").join(sql.Identifier("t", c) for c in columns),
                    tenant=sql.Literal(tenant),
                )
            )
    conn.execute("analyze")


def _tables(conn: Conn) -> list[tuple[str, list[str]]]:
    rows = conn.execute(
        "select c.relname,"
        "       array_agg(a.attname order by a.attnum) filter (where a.attname <> 'tenant_id')"
        "  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0"
        "   and not a.attisdropped and a.attgenerated = ''"
        " where c.relnamespace = 'bpm_core'::regnamespace and c.relkind in ('r', 'p')"
        "   and not c.relispartition group by c.relname"
        " having bool_or(a.attname = 'tenant_id') order by 1"
    ).fetchall()
    return [(name, columns) for name, columns in rows]
