"""People who reach for the same user task at once: one holds it, a stale form is refused (C28)."""

from __future__ import annotations

from concurrent.futures import Future

import psycopg
import pytest
from tests.races import kit
from tests.races.kit import Session
from tests.support.database import TestDatabase

CLAIM = "select * from bpm.claim_user_task(%s, %s)"
ASSIGN = "select * from bpm.assign_user_task(%s, %s, p_actor => 'boss')"
DELEGATE = "select * from bpm.delegate_user_task(%s, %s, p_actor => %s)"
COMPLETE = "select * from bpm.complete_user_task(%s, '{}', %s, p_fencing_token => %s)"


@pytest.fixture(scope="module", autouse=True)
def _processes(database: TestDatabase) -> None:
    kit.deploy(database, kit.process("asks", "start > ask > end", ask=kit.user()))


def _task(database: TestDatabase) -> tuple[str, str]:
    """A process that waits for a person; its id and that of the task."""
    (process,) = kit.start(database, "asks")
    task = database.value(
        "select t.task_id from bpm.task t where t.process_instance_id = %s", [process]
    )
    return process, str(task)


def _at_once(database: TestDatabase, *calls: tuple[object, ...]) -> list[object]:
    """Start all calls while the tasks are held, then let go; their answers."""
    held = kit.holding(
        database, "select from bpm_core.task_instance t order by t.id for no key update"
    )
    with Session(database) as eye, kit.sessions(database, len(calls)) as callers:
        with held:
            running: list[Future[list[kit.Row]]] = [
                caller.start(str(call[0]), *call[1:])
                for caller, call in zip(callers, calls, strict=True)
            ]
            kit.blocked(eye, callers)
        return list(kit.settled(running))


def _refused(answer: object, code: str = "BP409") -> bool:
    return isinstance(answer, psycopg.Error) and answer.sqlstate == code


def test_two_people_claim_one_task(database: TestDatabase) -> None:
    """One has it, also when the same person asks twice; the other hears who."""
    for _ in range(kit.sized(3, 100)):
        process, task = _task(database)
        answers = _at_once(
            database, *[(CLAIM, task, name) for name in ("ann", "bob", "ann", "bob")]
        )
        holders = {rows[0]["assignee"] for rows in answers if isinstance(rows, list)}
        assert len(holders) == 1
        assert sum(_refused(answer) for answer in answers) == 2
        tokens = {rows[0]["fencing_token"] for rows in answers if isinstance(rows, list)}
        assert tokens == {1}
        database.rows(COMPLETE, [task, holders.pop(), 1])
        assert kit.status_of(database, process) == "Completed"


def test_a_form_goes_stale_while_it_is_sent(database: TestDatabase) -> None:
    """Completing against handing on and assigning: whoever is late is told, nothing is lost."""
    for _ in range(kit.sized(4, 100)):
        process, task = _task(database)
        database.rows(CLAIM, [task, "ann"])
        done, handed, given = _at_once(
            database, (COMPLETE, task, "ann", 1), (DELEGATE, task, "bob", "ann"),
            (ASSIGN, task, "cid"),
        )  # fmt: skip
        (row,) = database.rows(
            "select t.state, t.assignee, t.fencing_token from bpm.task t where t.task_id = %s",
            [task],
        )
        if isinstance(done, list):
            assert row["state"] == "Completed"
            assert _refused(handed)
            assert _refused(given)
        else:
            assert _refused(done)
            assert row["state"] == "Ready"
            database.rows(ASSIGN, [task, "cid"])
            token = database.value(
                "select t.fencing_token from bpm.task t where t.task_id = %s", [task]
            )
            database.rows(COMPLETE, [task, "cid", token])
        assert kit.status_of(database, process) == "Completed"
