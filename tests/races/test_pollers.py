"""Several runners poll the same thing, or decide it: one effect (A-09, A-14)."""

from __future__ import annotations

import itertools

import psycopg
import pytest
from tests.races import kit
from tests.races.kit import Session
from tests.support.database import TestDatabase

POLLERS = 5
TICK = "select * from bpm.tick(100)"
DECIDE = "select * from bpm.decide_approval(%s, %s, p_actor => %s)"
_numbers = itertools.count()


@pytest.fixture(scope="module", autouse=True)
def _processes(database: TestDatabase) -> None:
    kit.deploy(
        database,
        kit.process("gated", "start > act > end", act=kit.service(approval="required")),
        kit.process(
            "caught",
            "start > act > end; no > tell > end2",
            act=kit.service(approval="required"),
            no=kit.boundary_error("act", "ApprovalRejected"),
        ),
        kit.process("alarms", "start > ring > rang > end", ring=kit.timer("PT1M")),
        kit.process("brief", "start > flash > end", flash=kit.service(retries="5")),
        kit.process("posts", "start > book > rest > end", book=kit.send(type="courier")),
        kit.process("letters", "start > go > letter > read > end", letter=kit.message("letter")),
    )


def _due_timer(database: TestDatabase) -> None:
    kit.start(database, "alarms")
    database.rows("select bpm.advance_clock('2 minutes')")


def _due_lease(database: TestDatabase) -> None:
    kit.start(database, "brief")
    assert database.rows("select * from bpm.claim_tasks('w', '{flash}', 1, '1 second')")
    database.rows("select bpm.advance_clock('2 seconds')")


def _waiting(database: TestDatabase) -> str:
    """A process of ``letters`` that waits for its message; the key."""
    key = f"waiting-{next(_numbers)}"
    database.rows("select * from bpm.start_process('letters', '{}', %s)", [key])
    kit.run_out(database, ["go"])
    return key


def _due_inbox_row(database: TestDatabase) -> None:
    key = _waiting(database)
    with kit.instances_held(database):
        database.rows("select * from bpm.correlate_message('letter', %s)", [key])


def _due_token(database: TestDatabase) -> None:
    key = f"parked-{next(_numbers)}"
    database.rows("select * from bpm.start_process('letters', '{}', %s)", [key])
    with kit.holding(database, "select * from bpm.correlate_message('letter', %s)", key):
        kit.run_out(database, ["go"])
    database.rows("select bpm.advance_clock('1 second')")


def _due_effect(database: TestDatabase) -> None:
    _, approval = _approval(database, "caught")
    database.rows(
        "select bpm_core.cast_vote(a, 'Approved', 'boss', null, null, null)"
        "  from bpm_core.approval_record a where a.id = %s",
        [approval],
    )


def _due_command(database: TestDatabase) -> None:
    database.rows(
        "select bpm.register_destination('courier', 'http', '{\"url\": \"http://courier.test/\"}')"
    )
    kit.start(database, "posts")
    assert database.rows("select * from bpm.claim_commands('d', 1, '1 second')")
    database.rows("select bpm.advance_clock('2 seconds')")


DUE = {
    "timers": _due_timer,
    "inbox": _due_inbox_row,
    "tokens": _due_token,
    "leases": _due_lease,
    "approvals": _due_effect,
    "commands": _due_command,
}


@pytest.mark.parametrize("kind", DUE)
def test_what_a_ticker_saw_is_looked_at_again_under_the_lock(
    database: TestDatabase, kind: str
) -> None:
    """A-09, the gap between seeing and locking: another ticker does it all in between."""
    DUE[kind](database)
    with Session(database) as eye, Session(database) as late:
        with kit.tables_held(database, "workflow_instance") as first:
            # It has seen what is due and comes to lock the instance.
            running = late.start(TICK)
            kit.blocked(eye, [late])
            assert first.one(TICK)["done"][kind] == 1
        assert running.result()[0]["done"][kind] == 0
    database.rows("select bpm.advance_clock('10 minutes')")
    database.rows("select bpm.run_until_idle()")
    kit.run_out(database, ["act", "tell", "read", "rang", "flash", "rest"])


