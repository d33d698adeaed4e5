"""The runner against a real database: handlers, retries, leases, draining, lost connections."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
from collections import Counter
from typing import Any

import psycopg
import pytest
from tests.driver.runner_kit import (
    caught,
    deploy,
    linear,
    make_runner,
    publish_task,
    run_until_idle,
    running,
    start,
    statuses,
    until,
)
from tests.support.database import TestDatabase

from pgbpm.errors import MigrationError
from pgbpm.logs import JsonLines
from pgbpm.worker import BpmnError, Done, NonRetryable, Retry, Task, Worker


def attempts_of(database: TestDatabase, code: str) -> list[tuple[int, str]]:
    """(attempt, state) of every attempt at the tasks of a process, in order."""
    rows = database.rows(
        """
        select e.attempt, e.state, e.error
          from bpm.execution e
          join bpm.instance i using (tenant_id, workflow_instance_id)
         where i.process_code = %s
         order by e.task_id, e.attempt
        """,
        [code],
    )
    return [(row["attempt"], row["state"]) for row in rows]


def errors_of(database: TestDatabase, code: str) -> list[dict[str, Any]]:
    """The errors of failed attempts at the tasks of a process, in order."""
    return [
        row["error"]
        for row in database.rows(
            """
            select e.error from bpm.execution e
              join bpm.instance i using (tenant_id, workflow_instance_id)
             where i.process_code = %s and e.error is not null order by e.task_id, e.attempt
            """,
            [code],
        )
    ]


def variables_of(database: TestDatabase, instance: str) -> dict[str, Any]:
    value: dict[str, Any] = database.value(
        "select bpm.get_variables(p_process_instance_id => %s)", [instance]
    )
    return value


# -- handlers -----------------------------------------------------------------------------------


def test_coroutines_and_plain_functions_complete_a_process(database: TestDatabase) -> None:
    deploy(database, linear("both", "reserve", "charge", "close"))
    instances = start(database, "both", 25)
    worker = Worker()
    seen: list[Task] = []
    threads: set[int] = set()

    @worker.task("reserve")
    async def reserve(task: Task) -> dict[str, Any]:
        seen.append(task)
        return {"reserved": task.variables["n"], "số": "tiền"}

    @worker.task("charge")
    def charge(task: Task) -> dict[str, Any]:
        threads.add(threading.get_ident())
        return {"charged": task.variables["reserved"] + 1}

    worker.task("close")(lambda task: None)
    runner = run_until_idle(database, worker)

    assert statuses(database, "both") == {"Completed": 25}
    assert runner.results.counts == {"Completed": 75}
    assert variables_of(database, instances[2]) == {
        "n": 3, "reserved": 3, "charged": 4, "số": "tiền",
    }  # fmt: skip
    task = next(task for task in seen if task.business_key == "both-3")
    assert (task.process_instance_id, task.node_id, task.task_type, task.attempt) == (
        instances[2], "reserve", "reserve", 1,
    )  # fmt: skip
    assert task.fencing_token == 1
    assert task.lease_until.tzinfo is not None
    assert threading.get_ident() not in threads


def test_facts_and_evidence_come_with_the_result(database: TestDatabase) -> None:
    publish_task(database, "weigh", backoff="10 ms")
    deploy(database, linear("weighing", "weigh"))
    [instance] = start(database, "weighing")
    worker = Worker()

    @worker.task("weigh")
    def weigh(task: Task) -> Done:
        photo = {"object_key": "scales/1.jpg", "sha256": "0" * 64}
        fact = {"subject_type": "parcel", "subject_key": "P-1", "name": "kg", "value": [1.5, "số"]}
        # The first attempt has not looked closely.
        version = {"expected_version": 7} if task.attempt == 1 else {"evidence": [0]}
        return Done({"weighed": True}, evidence=[photo], facts=[{**fact, **version}])

    runner = run_until_idle(database, worker)

    assert statuses(database, "weighing") == {"Completed": 1}
    assert runner.results.counts == {"Conflict": 1, "Retrying": 1, "Completed": 1}
    assert [error["type"] for error in errors_of(database, "weighing")] == ["RecordConflict"]
    assert variables_of(database, instance) == {"n": 1, "weighed": True}
    facts = database.rows("select value, attempt, cardinality(evidence_ids) as n from bpm.fact")
    assert facts == [{"value": [1.5, "số"], "attempt": 2, "n": 1}]


def test_facts_that_are_refused_fail_the_task_and_say_why(database: TestDatabase) -> None:
    deploy(database, linear("forging", "forge"))
    start(database, "forging")
    worker = Worker()
    worker.task("forge")(lambda task: Done(facts=[{"name": "kg"}]))
    run_until_idle(database, worker)
    [error] = errors_of(database, "forging")
    assert error["type"] == "ResultRefused"
    assert error["message"].startswith("Fact 1: ")


def test_a_handler_gets_inputs_and_headers(database: TestDatabase) -> None:
    mapped = (
        '<serviceTask id="pay"><extensionElements xmlns:z="http://camunda.org/schema/zeebe/1.0">'
        '<z:ioMapping><z:input source="= n * 2" target="double"/>'
        '<z:output source="= paid" target="receipt"/></z:ioMapping>'
        '<z:taskHeaders><z:header key="url" value="/pay"/></z:taskHeaders>'
        "</extensionElements></serviceTask>"
    )
    deploy(database, linear("mapped", "pay").replace('<serviceTask id="pay"/>', mapped))
    instance = start(database, "mapped")[0]
    worker = Worker()

    @worker.task("pay")
    async def pay(task: Task) -> dict[str, Any]:
        return {"paid": [task.variables["double"], task.headers], "junk": 1}

    run_until_idle(database, worker)
    assert statuses(database, "mapped") == {"Completed": 1}
    assert variables_of(database, instance) == {"n": 1, "receipt": [2, {"url": "/pay"}]}


def test_a_bpmn_error_leaves_by_the_boundary(database: TestDatabase) -> None:
    deploy(database, caught("declines", "charge-card", "card-declined"))
    instance = start(database, "declines")[0]
    worker = Worker()

    @worker.task("charge-card")
    async def charge(task: Task) -> None:
        raise BpmnError("card-declined", "no cover", {"declined": True})

    run_until_idle(database, worker)
    assert statuses(database, "declines") == {"Completed": 1}
    kinds = database.rows("select kind, node_id from bpm.get_history(%s)", [instance])
    assert ("ErrorCaught", "catch") in {(row["kind"], row["node_id"]) for row in kinds}
    assert variables_of(database, instance)["declined"] is True


def test_two_attempts_fail_and_the_third_succeeds(database: TestDatabase) -> None:
    """A-03, with what the operator gets to see of the failures."""
    publish_task(database, "shaky", max_attempts=3, backoff="50 milliseconds")
    deploy(database, linear("shaky-process", "shaky"))
    start(database, "shaky-process", card="4111-1111")
    worker = Worker()

    @worker.task("shaky")
    def shaky(task: Task) -> dict[str, Any]:
        if task.attempt < 3:
            secret = task.variables["card"]
            raise ConnectionError(f"attempt {task.attempt} of {len(secret)}")
        return {"attempt": task.attempt}

    run_until_idle(database, worker)
    assert statuses(database, "shaky-process") == {"Completed": 1}
    assert attempts_of(database, "shaky-process") == [
        (1, "Failed"), (2, "Failed"), (3, "Succeeded"),
    ]  # fmt: skip
    error = errors_of(database, "shaky-process")[0]
    assert error["type"] == "ConnectionError"
    assert error["message"] == "attempt 1 of 9"
    assert "in shaky" in error["traceback"]
    assert "4111" not in json.dumps(error)


def test_a_result_that_does_not_meet_its_schema_is_tried_again(database: TestDatabase) -> None:
    """It is kept as rejected, with the reason, and costs an attempt."""
    schema = json.dumps({"properties": {"price": {"type": "integer"}}})
    publish_task(
        database, "priced", max_attempts=2, backoff="50 milliseconds", result_schema=schema
    )
    deploy(database, linear("priced-process", "priced"))
    start(database, "priced-process")
    worker = Worker()

    @worker.task("priced")
    def priced(task: Task) -> dict[str, Any]:
        return {"price": "3" if task.attempt == 1 else 3}

    run_until_idle(database, worker)
    assert statuses(database, "priced-process") == {"Completed": 1}
    assert attempts_of(database, "priced-process") == [(1, "Failed"), (2, "Succeeded")]
    assert errors_of(database, "priced-process")[0]["type"] == "ResultInvalid"
    rows = database.rows("select verdict, reasons, output from bpm.result where node_id = 'priced'")
    reasons = ["/price: must be of type integer, is string"]
    assert {(row["verdict"], json.dumps(row["reasons"])) for row in rows} == {
        ("Rejected", json.dumps(reasons)), ("Accepted", "null"),
    }  # fmt: skip


def test_the_handler_may_say_when_to_retry(database: TestDatabase) -> None:
    publish_task(database, "later", max_attempts=3, backoff="1 hour", backoff_cap="1 hour")
    deploy(database, linear("later-process", "later"))
    start(database, "later-process")
    worker = Worker()
    times: list[float] = []

    @worker.task("later")
    async def later(task: Task) -> None:
        times.append(time.monotonic())
        if task.attempt == 1:
            raise Retry(0.5, "not yet")

    run_until_idle(database, worker)
    assert statuses(database, "later-process") == {"Completed": 1}
    assert 0.45 < times[1] - times[0] < 5
    assert errors_of(database, "later-process") == [{"type": "Retry", "message": "not yet"}]


@pytest.mark.parametrize(
    ("result", "error_type", "said"),
    [
        (NonRetryable("no such customer"), "NonRetryable", "no such customer"),
        ({"a": object()}, "NotJson", "not JSON serializable"),
        (["a"], "NotJson", "expected a dict"),
        ({"a": "\0"}, "NotJson", "U+0000"),
        ({"forged": "__odd:1"}, "ResultRefused", "Variable forged starts with a reserved prefix"),
    ],
)
def test_what_no_further_attempt_can_mend_is_a_dead_letter(
    database: TestDatabase, result: object, error_type: str, said: str
) -> None:
    code = f"hopeless-{error_type}-{abs(hash(str(result))) % 1000}"
    deploy(database, linear(code, "hopeless"))
    instance = start(database, code)[0]
    worker = Worker()

    @worker.task("hopeless")
    async def hopeless(task: Task) -> Any:
        if isinstance(result, Exception):
            raise result
        return result

    run_until_idle(database, worker)
    letters = database.rows(
        "select d.error, d.state from bpm.dead_letter d where d.process_instance_id = %s",
        [instance],
    )
    assert [(row["error"]["type"], row["state"]) for row in letters] == [(error_type, "Open")]
    assert said in letters[0]["error"]["message"]
    assert attempts_of(database, code) == [(1, "Failed")]


def test_one_bad_result_spoils_nobody_elses_batch(database: TestDatabase) -> None:
    deploy(database, linear("spoiled", "spoil"))
    start(database, "spoiled", 50)
    worker = Worker()

    @worker.task("spoil")
    async def spoil(task: Task) -> dict[str, Any]:
        return {"x": "__var:1:{broken"} if task.variables["n"] == 17 else {"x": 1}

    run_until_idle(database, worker)
    assert statuses(database, "spoiled") == {"Completed": 49, "Running": 1}


@pytest.mark.parametrize("raised", [SystemExit(3), StopIteration(), asyncio.CancelledError()])
def test_handlers_cannot_end_the_runner(database: TestDatabase, raised: BaseException) -> None:
    code = f"nasty-{type(raised).__name__}"
    publish_task(database, code, max_attempts=1)
    deploy(database, linear(f"{code}-process", code))
    start(database, f"{code}-process")
    worker = Worker()

    @worker.task(code)
    def nasty(task: Task) -> None:
        raise raised

    run_until_idle(database, worker)
    assert attempts_of(database, f"{code}-process") == [(1, "Failed")]


def test_concurrency_is_bounded(database: TestDatabase) -> None:
    names = ("one-at-a-time", "two-at-a-time", "shared", "threads")
    for name in names:
        deploy(database, linear(f"bounded-{name}", name))
        start(database, f"bounded-{name}", 20)
    worker = Worker()
    now: Counter[str] = Counter()
    most: Counter[str] = Counter()

    def enter(name: str) -> None:
        now[name] += 1
        most[name] = max(most[name], now[name])

    def coroutine(name: str, concurrency: int | None) -> None:
        @worker.task(name, concurrency=concurrency)
        async def handler(task: Task) -> None:
            enter(name)
            await asyncio.sleep(0.005)
            now[name] -= 1

    coroutine("one-at-a-time", 1)
    coroutine("two-at-a-time", 2)
    coroutine("shared", None)
    lock = threading.Lock()

    @worker.task("threads")
    def threads(task: Task) -> None:
        with lock:
            enter("threads")
        time.sleep(0.02)
        with lock:
            now["threads"] -= 1

    run_until_idle(database, worker, concurrency=7, threads=3)
    for name in names:
        assert statuses(database, f"bounded-{name}") == {"Completed": 20}
    assert most["one-at-a-time"] == 1
    assert most["two-at-a-time"] == 2
    assert 1 <= most["shared"] <= 7
    assert most["threads"] <= 3


# -- leases -------------------------------------------------------------------------------------


def test_heartbeats_keep_long_work(database: TestDatabase) -> None:
    deploy(database, linear("long", "long-async", "long-sync"))
    start(database, "long")
    worker = Worker()

    @worker.task("long-async")
    async def long_async(task: Task) -> None:
        await asyncio.sleep(3.2)

    @worker.task("long-sync")
    def long_sync(task: Task) -> None:
        time.sleep(3.2)

    run_until_idle(database, worker, lease_s=1.5)
    assert attempts_of(database, "long") == [(1, "Succeeded"), (1, "Succeeded")]


def test_a_clock_that_is_an_hour_off_has_no_effect(
    database: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A-24: times are measured from answers of the database, with a clock that cannot jump."""
    publish_task(database, "odd-clock", max_attempts=2, backoff="500 milliseconds")
    deploy(database, linear("odd-clocks", "odd-clock"))
    worker = Worker()

    @worker.task("odd-clock")
    async def odd_clock(task: Task) -> None:
        if task.attempt == 1:
            raise ValueError("once")
        await asyncio.sleep(2.5)

    right = time.time
    for hours in (-1, 1):
        start(database, "odd-clocks")
        monkeypatch.setattr(time, "time", lambda hours=hours: right() + hours * 3600)
        run_until_idle(database, worker, lease_s=1.5)
    assert statuses(database, "odd-clocks") == {"Completed": 2}
    assert Counter(attempts_of(database, "odd-clocks")) == {(1, "Failed"): 2, (2, "Succeeded"): 2}


