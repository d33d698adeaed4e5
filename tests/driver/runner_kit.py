"""What the tests of the runner share: small processes, runners in this process and beside it."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

from tests.support.database import TestDatabase

from pgbpm.config import (
    ArtifactsConfig,
    Config,
    DatabaseConfig,
    DeliveryConfig,
    EncryptionConfig,
    RunnerConfig,
)
from pgbpm.db import Database
from pgbpm.runner import Runner
from pgbpm.worker import Worker

CHECKOUT = Path(__file__).resolve().parents[2]
HEAD = (
    '<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"'
    ' xmlns:bpm="urn:pgbpm:bpmn:1" targetNamespace="tests">'
)


def linear(code: str, *types: str) -> str:
    """A process of service tasks one after the other; the node ids are their types."""
    nodes = ["start", *types, "end"]
    flows = "".join(
        f'<sequenceFlow id="f{n}" sourceRef="{a}" targetRef="{b}"/>'
        for n, (a, b) in enumerate(itertools.pairwise(nodes))
    )
    tasks = "".join(f'<serviceTask id="{name}"/>' for name in types)
    return (
        f'{HEAD}<process id="{code}" isExecutable="true"><startEvent id="start"/>{tasks}'
        f'<endEvent id="end"/>{flows}</process></definitions>'
    )


def caught(code: str, task_type: str, error_code: str) -> str:
    """A service task with an error boundary event that leads to an end event ``refused``."""
    return f"""{HEAD}
      <error id="e" errorCode="{error_code}"/>
      <process id="{code}" isExecutable="true">
        <startEvent id="start"/><serviceTask id="{task_type}"/>
        <boundaryEvent id="catch" attachedToRef="{task_type}">
          <errorEventDefinition errorRef="e"/></boundaryEvent>
        <endEvent id="end"/><endEvent id="refused"/>
        <sequenceFlow id="f1" sourceRef="start" targetRef="{task_type}"/>
        <sequenceFlow id="f2" sourceRef="{task_type}" targetRef="end"/>
        <sequenceFlow id="f3" sourceRef="catch" targetRef="refused"/>
      </process></definitions>"""


def deploy(database: TestDatabase, xml: str, tenant: str = "") -> None:
    """Deploy a file."""
    database.rows("select * from bpm.deploy_bpmn(p_xml => %s, p_tenant_id => %s)", [xml, tenant])


def start(
    database: TestDatabase, code: str, count: int = 1, tenant: str = "", **variables: Any
) -> list[str]:
    """Start instances with business keys ``code-1``, ``code-2``, …; their ids."""
    items = [
        {"code": code, "business_key": f"{code}-{n}", "variables": {"n": n, **variables}}
        for n in range(1, count + 1)
    ]
    rows = database.rows(
        "select * from bpm.start_processes(p_items => %s::jsonb, p_tenant_id => %s) s"
        " order by s.item",
        [json.dumps(items), tenant],
    )
    assert [row["outcome"] for row in rows] == ["Done"] * count, rows
    return [str(row["process_instance_id"]) for row in rows]


def publish_task(database: TestDatabase, task_type: str, **settings: Any) -> None:
    """Say how a task type is executed; see ``bpm.publish_task``."""
    arguments = {f"p_{name}": value for name, value in settings.items()}
    given = "".join(f", {name} => %({name})s" for name in arguments)
    database.rows(
        f"select bpm.publish_task(p_task_type => %(task_type)s{given})",
        {"task_type": task_type, **arguments},
    )


def statuses(database: TestDatabase, code: str) -> dict[str, int]:
    """How many instances of a process have which status."""
    rows = database.rows(
        "select i.status, count(*)::int n from bpm.instance i where i.process_code = %s group by 1",
        [code],
    )
    return {row["status"]: row["n"] for row in rows}


def make_runner(
    database: TestDatabase,
    worker: Worker,
    *,
    until_idle: bool = True,
    tenants: list[str] | None = None,
    name: str | None = None,
    url: str | None = None,
    max_connections: int = 10,
    delivery: DeliveryConfig | None = None,
    encryption: EncryptionConfig | None = None,
    artifacts: ArtifactsConfig | None = None,
    **settings: Any,
) -> Runner:
    """A runner for a test's database; ``settings`` are those of ``RunnerConfig``."""
    address = url or database.url
    config = Config(
        database=DatabaseConfig(url=address, max_connections=max_connections),
        runner=dataclasses.replace(RunnerConfig(idle_grace_s=3.0, poll_max_ms=100), **settings),
        delivery=delivery or DeliveryConfig(allow_private_addresses=True),
        encryption=encryption or EncryptionConfig(),
        artifacts=artifacts or ArtifactsConfig(),
    )
    return Runner(
        Database(address, config), worker, until_idle=until_idle, tenants=tenants, name=name
    )


def run_until_idle(database: TestDatabase, worker: Worker, **options: Any) -> Runner:
    """Run a runner until there is nothing to do."""

    async def main() -> Runner:
        runner = make_runner(database, worker, **options)
        await asyncio.wait_for(runner.run(), 60)
        return runner

    return asyncio.run(main())


@contextlib.asynccontextmanager
async def running(database: TestDatabase, worker: Worker, **options: Any) -> AsyncIterator[Runner]:
    """A runner in the background, drained at the end."""
    runner = make_runner(database, worker, until_idle=False, **options)
    serving = asyncio.create_task(runner.run())
    try:
        yield runner
    finally:
        runner.stop()
        await asyncio.wait_for(serving, 60)


async def until(condition: Callable[[], Any], what: str, seconds: float = 20.0) -> Any:
    """Wait for a condition (asked in a thread, so that it may query); its value."""
    deadline = time.monotonic() + seconds
    while not (value := await asyncio.to_thread(condition)):
        assert time.monotonic() < deadline, f"never happened: {what}"
        await asyncio.sleep(0.02)
    return value


def wait_until(condition: Callable[[], Any], what: str, seconds: float = 20.0) -> Any:
    """The same outside of an event loop."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"never happened: {what}"
        time.sleep(0.02)
    return value


@contextlib.contextmanager
def runner_process(
    database: TestDatabase, app: str, folder: Path, *arguments: str, **environment: str
) -> Iterator[subprocess.Popen[str]]:
    """``pgbpm run --app app`` as a process of its own, working in ``folder``; killed at the end."""
    env = {
        **os.environ,
        "BPM__DATABASE__URL": database.url,
        "PYTHONPATH": f"{CHECKOUT / 'python_driver'}:{CHECKOUT}",
        **environment,
    }
    command = [sys.executable, "-m", "tests.driver.bare", "run", "--app", app, *arguments]
    with (folder / "runner.log").open("a") as log:
        process = subprocess.Popen(
            command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=log, text=True
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
            process.kill()
        process.communicate()
