"""Leases and fences between several workers: whoever comes late is told so and changes nothing."""

from __future__ import annotations

import json

import psycopg
import pytest
from tests.races import kit
from tests.races.kit import COMPLETE, Session, answer, claim, held
from tests.support.database import TestDatabase


@pytest.fixture(scope="module", autouse=True)
def _processes(database: TestDatabase) -> None:
    kit.deploy(
        database,
        kit.process("line", "start > once > end", once=kit.service(retries="5")),
        kit.process("thrice", "start > third > end", third=kit.service(retries="3")),
        kit.process(
            "pair",
            "start > fork > left > join > last > end; fork > right > join",
            left=kit.service(retries="1"),
        ),
    )


def _advance(database: TestDatabase, seconds: int) -> None:
    database.rows("select bpm.advance_clock(make_interval(secs => %s))", [seconds])


def test_a_late_worker_is_told_that_its_lease_is_lost(database: TestDatabase) -> None:
    """A-01: A claims and dies, its lease runs out, B claims and completes, A wakes up."""
    (process,) = kit.start(database, "line")
    with Session(database) as a, Session(database) as b:
        (of_a,) = claim(a, ["once"], lease="30 seconds", worker="a")
        _advance(database, 31)
        assert not claim(b, ["once"], worker="b"), "an expired lease is not free before the reaper"
        assert b.one("select * from bpm.tick()")["done"]["leases"] == 1
        _advance(database, 10)
        (of_b,) = claim(b, ["once"], worker="b")
        assert (of_b["attempt"], of_b["fencing_token"]) == (2, of_a["fencing_token"] + 1)
        assert a.one(COMPLETE, answer([of_a], by="a"))["outcome"] == "LeaseLost"
        assert b.one(COMPLETE, answer([of_b], by="b"))["outcome"] == "Completed"
        assert a.one(COMPLETE, answer([of_a], by="a"))["outcome"] == "LeaseLost"
        for call in (
            'select * from bpm.complete_task(%s, %s, \'{"by": "a"}\')',
            "select * from bpm.fail_task(%s, %s, '\"too late\"')",
            "select * from bpm.throw_error(%s, %s, 'late')",
        ):
            with pytest.raises(psycopg.DatabaseError) as refused:
                a.do(call, of_a["task_id"], of_a["fencing_token"])
            # The attempt of A ended as Expired: what it says now conflicts with nothing it said.
            assert refused.value.sqlstate == "BP410", call
    assert kit.status_of(database, process) == "Completed"
    assert database.value("select bpm.get_variables(%s)", [process]) == {"by": "b"}
    assert len(kit.history(database, process, "TaskCompleted")) == 1


def test_an_expired_lease_completes_nothing_before_it_is_reaped(database: TestDatabase) -> None:
    """A-01, the gap: nobody has taken the task yet, its holder is late all the same."""
    (process,) = kit.start(database, "line")
    with Session(database) as a:
        (task,) = claim(a, ["once"], lease="30 seconds")
        _advance(database, 31)
        item = json.dumps([held(task)])
        for call in (
            "select outcome from bpm.complete_tasks(%s)",
            "select outcome from bpm.fail_tasks(%s)",
            "select outcome from bpm.extend_leases(%s)",
            "select outcome from bpm.release_tasks(%s)",
        ):
            assert a.one(call, item)["outcome"] == "LeaseLost", call
        assert a.one("select * from bpm.tick()")["done"]["leases"] == 1
    _advance(database, 10)
    kit.run_out(database, ["once"])
    assert kit.status_of(database, process) == "Completed"


@pytest.mark.parametrize("old_first", [True, False])
def test_the_token_tells_two_leases_of_one_worker_apart(
    database: TestDatabase, old_first: bool
) -> None:
    """A-02: the same worker name holds the old and the new lease, and answers both in one call."""
    (process,) = kit.start(database, "line")
    with Session(database) as worker:
        (old,) = claim(worker, ["once"], lease="30 seconds", worker="same")
        _advance(database, 31)
        worker.do("select * from bpm.tick()")
        _advance(database, 10)
        (new,) = claim(worker, ["once"], worker="same")
        assert old["task_id"] == new["task_id"]
        items = [
            {**held(old), "variables": {"lease": "old"}},
            {**held(new), "variables": {"lease": "new"}},
        ]
        expected = {"old": "LeaseLost", "new": "Completed"}
        if not old_first:
            items.reverse()
        rows = worker.do(COMPLETE, json.dumps(items))
        assert [row["outcome"] for row in rows] == [
            expected[item["variables"]["lease"]] for item in items
        ]
    assert database.value("select bpm.get_variables(%s)", [process]) == {"lease": "new"}


