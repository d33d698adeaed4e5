"""plpgsql_check finds nothing in any PL/pgSQL function of ours: no error and no warning."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from pgbpm.devtools import scratch
from tests.support import packages

REQUIRED = os.environ.get("PGBPM_REQUIRE_PLPGSQL_CHECK") == "1"

ACCEPTED: list[tuple[str, str, str]] = [
    # (pattern of the function, pattern of the message, why it is right as it is)
    (".*", "routine is marked as VOLATILE, should be", "it does not see locks, errors and clocks"),
    (
        ".*",
        "composite OUT variable .* is not single argument",
        "one of several results, on purpose",
    ),
    (r"bpm\..*", 'unused parameter "p_tenant_id"', "every public function ends with it"),
]

FUNCTIONS = """
    select p.oid::regprocedure::text
      from pg_proc p
      join pg_language l on l.oid = p.prolang and l.lanname = 'plpgsql'
     where p.pronamespace in ('bpm'::regnamespace, 'bpm_core'::regnamespace)
     order by 1
"""
FINDINGS = """
    select p.oid::regprocedure::text, f.lineno, f.level, f.message, f.detail,
           p.prosrc ~ 'perform\\s+bpm_core\\.(fail|raise_outcome)\\(' as fails
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
    text = packages.without_psql_commands(script)
    places = {"MODULE_PATHNAME": str(library), "@extschema@": "public"}
    for word, place in places.items():
        text = text.replace(word, place)
    scratch.run_script(conn, text)


def accepted(function: str, message: str, fails: bool) -> bool:
    """Whether a finding is none; ``fails``: the function raises by a call, which ends it."""
    if fails and message == "control reached end of function without RETURN":
        return True
    return any(re.match(f, function) and re.match(m, message) for f, m, _ in ACCEPTED)


def test_no_findings(checked: psycopg.Connection) -> None:
    functions = checked.execute(FUNCTIONS).fetchall()
    assert len(functions) > 20
    found = [
        f"{name}:{line}: {level}: {message}{f' ({detail})' if detail else ''}"
        for name, line, level, message, detail, fails in checked.execute(FINDINGS)
        if not accepted(name, message, fails)
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
