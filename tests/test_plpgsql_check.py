"""plpgsql_check finds nothing in any PL/pgSQL function of ours: no error and no warning."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from pgbpm.devtools import scratch
from tests.support import packages

REQUIRED = os.environ.get("PGBPM_REQUIRE_PLPGSQL_CHECK") == "1"

ALLOWED: dict[tuple[str, str], str] = {}
"""(function, message) → why it is right as it is."""

FUNCTIONS = """
    select p.oid::regprocedure::text
      from pg_proc p
      join pg_language l on l.oid = p.prolang and l.lanname = 'plpgsql'
     where p.pronamespace in ('bpm'::regnamespace, 'bpm_core'::regnamespace)
     order by 1
"""
FINDINGS = """
    select p.oid::regprocedure::text, f.lineno, f.level, f.message, f.detail
      from pg_proc p
      join pg_language l on l.oid = p.prolang and l.lanname = 'plpgsql'
     cross join lateral plpgsql_check_function_tb(
             p.oid, fatal_errors => false, other_warnings => true, extra_warnings => true,
             performance_warnings => true, security_warnings => true) f
     where p.pronamespace in ('bpm'::regnamespace, 'bpm_core'::regnamespace)
     order by 1, 2
"""


@pytest.fixture(scope="module")
def checked(server_url: str, template: str) -> Iterator[psycopg.Connection]:
    """A copy of the template with plpgsql_check loaded."""
    with (
        scratch.scratch_database(server_url, template) as url,
        psycopg.connect(url, autocommit=True) as conn,
        tempfile.TemporaryDirectory() as folder,
    ):
        _load(conn, Path(folder))
        yield conn


def _load(conn: psycopg.Connection, folder: Path) -> None:
    known = conn.execute(
        "select 1 from pg_available_extensions where name = 'plpgsql_check'"
    ).fetchone()
    if known:
        conn.execute("create extension plpgsql_check")
        return
    major = conn.info.server_version // 10000
    unpacked = packages.debian([f"postgresql-{major}-plpgsql-check"])
    script = unpacked and packages.newest_script(
        unpacked.rglob("plpgsql_check--*.sql"), "plpgsql_check"
    )
    if not script:
        message = f"plpgsql_check cannot be had for PostgreSQL {major} here"
        if REQUIRED:
            pytest.fail(message)
        pytest.skip(message)
    assert unpacked
    folder.chmod(0o755)  # the server's user reads the library from here
    library = shutil.copy(next(unpacked.rglob("plpgsql_check.so")), folder)
    text = packages.without_psql_commands(script).replace("MODULE_PATHNAME", str(library))
    scratch.run_script(conn, text)


def test_no_findings(checked: psycopg.Connection) -> None:
    functions = checked.execute(FUNCTIONS).fetchall()
    assert len(functions) > 20
    found = [
        f"{name}:{line}: {level}: {message}{f' ({detail})' if detail else ''}"
        for name, line, level, message, detail in checked.execute(FINDINGS)
        if (name, message) not in ALLOWED
    ]
    assert not found, f"{len(found)} findings:\n" + "\n".join(found)


def test_the_check_can_fail(checked: psycopg.Connection) -> None:
    checked.execute(
        "create function bpm_core.bad() returns int language plpgsql as"
        " $$ declare v_unused int; begin return (select nothing from bpm_core.nowhere); end $$"
    )
    messages = " ".join(row[3] for row in checked.execute(FINDINGS) if row[0] == "bpm_core.bad()")
    checked.execute("drop function bpm_core.bad()")
    assert "nowhere" in messages
    assert "v_unused" in messages
