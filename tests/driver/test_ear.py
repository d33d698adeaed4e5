"""The connection that listens, and claims what it heard of."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import time
from collections.abc import AsyncIterator

import psycopg
import pytest
from psycopg.rows import dict_row
from tests.driver.runner_kit import deploy, linear, running, start, statuses, until
from tests.driver.test_wakeup import NEVER, asleep, recording
from tests.support.database import TestDatabase

from pgbpm import wakeup
from pgbpm.db import AsyncConnection
from pgbpm.ear import Ear
from pgbpm.gateway import _array
from pgbpm.pacing import Look, Rounds
from pgbpm.worker import Task, Worker

STATEMENT = "ask (text, int) as select $1, 12 / $2, null::text"


@contextlib.asynccontextmanager
async def listening(database: TestDatabase, told: list[str]) -> AsyncIterator[Ear]:
    """An ear; ``told`` gets the payloads."""
    async with await AsyncConnection.connect(
        database.url, autocommit=True, row_factory=dict_row
    ) as connection:
        ear = Ear(connection, lambda payload, pid: told.append(payload))
        await ear.listen("ear_test", STATEMENT)
        yield ear


def tell(database: TestDatabase, payload: str) -> None:
    """Notify."""
    database.rows("select pg_notify('ear_test', %s)", [payload])


def test_it_hears_and_answers(database: TestDatabase) -> None:
    told: list[str] = []

    async def main() -> None:
        async with listening(database, told) as ear:
            for number in range(1, 4):
                await asyncio.to_thread(tell, database, f"số {number}")
                await until(lambda: len(told) == number, "heard")  # noqa: B023
                answer = ear.ask(["ä", str(number)])
                assert not ear.free
                assert await answer == ["ä".encode(), str(12 // number).encode(), None]
                assert ear.free
            assert await ear.ask(["x", "0"]) is None  # refused: division by zero
            assert await ear.ask([None, "2"]) == [None, b"6", None]
            long = "x" * 2_000_000  # more than the socket takes at once
            assert await ear.ask([long, "1"]) == [long.encode(), b"12", None]

    asyncio.run(main())
    assert told == ["số 1", "số 2", "số 3"]


def test_what_comes_behind_an_answer_is_heard(database: TestDatabase) -> None:
    """Both are read at once, and the socket will not say again that there is something."""
    told: list[str] = []

    async def main() -> None:
        async with await AsyncConnection.connect(database.url, autocommit=True) as connection:
            ear = Ear(connection, lambda payload, pid: told.append(payload))
            await ear.listen("ear_test", "ask as select 'answer'")
            answer = ear.ask([])
            with socket.socket(fileno=os.dup(connection.fileno())) as same:
                _until_there(same, b"answer")  # the event loop does not read meanwhile
                tell(database, "behind it")
                _until_there(same, b"behind it")
            assert await answer == [b"answer"]
            await until(lambda: told == ["behind it"], "heard")

    asyncio.run(main())


def _until_there(one: socket.socket, what: bytes) -> None:
    deadline = time.monotonic() + 20
    one.setblocking(False)
    while True:
        with contextlib.suppress(BlockingIOError):
            if what in one.recv(1 << 16, socket.MSG_PEEK):
                return
        assert time.monotonic() < deadline, f"never came: {what!r}"


def test_a_lost_connection_is_told_to_who_waits(database: TestDatabase) -> None:
    async def main() -> None:
        async with await AsyncConnection.connect(database.url, autocommit=True) as connection:
            ear = Ear(connection, lambda payload, pid: None)
            await ear.listen("ear_test", "ask as select pg_sleep(60)")
            losing = asyncio.create_task(ear.until_lost())
            answer = ear.ask([])
            pid = connection.info.backend_pid
            await asyncio.to_thread(database.rows, f"select pg_terminate_backend({pid})")
            for waiting in (answer, losing):
                with pytest.raises(psycopg.OperationalError):
                    await asyncio.wait_for(waiting, 10)
            assert not ear.free

    asyncio.run(main())


def test_who_gives_up_waiting_gives_up_the_connection(database: TestDatabase) -> None:
    async def main() -> None:
        async with await AsyncConnection.connect(database.url, autocommit=True) as connection:
            ear = Ear(connection, lambda payload, pid: None)
            await ear.listen("ear_test", "ask as select pg_sleep(60)")
            answer = ear.ask([])
            ear.give_up()
            assert not ear.free
            for waiting in (answer, ear.until_lost()):
                with pytest.raises(psycopg.OperationalError, match="in time"):
                    await waiting

    asyncio.run(main())


def test_a_woken_runner_claims_where_it_listens(database: TestDatabase) -> None:
    deploy(database, linear("over-ear", "over-ear-a"))
    worker, seen = recording("over-ear-a")
    last = (
        "select a.query from pg_stat_activity a where a.application_name = 'pgbpm/wakeup'"
        " and a.datname = current_database()"
    )

    async def main() -> None:
        async with running(database, worker, **NEVER):
            await asleep(database)
            for number in range(3):
                await asyncio.to_thread(start, database, "over-ear")
                await until(lambda: len(seen) == number + 1, "woken")  # noqa: B023
            assert "claim_tasks_at" in database.value(last)

    asyncio.run(main())


def test_an_ear_that_is_killed_or_refused_costs_no_task(
    database: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pool does what it did: one that dies is replaced, a statement that fails is asked
    again."""
    deploy(database, linear("deaf-ear", "deaf-ear-a"))
    worker, seen = recording("deaf-ear-a")
    kill = (
        "select pg_terminate_backend(a.pid) from pg_stat_activity a"
        " where a.application_name = 'pgbpm/wakeup' and a.datname = current_database()"
    )
    spoil = "pgbpm_claim_tasks (text, text[], int, float8, jsonb, text) as select 1 / ($3 - $3)"

    async def main(pause: int) -> None:
        async with running(database, worker, poll_max_ms=pause) as runner:
            await asleep(database)
            await asyncio.to_thread(start, database, "deaf-ear", 2)
            if pause < 1000:
                await asyncio.to_thread(database.rows, kill)
            await asyncio.to_thread(start, database, "deaf-ear", 2)
            await until(lambda: statuses(database, "deaf-ear") == {"Completed": len(seen)}, "done")
            await until(lambda: len(seen) % 4 == 0, "all of them")
            assert not runner.away

    asyncio.run(main(200))
    monkeypatch.setattr("pgbpm.runner.CLAIM_AT_HAND", spoil)
    asyncio.run(main(60_000))
    assert len(seen) == 8


