"""One real runner process with handlers that do nothing, fed as fast as it goes."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg

from benchmarks import machine
from benchmarks.context import Context, Outcome, median, spread
from benchmarks.count import Cost, Monitor, per_unit
from benchmarks.server import database, settle
from benchmarks.systems import Engine, connect

CHECKOUT = Path(__file__).resolve().parents[1]
_WARM_UP = 300
_FEED = 100
_PATIENCE_S = 120.0


def measure_runner(context: Context) -> Outcome:
    """Start, three tasks, end through one ``pgbpm run`` process; instances start while it works.

    From the first start to the end of the last instance, by the server's clock.
    """
    rates: list[float] = []
    peaks: list[float] = []
    costs: list[Cost] = []
    for number in range(context.sizes.repeats):
        with database(context.server.url, context.template) as url:
            rate, peak, cost = _one_run(url, context.sizes.runner_instances)
        rates.append(rate)
        peaks.append(peak)
        costs.append(cost)
        context.say(f"  run {number + 1}: {rate:,.0f} instances/s, runner {peak:.0f} MB")
    return Outcome(
        {"instances_per_s_runner": median(rates)},
        {
            "samples": rates,
            "spread": spread(rates),
            **per_unit(costs),
            "instances": context.sizes.runner_instances,
            "runner_peak_mb": max(peaks),
        },
    )


def _one_run(url: str, instances: int) -> tuple[float, float, Cost]:
    monitor = Monitor(url)
    with connect(url) as conn, runner_process(url) as process:
        engine = Engine(conn, "feeder")
        _feed(conn, process, engine, _WARM_UP)
        settle(url)
        with machine.MemoryWatch(process.pid) as memory:
            began = _feed(conn, process, engine, instances)
        seconds = _value(
            conn,
            "select extract(epoch from max(p.ended_at) - %s)::float8"
            "  from bpm_core.process_instance p",
            [began],
        )
    return instances / seconds, memory.peak_mb, monitor.cost(instances + _WARM_UP)


def _feed(
    conn: psycopg.Connection[Any], process: subprocess.Popen[bytes], engine: Engine, count: int
) -> Any:
    """Start instances and wait until all have ended; returns the server's time of the start."""
    began = _value(conn, "select clock_timestamp()")
    for first in range(0, count, _FEED):
        engine.start(min(_FEED, count - first))
    deadline = time.monotonic() + _PATIENCE_S
    live = "select count(*) from bpm_core.workflow_instance w where w.ended_at is null"
    while _value(conn, live):
        if process.poll() is not None:
            raise RuntimeError(f"the runner ended with code {process.returncode}")
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
