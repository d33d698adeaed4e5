"""From the commit that makes a task ready to its handler, on a system that sleeps."""

from __future__ import annotations

import random
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import psycopg

from benchmarks import stamp
from benchmarks.context import Context, Outcome
from benchmarks.runner import runner_process
from benchmarks.server import database
from benchmarks.systems import connect

_PROCESS = """<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="b">
<process id="stamped" isExecutable="true"><startEvent id="start"/><serviceTask id="stamp"/>
<endEvent id="end"/><sequenceFlow id="f1" sourceRef="start" targetRef="stamp"/>
<sequenceFlow id="f2" sourceRef="stamp" targetRef="end"/></process></definitions>"""
_START = "select from bpm.start_process('stamped', p_business_key => %s)"
_PAUSE_S = (0.02, 0.05)
_WARM_UP = 20
_PATIENCE_S = 30.0


def measure_wakeup(context: Context) -> Outcome:
    """One runner process, a plain SQL client that starts an instance now and then.

    From just before COMMIT is sent to the first line of the handler, one machine, one clock. The
    pauses are random, so that they keep no step with anything that polls.
    """
    count = context.sizes.wakeups
    woken = _run(context, count)
    polled = _run(context, max(count // 4, 10), BPM__RUNNER__WAKEUP="false")
    p50, p99 = _quantile(woken, 0.5), _quantile(woken, 0.99)
    context.say(
        f"  woken: p50 {p50:.2f} ms, p99 {p99:.2f} ms, longest {max(woken):.2f} ms;"
        f" by polling alone: p50 {_quantile(polled, 0.5):.1f} ms"
    )
    return Outcome(
        {"wakeup_p50_ms": p50, "wakeup_p99_ms": p99},
        {
            "samples": [round(ms, 3) for ms in woken],
            "wakeup_max_ms": max(woken),
            "polling_p50_ms": _quantile(polled, 0.5),
            "polling_p99_ms": _quantile(polled, 0.99),
        },
    )


def _run(context: Context, count: int, **settings: str) -> list[float]:
    """Milliseconds of ``count`` starts."""
    with tempfile.TemporaryDirectory(prefix="pgbpm-stamps-") as folder:
        stamps = Path(folder) / "stamps"
        stamps.touch()
        settings[stamp.FILE] = str(stamps)
        with (
            database(context.server.url, context.template) as url,
            connect(url) as conn,
            runner_process(url, app="benchmarks.stamp", **settings) as process,
        ):
            conn.execute("select from bpm.deploy_bpmn(p_xml => %s)", [_PROCESS])
            for number in range(_WARM_UP):
                _start(conn, f"warm-{number}")
            _wait(stamps, _WARM_UP, process)
            ready = {}
            for number in range(count):
                time.sleep(random.uniform(*_PAUSE_S))
                ready[f"key-{number}"] = _start(conn, f"key-{number}")
            entered = _wait(stamps, _WARM_UP + count, process)
    return [(entered[key] - at) / 1e6 for key, at in ready.items()]


def _start(conn: psycopg.Connection[Any], key: str) -> int:
    """Start an instance; when its commit was sent."""
    with conn.transaction():
        conn.execute(_START, [key])
        return time.monotonic_ns()


def _wait(stamps: Path, count: int, process: subprocess.Popen[bytes]) -> dict[str, int]:
    deadline = time.monotonic() + _PATIENCE_S
    while len(lines := stamps.read_text().splitlines()) < count:
        if process.poll() is not None:
            raise RuntimeError(f"the runner ended with code {process.returncode}")
        if time.monotonic() > deadline:
            raise RuntimeError(f"{len(lines)} of {count} handlers were entered")
        time.sleep(0.02)
    return {key: int(at) for key, at in (line.split() for line in lines)}


def _quantile(values: list[float], part: float) -> float:
    return sorted(values)[min(int(len(values) * part), len(values) - 1)]