@pytest.mark.parametrize("verb", ["fail_tasks", "extend_leases", "release_tasks"])
def test_the_old_token_of_the_same_worker_does_nothing_else_either(
    database: TestDatabase, verb: str
) -> None:
    """A-02 for the other calls: the old token is refused beside the new one, in either order."""
    hoped = {"fail_tasks": "Retrying", "extend_leases": "Extended", "release_tasks": "Released"}
    with Session(database) as worker:
        for old_first in (True, False):
            kit.start(database, "line")
            (old,) = claim(worker, ["once"], lease="30 seconds", worker="same")
            _advance(database, 31)
            worker.do("select * from bpm.tick()")
            _advance(database, 10)
            (new,) = claim(worker, ["once"], worker="same")
            pair = [(old, "LeaseLost"), (new, hoped[verb])]
            if not old_first:
                pair.reverse()
            rows = worker.do(
                f"select * from bpm.{verb}(%s)", json.dumps([held(task) for task, _ in pair])
            )
            assert [row["outcome"] for row in rows] == [outcome for _, outcome in pair]
            _advance(database, 10)
            if verb == "extend_leases":
                worker.do(COMPLETE, answer([new]))
            kit.run_out(database, ["once"])


@pytest.mark.parametrize("old_first", [True, False])
def test_the_token_tells_two_leases_of_one_command_apart(
    database: TestDatabase, old_first: bool
) -> None:
    """A-02 for commands: the old attempt's mark beside the new one's, in one call."""
    database.rows(
        "select bpm.register_destination('courier', 'http', '{\"url\": \"http://courier.test/\"}',"
        " p_resend_allowed => true)"
    )
    kit.deploy(database, kit.process("posts", "start > book > end", book=kit.send(type="courier")))
    kit.start(database, "posts")
    claim_command = "select c.command_id, c.fencing_token from bpm.claim_commands('same', 1) c"
    with Session(database) as runner:
        old = runner.one(claim_command)
        _advance(database, 70)
        assert runner.one("select * from bpm.tick()")["done"]["commands"] == 1
        _advance(database, 600)
        runner.do("select * from bpm.tick()")
        new = runner.one(claim_command)
        assert new["command_id"] == old["command_id"]
        marks = [(old, "NotSent", "LeaseLost"), (new, "Sent", "Sent")]
        if not old_first:
            marks.reverse()
        items = [
            {
                "command_id": str(command["command_id"]),
                "fencing_token": command["fencing_token"],
                "outcome": reported,
            }
            for command, reported, _ in marks
        ]
        rows = runner.do("select * from bpm.mark_commands(%s)", json.dumps(items))
    assert [row["outcome"] for row in rows] == [outcome for _, _, outcome in marks]
    assert {row["state"] for row in rows} == {"Sent"}


def test_the_third_attempt_succeeds(database: TestDatabase) -> None:
    """A-03: two attempts fail, the third succeeds; history tells of 1, 2, 3 and one completion."""
    (process,) = kit.start(database, "thrice")
    with Session(database) as worker:
        for attempt in (1, 2, 3):
            (task,) = claim(worker, ["third"])
            assert task["attempt"] == attempt
            if attempt < 3:
                row = worker.one(
                    "select * from bpm.fail_task(%s, %s, '\"no luck\"')",
                    task["task_id"],
                    task["fencing_token"],
                )
                assert row["outcome"] == "Retrying"
                assert not claim(worker, ["third"]), "claimed before its backoff was over"
                _advance(database, 60)
            else:
                assert worker.one(COMPLETE, answer([task]))["outcome"] == "Completed"
    told = [
        (row["kind"], row["detail"]["attempt"])
        for row in kit.history(database, process, "TaskRetried", "TaskFailed", "TaskCompleted")
    ]
    assert told == [("TaskRetried", 1), ("TaskRetried", 2), ("TaskCompleted", 3)]
    assert kit.status_of(database, process) == "Completed"


