"""Quotas while many claim at once: never more in hand than there are slots, and each is used."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future

import psycopg
import pytest
from tests.races import kit
from tests.races.kit import COMPLETE, Session, answer, claim
from tests.support.database import TestDatabase

BOUND = 3
IN_HAND = "select count(*)::int as n from bpm_core.task_instance t where t.state = 'Executing'"
HELD = "select q.held as n from bpm.task_quota q where q.task_type = %s"


@pytest.fixture(scope="module", autouse=True)
def _processes(database: TestDatabase) -> None:
    kit.deploy(
        database,
        kit.process("jobs", "start > job > end", job=kit.service(retries="9")),
        kit.process("other", "start > odd > end"),
    )


@pytest.fixture(autouse=True)
def _quota(database: TestDatabase) -> Iterator[None]:
    database.rows("select bpm.set_task_quota('job', %s)", [BOUND])
    yield
    kit.run_out(database, ["job", "odd"])
    assert database.value(f"select max(n) from ({HELD}) x", ["job"]) == 0
    assert not database.rows("select * from bpm.check_invariants()")
    database.rows("select bpm.set_task_quota('job', null), bpm.set_tenant_quota('', null)")


@pytest.mark.parametrize("tenants_too", [False, True])
def test_sixteen_callers_share_three_slots(database: TestDatabase, tenants_too: bool) -> None:
    """However many ask in the same instant: three tasks, each round anew until all are done."""
    if tenants_too:
        database.rows("select bpm.set_tenant_quota('', %s)", [BOUND])
    done = 0
    total = kit.sized(12, 120)
    kit.start(database, "jobs", total)
    with Session(database) as observer, kit.sessions(database, 16) as callers:
        while done < total:
            with kit.tables_held(database, "task_instance"):
                running = [
                    c.start(
                        "select c.task_id, c.fencing_token"
                        " from bpm.claim_tasks(%s, '{job}', 2, '10 minutes') c",
                        f"w{n}",
                    )
                    for n, c in enumerate(callers)
                ]
                kit.blocked(observer, callers)
            answers = kit.settled(running)
            tasks = [task for rows in answers for task in rows]  # type: ignore[union-attr]
            assert len(tasks) == BOUND, answers
            assert observer.one(IN_HAND)["n"] == BOUND
            assert observer.one(HELD, "job")["n"] == BOUND
            outcomes = observer.do(COMPLETE, answer(tasks))
            assert {row["outcome"] for row in outcomes} == {"Completed"}
            done += BOUND
    assert done == total


def test_nobody_ever_sees_more_than_the_bound(database: TestDatabase) -> None:
    """Callers that claim and complete as fast as they can; after each step what is in hand is
    counted, and no task is left in the end."""
    kit.start(database, "jobs", kit.sized(60, 600))
    work = """
        select c.task_id, c.fencing_token from bpm.claim_tasks('w', '{job}', 2, '10 minutes') c
    """
    most = 0
    with kit.sessions(database, 6) as callers, Session(database) as observer:
        while observer.one("select exists (select from bpm.task where state = 'Ready') as x")["x"]:
            running = [caller.start(work) for caller in callers]
            most = max(most, observer.one(IN_HAND)["n"])
            claimed = kit.settled(running)
            most = max(most, observer.one(IN_HAND)["n"])
            done = _complete(callers, claimed)
            most = max(most, observer.one(IN_HAND)["n"])
            kit.settled(done)
    assert most == BOUND


def test_a_claim_that_is_not_committed_holds_its_slots_alone(database: TestDatabase) -> None:
    """Who comes meanwhile gets the others at once; rolled back, they are free again."""
    kit.start(database, "jobs", 6)
    with kit.sessions(database, 2, lock_timeout="1ms") as (a, b):
        a.begin()
        assert len(claim(a, ["job"], 2)) == 2
        last = claim(b, ["job"], 5)
        assert len(last) == 1
        assert not claim(b, ["job"], 5)
        a.rollback()
        again = claim(b, ["job"], 5)
        assert len(again) == 2
        b.do(COMPLETE, answer([*last, *again]))


def test_who_dies_between_gives_the_slots_back(database: TestDatabase) -> None:
    """Killed in the claim: free at once. Killed with the tasks in hand: when the lease is over.
    Killed in the completion: the tasks are still in hand, and their slots held."""
    kit.start(database, "jobs", 6)
    with kit.sessions(database, 2) as (victim, other):
        victim.begin()
        assert len(claim(victim, ["job"], 3)) == 3
        _kill(other, victim)
        tasks = claim(other, ["job"], 3, lease="30 seconds")
        assert len(tasks) == BOUND
        victim.reconnect()
        victim.begin()
        assert len(victim.do(COMPLETE, answer(tasks))) == BOUND
        _kill(other, victim)
        assert not claim(other, ["job"], 3)
        assert other.one(HELD, "job")["n"] == BOUND
        other.do("select bpm.advance_clock('31 seconds')")
        assert not claim(other, ["job"], 3), "an expired lease is not free before the reaper"
        assert other.one("select * from bpm.tick()")["done"]["leases"] == BOUND
        assert other.one(HELD, "job")["n"] == 0
        victim.reconnect()
        late = victim.do(COMPLETE, answer(tasks))
        assert {row["outcome"] for row in late} == {"LeaseLost"}
        rest = claim(other, ["job"], 9)
        assert len(rest) == BOUND
        other.do(COMPLETE, answer(rest))
        other.do("select bpm.advance_clock('1 hour')")  # the pause before the next attempts


def test_a_quota_turned_while_they_claim(database: TestDatabase) -> None:
    """Taken away, made smaller and larger beside claims and completions: nobody waits for
    anybody for ever, no slot is lost, no task is left."""
    kit.start(database, "jobs", kit.sized(30, 300))
    with kit.sessions(database, 4, lock_timeout="5s") as callers, Session(database) as admin:
        bounds = [1, None, 5, 2, 3]
        n = 0
        while admin.one("select exists (select from bpm.task where state = 'Ready') as x")["x"]:
            running = [
                c.start("select * from bpm.claim_tasks('w', '{job}', 2, '10 minutes')")
                for c in callers
            ]
            admin.do("select bpm.set_task_quota('job', %s)", bounds[n % 5])
            n += 1
            claimed = kit.settled(running)
            done = _complete(callers, claimed)
            admin.do("select bpm.set_task_quota('job', %s)", bounds[n % 5])
            kit.settled(done)
            assert not admin.do("select * from bpm_core.invariant_i_29('')")
        admin.do("select bpm.set_task_quota('job', 3)")


def test_a_full_type_keeps_nobody_else_waiting(database: TestDatabase) -> None:
    """Tasks of a type that is full stay; behind them in the same claim, others are handed out."""
    kit.start(database, "jobs", 5)
    kit.start(database, "other", 4)
    with Session(database) as a:
        mine = claim(a, ["job"], 9)
        assert len(mine) == BOUND
        others = claim(a, ["job", "odd"], 9)
        assert {row["task_type"] for row in others} == {"odd"}
        assert len(others) == 4
        a.do(COMPLETE, answer([*mine, *others]))


def test_stragglers_of_a_full_type_are_found(database: TestDatabase) -> None:
    """A task that commits late, behind what was reached while the type was full, is handed out
    with the first look back after there is room."""
    claim_at = """
        select jsonb_array_length(c.tasks) as n, c.positions::text as positions, c.tasks
          from bpm.claim_tasks_at('w', '{job}', 5, '10 minutes', null, %s::jsonb) c
    """
    with Session(database) as late, Session(database) as a:
        late.begin()
        late.do("select bpm.start_process('jobs')")
        kit.start(database, "jobs", 4)
        first = a.one(claim_at, None)
        assert first["n"] == BOUND
        late.commit()
        full = a.one(claim_at, first["positions"])
        assert full["n"] == 0
        a.do(COMPLETE, answer(first["tasks"]))
        rest = a.one(claim_at, full["positions"])
        assert rest["n"] == 2, "the straggler and the fourth"
        a.do(COMPLETE, answer(rest["tasks"]))


def _complete(
    callers: list[Session], claimed: list[list[kit.Row] | psycopg.Error]
) -> list[Future[list[kit.Row]]]:
    tasks = [rows for rows in claimed if isinstance(rows, list)]
    assert len(tasks) == len(callers), claimed
    pairs = zip(callers, tasks, strict=True)
    return [caller.start(COMPLETE, answer(rows)) for caller, rows in pairs if rows]


def _kill(by: Session, victim: Session) -> None:
    by.do("select pg_terminate_backend(%s)", victim.pid)
    kit.until(
        lambda: not by.do("select from pg_stat_activity where pid = %s", victim.pid),
        "the backend is gone",
    )
    with pytest.raises(psycopg.OperationalError):
        victim.do("select 1")
