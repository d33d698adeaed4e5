"""Items of one multi-instance that end in the same instant, and what cuts them short meanwhile."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.races import kit
from tests.races.kit import COMPLETE, Session, answer, claim
from tests.support.database import TestDatabase

ITEMS = 8
_MULTI = (
    '<serviceTask {{id}} bpm:type="item"><multiInstanceLoopCharacteristics bpm:collection="items"'
    ' bpm:elementVariable="item" bpm:outputCollection="out" bpm:outputElement="got">{}'
    "</multiInstanceLoopCharacteristics></serviceTask>"
)
THROW = "select * from bpm.throw_error(%s, %s, %s)"


@pytest.fixture(scope="module", autouse=True)
def _processes(database: TestDatabase) -> None:
    until = "<completionCondition>${nrOfCompletedInstances >= 3}</completionCondition>"
    kit.deploy(
        database,
        kit.process("all-items", "start > each > after > end", each=_MULTI.format("")),
        kit.process(
            "some-items",
            "start > each > after > end",
            each=_MULTI.format(until.replace(">=", "&gt;=")),
        ),
        kit.process(
            "bad-items",
            "start > each > after > end; bad > mend > end2",
            each=_MULTI.format(""),
            bad=kit.boundary_error("each", "bad"),
        ),
    )


def _sound(database: TestDatabase) -> None:
    assert not database.rows("select * from bpm.check_invariants()")
    assert database.value("select count(*) from bpm_core.multi_instance") == 0


def _at_once(database: TestDatabase, code: str) -> tuple[str, list[str]]:
    """All items are answered by sessions of their own, released at once; process and outcomes."""
    (process,) = kit.start(database, code, items=list(range(ITEMS)))
    with Session(database) as observer, kit.sessions(database, ITEMS) as workers:
        tasks = [claim(worker, ["item"])[0] for worker in workers]
        with kit.instances_held(database):
            running = [
                worker.start(COMPLETE, answer([task], got=task["variables"]["item"]))
                for worker, task in zip(workers, tasks, strict=True)
            ]
            kit.blocked(observer, workers)
        outcomes = [rows[0]["outcome"] for rows in kit.settled(running)]  # type: ignore[index]
    return process, outcomes


def test_items_end_in_the_same_instant(database: TestDatabase) -> None:
    """Each counts once, one token goes on, the outputs are in order."""
    for _ in range(kit.sized(2, 100)):
        process, outcomes = _at_once(database, "all-items")
        assert outcomes == ["Completed"] * ITEMS
        assert kit.standing(database, process) == ["after Waiting"]
        assert len(kit.history(database, process, "ScopeCompleted")) == 1
        variables = database.value("select bpm.get_variables(%s)", [process])
        assert variables["out"] == list(range(ITEMS))
    kit.run_out(database, ["after"])
    _sound(database)


def test_a_completion_condition_among_answers(database: TestDatabase) -> None:
    """The third answer ends it; who comes later is told that the task is gone."""
    for _ in range(kit.sized(2, 100)):
        process, outcomes = _at_once(database, "some-items")
        assert Counter(outcomes) == {"Completed": 3, "Cancelled": ITEMS - 3}
        assert kit.standing(database, process) == ["after Waiting"]
        out = database.value("select bpm.get_variables(%s)", [process])["out"]
        assert [n for n, value in enumerate(out) if value is not None] == sorted(
            value for value in out if value is not None
        )
    kit.run_out(database, ["after"])
    _sound(database)


def test_an_error_among_answers(database: TestDatabase) -> None:
    """An error closes what has not ended when it comes, whoever is first."""
    for _ in range(kit.sized(2, 100)):
        (process,) = kit.start(database, "bad-items", items=list(range(ITEMS)))
        with Session(database) as observer, kit.sessions(database, ITEMS) as workers:
            tasks = [claim(worker, ["item"])[0] for worker in workers]
            with kit.instances_held(database):
                running = [
                    worker.start(COMPLETE, answer([task]))
                    if n != ITEMS // 2
                    else worker.start(THROW, task["task_id"], task["fencing_token"], "bad")
                    for n, (worker, task) in enumerate(zip(workers, tasks, strict=True))
                ]
                kit.blocked(observer, workers)
            outcomes = Counter(rows[0]["outcome"] for rows in kit.settled(running))  # type: ignore[index]
        assert outcomes["Done"] == 1
        assert outcomes["Completed"] + outcomes["Cancelled"] == ITEMS - 1
        assert kit.standing(database, process) == ["mend Waiting"]
    kit.run_out(database, ["mend"])
    _sound(database)


def test_cancelled_while_items_are_still_begun(database: TestDatabase) -> None:
    """The rest of a large one follows by tick; cancelling meets it before, or after."""
    for _ in range(kit.sized(1, 30)):
        (process,) = kit.start(database, "all-items", items=list(range(1200)))
        with Session(database) as observer, kit.sessions(database, 2) as (runner, operator):
            with kit.instances_held(database):
                cancelling = operator.start("select * from bpm.cancel_process(%s)", process)
                kit.blocked(observer, [operator])
                # The picker skips what is locked.
                runner.do("select * from bpm.tick(100)")
            kit.settled([cancelling])
            runner.do("select bpm.run_until_idle()")
        assert kit.standing(database, process) == []
        assert database.value("select count(*) from bpm_core.inbox") == 0
        _sound(database)
