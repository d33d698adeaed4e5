"""The runner and the command line through PgBouncer in transaction mode."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from benchmarks.pooler import Pooler, missing, pooler
from tests.driver.runner_kit import (
    CHECKOUT,
    deploy,
    linear,
    make_runner,
    publish_task,
    start,
    statuses,
    until,
)
from tests.driver.test_wakeup import NEVER, asleep, recording
from tests.support.database import TestDatabase

from pgbpm.config import Config, DatabaseConfig
from pgbpm.db import Database
from pgbpm.runner import Runner
from pgbpm.way import Way
from pgbpm.worker import Worker

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))


@pytest.fixture(scope="module")
def bouncer(server_url: str) -> Iterator[Pooler]:
    """A pooler with few connections to the server, so that sessions are really shared."""
    with pooler(server_url, pool_size=3) as one:
        yield one


def _runner(url: str, worker: Worker, *, listen_url: str | None = None, **settings: Any) -> Runner:
    runner = make_runner(TestDatabase(url), worker, until_idle=False, **settings)
    config = runner._config
    there = dataclasses.replace(config.database, listen_url=listen_url)
    return Runner(Database(url, dataclasses.replace(config, database=there)), worker)


def test_a_runner_and_the_command_line_work_through_it(
    database: TestDatabase, bouncer: Pooler, caplog: pytest.LogCaptureFixture
) -> None:
    deploy(database, linear("pooled", "pooled-a", "pooled-b", "pooled-c"))
    worker, seen = recording("pooled-a", "pooled-b", "pooled-c")
    url = bouncer.url_of(database.url)
    environment = {
        **os.environ,
        "BPM__DATABASE__URL": url,
        "BPM__DATABASE__MIGRATE_ON_START": "false",
        "PYTHONPATH": f"{CHECKOUT / 'python_driver'}:{CHECKOUT}",
    }
    command = [sys.executable, "-m", "tests.driver.bare", "start", "pooled", "--json"]

    async def main() -> None:
        runners = [_runner(url, worker, poll_max_ms=50) for _ in range(2)]
        serving = [asyncio.create_task(runner.run()) for runner in runners]
        await asyncio.to_thread(start, TestDatabase(url), "pooled", 300)
        told = await asyncio.to_thread(
            subprocess.run, command, env=environment, capture_output=True, text=True, check=False
        )
        assert told.returncode == 0, told.stderr
        assert json.loads(told.stdout)["is_new"] is True
        await until(lambda: statuses(database, "pooled") == {"Completed": 301}, "completed", 60)
        for runner in runners:
            runner.stop()
        await asyncio.gather(*serving)
        assert sum(runner.results.counts["Completed"] for runner in runners) == 903

    with caplog.at_level(logging.INFO, "pgbpm"):
        asyncio.run(main())
    assert len(seen) == 903
    assert caplog.text.count("through a pooler: statements are not prepared") == 2
    assert "prepared statement" not in caplog.text


def test_the_pooler_is_killed_and_comes_back(database: TestDatabase, bouncer: Pooler) -> None:
    """A-21: and connections behind it die inside transactions. Nothing is lost."""
    names = ("shot-a", "shot-b", "shot-c")
    for name in names:  # a claim whose answer is lost uses up an attempt
        publish_task(database, name, max_attempts=50, backoff="0 seconds")
    deploy(database, linear("shot", *names))
    worker, _ = recording(*names)
    url = bouncer.url_of(database.url)
    kill = (
        "select pg_terminate_backend(pid) from pg_stat_activity"
        " where application_name like 'pgbpm/%' and datname = current_database()"
    )

    async def main() -> None:
        runner = _runner(url, worker, lease_s=1, poll_max_ms=50)
        serving = asyncio.create_task(runner.run())
        for number in range(6):
            await asyncio.to_thread(start, database, "shot", 30)
            if number % 2:
                bouncer.kill()
                await asyncio.sleep(0.1)
                bouncer.start()
            else:
                await asyncio.to_thread(database.rows, kill)
            await asyncio.sleep(0.1)
        await until(lambda: statuses(database, "shot") == {"Completed": 180}, "completed", 60)
        runner.stop()
        await serving

    asyncio.run(main())
    stored = database.value(
        "select count(*)::int n from bpm.execution e join bpm.instance i using (tenant_id,"
        " workflow_instance_id) where i.process_code = 'shot' and e.state = 'Succeeded'"
    )
    assert stored == 540


def test_wake_ups_come_over_a_direct_connection(database: TestDatabase, bouncer: Pooler) -> None:
    deploy(database, linear("direct", "direct-a"))
    worker, seen = recording("direct-a")

    async def main() -> None:
        runner = _runner(bouncer.url_of(database.url), worker, listen_url=database.url, **NEVER)
        serving = asyncio.create_task(runner.run())
        await asleep(database)
        await asyncio.to_thread(start, TestDatabase(bouncer.url_of(database.url)), "direct")
        await until(lambda: seen, "woken")
        runner.stop()
        await serving

    asyncio.run(main())


def test_a_direct_way_that_is_none_is_told(
    database: TestDatabase, bouncer: Pooler, caplog: pytest.LogCaptureFixture
) -> None:
    url = bouncer.url_of(database.url)

    async def ask(**settings: object) -> tuple[bool | None, bool]:
        config = Config(database=DatabaseConfig(url=url, **settings))  # type: ignore[arg-type]
        way = Way(Database(url, config))
        async with way.pool:
            await way.pool.wait()
            if way.listens() and way.pooler:
                with pytest.raises(psycopg.OperationalError, match="in the way"):
                    await way.direct("wakeup")
            return way.pooler, way.listens()

    assert asyncio.run(ask()) == (True, False)
    assert asyncio.run(ask(pooler=False)) == (False, True)  # it keeps sessions
    with caplog.at_level(logging.WARNING, "pgbpm"):
        assert asyncio.run(ask(listen_url=url)) == (True, True)
    assert "listen_url leads through a pooler" in caplog.text
