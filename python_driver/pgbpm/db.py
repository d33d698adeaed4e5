"""Connections: to the configured database, or to the embedded server where none is configured."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import Jsonb
from psycopg_pool import AsyncConnectionPool

from pgbpm import migrations
from pgbpm.config import Config
from pgbpm.errors import ConfigError, MigrationError, ServerError
from pgbpm.server import EmbeddedServer, ephemeral_server

Connection = psycopg.Connection[DictRow]
AsyncConnection = psycopg.AsyncConnection[DictRow]
AsyncPool = AsyncConnectionPool[AsyncConnection]

API_VERSION = 1
"""The version of the interface ``bpm.*`` this driver speaks; see ``bpm.api_version()``."""

APPLICATION = "pgbpm"
"""All our sessions carry an application name that starts with this (``pgbpm/run``, …)."""


_NO_DATABASE = re.compile(r'database "([^"]+)" does not exist')


@dataclass(frozen=True, slots=True)
class Database:
    """A reachable database; ``server`` is set if it is our embedded one."""

    url: str
    config: Config
    server: EmbeddedServer | None = None

    def connect(self, component: str = "cli", *, autocommit: bool = True) -> Connection:
        """A connection whose rows are dicts. Each call of the engine is its own transaction
        unless ``autocommit`` is off."""
        return connect(self.url, component, autocommit=autocommit, timeout_s=self._timeout_s)

    def async_pool(self, component: str = "run", **options: Any) -> AsyncPool:
        """A pool of async autocommit connections with dict rows, not opened yet.

        At most ``database.max_connections``; ``options`` go to ``AsyncConnectionPool``.
        """
        settings: dict[str, Any] = {"min_size": 1, "max_size": self.config.database.max_connections}
        return AsyncConnectionPool(
            self.url,
            connection_class=AsyncConnection,
            kwargs={
                "autocommit": True,
                "row_factory": dict_row,
                "application_name": f"{APPLICATION}/{component}",
                "connect_timeout": self._timeout_s,
            },
            open=False,
            **(settings | options),
        )

    @property
    def _timeout_s(self) -> int:
        return self.config.database.connect_timeout_s


def connect(
    url: str, component: str = "cli", *, autocommit: bool = True, timeout_s: int = 10
) -> Connection:
    """A connection to ``url`` with dict rows.

    Raises :class:`ConfigError` if ``url`` is no connection string, :class:`ServerError` if there is
    no such server or database.
    """
    _check_url(url)
    try:
        return psycopg.connect(
            url,
            autocommit=autocommit,
            row_factory=dict_row,
            application_name=f"{APPLICATION}/{component}",
            connect_timeout=timeout_s,
            prepare_threshold=None,  # not worth it, and poolers in transaction mode lose them
        )
    except psycopg.OperationalError as error:
        said = str(error).strip()
        missing = _NO_DATABASE.search(said)
        raise ServerError(
            f"cannot connect to the database: {said}",
            hint=f"createdb {missing.group(1)} (same host, port and user); then pgbpm migrate"
            if missing
            else "check database.url (BPM__DATABASE__URL); without one an embedded server is used",
        ) from error


def _check_url(url: str) -> None:
    """What libpq says of a bad one is shown only if it cannot hold a password."""
    try:
        port = psycopg.conninfo.conninfo_to_dict(url).get("port")
    except psycopg.ProgrammingError as error:
        said = str(error).strip()
        why = "" if "@" in said else f": {said}"
    else:
        if port is None or all(word.isdigit() or not word for word in str(port).split(",")):
            return
        why = f": {port!r} is no port"
    raise ConfigError(
        f"database.url is no connection string{why}",
        hint="write postgresql://USER:PASSWORD@HOST:PORT/DATABASE (--database-url,"
        " BPM__DATABASE__URL, or database.url in pgbpm.toml)",
    )


@contextlib.contextmanager
def reach_database(config: Config) -> Iterator[Database]:
    """The database as it is: a URL, or the embedded server, started if it does not run.

    A server started here is our child and stops at the end of the block.
    """
    if config.database.url:
        yield Database(config.database.url, config)
    elif config.server.ephemeral:
        with ephemeral_server(config.server) as server:
            yield Database(server.url, config, server)
    else:
        server = project_server(config)
        try:
            status = server.acquire()
            assert status.url is not None
            yield Database(status.url, config, server)
        finally:
            server.release()


@contextlib.contextmanager
def open_database(config: Config, *, settings: bool = False) -> Iterator[Database]:
    """The database with the schema this version needs.

    With ``database.migrate_on_start`` pending migrations are applied; without it
    :class:`PendingMigrationsError` names them. After a migration, and always with ``settings``,
    the engine settings of the configuration are written.
    """
    with reach_database(config) as database:
        with database.connect("migrate") as conn:
            applied: list[int] = []
            if config.database.migrate_on_start:
                applied = migrations.run(conn)
            else:
                migrations.validate(conn)
            check_api(conn)
            if applied or settings:
                push_settings(conn, config)
        yield database


def check_api(conn: Connection) -> None:
    """Refuse a schema whose functions are not those this driver calls."""
    row = conn.execute("select v.lowest, v.highest from bpm.api_version() v").fetchone()
    assert row is not None
    if not row["lowest"] <= API_VERSION <= row["highest"]:
        raise MigrationError(
            f"the database serves interface versions {row['lowest']} to {row['highest']},"
            f" this driver speaks version {API_VERSION}",
            hint="use a driver of the same generation as the database",
        )


def sessions(conn: Connection) -> dict[str, int]:
    """Sessions of all pgbpm processes in this database but this one: active, idle, waiting.

    *Waiting* ones wait for a lock; they are not counted as active.
    """
    row = conn.execute(
        "select count(*) filter (where a.state = 'active' and not w.waits) as active,"
        "       count(*) filter (where a.state like 'idle%%') as idle,"
        "       count(*) filter (where w.waits) as waiting"
        "  from pg_stat_activity a"
        " cross join lateral (select coalesce(a.wait_event_type = 'Lock', false) as waits) w"
        " where a.datname = current_database() and a.pid <> pg_backend_pid()"
        "   and a.application_name like %s",
        [f"{APPLICATION}/%"],
    ).fetchone()
    assert row is not None
    return dict(row)


def pool_report(pool: AsyncPool) -> dict[str, int]:
    """What a pool of this process does: active, idle, waiting (requests), and its largest size."""
    stats = pool.get_stats()
    idle = stats.get("pool_available", 0)
    return {
        "active": stats.get("pool_size", 0) - idle,
        "idle": idle,
        "waiting": stats.get("requests_waiting", 0),
        "max": stats.get("pool_max", 0),
    }


def project_server(config: Config) -> EmbeddedServer:
    """The embedded server of the project folder (not necessarily running)."""
    return EmbeddedServer(config.project_dir / config.server.dir, config.server)


def push_settings(conn: Connection, config: Config) -> dict[str, Any]:
    """Write the explicitly configured engine settings to the database; returns them.

    Needs the role ``bpm_admin``.
    """
    given = config.engine.given() | config.retention.given()
    for name, value in given.items():
        conn.execute(
            "select bpm.set_setting(p_name => %s, p_value => %s)",
            [name, Jsonb(value)],
        )
    return given
