"""Approvals that several people or the clock decide: one decision, whatever comes (A-14)."""

from __future__ import annotations

from concurrent.futures import Future

import psycopg
import pytest
from tests.races import kit
from tests.races.kit import Session
from tests.support.database import TestDatabase

DECIDE = "select * from bpm.decide_approval(%s, %s, p_actor => %s)"
CANCEL = "select * from bpm.cancel_process(%s)"
TICK = "select * from bpm.tick(100)"
CLAIM = "select * from bpm.claim_approval(%s, %s)"


@pytest.fixture(scope="module", autouse=True)
def _processes(database: TestDatabase) -> None:
    several = {"approval": "required", "requiredApprovals": "2", "approvers": "ann, bob, cid, dan"}
    kit.deploy(
        database,
        kit.process("pair", "start > act > end", act=kit.service(**several)),
        kit.process(
            "majority",
            "start > act > end",
            act=kit.service(**several, approvalVeto="false"),
        ),
        kit.process(
            "brief",
            "start > act > end",
            act=kit.service(approval="required", approvalExpires="PT1H"),
        ),
    )


def _asked(database: TestDatabase, code: str) -> tuple[str, str]:
    """A process that waits for a decision; its id and that of the approval."""
    (process,) = kit.start(database, code)
    approval = database.value(
        "select a.approval_id from bpm.approval a where a.process_instance_id = %s", [process]
    )
    return process, str(approval)


def _row(database: TestDatabase, approval: str) -> kit.Row:
    (row,) = database.rows(
        "select a.status, a.effect, a.approvals, a.rejections from bpm.approval a"
        " where a.approval_id = %s",
        [approval],
    )
    return row


def _at_once(database: TestDatabase, *calls: tuple[object, ...]) -> list[object]:
    """Start all calls while the instances are held, then let go; their answers."""
    with Session(database) as eye, kit.sessions(database, len(calls)) as callers:
        with kit.instances_held(database):
            running: list[Future[list[kit.Row]]] = [
                caller.start(str(call[0]), *call[1:])
                for caller, call in zip(callers, calls, strict=True)
            ]
            kit.blocked(eye, callers)
        return list(kit.settled(running))


def test_votes_at_once_count_once_each(database: TestDatabase) -> None:
    """Four approve at once, one of them from two places: two votes decide, nobody counts twice."""
    for _ in range(kit.sized(3, 100)):
        process, approval = _asked(database, "pair")
        names = ["ann", "ann", "bob", "cid", "dan"]
        answers = _at_once(database, *[(DECIDE, approval, "Approved", name) for name in names])
        assert all(isinstance(rows, list) for rows in answers), answers
        row = _row(database, approval)
        assert (row["status"], row["effect"], row["approvals"]) == ("Approved", "Applied", 2)
        assert len(kit.history(database, process, "ApprovalDecided")) == 1
        assert len(kit.history(database, process, "ApprovalVoted")) == 1
    kit.run_out(database, ["act"])


def test_votes_for_and_against_at_once(database: TestDatabase) -> None:
    """Without a veto two for and two against end as one or the other, as they come."""
    for _ in range(kit.sized(3, 100)):
        process, approval = _asked(database, "majority")
        answers = _at_once(
            database,
            (DECIDE, approval, "Approved", "ann"),
            (DECIDE, approval, "Rejected", "bob"),
            (DECIDE, approval, "Approved", "cid"),
            (DECIDE, approval, "Rejected", "dan"),
        )
        row = _row(database, approval)
        # Three against of four are needed to refuse, so two for come first, whatever the order.
        assert (row["status"], row["effect"], row["approvals"]) == ("Approved", "Applied", 2)
        for rows in answers:
            assert isinstance(rows, list) or (
                isinstance(rows, psycopg.Error) and rows.sqlstate == "BP409"
            )
        assert len(kit.history(database, process, "ApprovalDecided")) == 1
    kit.run_out(database, ["act"])


def test_decide_and_cancel_at_once(database: TestDatabase) -> None:
    """The decision comes first and is undone with its instance, or last and is told that."""
    for _ in range(kit.sized(4, 100)):
        process, approval = _asked(database, "brief")
        decided, cancelled = _at_once(
            database, (DECIDE, approval, "Approved", "ann"), (CANCEL, process)
        )
        assert isinstance(cancelled, list)
        row = _row(database, approval)
        if isinstance(decided, list):
            assert (row["status"], row["effect"]) == ("Approved", "Applied")
        else:
            assert isinstance(decided, psycopg.Error)
            assert decided.sqlstate == "BP409"
            assert row["status"] == "Cancelled"
        database.rows(TICK)
        assert kit.status_of(database, process) == "Cancelled"
        assert database.rows("select * from bpm.claim_tasks('w', '{act}')") == []


