"""Reviews that several people decide, or that something takes away: one decision, no fact twice."""

from __future__ import annotations

import json
from concurrent.futures import Future

import psycopg
import pytest
from tests.races import kit
from tests.races.kit import Session
from tests.support.database import TestDatabase

DECIDE = "select * from bpm.decide_review(%s, %s, %s, 'because', %s)"
CANCEL = "select * from bpm.cancel_process(%s)"


@pytest.fixture(scope="module", autouse=True)
def _processes(database: TestDatabase) -> None:
    database.rows("select bpm.publish_task(p_task_type => 'weigh', p_review_required => true)")
    kit.deploy(database, kit.process("parcel", "start > act > end", act=kit.service(type="weigh")))


def _answered(database: TestDatabase, parcel: str) -> tuple[str, str, int]:
    """A process whose answer about a parcel waits; its id, its review, the version of that."""
    (process,) = kit.start(database, "parcel")
    fact = {"subject_type": "parcel", "subject_key": parcel, "name": "kg", "value": 7}
    with Session(database) as worker:
        (task,) = kit.claim(worker, ["weigh"])
        item = {**kit.held(task), "facts": [fact]}
        (row,) = worker.do(kit.COMPLETE, json.dumps([item], default=str))
        assert row["outcome"] == "Completed"
    (review,) = database.rows(
        "select r.review_id, r.expected_version from bpm.review r"
        " where r.process_instance_id = %s and r.state = 'Open'",
        [process],
    )
    return process, str(review["review_id"]), int(review["expected_version"])


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


def test_reviewers_race(database: TestDatabase) -> None:
    """Two approve, one rejects, one returns: one decision, the others hear of it."""
    for n in range(kit.sized(3, 100)):
        process, review, version = _answered(database, f"race-{n}")
        wanted = ["Approve", "Reject", "Approve", "Return"]
        answers = _at_once(
            database,
            *[(DECIDE, review, version, what, f"boss{i}") for i, what in enumerate(wanted)],
        )
        (stands,) = database.rows(
            "select r.decision, r.decided_by from bpm.review r where r.review_id = %s", [review]
        )
        for what, rows in zip(wanted, answers, strict=True):
            if what == stands["decision"]:
                assert isinstance(rows, list), rows
                assert rows[0]["decided_by"] == stands["decided_by"]
            else:
                assert isinstance(rows, psycopg.Error)
                assert rows.sqlstate == "BP409"
        facts = database.value(
            "select count(*) from bpm.fact f where f.subject_key = %s", [f"race-{n}"]
        )
        assert facts == (1 if stands["decision"] == "Approve" else 0)
        if stands["decision"] != "Approve":
            database.rows(CANCEL, [process])


def test_two_results_about_one_subject(database: TestDatabase) -> None:
    """Both are of one version: one is approved, the other superseded, whoever comes first."""
    for n in range(kit.sized(3, 100)):
        parcel = f"two-{n}"
        (one, first, version), (two, second, _) = (_answered(database, parcel) for _ in range(2))
        answers = _at_once(
            database,
            (DECIDE, first, version, "Approve", "ann"),
            (DECIDE, second, version, "Approve", "bob"),
        )
        assert all(isinstance(rows, list) for rows in answers), answers
        states = sorted(rows[0]["state"] for rows in answers)  # type: ignore[index]
        assert states == ["Decided", "Superseded"]
        (late,) = database.rows(
            "select r.review_id, r.expected_version from bpm.review r"
            " where r.state = 'Open' and r.process_instance_id = any (%s)",
            [[one, two]],
        )
        assert late["expected_version"] == version + 1
        database.rows(DECIDE, [late["review_id"], version + 1, "Approve", "ann"])
        assert database.value(
            "select s.lock_version from bpm.subject s where s.subject_key = %s", [parcel]
        ) == (version + 2)


def test_decide_and_cancel_at_once(database: TestDatabase) -> None:
    """The review is decided first, or closed first; a fact is there only in the first case."""
    for n in range(kit.sized(4, 100)):
        process, review, version = _answered(database, f"cancel-{n}")
        decided, cancelled = _at_once(
            database, (DECIDE, review, version, "Approve", "ann"), (CANCEL, process)
        )
        facts = database.value(
            "select count(*) from bpm.fact f where f.subject_key = %s", [f"cancel-{n}"]
        )
        if isinstance(decided, list):
            assert facts == 1
            # Approved, it has ended; to cancel it then is a conflict.
            assert kit.status_of(database, process) == "Completed"
        else:
            assert isinstance(decided, psycopg.Error)
            assert decided.sqlstate == "BP409"
            assert isinstance(cancelled, list)
            assert facts == 0
            assert kit.status_of(database, process) == "Cancelled"
