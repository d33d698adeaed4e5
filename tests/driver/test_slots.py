"""Places of handlers, and the short queue of what was claimed ahead."""

from __future__ import annotations

import asyncio

import pytest
from tests.driver.runner_kit import (
    deploy,
    linear,
    make_runner,
    run_until_idle,
    running,
    start,
    statuses,
    until,
)
from tests.support.database import TestDatabase

from pgbpm.slots import Slots
from pgbpm.worker import Task, Worker


@pytest.mark.parametrize(
    ("seconds", "free"),
    [(10.0, 2), (0.05, 4), (0.01, 12), (0.0, 52)],  # 2 places, 50 ms ahead, at most 50
)
def test_what_is_claimed_ahead_follows_how_long_handlers_take(seconds: float, free: int) -> None:
    slots = Slots(2, ahead_s=0.05, most_ahead=50)
    assert slots.free == 2  # nothing is known yet

    async def main() -> None:
        for _ in range(50):
            assert await slots.enter()
            slots.leave(seconds)

    asyncio.run(main())
    assert slots.free == free
    slots.take(2)
    assert slots.free == free - 2


def test_places_are_given_in_turn_and_a_cancelled_one_passes_its_turn_on() -> None:
    async def main() -> None:
        slots = Slots(1)
        assert await slots.enter()
        second, third, fourth = (asyncio.create_task(slots.enter()) for _ in range(3))
        await asyncio.sleep(0)
        slots.leave(0.0)
        second.cancel()  # it had just been given its turn
        await asyncio.wait({second, third}, timeout=5)
        assert second.cancelled()
        assert third.result() is True
        slots.close()
        assert await fourth is False
        assert await slots.enter() is False

    asyncio.run(main())


def test_short_handlers_are_claimed_for_ahead(database: TestDatabase) -> None:
    deploy(database, linear("short-ones", "short"))
    start(database, "short-ones", 300)
    worker = Worker()
    now, most = 0, 0

    @worker.task("short", concurrency=2)
    async def short(task: Task) -> None:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0)
        now -= 1

    async def main() -> int:
        runner = make_runner(database, worker)
        claims, claim = 0, runner._gateway.claim_tasks

        async def counted(*arguments: object) -> object:
            nonlocal claims
            claims += 1
            return await claim(*arguments)  # type: ignore[arg-type]

        runner._gateway.claim_tasks = counted  # type: ignore[assignment,method-assign]
        await asyncio.wait_for(runner.run(), 60)
        return claims

    claims = asyncio.run(main())
    assert statuses(database, "short-ones") == {"Completed": 300}
    assert most <= 2
    assert claims < 100  # with a claim for every two of them it would be 150


def test_what_takes_long_lies_in_no_queue(database: TestDatabase) -> None:
    deploy(database, linear("long-ones", "long"))
    start(database, "long-ones", 4)
    worker = Worker()
    held: list[int] = []
    leased = (
        "select count(*)::int from bpm.task t where t.task_type = 'long' and t.state = 'Executing'"
    )

    @worker.task("long", concurrency=1)
    async def long(task: Task) -> None:
        await asyncio.sleep(0.2)
        held.append(await asyncio.to_thread(database.value, leased))

    run_until_idle(database, worker)
    assert held == [1, 1, 1, 1]


def test_draining_gives_back_what_has_not_begun(database: TestDatabase) -> None:
    deploy(database, linear("queued", "queue"))
    worker = Worker()
    blocked = asyncio.Event()

    @worker.task("queue", concurrency=1)
    async def queue(task: Task) -> None:
        if task.variables.get("slow"):
            blocked.set()
            await asyncio.sleep(0.5)

    count = "select count(*)::int from bpm.task t where t.task_type = 'queue' and t.state = %s"

    async def main() -> int:
        async with running(database, worker):
            await asyncio.to_thread(start, database, "queued", 50)
            await until(lambda: statuses(database, "queued") == {"Completed": 50}, "short ones")
            await asyncio.to_thread(start, database, "queued", 20, slow=True)
            await blocked.wait()
            held: int = await until(
                lambda: max(0, database.value(count, ["Executing"]) - 1), "some are held"
            )
            return held

    assert asyncio.run(main()) > 0
    assert database.value(count, ["Executing"]) == 0
    assert 1 <= database.value(count, ["Completed"]) - 50 < 20
    assert database.value(count, ["Ready"]) > 0
