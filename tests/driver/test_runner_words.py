"""What a runner says when it serves nothing, waits for others, or has lost its database."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from tests.driver.runner_kit import (
    HEAD,
    deploy,
    linear,
    make_runner,
    publish_task,
    run_until_idle,
    running,
    start,
    until,
)
from tests.support.database import TestDatabase

from pgbpm.places import user_place
from pgbpm.repeat import GaveUp, Repeater
from pgbpm.worker import Task, Worker


def said(caplog: pytest.LogCaptureFixture, words: str) -> list[str]:
    return [r.getMessage() for r in caplog.records if words in r.getMessage()]


@pytest.fixture(autouse=True)
def _levels(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "pgbpm")


# -- nothing served ------------------------------------------------------------------------------


def test_tasks_without_a_handler_are_told_once(
    database: TestDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    deploy(database, linear("lonely", "nobodys"))
    start(database, "lonely", 2)
    worker = Worker()
    worker.task("another")(lambda task: None)
    run_until_idle(database, worker)
    assert said(caplog, "no handler here") == ["2 ready tasks of type nobodys have no handler here"]
    caplog.clear()
    worker.task("nobodys")(lambda task: None)
    run_until_idle(database, worker)
    assert said(caplog, "no handler here") == []


def test_a_runner_that_stays_tells_when_it_is_idle(
    database: TestDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    deploy(database, linear("lonely-too", "nobodys-too"))
    start(database, "lonely-too")

    async def main() -> None:
        async with running(database, Worker()):
            await until(lambda: said(caplog, "type nobodys-too has no"), "told")

    asyncio.run(main())


@pytest.fixture
def login(fresh_database: TestDatabase) -> str:
    """A login without any grant; its connection string."""
    name = f"{fresh_database.name}_login"
    with fresh_database.connect() as conn:
        conn.execute(sql.SQL("create role {} login").format(sql.Identifier(name)))
    return psycopg.conninfo.make_conninfo(fresh_database.url, user=name)


def test_a_login_for_no_tenant(
    fresh_database: TestDatabase, login: str, caplog: pytest.LogCaptureFixture
) -> None:
    name = psycopg.conninfo.conninfo_to_dict(login)["user"]
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        asyncio.run(make_runner(fresh_database, Worker(), url=login).run())
    fresh_database.rows(f'grant bpm_worker to "{name}"')
    with pytest.raises(Exception, match=f"role {name} is granted worker for no active tenant") as e:
        asyncio.run(make_runner(fresh_database, Worker(), url=login).run())
    assert f"bpm.grant_access('{name}', '', 'worker')" in str(e.value)

    async def main() -> None:
        runner = make_runner(fresh_database, Worker(), url=login, until_idle=False)
        serving = asyncio.create_task(runner.run())
        await until(lambda: said(caplog, "for no active tenant"), "told")
        runner.stop()
        await serving

    asyncio.run(main())
    fresh_database.rows(
        "select bpm.grant_access(p_role => %s, p_tenant_pattern => '', p_capability => 'worker')",
        [name],
    )
    assert run_until_idle(fresh_database, Worker(), url=login).summary() == "nothing to do"
    fresh_database.rows(f'drop owned by "{name}"')
    fresh_database.rows(f'drop role "{name}"')


def test_what_others_hold_is_waited_for_and_told_once(
    fresh_database: TestDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    deploy(fresh_database, linear("shared", "theirs"))
    start(fresh_database, "shared")
    [task] = fresh_database.rows("select * from bpm.claim_tasks('other', '{theirs}', 1)")

    async def main() -> None:
        runner = make_runner(fresh_database, Worker())
        serving = asyncio.create_task(runner.run())
        await until(lambda: said(caplog, "waiting for others, who hold leases: 1"), "told")
        await asyncio.to_thread(
            fresh_database.rows,
            "select bpm.complete_task(p_task_id => %s, p_fencing_token => %s)",
            [task["task_id"], task["fencing_token"]],
        )
        await asyncio.wait_for(serving, 60)

    asyncio.run(main())
    assert len(said(caplog, "waiting for others")) == 1


# -- the database is gone ------------------------------------------------------------------------


def test_it_is_told_now_and_then_that_the_database_is_still_gone(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pgbpm.repeat._TELL_AGAIN_S", 0.2)

    async def main() -> None:
        repeater = Repeater()
        repeater.give_up_at = asyncio.get_running_loop().time() + 1.0

        async def call() -> None:
            raise psycopg.OperationalError("no server")

        with pytest.raises(GaveUp):
            await repeater("tick", call)

    asyncio.run(main())
    assert len(said(caplog, "lost the database")) == 1
    assert 1 <= len(said(caplog, "still no database (")) <= 3


def test_without_a_database_it_leaves_at_once_and_says_so_in_one_line(
    fresh_database: TestDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    deploy(fresh_database, linear("cut-off", "long", "never"))
    start(fresh_database, "cut-off", 3)
    worker = Worker()
    at_work = []

    @worker.task("long")
    async def long(task: Task) -> None:
        at_work.append(task.task_id)
        await asyncio.sleep(60)

    name = fresh_database.name
    with psycopg.connect(fresh_database.url, dbname="postgres", autocommit=True) as admin:

        def allow(yes: bool) -> None:
            admin.execute(
                sql.SQL("alter database {} with allow_connections {}").format(
                    sql.Identifier(name), sql.Literal(yes)
                )
            )
            admin.execute(
                "select pg_terminate_backend(a.pid) from pg_stat_activity a where a.datname = %s",
                [name],
            )

        async def main() -> float:
            runner = make_runner(fresh_database, worker, until_idle=False)
            serving = asyncio.create_task(runner.run())
            await until(lambda: len(at_work) == 3, "at work")
            allow(False)
            await until(lambda: runner.away, "noticed")
            caplog.clear()
            began = time.monotonic()
            runner.stop()
            await asyncio.wait_for(serving, 60)
            return time.monotonic() - began

        try:
            assert asyncio.run(main()) < 8
        finally:
            allow(True)
    lines = [r.getMessage() for r in caplog.records if r.name == "pgbpm.runner"]
    assert len(lines) == 1
    assert "the database is gone" in lines[0]
    assert "leases that run out by themselves: 3" in lines[0]


# -- a handler that fails ------------------------------------------------------------------------


def test_a_failing_handler_is_told_with_its_place_and_its_traceback_at_debug(
    database: TestDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    publish_task(database, "looks-up", max_attempts=1)
    deploy(database, linear("failing", "looks-up"))
    start(database, "failing")
    worker = Worker()

    @worker.task("looks-up")
    async def looks_up(task: Task) -> None:
        json.loads('{"n": 1}')["dept"]

    line = looks_up.__code__.co_firstlineno + 2
    run_until_idle(database, worker)
    [told] = said(caplog, "failed in attempt 1")
    assert "KeyError: 'dept' (" in told
    assert told.endswith(f"{Path(__file__).name}:{line})")
    assert said(caplog, "traceback of") == []
    caplog.set_level(logging.DEBUG, "pgbpm")
    start(database, "failing", 2)
    run_until_idle(database, worker)
    assert "in looks_up" in said(caplog, "traceback of looks-up")[0]


def test_the_place_of_an_error_in_a_library_is_where_it_was_called() -> None:
    with pytest.raises(ValueError, match="property name") as caught:
        json.loads("{")
    here = user_place(caught.value)
    assert here is not None
    assert here.endswith(f"{Path(__file__).name}:{caught.tb.tb_lineno}")
    assert user_place(ValueError("never raised")) is None


# -- the summary ---------------------------------------------------------------------------------

TIMED = f"""{HEAD}<process id="timed" isExecutable="true"><startEvent id="start"/>
  <intermediateCatchEvent id="pause"><timerEventDefinition><timeDuration>PT0.2S</timeDuration>
  </timerEventDefinition></intermediateCatchEvent><endEvent id="end"/>
  <sequenceFlow id="f1" sourceRef="start" targetRef="pause"/>
  <sequenceFlow id="f2" sourceRef="pause" targetRef="end"/></process></definitions>"""


def test_what_ticks_did_counts_as_something_done(database: TestDatabase) -> None:
    deploy(database, TIMED)
    start(database, "timed")
    assert run_until_idle(database, Worker()).summary() == "driven: timers 1"
