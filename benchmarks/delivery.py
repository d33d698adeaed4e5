"""Commands through one runner process to a receiver on the loopback."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from benchmarks.context import Context, Outcome, median, spread
from benchmarks.count import Cost, Monitor, per_unit, told
from benchmarks.runner import CHECKOUT, runner_process
from benchmarks.server import database, settle
from benchmarks.systems import connect

_FEED = 500
_PATIENCE_S = 180.0
_XML = """<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
  xmlns:bpm="urn:pgbpm:bpmn:1" targetNamespace="bench"><process id="posting" isExecutable="true">
  <startEvent id="start"/><sendTask id="post" bpm:destination="sink"/><endEvent id="end"/>
  <sequenceFlow id="f1" sourceRef="start" targetRef="post"/>
  <sequenceFlow id="f2" sourceRef="post" targetRef="end"/></process></definitions>"""


def measure_delivery(context: Context) -> Outcome:
    """Commands claimed, sent over HTTP and marked by one ``pgbpm run`` process, all waiting.

    From the first claim to the last mark, by the server's clock.
    """
    rates: list[float] = []
    costs: list[Cost] = []
    with _sink() as port:
        for number in range(context.sizes.repeats):
            with database(context.server.url, context.template) as url:
                rate, cost = _one_run(url, port, context.sizes.commands)
            rates.append(rate)
            costs.append(cost)
            context.say(f"  run {number + 1}: {rate:,.0f} commands/s")
    return Outcome(
        {"commands_per_s": median(rates)},
        {
            "samples": rates,
            "spread": spread(rates),
            "commands": context.sizes.commands,
            **per_unit(costs),
        },
    )


def _one_run(url: str, port: int, commands: int) -> tuple[float, Cost]:
    with connect(url) as conn:
        conn.execute("select * from bpm.deploy_bpmn(p_xml => %s)", [_XML])
        conn.execute(
            "select bpm.register_destination(p_code => 'sink', p_config => %s::jsonb,"
            " p_resend_allowed => true)",
            [json.dumps({"url": f"http://127.0.0.1:{port}/"})],
        )
        for first in range(0, commands, _FEED):
            items = [
                {"code": "posting", "variables": {"order": n, "amount": 12.5, "to": "A-1"}}
                for n in range(first, min(first + _FEED, commands))
            ]
            conn.execute("select count(*) from bpm.start_processes(%s)", [Jsonb(items)])
        settle(url)
        told(conn)
        monitor = Monitor(url)
        with runner_process(
            url,
            BPM__DELIVERY__ALLOW_PRIVATE_ADDRESSES="true",
            BPM__DELIVERY__CONCURRENCY="100",
        ) as process:
            _wait(conn, process, commands)
        rate = _value(
            conn,
            "select count(*) / extract(epoch from max(a.ended_at) - min(a.claimed_at))::float8"
            "  from bpm_core.delivery_attempt a",
        )
    return float(rate), monitor.cost(commands)


def _wait(conn: psycopg.Connection[Any], process: subprocess.Popen[bytes], commands: int) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while _value(conn, "select count(*) from bpm_core.delivery_attempt") < commands:
        if process.poll() is not None:
            raise RuntimeError(f"the runner ended with code {process.returncode}")
        if time.monotonic() > deadline:
            raise RuntimeError(f"commands were not sent within {_PATIENCE_S:g} s")
        time.sleep(0.1)
    states = _value(conn, "select array_agg(distinct c.state) from bpm_core.outbox c")
    if states not in (["Sent"], "{Sent}"):
        raise RuntimeError(f"commands ended {states}")


@contextlib.contextmanager
def _sink() -> Iterator[int]:
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.sink"], cwd=CHECKOUT, stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()


def _value(conn: psycopg.Connection[Any], query: Any) -> Any:
    row = conn.execute(query).fetchone()
    assert row is not None
    return row[0]
