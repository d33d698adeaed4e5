"""Forward-only migrations: ``NNNN_description.sql``, each applied once, whole or not at all.

Every migration runs as ``bpm_owner`` in one transaction together with its row in
``bpm_core.schema_migrations``, under an advisory lock that lets one migrator work at a time, and
with a lock timeout, so that a busy table makes it fail instead of stopping the traffic. Roles and
schemas come from a separate idempotent bootstrap (``sql/90_access/roles.sql``).
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from pgbpm import source
from pgbpm.errors import MigrationError, PendingMigrationsError
from pgbpm.resources import migrations_dir

LOCK_KEY = 7_236_470_317_145_003  # any constant of our own
LOCK_TIMEOUT = "10s"
WAIT_FOR_OTHER = "15min"
LEDGER = "bpm_core.schema_migrations"
LEDGER_VIEW = "bpm.schema_migration"
_NAME = re.compile(r"^(\d{4})_([a-z0-9_]+)\.sql$")
_TABLE = re.compile(
    r"^\s*create table (?:if not exists )?(\w+\.\w+)(?!.*partition of)", re.M | re.I
)

LEDGER_SQL = f"""\
create table if not exists {LEDGER} (
  version     integer     not null primary key,
  name        text        not null,
  checksum    text        not null,
  applied_at  timestamptz not null default clock_timestamp()
);
alter table {LEDGER} enable row level security;
comment on table {LEDGER} is 'Which migrations this database has run.';
create or replace view {LEDGER_VIEW} as
  select m.version, m.name, m.checksum, m.applied_at
    from {LEDGER} m;