def test_decide_and_expiry_at_once(database: TestDatabase) -> None:
    """Its time is over: who decides hears so, before and after the clock has taken note."""
    for _ in range(kit.sized(3, 100)):
        process, approval = _asked(database, "brief")
        database.rows("select bpm.advance_clock('1 hour')")
        with Session(database) as eye, kit.sessions(database, 3) as callers:
            with kit.tables_held(database, "workflow_instance") as first:
                running = [
                    callers[0].start(DECIDE, approval, "Approved", "ann"),
                    callers[1].start(TICK),
                    callers[2].start(TICK),
                ]
                kit.blocked(eye, callers)
                assert first.one(TICK)["done"]["decisions"] == 1
            decided, *ticks = kit.settled(running)
        assert isinstance(decided, psycopg.Error)
        assert decided.sqlstate == "BP409"
        assert [rows[0]["done"]["decisions"] for rows in ticks] == [0, 0]  # type: ignore[index]
        row = _row(database, approval)
        assert (row["status"], row["effect"]) == ("Expired", "Applied")
        assert kit.status_of(database, process) == "Failed"
        assert len(kit.history(database, process, "ApprovalDecided")) == 1


def test_claims_and_decisions_at_once(database: TestDatabase) -> None:
    """As many are at it as it takes, whoever comes; a decision of others counts all the same, and
    whoever comes to claim it afterwards hears it; then nobody is at it any more."""
    for _ in range(kit.sized(3, 100)):
        process, approval = _asked(database, "pair")
        claims = _at_once(database, *[(CLAIM, approval, n) for n in ("ann", "bob", "cid", "ann")])
        held = [rows for rows in claims if isinstance(rows, list)]
        refused = [rows for rows in claims if isinstance(rows, psycopg.Error)]
        assert {rows.sqlstate for rows in refused} <= {"BP409"}
        names = max((rows[0]["claimed_by"] for rows in held), key=len)
        assert len(names) == 2
        assert len(held) == (3 if "ann" in names else 2)
        outsider = ({"ann", "bob", "cid"} - set(names)).pop()
        answers = _at_once(
            database,
            (DECIDE, approval, "Approved", outsider),
            (DECIDE, approval, "Approved", "dan"),
            (CLAIM, approval, outsider),
            (CLAIM, approval, names[0]),
        )
        assert all(isinstance(rows, list) for rows in answers[:2]), answers
        for rows in answers[2:]:
            assert isinstance(rows, list) or (
                isinstance(rows, psycopg.Error) and rows.sqlstate == "BP409"
            )
        assert _row(database, approval)["status"] == "Approved"
        at_it = "select a.claimed_by from bpm.approval a where a.approval_id = %s"
        assert database.value(at_it, [approval]) == []
        assert kit.status_of(database, process) == "Running"

        process, approval = _asked(database, "brief")
        claimed, cancelled = _at_once(database, (CLAIM, approval, "ann"), (CANCEL, process))
        assert isinstance(cancelled, list)
        assert isinstance(claimed, list) or (
            isinstance(claimed, psycopg.Error) and claimed.sqlstate == "BP409"
        )
        assert database.value(at_it, [approval]) == []
    kit.run_out(database, ["act"])
    assert database.rows("select * from bpm.check_invariants()") == []


def test_an_instance_that_is_held_keeps_no_other_waiting(database: TestDatabase) -> None:
    """The oldest approval that is due is of an instance somebody holds: the next one's turn comes,
    also when a tick takes only one; so with an effect that is still pending."""
    (process, approval), (other, second) = (_asked(database, "brief") for _ in range(2))
    hold = (
        "select from bpm_core.workflow_instance w where w.process_instance_id = %s"
        " for no key update"
    )
    tick = "select * from bpm.tick(1)"
    database.rows("select bpm.advance_clock('1 hour')")
    with kit.holding(database, hold, process):
        assert database.rows(tick)[0]["done"]["decisions"] == 1
        assert _row(database, second)["status"] == "Expired"
        assert _row(database, approval)["status"] == "Pending"
    assert database.rows(tick)[0]["done"]["decisions"] == 1
    assert kit.status_of(database, process) == kit.status_of(database, other) == "Failed"

    (process, approval), (other, second) = (_asked(database, "brief") for _ in range(2))
    for one, voted in ((process, approval), (other, second)):
        database.rows("select from bpm.suspend_process(%s)", [one])
        database.rows(DECIDE, [voted, "Approved", "ann"])
        # Resumed as if its effect were still to come: the resume drives effects, too.
        database.rows(
            "update bpm_core.workflow_instance w set status = 'Running'"
            " where w.process_instance_id = %s",
            [one],
        )
    with kit.holding(database, hold, process):
        assert database.rows(tick)[0]["done"]["approvals"] == 1
        assert _row(database, second)["effect"] == "Applied"
        assert _row(database, approval)["effect"] == "Pending"
    assert database.rows(tick)[0]["done"]["approvals"] == 1
    for one in (process, other):
        database.rows("select from bpm.cancel_process(%s)", [one])
