"""The server the benchmarks run on: our own, durable, with settings that are printed."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from benchmarks import audit
from pgbpm import migrations, source
from pgbpm.config import ServerConfig
from pgbpm.devtools import baseline, scratch
from pgbpm.server import Binaries, EmbeddedServer, find_binaries

HERE = Path(__file__).resolve().parent
STATE_DIR = HERE.parent / "build" / "bench" / "server"
MAJOR = 15

SETTINGS = {
    "shared_buffers": "1GB",
    "effective_cache_size": "4GB",
    "work_mem": "16MB",
    "maintenance_work_mem": "256MB",
    "max_wal_size": "8GB",
    "min_wal_size": "2GB",
    "checkpoint_timeout": "30min",
    "wal_buffers": "16MB",
    "max_connections": "60",
    "autovacuum_naptime": "10s",
}
"""What differs from PostgreSQL's defaults. Nothing that trades durability for speed."""

_SHOWN = (
    "server_version", "fsync", "synchronous_commit", "full_page_writes", "wal_level",
    "wal_sync_method", "autovacuum", "jit", *SETTINGS,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class BenchServer:
    """A server: ``url`` names a superuser; ``pid`` of the postmaster where it is our own."""

    url: str
    binaries: Binaries | None = None
    pid: int | None = None
    data_dir: Path | None = None

    def settings(self) -> dict[str, str]:
        """The settings that matter, as the server has them."""
        with psycopg.connect(self.url, autocommit=True) as conn:
            return {name: _value(conn, f"show {name}") for name in _SHOWN}


def pick_binaries() -> Binaries:
    """PostgreSQL 15 of the system; else the oldest there is (the report names it)."""
    found = sorted(find_binaries(), key=lambda b: (b.major != MAJOR, b.origin != "system", b.major))
    return found[0]


@contextlib.contextmanager
def durable_server(binaries: Binaries) -> Iterator[BenchServer]:
    """A fresh server below ``build/bench``, gone with its data at the end of the block."""
    server = EmbeddedServer(STATE_DIR, ServerConfig(bin_dir=str(binaries.bin_dir)))
    _remove(server)
    try:
        url = server.start("child").url
        assert url is not None
        with psycopg.connect(url, autocommit=True) as conn:
            for name, value in SETTINGS.items():
                conn.execute(
                    sql.SQL("alter system set {} = {}").format(sql.Identifier(name), value)
                )
        server.stop()
        status = server.start("child")
        assert status.url is not None
        yield BenchServer(status.url, binaries, status.pid, status.data_dir)
    finally:
        _remove(server)


@contextlib.contextmanager
def running_server(url: str | None) -> Iterator[BenchServer]:
    """The server named by ``url``, else a durable one of our own, which is told."""
    if url is not None:
        yield BenchServer(url)
        return
    binaries = pick_binaries()
    print(f"PostgreSQL {binaries.version} ({binaries.origin}), durable settings", flush=True)
    with durable_server(binaries) as server:
        yield server


def _remove(server: EmbeddedServer) -> None:
    server.stop()
    data_dir = server.status().data_dir
    for folder in (data_dir, server.state_dir):
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


# -- databases -----------------------------------------------------------------------------------


def install(url: str, sql_root: Path | None = None) -> None:
    """Make an empty database one of ours: schema, ledger, process, and the bare script.

    The schema comes from ``migrations/``; while these lag behind ``sql/``, or with ``sql_root``
    (another tree to measure), from there, and the ledger says that all is applied.
    """
    with psycopg.connect(url, autocommit=True) as conn:
        if sql_root is None and not baseline.is_stale():
            migrations.run(conn)
        else:
            scratch.run_script(conn, source.whole_sql(sql_root))
            with conn.transaction():
                conn.execute("set local client_min_messages = warning")
                conn.execute("set local role bpm_owner")
                conn.execute(sql.SQL(migrations.LEDGER_SQL))
                for one in migrations.load():
                    conn.execute(
                        "insert into bpm_core.schema_migrations (version, name, checksum)"
                        " values (%s, %s, %s) on conflict do nothing",
                        [one.version, one.name, one.checksum],
                    )
        conn.execute(
            "select * from bpm.deploy_bpmn(p_xml => %s)", [(HERE / "line.bpmn").read_text()]
        )
        scratch.run_script(conn, (HERE / "bare.sql").read_text())


@contextlib.contextmanager
def database(server_url: str, template: str) -> Iterator[str]:
    """A copy of an installed database, as a migration leaves it; audited where one is asked for
    (see :mod:`benchmarks.audit`), dropped afterwards."""
    with scratch.scratch_database(server_url, template) as url:
        with psycopg.connect(url, autocommit=True) as conn:
            conn.execute("checkpoint")
        yield url
        audit.look(url)


def settle(url: str) -> None:
    """Vacuum, analyse and checkpoint, so that none of it falls into a measurement."""
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("vacuum (analyze)")
        conn.execute("checkpoint")


def _value(conn: psycopg.Connection[Any], query: str) -> Any:
    row = conn.execute(sql.SQL(query)).fetchone()
    assert row is not None
    return row[0]
