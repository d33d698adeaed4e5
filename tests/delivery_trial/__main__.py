"""``python -m tests.delivery_trial``: each case once, then thousands while runners are killed.

Writes ``build/delivery/report.json``; ends with 0 only if nothing was lost, doubled or unlisted.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pgbpm.devtools import scratch
from tests.delivery_trial.cases import all_cases
from tests.delivery_trial.receiver import Misbehaving
from tests.delivery_trial.trial import (
    LATE_S,
    Verdict,
    judge,
    mixed,
    order,
    play_cases,
    prepare,
    unsettled,
)
from tests.support.database import TestDatabase, make_template

CHECKOUT = Path(__file__).resolve().parents[2]
RUNNERS = 2
PATIENCE_S = 600.0


def main() -> int:
    """Command line; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.delivery_trial", description=__doc__)
    parser.add_argument("--commands", type=int, default=10_000, help="default: 10000")
    parser.add_argument("--failing", type=float, default=0.3, help="share treated badly (0.3)")
    parser.add_argument("--kills", type=int, default=8, help="runners killed on the way (8)")
    parser.add_argument("--folder", type=Path, default=CHECKOUT / "build" / "delivery")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    logging.getLogger("pgbpm").setLevel(logging.CRITICAL)
    began = time.monotonic()
    with scratch.scratch_server() as server:
        template = scratch.database_name(make_template(server))
        with scratch.scratch_database(server, template) as url:
            cases = all_cases()
            print(f"{len(cases)} cases: each receiver, each misbehaviour, each death", flush=True)
            verdict, receiver = play_cases(TestDatabase(url), cases)
            report: dict[str, Any] = {"cases": _told(verdict, receiver, len(cases))}
        with scratch.scratch_database(server, template) as url:
            report |= _many(TestDatabase(url), options)
    report["seconds"] = round(time.monotonic() - began, 1)
    report["faults"] = _faults(report)
    file = options.folder / "report.json"
    file.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    print(json.dumps({k: v for k, v in report.items() if k != "unknown_reasons"}, indent=2))
    print(f"{'FAILED' if report['faults'] else 'done'}; report in {file}")
    return 1 if report["faults"] else 0


def _many(database: TestDatabase, options: argparse.Namespace) -> dict[str, Any]:
    """Thousands of commands through runner processes that are killed."""
    cases = mixed(options.commands, options.failing)
    receiver = Misbehaving(LATE_S)
    with receiver.serving():
        prepare(database, receiver, lease_s=4)
        order(database, cases)
        print(
            f"{len(cases)} commands, {options.failing:.0%} of them treated badly;"
            f" {RUNNERS} runners, {options.kills} kills",
            flush=True,
        )
        began = time.monotonic()
        kills = _drive(database, options.folder, options.kills, began)
        seconds = time.monotonic() - began
    database.audit()
    verdict = judge(database, receiver, cases, by_table=False)
    reasons = database.rows(
        "select u.destination_code, u.reason, u.next_step, u.why_not_again, count(*)::int as n"
        "  from bpm.unknown_command u group by 1, 2, 3, 4 order by 5 desc"
    )
    return {
        "commands": len(cases),
        "kills": kills,
        "commands_per_s": round(len(cases) / seconds, 1),
        "unknown_reasons": reasons,
        **_told(verdict, receiver, len(cases)),
    }


def _told(verdict: Verdict, receiver: Misbehaving, commands: int) -> dict[str, Any]:
    return {
        "commands": commands,
        "sent": verdict.states["Sent"],
        "failed": verdict.states["Failed"],
        "unknown": verdict.states["Unknown"],
        "unlisted": verdict.unlisted,
        "lost": verdict.lost,
        "doubled_where_keyed": verdict.doubled_where_keyed,
        "not_as_the_table_says": verdict.wrong,
        "requests": sum(receiver.book.requests.values()),
        "probes": receiver.book.probes,
    }


def _faults(report: dict[str, Any]) -> list[str]:
    faults = list(report["cases"]["not_as_the_table_says"])
    for part in (report, report["cases"]):
        faults += [f"{part[k]} {k}" for k in ("lost", "doubled_where_keyed", "unlisted") if part[k]]
        if part["sent"] + part["failed"] + part["unknown"] != part["commands"]:
            faults.append("states do not add up")
    return faults


def _drive(database: TestDatabase, folder: Path, kills: int, began: float) -> int:
    """Runners until nothing moves by itself; how many were killed."""
    chance = random.Random(7)
    killed = 0
    with contextlib.ExitStack() as stack:
        runners = [stack.enter_context(_runner(database, folder)) for _ in range(RUNNERS)]
        next_kill = began + 2.0
        while unsettled(database):
            assert time.monotonic() < began + PATIENCE_S, "commands still move"
            if killed < kills and time.monotonic() > next_kill:
                victim = chance.randrange(RUNNERS)
                runners[victim].send_signal(signal.SIGKILL)
                runners[victim].wait()
                killed += 1
                runners[victim] = stack.enter_context(_runner(database, folder))
                next_kill = time.monotonic() + chance.uniform(1.0, 3.0)
            assert all(runner.poll() is None for runner in runners), "a runner ended"
            time.sleep(0.2)
    return killed


@contextlib.contextmanager
def _runner(database: TestDatabase, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    (folder / "trial_app.py").write_text("from pgbpm.worker import Worker\nworker = Worker()\n")
    env = {
        **os.environ,
        "BPM__DATABASE__URL": database.url,
        "BPM__DELIVERY__ALLOW_PRIVATE_ADDRESSES": "true",
        "BPM__DELIVERY__CONCURRENCY": "100",
        "PYTHONPATH": f"{CHECKOUT / 'python_driver'}:{CHECKOUT}",
    }
    with (folder / "runner.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "pgbpm", "run", "--app", "trial_app"],
            cwd=folder, env=env, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(60)


if __name__ == "__main__":
    sys.exit(main())
