"""Runners that sleep are woken by whoever makes work, and by nobody while they are awake."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from tests.driver.runner_kit import deploy, linear, publish_task, running, start, statuses, until
from tests.support.database import Connection, TestDatabase

from pgbpm import wakeup
from pgbpm.wakeup import CHANNEL, Load, is_busy, mark_of
from pgbpm.worker import Task, Worker

NEVER = {"poll_min_ms": 60_000, "poll_max_ms": 60_000}
"""Polling so slow that only a wake-up can be the reason of what happens within a test."""

LOCKS = """
select l.objid::int as key, l.granted, l.pid, a.application_name
  from pg_locks l join pg_stat_activity a using (pid)
 where l.locktype = 'advisory' and l.classid = 1885823597 and l.mode = 'ExclusiveLock'
   and l.database = (select d.oid from pg_database d where d.datname = current_database())
"""
ALONE = "select pg_advisory_lock(1885823597, 1)"


def guards(database: TestDatabase, *, granted: bool = True) -> list[int]:
    """The server processes that hold (or wait for) the lock of the sleepers."""
    rows = database.rows(LOCKS)
    return [row["pid"] for row in rows if row["key"] == 1 and row["granted"] == granted]


def recording(*types: str) -> tuple[Worker, list[str]]:
    """A worker that says which business keys it was given."""
    worker, seen = Worker(), []
    for task_type in types:

        @worker.task(task_type)
        async def handler(task: Task) -> None:
            seen.append(str(task.business_key))

    return worker, seen


async def asleep(database: TestDatabase) -> int:
    """Wait until somebody stands guard; its server process."""
    pids: list[int] = await until(lambda: guards(database), "somebody stands guard")
    return pids[0]


@contextlib.contextmanager
def listening(database: TestDatabase) -> Iterator[Connection]:
    """A connection that hears the channel."""
    with database.connect() as conn:
        conn.execute(f"listen {CHANNEL}")
        yield conn


def heard(conn: Connection, seconds: float = 0.0) -> list[str]:
    """What came since it was last asked, and within some seconds."""
    conn.execute("select")  # what is on its way
    return [notice.payload for notice in conn.notifies(timeout=seconds)]


# -- a runner sleeps -------------------------------------------------------------------------------


def test_a_plain_sql_call_wakes_a_sleeping_runner(database: TestDatabase) -> None:
    deploy(database, linear("plain", "plain-a", "plain-b"))
    worker, seen = recording("plain-a", "plain-b")

    async def main() -> float:
        async with running(database, worker, **NEVER):
            await asleep(database)
            began = time.monotonic()
            await asyncio.to_thread(start, database, "plain", 3)
            await until(lambda: statuses(database, "plain") == {"Completed": 3}, "completed")
            return time.monotonic() - began

    assert asyncio.run(main()) < 10
    assert len(seen) == 6


def test_who_writes_while_the_runner_falls_asleep_is_not_missed(database: TestDatabase) -> None:
    """The writer saw nobody asleep, so it tells nobody: the sleeper waits for it."""
    deploy(database, linear("in-flight", "flight"))
    worker, seen = recording("flight")

    async def main() -> None:
        with database.connect(autocommit=False) as writer:
            writer.execute("select from bpm.start_process('in-flight', p_business_key => 'first')")
            async with running(database, worker, **NEVER):
                await until(lambda: guards(database, granted=False), "the guard waits")
                # Others see it already, though it has not got the lock.
                await asyncio.to_thread(start, database, "in-flight")
                await until(lambda: "in-flight-1" in seen, "the second one")
                assert "first" not in seen
                writer.commit()
                await until(lambda: "first" in seen, "the first one")
                assert await asleep(database)

    asyncio.run(main())


def test_a_guard_that_is_killed_is_replaced(database: TestDatabase) -> None:
    deploy(database, linear("killed", "kill-a"))
    worker, seen = recording("kill-a")

    async def main() -> None:
        async with (
            running(database, worker, **NEVER),
            running(database, worker, **NEVER),
        ):
            first = await asleep(database)
            await asyncio.to_thread(database.rows, f"select pg_terminate_backend({first})")
            await until(lambda: set(guards(database)) - {first}, "another one stands guard")
            await asyncio.to_thread(start, database, "killed")
            await until(lambda: seen, "woken")

    asyncio.run(main())
    assert seen == ["killed-1"]


def test_several_sleepers_are_all_woken_and_relieve_each_other(database: TestDatabase) -> None:
    for name in ("several-a", "several-b"):
        deploy(database, linear(f"{name}-process", name))
    first, seen_first = recording("several-a")
    second, seen_second = recording("several-b")

    async def main() -> None:
        async with running(database, second, **NEVER):
            async with running(database, first, **NEVER):
                await asleep(database)
                assert len(guards(database)) == 1
                for seen, name in ((seen_first, "several-a"), (seen_second, "several-b")):
                    await asyncio.to_thread(start, database, f"{name}-process")
                    await until(functools.partial(list, seen), f"{name} woken")
            # One of them has gone; whether it was the guard or not, the other is not forgotten.
            await until(lambda: len(guards(database)) == 1, "the other one stands guard")
            await asyncio.to_thread(start, database, "several-b-process", 2)
            await until(lambda: len(seen_second) == 3, "woken again")

    asyncio.run(main())


def test_many_calls_make_the_guard_leave_and_come_back(
    database: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A system that is half idle is polled: few are told of, and the runner looks all the same."""
    monkeypatch.setattr(wakeup, "_MOST_PER_S", 10.0)
    monkeypatch.setattr(wakeup, "_BURST", 10.0)
    deploy(database, linear("crowd", "nobody-serves-this"))
    worker, _ = recording("something-else")
    calls = 200

    def burst() -> list[str]:
        with database.connect() as conn, listening(database) as ear:
            for _ in range(calls):
                conn.execute("select from bpm.start_process('crowd')")
            return heard(ear)

    async def main() -> None:
        async with running(database, worker, poll_max_ms=100):
            await asleep(database)
            told = await asyncio.to_thread(burst)
            assert "guard" in told
            assert len(told) < calls / 2
            await asleep(database)

    asyncio.run(main())


