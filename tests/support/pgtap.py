"""Running pgTAP files, and getting pgTAP itself from wherever it can be had.

pgTAP is taken from, in this order: the file ``PGTAP_SQL`` names; the extension installed with the
server; Debian's package, unpacked but not installed; the npm package of PGlite's pgTAP. Where none
can be had its tests are skipped with a word, unless ``PGBPM_REQUIRE_PGTAP=1``.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import psycopg
import pytest

from pgbpm.devtools import scratch

CHECKOUT = Path(__file__).resolve().parents[2]
TESTS = CHECKOUT / "tests"
CACHE = CHECKOUT / "build" / "pgtap"
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
        lines = self.file.read_text(encoding="utf-8").splitlines()
        return "\n".join(line for line in lines if not line.startswith("\\"))


def _named() -> Path | None:
    name = os.environ.get("PGTAP_SQL")
    if not name:
        return None
    if not Path(name).is_file():
        raise pytest.UsageError(f"PGTAP_SQL: {name} does not exist")
    return Path(name)


def _installed() -> Path | None:
    try:
        program = scratch.test_binaries().bin_dir / "pg_config"
        share = subprocess.run(
            [program, "--sharedir"], capture_output=True, text=True, check=True
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None
    return _newest((Path(share) / "extension").glob("pgtap--*.sql"))


def _debian() -> Path | None:
    cached = _newest((CACHE / "debian").rglob("pgtap--*.sql"))
    if cached or not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        return cached
    with tempfile.TemporaryDirectory() as folder:
        names = ["postgresql-15-pgtap", "postgresql-17-pgtap"]
        if not any(_runs(["apt-get", "download", name], folder) for name in names):
            return None
        package = next(Path(folder).glob("*.deb"))
        (CACHE / "debian").mkdir(parents=True, exist_ok=True)
        _runs(["dpkg-deb", "-x", str(package), str(CACHE / "debian")], folder)
    return _newest((CACHE / "debian").rglob("pgtap--*.sql"))


def _npm() -> Path | None:
    cached = _newest((CACHE / "npm").rglob("pgtap--*.sql"))
    if cached or not shutil.which("npm"):
        return cached
    with tempfile.TemporaryDirectory() as folder:
        if not _runs(["npm", "pack", "--silent", "@electric-sql/pglite-pgtap"], folder):
            return None
        (CACHE / "npm").mkdir(parents=True, exist_ok=True)
        for archive in Path(folder).glob("*.tgz"):
            _unpack(archive, CACHE / "npm")
        for archive in list((CACHE / "npm").rglob("*.tar.gz")):
            _unpack(archive, CACHE / "npm")
    return _newest((CACHE / "npm").rglob("pgtap--*.sql"))


_SOURCES = {
    "PGTAP_SQL": _named,
    "installed extension": _installed,
    "Debian's package": _debian,
    "npm package": _npm,
}


def _runs(command: list[str], folder: str) -> bool:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, timeout=120)
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0


def _unpack(archive: Path, target: Path) -> None:
    with tarfile.open(archive) as tar:
        tar.extractall(target, filter="data")


def _newest(files: Iterable[Path]) -> Path | None:
    """The full script (pgtap--1.2.0.sql) of the highest version, not an upgrade (a--b.sql)."""
    numbered = [
        (tuple(int(n) for n in match.group(1).split(".")), file)
        for file in files
        if (match := re.fullmatch(r"pgtap--([\d.]+)\.sql", file.name))
    ]
    return max(numbered)[1] if numbered else None


# -- running ------------------------------------------------------------------------------------


def files() -> list[Path]:
    """All pgTAP files, in order."""
    return [f for f in sorted((TESTS / "pgtap").rglob("*.sql")) if SHARED not in f.parents]


def prepare(url: str, tap: PgTapSource) -> None:
    """Load pgTAP and the shared helpers into a database."""
    with psycopg.connect(url, autocommit=True) as conn:
        scratch.run_script(conn, tap.script())
        for helper in sorted(SHARED.glob("*.sql")):
            scratch.run_script(conn, helper.read_text(encoding="utf-8"))


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