def test_two_kinds_of_handlers_are_woken_by_one_notification(database: TestDatabase) -> None:
    """Only one of their rounds finds the connection free."""
    deploy(database, linear("kinds", "kind-a", "kind-b"))
    worker, seen = Worker(), []

    @worker.task("kind-a")
    async def first(task: Task) -> None:
        seen.append("a")

    @worker.task("kind-b")
    def second(task: Task) -> None:
        seen.append("b")

    async def main() -> None:
        async with running(database, worker, **NEVER):
            await asleep(database)
            await asyncio.to_thread(start, database, "kinds", 5)
            await until(lambda: statuses(database, "kinds") == {"Completed": 5}, "completed")

    asyncio.run(main())
    assert sorted(seen) == ["a"] * 5 + ["b"] * 5


# -- rounds ----------------------------------------------------------------------------------------


def _rounds(**options: object) -> tuple[Rounds, list[str], asyncio.Event]:
    looks: list[str] = []
    pausing = asyncio.Event()

    async def look(tenant: str) -> Look:
        looks.append(tenant)
        return Look(found=False)

    rounds = Rounds(
        "test", look, shortest=0.001, longest=3600, activity=lambda: 0, paused=pausing.set,
        **options,  # type: ignore[arg-type]
    )  # fmt: skip
    return rounds, looks, pausing


def test_who_is_told_of_everything_pauses_for_long() -> None:
    async def main(told: bool) -> float:
        rounds, looks, pausing = _rounds(told=lambda: told)
        rounds.serve({"a": 1})
        running = asyncio.create_task(rounds.run())
        await pausing.wait()
        assert looks == ["a"]
        pause = rounds._paces["a"].interval
        rounds.stop()
        await running
        return pause

    assert asyncio.run(main(True)) == 3600
    assert asyncio.run(main(False)) == 0.001


def test_a_look_that_has_begun_is_taken_even_when_stopping() -> None:
    begun: list[str] = []

    def begin(tenant: str) -> bool:
        begun.append(tenant)
        return True

    async def main(*, leaves: bool) -> list[str]:
        begun.clear()
        rounds, looks, pausing = _rounds(told=lambda: True, begin=begin)
        rounds.serve({"a": 1, "b": 1})
        running = asyncio.create_task(rounds.run())
        await pausing.wait()
        looks.clear()
        rounds.wake_marked(wakeup.mark_of("b"))
        rounds.wake_marked(wakeup.mark_of("b"))  # under way already
        if leaves:
            rounds.serve({"a": 1})
        rounds.stop()
        await running
        assert begun == ["b"]
        return looks

    assert asyncio.run(main(leaves=False)) == ["b"]
    assert asyncio.run(main(leaves=True)) == ["b"]


def test_arrays_are_written_as_the_server_reads_them(database: TestDatabase) -> None:
    types = ["a", "", 'say "x"', "back\\slash", "{a,b}", "null", "số"]
    assert database.value("select %s::text[]", [_array(types)]) == types