def _approval(database: TestDatabase, code: str) -> tuple[str, str]:
    """A process that waits for a decision; its id and that of the approval."""
    (process,) = kit.start(database, code)
    approval = database.value(
        "select a.approval_id from bpm.approval a where a.process_instance_id = %s", [process]
    )
    return process, str(approval)


@pytest.mark.parametrize("decision", ["Approved", "Rejected"])
def test_several_runners_poll_one_approval_effect(database: TestDatabase, decision: str) -> None:
    """A-09, A-14: a decision whose effect is still to come takes effect once, whoever drives it."""
    for _ in range(kit.sized(3, 100)):
        process, approval = _approval(database, "caught")
        # The decision alone, as it stands when its maker dies before the effect.
        database.rows(
            "select bpm_core.cast_vote(a, %s, 'boss', null, null, null)"
            " from bpm_core.approval_record a where a.id = %s",
            [decision, approval],
        )
        assert kit.standing(database, process) == ["act Waiting"]
        with Session(database) as eye, kit.sessions(database, POLLERS) as pollers:
            with kit.tables_held(database, "approval_record"):
                calls = [
                    (TICK,),
                    ("select * from bpm.apply_approval_effects()",),
                    (DECIDE, approval, decision, "boss"),
                    (TICK,),
                    ("select * from bpm.apply_approval_effects()",),
                ]
                running = [poller.start(*call) for poller, call in zip(pollers, calls, strict=True)]
                kit.blocked(eye, pollers)
            answers = kit.settled(running)
            assert all(isinstance(rows, list) for rows in answers), answers
            eye.do(TICK)
        assert len(kit.history(database, process, "ApprovalApplied")) == 1
        expected = ["act Waiting"] if decision == "Approved" else ["tell Waiting"]
        assert kit.standing(database, process) == expected
        tasks = database.rows(
            "select 1 as n from bpm.task t where t.process_instance_id = %s and t.state = 'Ready'",
            [process],
        )
        assert len(tasks) == 1
    kit.run_out(database, ["act", "tell"])


def test_approvers_race(database: TestDatabase) -> None:
    """A-14: two approve, two reject, at once: one decision; the others hear of it."""
    for _ in range(kit.sized(4, 100)):
        process, approval = _approval(database, "gated")
        wanted = ["Approved", "Rejected", "Approved", "Rejected"]
        with Session(database) as eye, kit.sessions(database, 4) as approvers:
            with kit.instances_held(database):
                running = [
                    approver.start(DECIDE, approval, decision, f"boss{n}")
                    for n, (approver, decision) in enumerate(zip(approvers, wanted, strict=True))
                ]
                kit.blocked(eye, approvers)
            answers = kit.settled(running)
        (stands,) = database.rows(
            "select a.status, a.effect, a.decided_by from bpm.approval a where a.approval_id = %s",
            [approval],
        )
        assert stands["effect"] == "Applied"
        for decision, rows in zip(wanted, answers, strict=True):
            if decision == stands["status"]:
                assert isinstance(rows, list)
                assert rows[0]["decided_by"] == stands["decided_by"]
            else:
                assert isinstance(rows, psycopg.Error)
                assert rows.sqlstate == "BP409"
        assert len(kit.history(database, process, "ApprovalDecided")) == 1
        assert len(kit.history(database, process, "ApprovalApplied")) == 1
        expected = "Running" if stands["status"] == "Approved" else "Failed"
        assert kit.status_of(database, process) == expected
    kit.run_out(database, ["act"])


