"""Races about domain events: who publishes, who tells, who subscribes, who forgets. I-15."""

from __future__ import annotations

from typing import Any

import pytest
from tests.races import kit
from tests.races.kit import Session
from tests.support.database import TestDatabase

CLAIM = "select c.* from bpm.claim_domain_events('w', %s, p_subscription => %s) c"
MARK = "select bpm.mark_published(%s, %s, %s) as outcome"
START = "select s.workflow_instance_id from bpm.start_process('told') s"
TICK = "select (t.done ->> 'domain_events')::integer as done from bpm.tick() t"
SUBSCRIBE = "select bpm.subscribe_events(%s)"
FORGET = "select m.deleted, m.done, m.held_by from bpm.maintain_domain_events(%s) m"


@pytest.fixture
def told(fresh_database: TestDatabase) -> TestDatabase:
    """A process with a task, and somebody who is told of it."""
    kit.deploy(fresh_database, kit.process("told", "start > work > end", work=kit.service()))
    fresh_database.rows(SUBSCRIBE, ["mine"])
    return fresh_database


def holds(database: TestDatabase) -> None:
    """The audit finds nothing."""
    assert database.rows("select * from bpm.check_invariants()") == []


def seen(batch: dict[str, Any]) -> list[tuple[int, str, str]]:
    return [
        (event["published_no"], event["type"], event["workflow_instance_id"])
        for event in batch["events"]
    ]


def complete(session: Session, instance: Any) -> None:
    """Its task is done: it ends."""
    session.do(
        "select d.* from bpm_core.task_instance t"
        " cross join lateral (select c.* from bpm.claim_tasks('w', '{work}', 100) c) c"
        " cross join lateral bpm.complete_task(c.task_id, c.fencing_token) d"
        " where t.workflow_instance_id = %s and t.id = c.task_id",
        instance,
    )


# -- telling -------------------------------------------------------------------------------------


def test_two_who_claim_one_subscription(told: TestDatabase) -> None:
    """One gets its events; the other, at once or later, nothing until they are marked."""
    told.rows(START)
    told.rows(TICK)
    with kit.sessions(told, 2) as (first, second), Session(told) as eye:
        with kit.tables_held(told, "event_subscription"):
            waiting = [session.start(CLAIM, 10, "mine") for session in (first, second)]
            kit.blocked(eye, [first, second])
        found = [rows for rows in kit.settled(waiting) if rows]
        assert len(found) == 1
        assert isinstance(found[0], list)
        (batch,) = found[0]
        assert second.do(CLAIM, 10, "mine") == []
        with first.transaction():
            assert first.one(MARK, "mine", batch["fencing_token"], 1) == {"outcome": "Done"}
            assert second.do(CLAIM, 10, "mine") == []  # skipped, not waited for
        assert first.do(CLAIM, 10, "mine") == []
    holds(told)


def test_a_claim_that_is_not_committed_keeps_nobody_waiting(told: TestDatabase) -> None:
    told.rows(START)
    told.rows(TICK)
    with kit.sessions(told, 2) as (first, second):
        first.begin()
        assert len(first.do(CLAIM, 10, "mine")) == 1
        assert second.do(CLAIM, 10, "mine") == []
        first.rollback()
        (batch,) = second.do(CLAIM, 10, "mine")
        assert seen(batch)[0][:2] == (1, "InstanceStarted")


@pytest.mark.parametrize("late_first", [True, False])
def test_a_mark_after_the_lease_was_lost(told: TestDatabase, late_first: bool) -> None:
    """Another has the events by now: the late mark moves nothing, whoever comes first."""
    for _ in range(3):
        told.rows(START)
    told.rows(TICK)
    with kit.sessions(told, 2) as (late, other), Session(told) as eye:
        (old,) = late.do(CLAIM, 10, "mine")
        told.rows("select bpm.advance_clock('2 minutes')")
        (new,) = other.do(CLAIM, 2, "mine")
        calls = [
            (late, (MARK, "mine", old["fencing_token"], old["published_to"])),
            (other, (MARK, "mine", new["fencing_token"], new["published_to"])),
        ]
        hold = "select from bpm_core.event_subscription s for no key update"
        with kit.holding(told, hold):
            waiting = {}
            for session, call in calls if late_first else reversed(calls):
                waiting[session] = session.start(*call)
                kit.blocked(eye, [session])
        assert waiting[late].result(kit.PATIENCE) == [{"outcome": "LeaseLost"}]
        assert waiting[other].result(kit.PATIENCE) == [{"outcome": "Done"}]
        (rest,) = other.do(CLAIM, 10, "mine")
        assert [number for number, *_ in seen(rest)] == [3]
    holds(told)


# -- publishing ----------------------------------------------------------------------------------


def test_what_commits_late_is_told_late_and_in_order(told: TestDatabase) -> None:
    """A transaction that lasts writes events while others are published, told and marked."""
    with Session(told) as slow, Session(told) as runner:
        with slow.transaction():
            early = slow.one(START)["workflow_instance_id"]
            quick = runner.one(START)["workflow_instance_id"]
            assert runner.one(TICK) == {"done": 1}
            (batch,) = runner.do(CLAIM, 10, "mine")
            assert seen(batch) == [(1, "InstanceStarted", str(quick))]
            assert runner.one(MARK, "mine", batch["fencing_token"], 1) == {"outcome": "Done"}
            slow.do("select from bpm.cancel_process((select w.process_instance_id"
                    " from bpm_core.workflow_instance w where w.id = %s))", early)  # fmt: skip
            complete(runner, quick)
            assert runner.one(TICK) == {"done": 1}
        assert runner.one(TICK) == {"done": 2}
        (batch,) = runner.do(CLAIM, 10, "mine")
        assert seen(batch) == [
            (2, "InstanceCompleted", str(quick)),
            (3, "InstanceStarted", str(early)),
            (4, "InstanceCancelled", str(early)),
        ]
    holds(told)


