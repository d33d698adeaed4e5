"""Results on their way: batches, repeats, refusals. The database is a fake that says what is told,
because a real one cannot be made to fail in these ways on command."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from pgbpm.batcher import Batcher
from pgbpm.config import RunnerConfig
from pgbpm.gateway import Gateway
from pgbpm.repeat import GaveUp, Repeater, explain, is_away, is_conflict, is_refusal
from pgbpm.results import Results
from pgbpm.worker import BpmnError, Task


def failure(sqlstate: str | None, message: str = "said no") -> psycopg.Error:
    """An error as the server or libpq raises it."""
    if sqlstate is None:
        return psycopg.OperationalError(message)
    try:
        kind: type[psycopg.Error] = psycopg.errors.lookup(sqlstate)
    except KeyError:
        kind = psycopg.DatabaseError
    error = kind(message)
    error.sqlstate = sqlstate
    return error


class FakeGateway(Gateway):
    """Answers set calls; ``errors`` are raised first, ``poison`` breaks every call it is in."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, list[dict[str, Any]]]] = []
        self.errors: list[psycopg.Error] = []
        self.poison: dict[str, psycopg.Error] = {}
        self.outcome: Callable[[str, str], str] = lambda function, task_id: {
            "complete_tasks": "Completed", "fail_tasks": "Failed", "release_tasks": "Released",
        }[function]  # fmt: skip

    async def set_call(self, function: str, tenant: str, items: Any) -> list[dict[str, Any]]:
        parsed = json.loads(f"[{','.join(items)}]")
        self.calls.append((function, tenant, parsed))
        await asyncio.sleep(0)
        if self.errors:
            raise self.errors.pop(0)
        for item in parsed:
            if item["task_id"] in self.poison and function == "complete_tasks":
                raise self.poison[item["task_id"]]
        return [
            {"task_id": item["task_id"], "outcome": self.outcome(function, item["task_id"])}
            for item in parsed
        ]

    async def throw_error(self, *arguments: Any) -> dict[str, Any]:
        self.calls.append(("throw_error", arguments[0], [{"task_id": arguments[1]}]))
        if self.errors:
            raise self.errors.pop(0)
        return {"outcome": "Done"}

    def names(self) -> list[tuple[str, int]]:
        """(function, number of items) of each call."""
        return [(function, len(items)) for function, _, items in self.calls]


def task(name: str) -> Task:
    return Task(name, "p", None, "n", "t", 1, 7, datetime.now(UTC), {})


def play(fake: FakeGateway, script: Callable[[Results], None], **settings: Any) -> Results:
    """Run a script against results and wait until all is answered."""

    async def main() -> Results:
        results = Results(fake, Repeater(), RunnerConfig(**settings), lambda tenant: None)
        sending = asyncio.create_task(results.run())
        script(results)
        await asyncio.wait_for(results.drained(), 10)
        sending.cancel()
        return results

    return asyncio.run(main())


def complete_some(count: int, tenant: str = "") -> Callable[[Results], None]:
    def script(results: Results) -> None:
        for number in range(count):
            results.complete(tenant, task(f"t{number}"), "{}")

    return script


def test_results_go_in_batches_of_one_tenant() -> None:
    fake = FakeGateway()

    def script(results: Results) -> None:
        complete_some(250, "a")(results)
        complete_some(3, "b")(results)

    results = play(fake, script)
    assert results.counts == {"Completed": 253}
    assert all(len(items) <= 100 for _, _, items in fake.calls)
    assert sum(len(items) for _, tenant, items in fake.calls if tenant == "b") == 3
    assert len(fake.calls) <= 5
    assert fake.calls[0][2][0] == {"task_id": "t0", "fencing_token": 7, "variables": {}}


@pytest.mark.parametrize("sqlstate", ["40001", "40P01", "55P03", None, "57P01", "08006", "53300"])
def test_calls_are_repeated_with_the_same_items(sqlstate: str | None) -> None:
    fake = FakeGateway()
    fake.errors = [failure(sqlstate), failure(sqlstate)]
    results = play(fake, complete_some(5))
    assert fake.names() == [("complete_tasks", 5)] * 3
    assert fake.calls[0] == fake.calls[2]
    assert results.counts == {"Completed": 5}


