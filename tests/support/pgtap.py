"""Running pgTAP files, and getting pgTAP itself from wherever it can be had.

pgTAP is taken from, in this order: the file ``PGTAP_SQL`` names; the extension installed with the
server; Debian's package, unpacked but not installed; the npm package of PGlite's pgTAP. Where none
can be had its tests are skipped with a word, unless ``PGBPM_REQUIRE_PGTAP=1``.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import psycopg
import pytest

from pgbpm.devtools import scratch
from tests.support import packages

CHECKOUT = packages.CHECKOUT
TESTS = CHECKOUT / "tests"
SHARED = TESTS / "pgtap" / "shared"
REQUIRED = os.environ.get("PGBPM_REQUIRE_PGTAP") == "1"


@dataclass(frozen=True, slots=True)
class PgTapSource:
    """Where pgTAP comes from; ``file`` is None where it cannot be had."""

    file: Path | None
    origin: str

    @staticmethod
    @cache
    def find() -> PgTapSource:
        """The first source that answers."""
        for origin, look in _SOURCES.items():
            file = look()
            if file is not None:
                return PgTapSource(file, origin)
        return PgTapSource(None, "nowhere")

    def describe(self) -> str:
        """One line for the report."""
        if self.file is None:
            return "cannot be had here (set PGTAP_SQL to a pgtap.sql); its tests are skipped"
        return f"{self.file} ({self.origin})"

    def script(self) -> str:
        """The script without psql's commands, for a plain connection."""
        assert self.file is not None
        return packages.without_psql_commands(self.file)


def _named() -> Path | None:
    name = os.environ.get("PGTAP_SQL")
    if not name:
        return None
    if not Path(name).is_file():
        raise pytest.UsageError(f"PGTAP_SQL: {name} does not exist")
    return Path(name)


def _installed() -> Path | None:
    folder = scratch.test_binaries().config("sharedir") / "extension"
    return packages.newest_script(folder.glob("pgtap--*.sql"), "pgtap")


def _debian() -> Path | None:
    return _script(packages.debian(["postgresql-15-pgtap", "postgresql-17-pgtap"]))


def _npm() -> Path | None:
    return _script(packages.npm("@electric-sql/pglite-pgtap"))


def _script(folder: Path | None) -> Path | None:
    found = folder.rglob("pgtap--*.sql") if folder else []
    return packages.newest_script(found, "pgtap")


_SOURCES = {
    "PGTAP_SQL": _named,
    "installed extension": _installed,
    "Debian's package": _debian,
    "npm package": _npm,
}


# -- running ------------------------------------------------------------------------------------


def files() -> list[Path]:
    """All pgTAP files, in order."""
    return [f for f in sorted((TESTS / "pgtap").rglob("*.sql")) if SHARED not in f.parents]


def prepare(url: str, tap: PgTapSource) -> None:
    """Load pgTAP and the shared helpers into a database.

    Without autovacuum: every file rolls back, so it would find tables that are empty, and write
    down that they are. A session that then fills one with thousands of rows in one transaction
    gets plans for a table of one row.
    """
    with psycopg.connect(url, autocommit=True) as conn:
        for (table,) in conn.execute(
            "select c.oid::regclass::text from pg_class c"
            " where c.relnamespace = 'bpm_core'::regnamespace and c.relkind = 'r'"
        ).fetchall():
            conn.execute(f"alter table {table} set (autovacuum_enabled = off)")
        scratch.run_script(conn, tap.script())
        for helper in sorted(SHARED.glob("*.sql")):
            scratch.run_script(conn, helper.read_text(encoding="utf-8"))


# What nobody vacuums grows with every file that rolls back, and the audit reads whole tables.
_SHRINK = """
do $$
declare
  v_table regclass;
  v_used  boolean;
begin
  for v_table in
    select c.oid from pg_class c
     where c.relnamespace = 'bpm_core'::regnamespace and c.relkind = 'r'
       and pg_relation_size(c.oid) > 262144
       and not exists (select from pg_constraint f where f.confrelid = c.oid and f.contype = 'f')
  loop
    execute format('select exists (select from %s)', v_table) into v_used;
    if not v_used then
      execute format('truncate %s', v_table);
    end if;
  end loop;
end
$$
"""


def shrink(url: str) -> None:
    """Make tables small again that are empty: as new, without statistics."""
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute(_SHRINK)


def run_file(file: Path, url: str) -> int:
    """Run one file with psql and judge its TAP; returns the number of tests.

    Raises AssertionError with the whole output if a test failed, none ran, the plan was not
    kept, the script broke, or it could leave something behind.
    """
    text = file.read_text(encoding="utf-8")
    assert re.search(r"^\s*begin;", text, re.M), f"{file.name}: does not begin a transaction"
    assert text.rstrip().endswith("rollback;"), f"{file.name}: does not end with rollback;"
    command = [psql(), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-f", str(file), "-d", url]
    environment = {**os.environ, "PGOPTIONS": "-c client_min_messages=warning"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=CHECKOUT)
    said = f"{file.relative_to(CHECKOUT)}\n{done.stdout}{done.stderr}"
    assert done.returncode == 0, f"the script broke: {said}"
    return judge(done.stdout, said)


def judge(tap: str, said: str) -> int:
    """Count the tests of a TAP stream; AssertionError with ``said`` if it is not a full success."""
    plans = re.findall(r"^1\.\.(\d+)", tap, re.M)
    results = re.findall(r"^(not ok|ok) \d+(.*)$", tap, re.M)
    failed = [text for word, text in results if word == "not ok" and "# TODO" not in text]
    assert len(plans) == 1, f"{len(plans)} plans instead of one: {said}"
    assert results, f"no test ran: {said}"
    assert not failed, f"{len(failed)} failed: {said}"
    assert len(results) == int(plans[0]), f"planned {plans[0]}, ran {len(results)}: {said}"
    return len(results)


def psql() -> str:
    """The psql that belongs to the test server, else any."""
    beside = scratch.test_binaries().bin_dir / "psql"
    return str(beside) if beside.exists() else "psql"