def test_a_busy_system_notifies_nobody(database: TestDatabase) -> None:
    """While the runner always finds something it stands no guard, and calls tell nobody."""
    deploy(database, linear("busy", *(f"busy-{n}" for n in range(4))))
    worker, _ = recording(*(f"busy-{n}" for n in range(4)))

    def feed() -> list[str]:
        items = json.dumps([{"code": "busy"}] * 100)
        query = "select count(*) from bpm.start_processes(%s)"
        with database.connect() as conn, listening(database) as ear:
            deadline = time.monotonic() + 20
            while True:
                conn.execute(query, [items])
                backlog = database.value("select count(*) from bpm.task where state = 'Ready'")
                if backlog > 300 and not guards(database):
                    break
                assert time.monotonic() < deadline, "the guard never left"
            heard(ear)
            for _ in range(5):
                conn.execute(query, [items])
            return heard(ear)

    async def main() -> list[str]:
        async with running(database, worker, batch_size=20, poll_max_ms=100):
            await asleep(database)
            told = await asyncio.to_thread(feed)
            await until(lambda: set(statuses(database, "busy")) == {"Completed"}, "all done", 60)
            return told

    assert asyncio.run(main()) == []


def test_polling_alone_finds_everything(database: TestDatabase) -> None:
    deploy(database, linear("polled", "poll-a", "poll-b"))
    worker, seen = recording("poll-a", "poll-b")

    async def main() -> None:
        async with running(database, worker, wakeup=False, poll_max_ms=50):
            await until(lambda: database.rows("select 1"), "the database answers")
            await asyncio.to_thread(start, database, "polled", 2)
            await until(lambda: statuses(database, "polled") == {"Completed": 2}, "completed")
            assert not database.rows(LOCKS)

    asyncio.run(main())
    assert len(seen) == 4


# -- who tells -------------------------------------------------------------------------------------


def test_nobody_is_told_while_nobody_sleeps(database: TestDatabase) -> None:
    deploy(database, linear("untold", "untold-a"))
    with listening(database) as ear:
        start(database, "untold", 3)
        assert heard(ear) == []
        with database.connect() as sleeper:
            sleeper.execute(ALONE)
            with database.connect(autocommit=False) as conn:
                for _ in range(3):
                    conn.execute("select from bpm.start_process('untold')")
                assert heard(ear) == []
                conn.commit()
            assert heard(ear) == [f"tasks {mark_of('')}"]  # once for all three
            with database.connect(autocommit=False) as conn:
                conn.execute("select from bpm.start_process('untold')")
                conn.rollback()
            assert heard(ear) == []
        start(database, "untold")  # the sleeper is gone
        assert heard(ear) == []