def test_one_refused_item_fails_its_task_and_no_other() -> None:
    fake = FakeGateway()
    fake.poison = {"t3": failure("22P05", "unsupported Unicode escape sequence")}
    results = play(fake, complete_some(6))
    assert results.counts == {"Completed": 5, "Failed": 1}
    function, _, items = fake.calls[-1]
    assert function == "fail_tasks"
    assert items[0]["task_id"] == "t3"
    assert items[0]["retryable"] is False
    assert items[0]["error"] == {
        "type": "ResultRefused", "message": "22P05: unsupported Unicode escape sequence",
    }  # fmt: skip


@pytest.mark.parametrize("sqlstate", ["XX000", "BP403", "42883"])
def test_what_is_not_the_tasks_fault_is_left_to_its_lease(sqlstate: str) -> None:
    fake = FakeGateway()
    fake.poison = {"t0": failure(sqlstate)}
    results = play(fake, complete_some(2))
    assert results.counts == {"Completed": 1}
    assert "fail_tasks" not in {function for function, _ in fake.names()}


def test_a_thrown_error_is_repeated_and_its_refusal_fails_the_task() -> None:
    fake = FakeGateway()
    fake.errors = [failure("40P01"), failure("BP422", "no such thing")]
    results = play(fake, lambda r: r.throw("", task("t0"), BpmnError("x"), "{}"))
    assert fake.names() == [("throw_error", 1), ("throw_error", 1), ("fail_tasks", 1)]
    assert results.counts == {"Failed": 1}


@pytest.mark.parametrize("outcome", ["LeaseLost", "Cancelled", "Conflict", "WrongState"])
def test_lost_results_are_told_and_not_repeated(
    outcome: str, caplog: pytest.LogCaptureFixture
) -> None:
    fake = FakeGateway()
    fake.outcome = lambda function, task_id: outcome
    results = play(fake, complete_some(1))
    assert fake.names() == [("complete_tasks", 1)]
    assert results.counts == {outcome: 1}
    assert f"t0: {outcome}; not used" in caplog.text


def test_nothing_is_repeated_after_the_last_moment() -> None:
    async def main() -> int:
        calls = 0

        async def call() -> None:
            nonlocal calls
            calls += 1
            raise failure(None)

        repeater = Repeater()
        repeater.give_up_at = asyncio.get_running_loop().time() + 0.1
        with pytest.raises(GaveUp):
            await repeater("it", call)
        repeater.give_up_at = None
        repeater.stopping = True
        with pytest.raises(GaveUp):
            await repeater("looking", call, look=True)
        return calls

    assert asyncio.run(main()) > 2


def test_errors_are_told_apart() -> None:
    kinds = {
        state: (is_conflict(failure(state)), is_away(failure(state)), is_refusal(failure(state)))
        for state in ("40001", "55P03", "BP503", None, "08006", "57P01", "57014", "53100", "25006")
    }
    assert [state for state, told in kinds.items() if told == (True, False, False)] == [
        "40001", "55P03", "BP503",
    ]  # fmt: skip
    assert [state for state, told in kinds.items() if told == (False, True, False)] == [
        None, "08006", "57P01", "57014", "53100", "25006",
    ]  # fmt: skip
    for state in ("BP422", "BP400", "22P02"):
        assert is_refusal(failure(state))
        assert not is_away(failure(state))
    for state in ("BP403", "XX000", "42883", "23505"):
        error = failure(state)
        assert (is_refusal(error), is_away(error), is_conflict(error)) == (False, False, False)
    assert not is_away(ValueError())
    assert explain(failure("BP404", "There\nis none.")) == "BP404: There is none."


def test_a_batch_waits_for_age_or_size() -> None:
    sent: list[list[int]] = []

    async def main() -> None:
        async def send(tenant: str, items: list[int]) -> None:
            sent.append(items)

        batcher = Batcher(send, max_items=3, max_age=0.05, writers=1)
        running = asyncio.create_task(batcher.run())
        began = asyncio.get_running_loop().time()
        for number in range(4):
            batcher.put("", number)
        await batcher.drained()
        assert asyncio.get_running_loop().time() - began >= 0.05  # the last one waited for others
        assert batcher.pending == 0
        running.cancel()

    asyncio.run(main())
    assert sent == [[0, 1, 2], [3]]
