"""Real runner processes with handlers that do nothing, fed as fast as they go."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from benchmarks import machine
from benchmarks.context import Context, Outcome, median, spread
from benchmarks.count import Cost, Monitor, per_unit
from benchmarks.server import database, settle
from benchmarks.systems import Engine, connect
from pgbpm.wakeup import CHANNEL

CHECKOUT = Path(__file__).resolve().parents[1]
_WARM_UP = 300
_FEED = 100
_PATIENCE_S = 120.0


@dataclass(frozen=True, slots=True)
class _Run:
    """One run: instances/s, and of all runner processes together: peak memory, CPU time of an
    instance in ms; notifications heard while it lasted."""

    rate: float
    peak_mb: float
    cpu_ms: float
    notified: int
    cost: Cost


def measure_runner(context: Context) -> Outcome:
    """Start, three tasks, end through one and through two ``pgbpm run`` processes; instances
    start while they work.

    From the first start to the end of the last instance, by the server's clock.
    """
    runs: dict[int, list[_Run]] = {1: [], 2: []}
    for number in range(context.sizes.repeats):
        for processes, done in runs.items():
            with database(context.server.url, context.template) as url:
                run = _one_run(url, context.sizes.runner_instances, processes)
            done.append(run)
            context.say(
                f"  run {number + 1}, {processes} processes: {run.rate:,.0f} instances/s,"
                f" runners {run.peak_mb:.0f} MB, {run.cpu_ms:.2f} ms CPU an instance,"
                f" {run.notified} notifications"
            )
    one, two = ([run.rate for run in done] for done in runs.values())
    return Outcome(
        {"instances_per_s_runner": median(one), "instances_per_s_runner2": median(two)},
        {
            "samples": one,
            "samples2": two,
            "spread": spread(one),
            "spread2": spread(two),
            **per_unit([run.cost for run in runs[1]]),
            "instances": context.sizes.runner_instances,
            "runner_peak_mb": max(run.peak_mb for run in runs[1]),
            "runner_cpu_ms": median([run.cpu_ms for run in runs[1]]),
            "runner2_cpu_ms": median([run.cpu_ms for run in runs[2]]),
            "notifications": max(run.notified for done in runs.values() for run in done),
        },
    )


def _one_run(url: str, instances: int, processes: int) -> _Run:
    monitor = Monitor(url)
    with contextlib.ExitStack() as stack:
        conn, ear = stack.enter_context(connect(url)), stack.enter_context(connect(url))
        runners = [stack.enter_context(runner_process(url)) for _ in range(processes)]
        engine = Engine(conn, "feeder")
        _feed(conn, runners, engine, _WARM_UP)
        settle(url)
        watches = [stack.enter_context(machine.MemoryWatch(one.pid)) for one in runners]
        spent = sum(machine.cpu_seconds(one.pid) for one in runners)
        ear.execute(sql.SQL("listen {}").format(sql.Identifier(CHANNEL)))
        began = _feed(conn, runners, engine, instances)
        spent = sum(machine.cpu_seconds(one.pid) for one in runners) - spent
        notified = sum(1 for _ in ear.notifies(timeout=0))
        seconds = _value(
            conn,
            "select extract(epoch from max(p.ended_at) - %s)::float8"
            "  from bpm_core.process_instance p",
            [began],
        )
    peak = sum(watch.peak_mb for watch in watches)
    cost = monitor.cost(instances + _WARM_UP)
    return _Run(instances / seconds, peak, spent / instances * 1000, notified, cost)


def _feed(
    conn: psycopg.Connection[Any],
    runners: Sequence[subprocess.Popen[bytes]],
    engine: Engine,
    count: int,
) -> Any:
    """Start instances and wait until all have ended; returns the server's time of the start."""
    began = _value(conn, "select clock_timestamp()")
    for first in range(0, count, _FEED):
        engine.start(min(_FEED, count - first))
    deadline = time.monotonic() + _PATIENCE_S
    live = "select count(*) from bpm_core.workflow_instance w where w.ended_at is null"
    while _value(conn, live):
        for runner in runners:
            if runner.poll() is not None:
                raise RuntimeError(f"a runner ended with code {runner.returncode}")
        if time.monotonic() > deadline:
            raise RuntimeError(f"instances did not end within {_PATIENCE_S:g} s")
        time.sleep(0.05)
    return began


@contextlib.contextmanager
def runner_process(
    url: str, *, app: str = "benchmarks.noop", **settings: str
) -> Iterator[subprocess.Popen[bytes]]:
    """``pgbpm run`` in a process of its own; what it says is shown if it fails."""
    environment = {
        **os.environ,
        "BPM__DATABASE__URL": url,
        "BPM__DATABASE__MIGRATE_ON_START": "false",
        **settings,
    }
    command = [sys.executable, "-m", "pgbpm", "run", "--app", app]
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            command,
            cwd=CHECKOUT,
            env=environment,
            stdout=said,
            stderr=said,
            stdin=subprocess.DEVNULL,
        )
        try:
            yield process
        except BaseException:
            said.seek(0)
            sys.stderr.write(said.read().decode(errors="replace")[-4000:])
            raise
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _value(conn: psycopg.Connection[Any], query: Any, params: list[Any] | None = None) -> Any:
    row = conn.execute(query, params).fetchone()
    assert row is not None
    return row[0]