def test_a_requeued_branch_still_meets_the_other_at_the_join(database: TestDatabase) -> None:
    """A-05: one branch dies, the other waits at the join; requeued and completed, it fires once."""
    (process,) = kit.start(database, "pair")
    with Session(database) as worker:
        (right,) = claim(worker, ["right"])
        worker.do(COMPLETE, answer([right]))
        (left,) = claim(worker, ["left"])
        row = worker.one(
            "select * from bpm.fail_task(%s, %s, '\"broken\"')",
            left["task_id"],
            left["fencing_token"],
        )
        assert row["outcome"] == "Failed"
        assert kit.standing(database, process) == ["join Waiting", "left Failed"]
        (letter,) = worker.do(
            "select d.dead_letter_id from bpm.dead_letter d where d.process_instance_id = %s",
            process,
        )
        worker.do("select * from bpm.requeue_dead_letter(%s)", letter["dead_letter_id"])
        assert kit.standing(database, process) == ["join Waiting", "left Waiting"]
        (again,) = claim(worker, ["left"])
        assert again["task_id"] == left["task_id"]
        worker.do(COMPLETE, answer([again]))
    assert len(kit.history(database, process, "JoinFired")) == 1
    assert kit.standing(database, process) == ["last Waiting"]
    kit.run_out(database, ["last"])
    assert kit.status_of(database, process) == "Completed"


HOLD = "select from bpm_core.workflow_instance w where w.process_instance_id = %s for no key update"
TICK = "select * from bpm.tick(1)"


def test_what_somebody_holds_keeps_no_others_waiting(database: TestDatabase) -> None:
    """The oldest lease that ran out, and the oldest row of the inbox, are of an instance somebody
    holds: the next one's turn comes, also when a tick takes only one."""
    first, second = kit.start(database, "line", 2)
    with Session(database) as worker:
        assert len(claim(worker, ["once"], lease="30 seconds")) == 1
        assert len(claim(worker, ["once"], lease="31 seconds")) == 1
        worker.do(
            "insert into bpm_core.inbox"
            " (id, target_kind, target_id, kind, payload, available_at)"
            " select bpm_core.new_id(), 'WorkflowInstance', i.workflow_instance_id, 'Sweep', '{}',"
            "        bpm_core.now() from bpm.instance i where i.process_instance_id = any (%s)"
            " order by i.process_instance_id",
            [first, second],
        )
        _advance(database, 40)
        with kit.holding(database, HOLD, first):
            done = [worker.one(TICK)["done"] for _ in range(2)]
            assert [(d["leases"], d["inbox"]) for d in done] == [(1, 1), (0, 0)]
        done = [worker.one(TICK)["done"] for _ in range(2)]
        assert [(d["leases"], d["inbox"]) for d in done] == [(1, 1), (0, 0)]
        _advance(database, 600)
    kit.run_out(database, ["once"])


def test_a_lost_answer_is_given_again(database: TestDatabase) -> None:
    """A-11: the caller repeats complete_task, in turn and while the first call is still running."""
    (process,) = kit.start(database, "line")
    with Session(database) as observer, kit.sessions(database, 3) as callers:
        (task,) = claim(observer, ["once"])
        call = "select * from bpm.complete_task(%s, %s, '{\"said\": 1}')"
        with kit.instances_held(database):
            running = [c.start(call, task["task_id"], task["fencing_token"]) for c in callers]
            kit.blocked(observer, callers)
        answers = kit.settled(running)
        assert all(a == answers[0] and not isinstance(a, psycopg.Error) for a in answers), answers
        repeated = observer.one(call, task["task_id"], task["fencing_token"])
        assert [repeated] == answers[0]
        with pytest.raises(psycopg.DatabaseError) as conflict:
            observer.do(call.replace("1", "2"), task["task_id"], task["fencing_token"])
        assert conflict.value.sqlstate == "BP409"
    assert len(kit.history(database, process, "TaskCompleted", "TokenCompleted")) == 2
    assert database.value("select bpm.get_variables(%s)", [process]) == {"said": 1}


def test_two_workers_answer_one_lease_differently(database: TestDatabase) -> None:
    """A-11, the other payload: of two answers at once one is kept, the other is a conflict."""
    (process,) = kit.start(database, "line")
    with Session(database) as observer, kit.sessions(database, 2) as callers:
        (task,) = claim(observer, ["once"])
        with kit.instances_held(database):
            running = [c.start(COMPLETE, answer([task], by=n)) for n, c in enumerate(callers)]
            kit.blocked(observer, callers)
        outcomes = [rows[0]["outcome"] for rows in kit.settled(running)]  # type: ignore[index]
        assert sorted(outcomes) == ["Completed", "Conflict"]
    kept = outcomes.index("Completed")
    assert database.value("select bpm.get_variables(%s)", [process]) == {"by": kept}