def lose_lease(database: TestDatabase, code: str) -> None:
    """Take the running task of a process away, as its expired lease would."""
    database.rows(
        """
        update bpm_core.task_instance t set lease_until = clock_timestamp() - interval '1 second'
          from bpm.task v
         where v.task_id = t.id and v.business_key = %s and t.state = 'Executing'
        """,
        [f"{code}-1"],
    )
    database.rows("select * from bpm.tick()")


def test_a_lost_lease_cancels_a_coroutine_and_its_result_is_not_used(
    database: TestDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    publish_task(database, "losing", max_attempts=2, backoff="0 seconds", lease="3 seconds")
    deploy(database, linear("losing-process", "losing"))
    start(database, "losing-process")
    worker = Worker()
    events: list[str] = []

    @worker.task("losing")
    async def losing(task: Task) -> dict[str, Any]:
        events.append(f"start {task.attempt}")
        if task.attempt == 2:
            return {"by": 2}
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            events.append(f"cancelled, lost={task.lease_lost}")
            raise
        return {"by": 1}

    async def main() -> None:
        async with running(database, worker):
            await until(lambda: events, "first attempt")
            await asyncio.to_thread(lose_lease, database, "losing-process")
            await until(
                lambda: statuses(database, "losing-process") == {"Completed": 1}, "completed"
            )
            await until(lambda: len(events) > 2, "the first attempt was told")

    with caplog.at_level(logging.INFO, "pgbpm"):
        asyncio.run(main())
    assert sorted(events) == ["cancelled, lost=True", "start 1", "start 2"]
    assert attempts_of(database, "losing-process") == [(1, "Expired"), (2, "Succeeded")]
    assert "lost: LeaseLost" in caplog.text
    assert "not used: LeaseLost" in caplog.text


def test_a_lost_lease_is_shown_to_a_thread_and_its_result_is_not_used(
    database: TestDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    publish_task(database, "losing-thread", max_attempts=2, backoff="0 seconds", lease="3 seconds")
    deploy(database, linear("losing-threads", "losing-thread"))
    instance = start(database, "losing-threads")[0]
    worker = Worker()
    events: list[str] = []

    @worker.task("losing-thread")
    def losing(task: Task) -> dict[str, Any]:
        events.append(f"start {task.attempt}")
        deadline = time.monotonic() + 20
        while task.attempt == 1 and not task.lease_lost and time.monotonic() < deadline:
            time.sleep(0.01)
        return {"by": task.attempt}

    async def main() -> None:
        async with running(database, worker):
            await until(lambda: events, "first attempt")
            await asyncio.to_thread(lose_lease, database, "losing-threads")
            await until(
                lambda: statuses(database, "losing-threads") == {"Completed": 1}, "completed"
            )

    with caplog.at_level(logging.WARNING, "pgbpm"):
        asyncio.run(main())
    assert variables_of(database, instance)["by"] == 2
    assert attempts_of(database, "losing-threads") == [(1, "Expired"), (2, "Succeeded")]
    assert "not used: LeaseLost" in caplog.text


# -- draining -----------------------------------------------------------------------------------


def test_draining_ends_what_it_can_and_releases_the_rest(database: TestDatabase) -> None:
    deploy(database, linear("draining", "drain-me"))
    start(database, "draining", 3)
    worker = Worker()
    started: set[int] = set()
    let_go = threading.Event()

    @worker.task("drain-me", concurrency=2)
    async def drain_me(task: Task) -> None:
        started.add(task.variables["n"])
        await (
            asyncio.sleep(60) if task.variables["n"] == 2 else asyncio.to_thread(let_go.wait, 20)
        )

    async def main() -> float:
        runner = make_runner(database, worker, until_idle=False, drain_seconds=1.0)
        serving = asyncio.create_task(runner.run())
        await until(lambda: started == {1, 2}, "two handlers at work")
        runner.stop()
        let_go.set()
        began = time.monotonic()
        await serving
        return time.monotonic() - began

    assert asyncio.run(main()) < 4
    rows = database.rows(
        "select t.business_key, t.state, t.attempt from bpm.task t"
        " where t.task_type = 'drain-me' order by 1"
    )
    assert [(row["business_key"], row["state"]) for row in rows] == [
        ("draining-1", "Completed"), ("draining-2", "Ready"), ("draining-3", "Ready"),
    ]  # fmt: skip
    assert rows[2]["attempt"] == 0  # nothing was claimed any more
    assert (1, "Released") in attempts_of(database, "draining")


def test_draining_leaves_threads_that_do_not_end(database: TestDatabase) -> None:
    deploy(database, linear("stuck", "stuck-thread"))
    start(database, "stuck")
    worker = Worker()
    started, end = threading.Event(), threading.Event()

    @worker.task("stuck-thread")
    def stuck(task: Task) -> None:
        started.set()
        end.wait(20)

    async def main() -> bool:
        runner = make_runner(database, worker, until_idle=False, drain_seconds=0.2)
        serving = asyncio.create_task(runner.run())
        await until(started.is_set, "the handler at work")
        runner.stop()
        await serving
        return runner.clean

    assert asyncio.run(main()) is False
    end.set()
    assert attempts_of(database, "stuck") == [(1, "Released")]


# -- until idle ---------------------------------------------------------------------------------


def test_until_idle_waits_for_what_is_soon_due_and_for_nothing_else(database: TestDatabase) -> None:
    for name, backoff in (("soon", "1 second"), ("much-later", "1 hour")):
        publish_task(database, name, max_attempts=2, backoff=backoff, backoff_cap="1 hour")
        deploy(database, linear(f"{name}-process", name))
        start(database, f"{name}-process")
    worker = Worker()

    def fail_once(task: Task) -> None:
        if task.attempt == 1:
            raise ValueError("first")

    worker.task("soon")(fail_once)
    worker.task("much-later")(fail_once)
    began = time.monotonic()
    run_until_idle(database, worker, idle_grace_s=3.0)
    assert time.monotonic() - began < 10
    assert statuses(database, "soon-process") == {"Completed": 1}
    assert statuses(database, "much-later-process") == {"Running": 1}


def test_a_runner_without_handlers_is_idle_at_once(fresh_database: TestDatabase) -> None:
    assert run_until_idle(fresh_database, Worker()).summary() == "nothing to do"


# -- several runners, several tenants -------------------------------------------------------------


def test_several_runners_share_the_work(database: TestDatabase) -> None:
    """A-09, A-12: each task is handed out once, whoever asks."""
    deploy(database, linear("shared-work", "share-a", "share-b"))
    start(database, "shared-work", 200)
    done: Counter[tuple[str, str]] = Counter()

    def worker_of(number: int) -> Worker:
        worker = Worker()
        for name in ("share-a", "share-b"):

            @worker.task(name)
            async def handler(task: Task) -> None:
                done[task.task_type, str(task.business_key)] += 1
                await asyncio.sleep(0.001)

        return worker

    async def main() -> None:
        runners = [make_runner(database, worker_of(n), batch_size=7) for n in range(3)]
        await asyncio.gather(*(runner.run() for runner in runners))

    asyncio.run(main())
    assert statuses(database, "shared-work") == {"Completed": 200}
    assert set(done.values()) == {1}
    assert len(done) == 400


def test_all_tenants_are_served_or_only_those_named(fresh_database: TestDatabase) -> None:
    for tenant in ("", "acme", "globex"):
        if tenant:
            fresh_database.rows(
                "select bpm.create_tenant(p_name => %s, p_new_tenant_id => %s)", [tenant, tenant]
            )
            fresh_database.rows(
                "select bpm.grant_access(p_role => current_user::text, p_tenant_pattern => %s,"
                " p_capability => 'admin')",
                [tenant],
            )
        deploy(fresh_database, linear("tenanted", "tenant-task"), tenant)
        start(fresh_database, "tenanted", 10, tenant)
    worker = Worker()
    worker.task("tenant-task")(lambda task: None)

    def done() -> dict[str, int]:
        return {
            row["tenant_id"]: row["n"]
            for row in fresh_database.rows(
                "select i.tenant_id, count(*)::int n from bpm.instance i"
                " where i.status = 'Completed' group by 1"
            )
        }

    run_until_idle(fresh_database, worker, tenants=["acme"])
    assert done() == {"acme": 10}
    run_until_idle(fresh_database, worker, batch_size=2)
    assert done() == {"": 10, "acme": 10, "globex": 10}


def test_a_tenant_that_is_refused_does_not_stop_the_others(
    fresh_database: TestDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    deploy(fresh_database, linear("still-served", "still"))
    start(fresh_database, "still-served")
    worker = Worker()
    worker.task("still")(lambda task: None)
    with caplog.at_level(logging.ERROR, "pgbpm"):
        run_until_idle(fresh_database, worker, tenants=["", "never-granted"])
    assert statuses(fresh_database, "still-served") == {"Completed": 1}
    complaints = [r for r in caplog.records if "never-granted" in r.getMessage()]
    assert {record.args[0] for record in complaints if isinstance(record.args, tuple)} == {
        "tick", "claim_tasks 0", "claim_commands", "claim_probes",
        "claim_domain_events",
    }  # fmt: skip
    assert len(complaints) == 5  # each once, not at every look


def test_another_version_of_the_functions_is_refused(fresh_database: TestDatabase) -> None:
    fresh_database.rows(
        "create or replace function bpm.api_version()"
        " returns table (lowest integer, highest integer) language sql as 'select 7, 9'"
    )
    with pytest.raises(MigrationError, match="versions 7 to 9"):
        run_until_idle(fresh_database, Worker())


# -- lost connections ---------------------------------------------------------------------------


def test_killed_connections_cost_nothing(database: TestDatabase) -> None:
    """Every connection of the runner is cut again and again; everything still ends."""
    for name in ("cut-a", "cut-b", "cut-c"):  # a claim whose answer is lost uses up an attempt
        publish_task(database, name, max_attempts=50, backoff="0 seconds")
    deploy(database, linear("cut", "cut-a", "cut-b", "cut-c"))
    worker = Worker()
    for name in ("cut-a", "cut-b", "cut-c"):

        @worker.task(name)
        async def handler(task: Task) -> dict[str, Any]:
            return {task.task_type: task.attempt}

    async def main() -> None:
        async with running(database, worker, lease_s=1.0):
            for _ in range(10):
                await asyncio.to_thread(start, database, "cut", 30)
                await asyncio.to_thread(
                    database.rows,
                    "select pg_terminate_backend(pid) from pg_stat_activity"
                    " where application_name like 'pgbpm/%' and datname = current_database()",
                )
                await asyncio.sleep(0.05)
            await until(
                lambda: statuses(database, "cut").get("Completed") == 300, "all completed", 40
            )

    asyncio.run(main())
    rows = database.rows(
        "select count(*)::int n from bpm.execution e join bpm.instance i using (tenant_id,"
        " workflow_instance_id) where i.process_code = 'cut' and e.state = 'Succeeded'"
    )
    assert rows[0]["n"] == 900


class Proxy:
    """Stands between the runner and the server and can swallow an answer and cut the line."""

    def __init__(self, target: dict[str, Any]) -> None:
        self._target = target
        self.swallow: bytes | None = None
        self.swallowed = 0
        self.port = 0

    async def __aenter__(self) -> Proxy:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *error: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, port = self._target["host"], self._target.get("port", 5432)
        if host.startswith("/"):
            up = await asyncio.open_unix_connection(f"{host}/.s.PGSQL.{port}")
        else:
            up = await asyncio.open_connection(host, int(port))
        asked: list[bytes] = [b""]
        await asyncio.wait(
            [
                asyncio.create_task(self._forward(reader, up[1], asked)),
                asyncio.create_task(self._back(up[0], writer, asked)),
            ],
            return_when=asyncio.FIRST_COMPLETED,
        )
        writer.close()
        up[1].close()

    async def _forward(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: list[bytes]
    ) -> None:
        while data := await reader.read(65536):
            asked[0] = data
            writer.write(data)
            await writer.drain()

    async def _back(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: list[bytes]
    ) -> None:
        while data := await reader.read(65536):
            if self.swallow is not None and self.swallow in asked[0]:
                self.swallow = None
                self.swallowed += 1
                return  # the server has answered, so it has committed; nobody hears of it
            writer.write(data)
            await writer.drain()


def test_a_lost_answer_is_asked_for_again(database: TestDatabase) -> None:
    """A-11: complete_tasks committed, its answer got lost, the runner repeats: same answer."""
    deploy(database, linear("unheard", "unheard-task", "next-task"))
    start(database, "unheard")
    worker = Worker()
    calls: list[str] = []
    worker.task("unheard-task")(lambda task: calls.append(task.task_type))
    worker.task("next-task")(lambda task: calls.append(task.task_type))

    async def main() -> int:
        info = psycopg.conninfo.conninfo_to_dict(database.url)
        async with Proxy(info) as proxy:
            url = psycopg.conninfo.make_conninfo(database.url, host="127.0.0.1", port=proxy.port)
            proxy.swallow = b"bpm.complete_tasks"
            runner = make_runner(database, worker, url=url)
            await runner.run()
            assert runner.results.counts == {"Completed": 2}
            return proxy.swallowed

    assert asyncio.run(main()) == 1
    assert calls == ["unheard-task", "next-task"]
    assert statuses(database, "unheard") == {"Completed": 1}
    assert attempts_of(database, "unheard") == [(1, "Succeeded"), (1, "Succeeded")]


def test_logs_name_the_task_and_never_its_variables(
    database: TestDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    deploy(database, linear("discreet", "discreet-task"))
    start(database, "discreet", card="4111-1111")
    worker = Worker()

    @worker.task("discreet-task")
    async def discreet(task: Task) -> None:
        raise NonRetryable("no")

    with caplog.at_level(logging.DEBUG, "pgbpm"):
        run_until_idle(database, worker)
    lines = [json.loads(JsonLines().format(record)) for record in caplog.records]
    failed = next(line for line in lines if "failed in attempt" in line["message"])
    assert failed["level"] == "warning"
    assert failed["business_key"] == "discreet-1"
    assert failed["task_type"] == "discreet-task"
    assert "4111" not in json.dumps(lines)