def test_one_publishes_and_nobody_waits(told: TestDatabase) -> None:
    """Who finds another at it leaves it to that one, and writers go on."""
    first = told.rows(START)[0]["workflow_instance_id"]
    with kit.sessions(told, 2) as (one, two):
        with one.transaction():
            assert one.one(TICK) == {"done": 1}
            assert two.one(TICK) == {"done": 0}
            complete(two, first)
            assert two.do(CLAIM, 10, "mine") == []  # what has no number yet is not told
        assert two.one(TICK) == {"done": 1}
        (batch,) = two.do(CLAIM, 10, "mine")
    kinds = [kind for _, kind, _ in seen(batch)]
    assert kinds == ["InstanceStarted", "InstanceCompleted"]
    holds(told)


def test_publishers_at_once_number_each_event_once(told: TestDatabase) -> None:
    count = kit.sized(30, 300)
    with kit.sessions(told, 3) as sessions, Session(told) as eye:
        with kit.tables_held(told, "event_stream"):
            waiting = [session.start(TICK) for session in sessions[:2]]
            waiting.append(
                sessions[2].start(
                    "select count(*) from bpm.start_processes((select jsonb_agg(jsonb_build_object("
                    "'code', 'told')) from generate_series(1, %s)))",
                    count,
                )
            )
            kit.blocked(eye, sessions)
        kit.settled(waiting)
        while sessions[0].one(TICK)["done"]:
            pass
        (batch,) = sessions[0].do(CLAIM, 1000, "mine")
    assert [number for number, *_ in seen(batch)] == list(range(1, count + 1))
    assert len({instance for *_, instance in seen(batch)}) == count
    holds(told)


# -- subscribing ---------------------------------------------------------------------------------


def test_a_first_subscription_beside_what_happens(fresh_database: TestDatabase) -> None:
    """Who has subscribed is told of all that happens then; nobody waits for a subscriber."""
    database = fresh_database
    kit.deploy(database, kit.process("told", "start > work > end", work=kit.service()))
    with Session(database) as person, Session(database) as slow, Session(database) as runner:
        slow.begin()
        before = slow.one(START)["workflow_instance_id"]
        with person.transaction():
            person.do(SUBSCRIBE, "mine")
            runner.do(START)  # nobody has subscribed yet, as far as this one can see
        complete(slow, before)  # in the same transaction as its start, after the subscription
        slow.commit()
        after = runner.one(START)["workflow_instance_id"]
        runner.do(TICK)
        (batch,) = runner.do(CLAIM, 10, "mine")
    assert [(kind, instance) for _, kind, instance in seen(batch)] == [
        ("InstanceCompleted", str(before)),
        ("InstanceStarted", str(after)),
    ]
    holds(database)


def test_a_subscription_beside_a_publisher_begins_at_a_number(told: TestDatabase) -> None:
    told.rows(START)
    with Session(told) as runner, Session(told) as person, Session(told) as eye:
        with runner.transaction():
            assert runner.one(TICK) == {"done": 1}
            subscribing = person.start(SUBSCRIBE, "second")
            kit.blocked(eye, [person])
        subscribing.result(kit.PATIENCE)
        told.rows(START)
        runner.do(TICK)
        (batch,) = runner.do(CLAIM, 10, "second")
        assert [number for number, *_ in seen(batch)] == [2]
    holds(told)


# -- forgetting ----------------------------------------------------------------------------------


def test_forgetting_beside_everybody(told: TestDatabase) -> None:
    """Who forgets waits for nobody; who subscribes meanwhile begins where all is still there."""
    for _ in range(4):
        told.rows(START)
    told.rows(TICK)
    with kit.sessions(told, 3) as (keeper, runner, person), Session(told) as eye:
        (batch,) = runner.do(CLAIM, 10, "mine")
        runner.do(MARK, "mine", batch["fencing_token"], 3)
        told.rows("select bpm.advance_clock('40 days')")
        with runner.transaction():
            runner.do(START)
            assert runner.one(TICK) == {"done": 1}
            assert keeper.one(FORGET, 10) == {"deleted": 0, "done": True, "held_by": None}
        with keeper.transaction():
            assert keeper.one(FORGET, 2) == {"deleted": 2, "done": False, "held_by": "mine"}
            assert runner.one(FORGET, 2) == {"deleted": 0, "done": True, "held_by": None}
            assert runner.one(TICK) == {"done": 0}  # next time
            subscribing = person.start(SUBSCRIBE, "second")
            kit.blocked(eye, [person])
            (batch,) = runner.do(CLAIM, 10, "mine")
            assert [number for number, *_ in seen(batch)] == [4, 5]
            runner.do(MARK, "mine", batch["fencing_token"], 5)
        subscribing.result(kit.PATIENCE)
        assert keeper.one(FORGET, 10) == {"deleted": 2, "done": True, "held_by": None}
        told.rows(START)
        runner.do(TICK)
        for code in ("mine", "second"):
            (batch,) = runner.do(CLAIM, 10, code)
            assert [number for number, *_ in seen(batch)] == [6]
    holds(told)