def test_several_runners_poll_one_parked_token(database: TestDatabase) -> None:
    """A-09: a token somebody parked goes on once."""
    for _ in range(kit.sized(3, 100)):
        key = f"parked-{next(_numbers)}"
        database.rows("select * from bpm.start_process('letters', '{}', %s)", [key])
        process = str(
            database.value(
                "select i.process_instance_id from bpm.instance i where i.business_key = %s", [key]
            )
        )
        with (
            Session(database) as eye,
            Session(database) as sender,
            kit.sessions(database, POLLERS) as pollers,
        ):
            # Somebody holds the key of the message the token comes to wait for: it is parked.
            sender.begin()
            sender.do("select * from bpm.correlate_message('letter', %s)", key)
            kit.run_out(database, ["go"])
            assert kit.standing(database, process) == ["letter Ready"]
            sender.commit()
            database.rows("select bpm.advance_clock('1 second')")
            with kit.tables_held(database, "token"):
                running = [poller.start(TICK) for poller in pollers]
                kit.blocked(eye, pollers)
            done = [rows[0]["done"]["tokens"] for rows in kit.settled(running)]  # type: ignore[index]
            assert sorted(done) == [0] * (POLLERS - 1) + [1]
            eye.do("select bpm.run_until_idle()")
        assert kit.standing(database, process) == ["read Waiting"]
        assert len(kit.history(database, process, "MessageReceived")) == 1
    kit.run_out(database, ["read"])


def test_a_parked_token_somebody_holds_keeps_no_other_waiting(database: TestDatabase) -> None:
    """The one parked first is of an instance somebody holds: the next one's turn comes."""
    keys = [f"parked-{next(_numbers)}" for _ in range(2)]
    processes = [
        database.rows("select * from bpm.start_process('letters', '{}', %s)", [key])[0]
        for key in keys
    ]
    with Session(database) as sender, sender.transaction():
        for key in keys:
            sender.do("select * from bpm.correlate_message('letter', %s)", key)
        kit.run_out(database, ["go"])
    first, second = (str(process["process_instance_id"]) for process in processes)
    assert kit.standing(database, first) == kit.standing(database, second) == ["letter Ready"]
    database.rows("select bpm.advance_clock('1 second')")
    hold = (
        "select from bpm_core.workflow_instance w where w.process_instance_id = %s"
        " for no key update"
    )
    tick = "select * from bpm.tick(1)"
    with kit.holding(database, hold, first):
        assert [database.rows(tick)[0]["done"]["tokens"] for _ in range(2)] == [1, 0]
        assert kit.standing(database, first) == ["letter Ready"]
    database.rows("select bpm.run_until_idle()")
    assert kit.standing(database, first) == kit.standing(database, second) == ["read Waiting"]
    kit.run_out(database, ["read"])


def test_several_people_resolve_one_incident(database: TestDatabase) -> None:
    """An incident is resolved once; the token is driven once."""
    kit.deploy(database, kit.process("frail", "start > weak > end", weak=kit.service(retries="1")))
    (process,) = kit.start(database, "frail")
    with Session(database) as eye, kit.sessions(database, POLLERS) as people:
        (task,) = kit.claim(eye, ["weak"])
        eye.do(
            "select * from bpm.fail_task(%s, %s, '\"no\"')", task["task_id"], task["fencing_token"]
        )
        (incident,) = eye.do(
            "select i.incident_id from bpm.incident i where i.process_instance_id = %s", process
        )
        with kit.instances_held(database):
            running = [
                person.start("select * from bpm.resolve_incident(%s, 2)", incident["incident_id"])
                for person in people
            ]
            kit.blocked(eye, people)
        answers = kit.settled(running)
        assert [rows[0]["outcome"] for rows in answers] == ["Done"] * POLLERS  # type: ignore[index]
        (again,) = kit.claim(eye, ["weak"], 10)
        assert again["attempt"] == 2
        eye.do(kit.COMPLETE, kit.answer([again]))
    assert len(kit.history(database, process, "TaskRequeued")) == 1
    assert kit.status_of(database, process) == "Completed"