def _told(database: TestDatabase, *calls: tuple[str, Any]) -> set[str]:
    """What is told of by a call in SQL while somebody sleeps: the kinds of work."""
    with database.connect() as sleeper, listening(database) as ear:
        sleeper.execute(ALONE)
        for query, params in calls:
            database.rows(query, params)
        return {told.split()[0] for told in heard(ear)}


def _claim(database: TestDatabase, task_type: str) -> str:
    rows = database.rows("select * from bpm.claim_tasks('w', array[%s])", [task_type])
    item = {"task_id": str(rows[0]["task_id"]), "fencing_token": rows[0]["fencing_token"]}
    return json.dumps([item])


def test_whatever_makes_tasks_ready_tells(database: TestDatabase) -> None:
    publish_task(database, "tell-a", max_attempts=1)
    publish_task(database, "tell-b", max_attempts=3)
    deploy(database, linear("telling", "tell-a", "tell-b"))
    assert _told(database, ("select from bpm.start_process('telling')", None)) == {"tasks"}
    done = _claim(database, "tell-a")
    assert _told(database, ("select from bpm.complete_tasks(%s)", [done])) == {"tasks"}
    given_back = _claim(database, "tell-b")
    assert _told(database, ("select from bpm.release_tasks(%s)", [given_back])) == {"tasks"}
    failed = _claim(database, "tell-b")
    assert _told(database, ("select from bpm.fail_tasks(%s)", [failed])) == {"tasks"}
    start(database, "telling")
    database.rows("select from bpm.fail_tasks(%s)", [_claim(database, "tell-a")])
    requeue = "select bpm.requeue_dead_letter(d.dead_letter_id) from bpm.dead_letter d"
    assert _told(database, (requeue, None)) == {"tasks"}
    of = "from bpm.instance i where i.process_code = 'telling' and i.status = 'Running'"
    database.rows(f"select bpm.suspend_process(i.process_instance_id) {of}")
    resume = "select bpm.resume_process(i.process_instance_id)"
    rows = database.rows(f"select i.process_instance_id {of.replace('Running', 'Suspended')}")
    ids = [row["process_instance_id"] for row in rows]
    calls = [(resume.replace("i.process_instance_id", "%s"), [one]) for one in ids]
    assert "tasks" in _told(database, *calls)


def test_commands_and_what_tick_drives_tell_too(database: TestDatabase) -> None:
    sends = linear("sending", "courier").replace("serviceTask", "sendTask")
    config = json.dumps({"url": "https://example.com/"})
    register = "select bpm.register_destination(p_code => 'courier', p_config => %s)"
    database.rows(register, [config])
    deploy(database, sends)
    assert "commands" in _told(database, ("select from bpm.start_process('sending')", None))
    event = json.dumps([{"channel": "c", "provider_event_id": "1", "type": "t", "payload": {}}])
    assert _told(database, ("select from bpm.accept_events(%s)", [event])) == {"tick"}


# -- when is a runner busy -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loads", "busy"),
    [
        ([Load(0.0, 1e9)], False),  # pauses
        ([Load(5.0, 0.001)], True),  # finds all the time
        ([Load(5.0, 0.001), Load(0.0, 1e9)], True),
        ([Load(0.01, 0.001)], False),  # has just begun to find
        ([Load(5.0, 4.0), Load(0.0, 1e9)], False),  # one kind waits for a place, another sleeps
        ([Load(5.0, 4.0), Load(6.0, 5.0)], True),  # no place for anything
    ],
)
def test_busy_is_who_finds_without_a_pause_or_has_no_place(loads: list[Load], busy: bool) -> None:
    assert is_busy(loads) is busy


def test_a_mark_is_the_same_here_and_there(database: TestDatabase) -> None:
    for tenant in ("", "acme", "số 1"):
        said = database.value("select left(md5(%s), 2)", [tenant])
        assert mark_of(tenant) == said


def test_a_login_that_may_not_listen_is_polled(database: TestDatabase) -> None:
    """No direct connection: everything works, only later."""
    deploy(database, linear("deaf", "deaf-a"))
    worker, seen = recording("deaf-a")

    async def main() -> None:
        async with running(database, worker, poll_max_ms=50) as runner:
            runner._way.direct = _refused  # type: ignore[method-assign]
            await asyncio.to_thread(start, database, "deaf")
            await until(lambda: seen, "found by polling")

    asyncio.run(main())


async def _refused(role: str) -> Any:
    raise psycopg.OperationalError(f"no connection for {role}")