comment on view {LEDGER_VIEW} is 'Which migrations this database has run.';
grant select on {LEDGER_VIEW} to bpm_reader, bpm_worker, bpm_operator, bpm_admin;
"""

Conn = psycopg.Connection[Any]


@dataclass(frozen=True, slots=True)
class Migration:
    """One file of ``migrations/``; the checksum is SHA-256 of its text with unix line ends."""

    version: int
    name: str
    text: str

    @property
    def checksum(self) -> str:
        """Hex digest that the ledger keeps."""
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Applied:
    """One row of the ledger."""

    version: int
    name: str
    checksum: str


@dataclass(frozen=True, slots=True)
class MigrationStatus:
    """``applied`` and ``pending`` in order of version; ``latest`` is the last applied, or None.

    ``newer`` are the applied ones that lie beyond what this package knows.
    """

    applied: list[Applied]
    pending: list[Migration]
    newer: list[Applied] = field(default_factory=list)

    @property
    def latest(self) -> int | None:
        """The version the database stands at."""
        return self.applied[-1].version if self.applied else None


def load(folder: Path | None = None) -> list[Migration]:
    """All migrations of this package in order.

    Raises :class:`MigrationError` for a file name that is none, and for a version used twice.
    """
    found: list[Migration] = []
    for file in sorted((folder or migrations_dir()).glob("*.sql")):
        match = _NAME.match(file.name)
        if not match:
            raise MigrationError(f"{file.name}: a migration is named NNNN_description.sql")
        version, text = int(match.group(1)), file.read_text(encoding="utf-8")
        if found and found[-1].version == version:
            raise MigrationError(
                f"{file.name}: version {version:04} is used by {found[-1].name}, too"
            )
        found.append(Migration(version, file.stem, text.replace("\r\n", "\n")))
    return found


def status(conn: Conn, folder: Path | None = None) -> MigrationStatus:
    """What is applied and what is pending; changes nothing.

    A database may be newer than this package; whether it still serves us is for
    ``bpm.api_version()`` to say. Raises :class:`MigrationError` if a file was edited after it was
    applied, if one that was applied is missing here, or if a pending one lies before an applied.
    """
    return _compare(load(folder), _applied(conn))


def validate(conn: Conn, folder: Path | None = None) -> MigrationStatus:
    """The start contract where migrating is not our business.

    Raises :class:`PendingMigrationsError` that names what is pending.
    """
    current = status(conn, folder)
    if current.pending:
        names = ", ".join(m.name for m in current.pending)
        raise PendingMigrationsError(
            f"the database lacks {len(current.pending)} migration(s): {names}",
            hint="run `pgbpm migrate`, or set database.migrate_on_start = true"
            " (BPM__DATABASE__MIGRATE_ON_START)",
        )
    return current


def run(conn: Conn, folder: Path | None = None) -> list[int]:
    """Apply what is pending; returns the versions applied by this call (none if current).

    A database that has all tables of 0001 but no ledger is recorded as being at 0001 first.
    ``conn`` must be outside of a transaction. Raises :class:`MigrationError`.
    """
    known = load(folder)
    if known and not _compare(known, _applied(conn)).pending:
        return []
    _prepare(conn, known)
    return [m.version for m in known if _apply(conn, m, known)]


def bundle(folder: Path | None = None) -> str:
    """One script for ``psql -1``: roles, every migration that is missing, and the ledger.

    Running it on a current database changes nothing.
    """
    parts = [_BUNDLE_HEAD, source.bootstrap_sql(), "set role bpm_owner;", LEDGER_SQL]
    parts += [_bundled(migration) for migration in load(folder)]
    parts.append("reset role;\n")
    return "\n".join(parts)


def _compare(known: Sequence[Migration], applied: list[Applied]) -> MigrationStatus:
    by_version = {m.version: m for m in known}
    last_known = max(by_version, default=0)
    for row in applied:
        mine = by_version.get(row.version)
        if row.version > last_known:
            continue
        if mine is None:
            raise MigrationError(
                f"the database has run {row.name}, which this version of pgbpm does not know",
                hint="use the version of pgbpm that migrated the database",
            )
        if mine.checksum != row.checksum:
            raise MigrationError(
                f"{mine.name}.sql was edited after this database ran it"
                f" (checksum {mine.checksum[:12]}, recorded {row.checksum[:12]})",
                hint="restore the file; a change is a new migration"
                " (a database made by an unreleased version has to be made anew)",
            )
    done = {row.version for row in applied}
    pending = [m for m in known if m.version not in done]
    if pending and applied and pending[0].version < applied[-1].version:
        raise MigrationError(
            f"{pending[0].name} is pending, but later {applied[-1].name} is applied already",
            hint="give the new migration the next free number",
        )
    return MigrationStatus(applied, pending, [row for row in applied if row.version > last_known])


def _applied(conn: Conn) -> list[Applied]:
    """The ledger; read through the view, which every role of ours may, else the table."""
    place = _value(
        conn, "select coalesce(to_regclass(%s), to_regclass(%s))::text", [LEDGER_VIEW, LEDGER]
    )
    if place is None:
        return []
    query = sql.SQL("select version, name, checksum from {} order by version").format(
        sql.SQL(place)
    )
    with conn.cursor(row_factory=psycopg.rows.tuple_row) as cursor:
        return [Applied(*row) for row in cursor.execute(query)]


def _prepare(conn: Conn, known: Sequence[Migration]) -> None:
    """Bootstrap, ledger and baseline stamp, in one transaction under the migrators' lock."""
    for attempt in range(10):
        try:
            with conn.transaction():
                _take_lock(conn)
                _bootstrap(conn)
                conn.execute("set local role bpm_owner")
                fresh = _value(conn, "select to_regclass(%s)", [LEDGER]) is None
                conn.execute(LEDGER_SQL)
                if fresh and known:
                    _stamp_baseline(conn, known[0])
            return
        except (
            psycopg.errors.InternalError_,
            psycopg.errors.UniqueViolation,
            psycopg.errors.DuplicateObject,
        ):
            # Roles belong to the whole cluster: a migrator of another database met us there.
            if attempt == 9:
                raise
            time.sleep(0.05 * (attempt + 1))


