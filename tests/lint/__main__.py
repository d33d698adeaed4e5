"""``make lint``: every check runs, all findings are shown, any finding fails."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from pgbpm import migrations, schema_diff
from pgbpm.devtools import baseline
from tests.lint import merges, spot, sql_rules

CHECKOUT = Path(__file__).resolve().parents[2]
PYTHON_PLACES = [
    place
    for place in ("python_driver", "tests", "benchmarks", "hatch_build.py")
    if (CHECKOUT / place).exists()
]


def tool(*command: str) -> Callable[[], list[str]]:
    """A check that is a program: what it says is what it found, if it fails."""

    def check() -> list[str]:
        done = subprocess.run(
            [sys.executable, "-m", *command], cwd=CHECKOUT, capture_output=True, text=True
        )
        return [(done.stdout + done.stderr).strip()] if done.returncode else []

    return check


def sql_rules_of_ours() -> list[str]:
    """The rules of :mod:`tests.lint.sql_rules` over ``sql/``."""
    return sql_rules.check_tree(CHECKOUT / "sql")


def security() -> list[str]:
    """pgspot over ``sql/``, and that what a migration creates is resolved in pg_catalog alone."""
    found = spot.check_tree(CHECKOUT / "sql")
    for migration in migrations.load():
        if schema_diff.PINNED not in migration.text.splitlines():
            found.append(f"migrations/{migration.name}.sql: lacks {schema_diff.PINNED!r}")
    return found


def migrations_are_finished() -> list[str]:
    """No line waits for a person, names are in order, and the baseline is what sql/ says."""
    found = [
        f"migrations/{m.name}.sql: lines that start with {schema_diff.HAND_MARK!r} wait for you"
        for m in migrations.load()
        if schema_diff.HAND_MARK in m.text
    ]
    if baseline.is_stale():
        found.append("migrations/ lag behind sql/: run make baseline")
    return found


CHECKS: dict[str, Callable[[], list[str]]] = {
    "ruff": tool("ruff", "check", "--quiet", *PYTHON_PLACES),
    "ruff format": tool("ruff", "format", "--check", "--quiet", *PYTHON_PLACES),
    "mypy": tool("mypy"),
    "sqlfluff": tool("sqlfluff", "lint", "--processes", "2", "--nocolor", "sql"),
    "rules of sql/": sql_rules_of_ours,
    "pgspot": security,
    "migrations": migrations_are_finished,
    "merges": lambda: merges.check_tree(CHECKOUT),
}


def main() -> int:
    """Run all checks; 1 if any found something."""
    failed = False
    for name, check in CHECKS.items():
        begin = time.monotonic()
        findings = check()
        failed |= bool(findings)
        verdict = f"{len(findings)} found" if findings else "clean"
        print(f"lint: {name}: {verdict} ({time.monotonic() - begin:.1f} s)", flush=True)
        for finding in findings:
            print(finding, flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
