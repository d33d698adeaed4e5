"""Databases for tests: a template made once, isolated copies, the audit."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg.rows import DictRow, dict_row

from pgbpm import migrations, source
from pgbpm.devtools import baseline, scratch

Connection = psycopg.Connection[DictRow]
AsyncConnection = psycopg.AsyncConnection[DictRow]


@dataclass(frozen=True, slots=True)
class TestDatabase:
    """One isolated database; ``url`` names a superuser."""

    __test__ = False

    url: str
    _auditors: list[Connection] = field(default_factory=list, compare=False, repr=False)

    @property
    def name(self) -> str:
        """Its name on the server."""
        return scratch.database_name(self.url)

    def connect(self, *, autocommit: bool = True, role: str | None = None) -> Connection:
        """A connection with dict rows, as the superuser or (``set role``) as ``role``."""
        conn = psycopg.connect(self.url, autocommit=autocommit, row_factory=dict_row)
        if role is not None:
            conn.execute("select set_config('role', %s, false)", [role])
            if not autocommit:
                conn.commit()
        return conn

    async def aconnect(self, *, autocommit: bool = True) -> AsyncConnection:
        """The same, asynchronous."""
        return await psycopg.AsyncConnection.connect(
            self.url, autocommit=autocommit, row_factory=dict_row
        )

    def rows(self, query: str, params: Any = None) -> list[dict[str, Any]]:
        """All rows of one statement on a connection of its own."""
        with self.connect() as conn:
            cursor = conn.execute(query, params)
            return list(cursor) if cursor.description is not None else []

    def value(self, query: str, params: Any = None) -> Any:
        """The first column of the first row."""
        return next(iter(self.rows(query, params)[0].values()))

    def audit(self) -> None:
        """Fail if the engine's own audit finds anything, in any tenant."""
        found = self._audit()
        assert not found, "invariants broken:\n" + "\n".join(str(row) for row in found)

    def _audit(self) -> list[dict[str, Any]]:
        conn = self._auditor()
        if not _exists(conn, "bpm.check_invariants(text)"):
            return []
        tenants = conn.execute(
            "select '' as tenant_id union select t.tenant_id from bpm_core.tenant t"
        ).fetchall()
        return [
            row
            for tenant in tenants
            for row in conn.execute(
                "select * from bpm.check_invariants(p_tenant_id => %(tenant_id)s)", tenant
            )
        ]

    def _auditor(self) -> Connection:
        """A connection that stays open from test to test: what costs is planning, not reading."""
        if self._auditors:
            try:
                self._auditors[0].execute("select")
            except psycopg.OperationalError:  # a test has stopped the server or its sessions
                self._auditors.clear()
        if not self._auditors:
            self._auditors.append(self.connect())
            self._auditors[0].execute("set plan_cache_mode = force_generic_plan")
        return self._auditors[0]

    def close(self) -> None:
        """Close what stays open."""
        while self._auditors:
            self._auditors.pop().close()


def _exists(conn: Connection, signature: str) -> bool:
    row = conn.execute("select to_regprocedure(%s) is not null as there", [signature]).fetchone()
    return bool(row and row["there"])


def stale_migrations() -> bool:
    """Whether the baseline lags behind ``sql/`` (only before the first release)."""
    return baseline.is_stale()


def make_template(server_url: str) -> str:
    """A database with schema and test kit, from which tests copy theirs.

    The schema comes from ``migrations/``, which is what users run. While these lag behind ``sql/``
    (a test of its own says so) it comes from ``sql/``, so that one fault shows as one failure.
    """
    url = scratch.create_database(server_url, prefix="template")
    with psycopg.connect(url, autocommit=True) as conn:
        if stale_migrations():
            scratch.run_script(conn, source.whole_sql())
            _write_ledger(conn)
        else:
            migrations.run(conn)
        kit = source.kit_sql()
        if kit:
            scratch.run_script(conn, kit)
    return url


def _write_ledger(conn: psycopg.Connection[Any]) -> None:
    """The ledger as it would be, so that readiness looks as it does for users."""
    conn.execute("set role bpm_owner")
    conn.execute(migrations.LEDGER_SQL)
    for migration in migrations.load():
        conn.execute(
            f"insert into {migrations.LEDGER} (version, name, checksum) values (%s, %s, %s)",
            [migration.version, migration.name, migration.checksum],
        )
    conn.execute("reset role")


def describe_server() -> str:
    """Where the tests run, for the report's header."""
    given = os.environ.get(scratch.URL_VARIABLE)
    if given:
        return f"{scratch.URL_VARIABLE}, {psycopg.conninfo.conninfo_to_dict(given).get('host')}"
    binaries = scratch.test_binaries()
    return f"PostgreSQL {binaries.version} ({binaries.origin}: {binaries.bin_dir})"
