"""Compensation is done once, in order, whoever asks and whoever is killed meanwhile (A-17)."""

from __future__ import annotations

import psycopg
import pytest
from tests.races import kit
from tests.races.kit import COMPLETE, Session, answer, claim
from tests.support.database import TestDatabase


@pytest.fixture(scope="module", autouse=True)
def _processes(database: TestDatabase) -> None:
    kit.deploy(
        database,
        kit.process(
            "trip",
            "start > hotel > flight > pay > end; bad > back > rest > end2",
            **kit.undone("hotel"),
            **kit.undone("flight"),
            bad=kit.boundary_error("pay", "declined"),
            back=kit.compensate(),
        ),
    )


def _declined(database: TestDatabase, worker: Session) -> tuple[str, kit.Row]:
    """A trip whose hotel and flight are booked; its claimed task to pay."""
    (process,) = kit.start(database, "trip")
    for step in ("hotel", "flight"):
        worker.do(COMPLETE, answer(claim(worker, [step])))
    (task,) = claim(worker, ["pay"])
    return process, task


def _throw(session: Session, task: kit.Row) -> tuple[str, str, int]:
    return (
        "select * from bpm.throw_error(%s, %s, 'declined')",
        str(task["task_id"]),
        int(task["fencing_token"]),
    )


def _ledger(database: TestDatabase, process: str) -> list[tuple[str, str]]:
    rows = database.rows(
        "select c.node_id, c.status from bpm.compensation c where c.process_instance_id = %s"
        " order by c.position",
        [process],
    )
    return [(str(row["node_id"]), str(row["status"])) for row in rows]


def _undone(database: TestDatabase, process: str) -> list[str]:
    """The activities undone, in the order of history."""
    rows = kit.history(database, process, "CompensationCompleted")
    return [str(row["node_id"]) for row in rows]


def test_backends_die_between_the_handlers(database: TestDatabase) -> None:
    """A-17: the step that fails, then each handler, is answered by somebody who is killed."""
    with Session(database) as worker:
        process, pay = _declined(database, worker)
        for step, task in (("pay", pay), ("un-flight", None), ("un-hotel", None)):
            if task is None:
                (task,) = claim(worker, [step])
                call: tuple[object, ...] = (COMPLETE, answer([task]))
            else:
                call = _throw(worker, task)
            with Session(database) as victim:
                victim.begin()
                victim.do(str(call[0]), *call[1:])
                before = _ledger(database, process)
                worker.do("select pg_terminate_backend(%s)", victim.pid)
                with pytest.raises(psycopg.OperationalError):
                    victim.do("commit")
            assert _ledger(database, process) == before
            worker.do(str(call[0]), *call[1:])
    assert _undone(database, process) == ["flight", "hotel"]
    assert _ledger(database, process) == [("hotel", "Completed"), ("flight", "Completed")]
    assert kit.standing(database, process) == ["rest Waiting"]


def test_two_answers_of_one_handler(database: TestDatabase) -> None:
    """The next handler begins once."""
    with kit.sessions(database, 2) as workers, Session(database) as eye:
        process, pay = _declined(database, workers[0])
        eye.do(*_throw(eye, pay))
        (task,) = claim(eye, ["un-flight"])
        with kit.instances_held(database):
            running = [
                worker.start(COMPLETE, answer([task], by=n)) for n, worker in enumerate(workers)
            ]
            kit.blocked(eye, workers)
        outcomes = {str(rows[0]["outcome"]) for rows in kit.settled(running)}  # type: ignore[index]
        assert outcomes == {"Completed", "Conflict"}
        assert kit.standing(database, process) == ["back Waiting", "un-hotel Waiting"]
        assert len(claim(eye, ["un-hotel"], 10)) == 1
    assert _undone(database, process) == ["flight"]


@pytest.mark.parametrize("first", ["answer", "cancel"])
def test_a_handler_ends_while_its_process_is_cancelled(database: TestDatabase, first: str) -> None:
    """What was undone before stays undone; the rest stays Pending, and nothing is left to do."""
    with Session(database) as worker, Session(database) as person, Session(database) as eye:
        process, pay = _declined(database, worker)
        worker.do(*_throw(worker, pay))
        answered = (COMPLETE, answer(claim(worker, ["un-flight"])))
        cancelled = ("select * from bpm.cancel_process(%s)", process)
        early, late = (worker, person) if first == "answer" else (person, worker)
        calls = {worker: answered, person: cancelled}
        early.begin()
        early.do(*calls[early])
        running = late.start(*calls[late])
        kit.blocked(eye, [late])
        early.commit()
        kit.settled([running])
    assert kit.status_of(database, process) == "Cancelled"
    flight = "Completed" if first == "answer" else "Pending"
    assert _ledger(database, process) == [("hotel", "Pending"), ("flight", flight)]
