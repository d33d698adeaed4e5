"""Claims at the same time: everything is handed out, nothing twice, nobody waits for anybody."""

from __future__ import annotations

import pytest
from tests.races import kit
from tests.races.kit import COMPLETE, Session, answer, claim
from tests.support.database import TestDatabase


@pytest.fixture(scope="module", autouse=True)
def _processes(database: TestDatabase) -> None:
    kit.deploy(database, kit.process("jobs", "start > job > end"))


@pytest.mark.parametrize("verb", ["claim_tasks", "claim_tasks_at"])
def test_sixteen_callers_claim_ten_tasks(database: TestDatabase, verb: str) -> None:
    """A-12: each task is handed out once, and all of them are."""
    rounds = kit.sized(5, 100)
    query = (
        "select c.task_id::text from bpm.claim_tasks(%s, '{job}', 2) c"
        if verb == "claim_tasks"
        else "select t.task ->> 'task_id' as task_id from bpm.claim_tasks_at(%s, '{job}', 2) c"
        " cross join lateral jsonb_array_elements(c.tasks) t(task)"
    )
    with Session(database) as observer, kit.sessions(database, 16) as callers:
        for _ in range(rounds):
            kit.start(database, "jobs", 10)
            with kit.tables_held(database, "task_instance"):
                running = [c.start(query, f"w{n}") for n, c in enumerate(callers)]
                kit.blocked(observer, callers)
            answers = kit.settled(running)
            handed = [row["task_id"] for rows in answers for row in rows]  # type: ignore[union-attr]
            assert len(handed) == len(set(handed)) == 10, answers
            observer.do(
                "select from bpm.complete_tasks((select jsonb_agg(jsonb_build_object("
                "'task_id', t.task_id, 'fencing_token', t.fencing_token))"
                "  from bpm.task t where t.state = 'Executing'))"
            )
    assert not database.rows("select 1 as n from bpm.task t where t.state <> 'Completed'")


def test_a_claim_passes_over_rows_others_hold(database: TestDatabase) -> None:
    """C32: while others claim or complete rows, a claim gets the remaining ones at once."""
    kit.start(database, "jobs", 6)
    # Who waits here waits for ever, since all run in one thread: rather fail.
    with kit.sessions(database, 3, lock_timeout="2s") as (a, b, c):
        with a.transaction():
            mine = claim(a, ["job"], 2)
            assert len(mine) == 2
            with b.transaction():
                others = claim(b, ["job"], 2)
                assert len(others) == 2
                # A third caller waits for nobody: a lock timeout would raise.
                c.do("set lock_timeout = '1ms'")
                last = claim(c, ["job"], 5)
                assert len(last) == 2
        handed = [row["task_id"] for row in (*mine, *others, *last)]
        assert len(set(handed)) == 6
        kit.start(database, "jobs", 2)
        with a.transaction():
            a.do(COMPLETE, answer(mine))
            with b.transaction():
                b.do(COMPLETE, answer(others))
                fresh = claim(c, ["job"], 5)
                assert len(fresh) == 2
        c.do("set lock_timeout = 0")
        rows = c.do(COMPLETE, answer([*last, *fresh]))
        assert {row["outcome"] for row in rows} == {"Completed"}


def test_a_rolled_back_claim_is_free_again(database: TestDatabase) -> None:
    """What a claimer that died held is handed out to the next one, under the same fencing token."""
    kit.start(database, "jobs", 3)
    with Session(database) as a, Session(database) as b:
        a.begin()
        lost = claim(a, ["job"], 3)
        a.rollback()
        again = claim(b, ["job"], 3)
        assert [row["task_id"] for row in again] == [row["task_id"] for row in lost]
        assert [row["fencing_token"] for row in again] == [1, 1, 1]
        b.do(COMPLETE, answer(again))