def _bootstrap(conn: Conn) -> None:
    """Make roles and schemas; a role that may not is let through where they are there already."""
    superuser = _value(conn, "select rolsuper from pg_roles where rolname = current_user")
    if superuser:
        conn.execute(source.bootstrap_sql())
        return
    ready = _value(
        conn,
        "select to_regnamespace('bpm') is not null and to_regnamespace('bpm_core') is not null"
        " and coalesce((select pg_has_role(r.oid, 'member') from pg_roles r"
        " where r.rolname = 'bpm_owner'), false)",
    )
    if not ready:
        raise MigrationError(
            "this role may not install pgbpm",
            hint="run `pgbpm bundle | psql -1` or `pgbpm migrate` once as a superuser; afterwards a"
            " member of bpm_owner can migrate (grant bpm_owner to …)",
        )


def _stamp_baseline(conn: Conn, first: Migration) -> None:
    """Record 0001 without running it if its tables are all there."""
    tables = _TABLE.findall(first.text)
    present = [t for t in tables if _value(conn, "select to_regclass(%s)", [t]) is not None]
    if not present:
        return
    missing = sorted(set(tables) - set(present))
    if missing:
        raise MigrationError(
            f"the database holds some tables of {first.name} but not {', '.join(missing)}",
            hint="this is no installation of pgbpm that could be upgraded; use an empty database",
        )
    _record(conn, first)


def _apply(conn: Conn, migration: Migration, known: Sequence[Migration]) -> bool:
    """Run one migration with its ledger row; False if it is applied already."""
    try:
        with conn.transaction():
            _take_lock(conn)
            pending = _compare(known, _applied(conn)).pending
            if migration not in pending:
                return False
            conn.execute("set local role bpm_owner")
            conn.execute("set local check_function_bodies = off")
            conn.execute(_as_query(migration.text))
            _record(conn, migration)
        return True
    except psycopg.Error as error:
        raise MigrationError(
            f"{migration.name}.sql failed and left nothing behind: {_said(error, migration.text)}",
            hint="nothing is recorded; mend the cause and migrate again",
        ) from error


def _take_lock(conn: Conn) -> None:
    """One migrator at a time; a busy table stops us soon, another migrator only after long."""
    conn.execute(sql.SQL("set local lock_timeout = {}").format(WAIT_FOR_OTHER))
    conn.execute("select pg_advisory_xact_lock(%s)", [LOCK_KEY])
    conn.execute(sql.SQL("set local lock_timeout = {}").format(LOCK_TIMEOUT))
    conn.execute("set local client_min_messages = warning")


def _record(conn: Conn, migration: Migration) -> None:
    conn.execute(
        f"insert into {LEDGER} (version, name, checksum) values (%s, %s, %s)",
        [migration.version, migration.name, migration.checksum],
    )


def _said(error: psycopg.Error, text: str) -> str:
    message = error.diag.message_primary or str(error)
    position = error.diag.statement_position
    return f"{message} ({source.locate(text, int(position))})" if position else message


def _value(conn: Conn, query: str, params: Sequence[Any] = ()) -> Any:
    with conn.cursor(row_factory=psycopg.rows.tuple_row) as cursor:
        row = cursor.execute(_as_query(query), params or None).fetchone()
    return row[0] if row else None


def _as_query(text: str) -> sql.SQL:
    """Text read from our own files as a query."""
    return sql.SQL(text)


_BUNDLE_HEAD = f"""\
-- pgbpm: roles, all migrations and their ledger as one script for  psql -1 DATABASE
-- Run it as a superuser. What the database has already is left alone.
\\set ON_ERROR_STOP on
set client_min_messages = warning;
set check_function_bodies = off;
select pg_advisory_xact_lock({LOCK_KEY}) \\g /dev/null
"""


def _bundled(migration: Migration) -> str:
    version, name, checksum = migration.version, migration.name, migration.checksum
    return f"""\
do $edited$ begin
  if exists (select from {LEDGER} m where m.version = {version} and m.checksum <> '{checksum}') then
    raise exception '{name}.sql is not what this database ran' using errcode = 'BP409';
  end if;
end $edited$;
select not exists (select from {LEDGER} m where m.version = {version}) as pgbpm_missing \\gset
\\if :pgbpm_missing
\\echo applying {name}
{migration.text}
insert into {LEDGER} (version, name, checksum) values ({version}, '{name}', '{checksum}');
\\endif
"""
