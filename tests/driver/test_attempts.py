"""Leases while the database hangs or is away: what a real one cannot be made to do on command."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from pgbpm.attempts import Attempts
from pgbpm.config import RunnerConfig
from pgbpm.gateway import Claim, Gateway
from pgbpm.results import Results
from pgbpm.slots import Slots
from pgbpm.worker import Task, TaskHandler

SERVER_TIME = 1_000_000_000.0
"""Far from the clock of this machine; it must not matter."""


class FakeGateway(Gateway):
    """``beats`` say what becomes of the first heartbeats; later ones are answered."""

    def __init__(self, *beats: str) -> None:
        self.beats = list(beats)
        self.asked: list[list[str]] = []

    async def extend_leases(
        self, tenant: str, items: Any, lease: float | None
    ) -> list[dict[str, Any]]:
        ids = [json.loads(item)["task_id"] for item in items]
        self.asked.append(ids)
        beat = self.beats.pop(0) if self.beats else "Extended"
        if beat == "hang":
            await asyncio.sleep(60)
        if beat == "away":
            raise psycopg.OperationalError("nobody there")
        return [{"task_id": i, "outcome": beat, "left_s": 1.2} for i in ids]


class FakeResults(Results):
    """Notes what is handed on."""

    def __init__(self) -> None:
        self.completed: list[str] = []
        self.failed: list[dict[str, Any]] = []
        self.released: list[str] = []

    def complete(self, tenant: str, task: Task, variables: str, record: str = "") -> None:
        self.completed.append(task.task_id)

    def fail(self, tenant: str, task: Task, error: dict[str, Any], **how: Any) -> None:
        self.failed.append(error)

    def release(self, tenant: str, task: Task) -> None:
        self.released.append(task.task_id)


def claim(count: int, lease: float) -> Claim:
    until = datetime.fromtimestamp(SERVER_TIME + lease, UTC).isoformat()
    row: dict[str, Any] = {
        "process_instance_id": "p", "business_key": None, "node_id": "n", "task_type": "t",
        "attempt": 1, "fencing_token": 1, "lease_until": until, "variables": {},
    }  # fmt: skip
    items: list[dict[str, Any]] = [{"task_id": f"t{number}", **row} for number in range(count)]
    return Claim(items, None, None, SERVER_TIME, asyncio.get_running_loop().time())


def play(
    gateway: FakeGateway,
    function: Callable[[Task], Any],
    *,
    is_async: bool = True,
    count: int = 1,
    lease: float = 1.2,
    seconds: float = 8.0,
) -> tuple[FakeResults, Slots]:
    """Run handlers for freshly claimed tasks until they end."""

    async def main() -> tuple[FakeResults, Slots]:
        results, slots = FakeResults(), Slots(count)
        attempts = Attempts(gateway, results, RunnerConfig(threads=2))
        beating = asyncio.create_task(attempts.beat())
        await asyncio.sleep(0)
        slots.take(count)
        handler = TaskHandler("t", function, None, is_async)
        attempts.start("", claim(count, lease), {"t": handler}, slots)
        await attempts.finish(seconds)
        beating.cancel()
        return results, slots

    return asyncio.run(main())


async def slow(task: Task) -> None:
    await asyncio.sleep(2.4)


@pytest.mark.parametrize("beats", [[], ["hang"], ["away"], ["away", "away"], ["hang", "away"]])
def test_a_heartbeat_that_gets_no_answer_is_sent_again(beats: list[str]) -> None:
    gateway = FakeGateway(*beats)
    results, slots = play(gateway, slow)
    assert results.completed == ["t0"]
    assert len(gateway.asked) >= 3 + len(beats) - 1
    assert slots.free == 1


def test_heartbeats_of_many_tasks_are_one_call() -> None:
    gateway = FakeGateway()
    results, slots = play(gateway, slow, count=50)
    assert len(results.completed) == 50
    assert all(len(ids) == 50 for ids in gateway.asked)
    assert len(gateway.asked) <= 8
    assert slots.free == 50


def test_work_stops_when_its_lease_has_run_out_unconfirmed() -> None:
    """The database is away for longer than the lease: somebody else may be at it by now."""
    gateway = FakeGateway(*["away"] * 100)
    stopped_after: list[float] = []

    async def long(task: Task) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            await asyncio.sleep(30)
        finally:
            stopped_after.append(loop.time() - began)

    results, slots = play(gateway, long)
    assert (results.completed, results.failed, results.released) == ([], [], [])
    assert 0.9 < stopped_after[0] < 3
    assert slots.free == 1


def test_a_handler_cancelled_before_its_first_step_gives_its_place_back() -> None:
    async def main() -> tuple[FakeResults, int]:
        results, slots = FakeResults(), Slots(1)
        attempts = Attempts(FakeGateway(), results, RunnerConfig())
        slots.take(1)
        attempts.start("", claim(1, 5.0), {"t": TaskHandler("t", slow, None, True)}, slots)
        await attempts.finish(0.0)
        return results, slots.free

    results, free = asyncio.run(main())
    assert results.released == ["t0"]
    assert free == 1


def test_a_handler_that_will_not_be_cancelled_is_left_behind() -> None:
    async def main() -> tuple[FakeResults, bool]:
        results, slots = FakeResults(), Slots(1)

        async def stubborn(task: Task) -> None:
            for _ in range(30):
                try:
                    await asyncio.sleep(0.1)
                except asyncio.CancelledError:
                    assert task.lease_lost

        attempts = Attempts(FakeGateway(), results, RunnerConfig())
        slots.take(1)
        attempts.start("", claim(1, 5.0), {"t": TaskHandler("t", stubborn, None, True)}, slots)
        await asyncio.sleep(0.05)
        clean = await attempts.finish(0.1)
        return results, clean

    results, clean = asyncio.run(main())
    assert clean is False
    assert results.released == ["t0"]
    assert results.completed == []
