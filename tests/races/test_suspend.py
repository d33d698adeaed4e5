"""Suspending and resuming while everybody else is at work: nothing moves twice, nothing is lost."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import pytest
from tests.races import kit, load
from tests.races.kit import COMPLETE, Session, answer, claim
from tests.support.database import TestDatabase

SUSPEND = "select * from bpm.suspend_process(%s)"
RESUME = "select * from bpm.resume_process(%s)"
TICK = "select * from bpm.tick(%s)"


@pytest.fixture(scope="module", autouse=True)
def _processes(database: TestDatabase) -> None:
    kit.deploy(
        database,
        kit.process("two", "start > one > next > end"),
        kit.process("six", "start > fork > " + " > join; fork > ".join("abcdef") + " > join > end"),
        kit.process("wake", "start > pause > rang > end", pause=kit.timer("PT10M")),
    )


@pytest.mark.parametrize("first", ["suspend", "complete"])
def test_suspend_while_a_task_completes(database: TestDatabase, first: str) -> None:
    """Whoever is first: the answer is accepted, and the token goes on once."""
    for _ in range(kit.sized(3, 50)):
        (process,) = kit.start(database, "two")
        with Session(database) as boss, Session(database) as worker, Session(database) as eye:
            (task,) = claim(worker, ["one"])
            ahead, behind = (boss, worker) if first == "suspend" else (worker, boss)
            calls = {boss: (SUSPEND, process), worker: (COMPLETE, answer([task], x=1))}
            ahead.begin()
            ahead.do(*calls[ahead])
            running = behind.start(*calls[behind])
            kit.blocked(eye, [behind])
            ahead.commit()
            (rows,) = kit.settled([running])
            assert isinstance(rows, list), rows
            again = worker.one(COMPLETE, answer([task], x=1))
            assert (again["outcome"], again["instance_status"]) == ("Completed", "Suspended")
            place = "one Waiting" if first == "suspend" else "next Waiting"
            assert kit.standing(database, process) == [place]
            assert claim(worker, ["one", "next"]) == []
            boss.do(RESUME, process)
        assert kit.run_out(database, ["one", "next"]) == 1
        assert kit.status_of(database, process) == "Completed"


def test_suspend_while_its_tasks_are_claimed(database: TestDatabase) -> None:
    """A claim that was first has the task; one that comes after the suspension gets none."""
    (process,) = kit.start(database, "six")
    with Session(database) as boss, kit.sessions(database, 3) as workers, Session(database) as eye:
        early, late, after = workers
        early.begin()
        tasks = claim(early, list("abcdef"), 2)
        boss.begin()
        running = boss.start(SUSPEND, process)
        kit.blocked(eye, [boss])
        early.commit()
        kit.settled([running])
        # Held, though not committed yet: passed over.
        assert claim(late, list("abcdef"), 6) == []
        boss.commit()
        assert claim(after, list("abcdef"), 6) == []
        states = database.value(
            "select array_agg(t.state order by t.state)::text from bpm.task t"
            " where t.process_instance_id = %s",
            [process],
        )
        assert states == "{Executing,Executing,Held,Held,Held,Held}"
        assert {row["outcome"] for row in early.do(COMPLETE, answer(tasks))} == {"Completed"}
        boss.do(RESUME, process)
    assert kit.run_out(database, list("abcdef")) == 4
    assert kit.status_of(database, process) == "Completed"


def test_resume_while_unheld_tasks_are_claimed(database: TestDatabase) -> None:
    """A claim puts back what is not held yet; a resume in that moment leaves nothing behind."""
    database.rows("select bpm.set_setting('engine.sweep_batch_size', '1')")
    for ending in ("commit", "rollback"):
        (process,) = kit.start(database, "six")
        with Session(database) as boss, Session(database) as worker:
            boss.do(SUSPEND, process)
            worker.begin()
            assert claim(worker, list("abcdef"), 6) == []
            boss.do(RESUME, process)
            worker.do(ending)
            boss.do("select bpm.run_until_idle()")
            boss.do("select bpm.advance_clock('2 seconds')")
        database.audit()
        assert kit.run_out(database, list("abcdef")) == 6
        assert kit.status_of(database, process) == "Completed"
    database.rows("select bpm.set_setting('engine.sweep_batch_size', null)")


def test_suspend_while_a_timer_is_due(database: TestDatabase) -> None:
    """A tick that meets the suspension skips, one after it holds; after resume it fires once."""
    (process,) = kit.start(database, "wake")
    database.rows("select bpm.advance_clock('11 minutes')")
    with Session(database) as boss, Session(database) as ticker:
        boss.begin()
        boss.do(SUSPEND, process)
        assert ticker.one(TICK, 100)["done"]["timers"] == 0
        boss.commit()
        assert ticker.one(TICK, 100)["done"]["timers"] == 0
        assert kit.history(database, process, "TimerFired") == []
        boss.begin()
        boss.do(RESUME, process)
        assert ticker.one(TICK, 100)["done"]["timers"] == 0
        boss.commit()
        assert ticker.one(TICK, 100)["done"]["timers"] == 1
    assert len(kit.history(database, process, "TimerFired")) == 1
    kit.run_out(database, ["rang"])


def test_suspend_and_resume_at_once(database: TestDatabase) -> None:
    """Many operators: one after the other, each is answered, the last one counts."""
    (process,) = kit.start(database, "six")
    with Session(database) as eye, kit.sessions(database, 6) as bosses:
        with kit.instances_held(database):
            running = [
                boss.start(SUSPEND if n % 2 else RESUME, process) for n, boss in enumerate(bosses)
            ]
            kit.blocked(eye, bosses)
        answers = kit.settled(running)
        assert [rows[0]["status"] for rows in answers] == ["Running", "Suspended"] * 3  # type: ignore[index]
        eye.do("select bpm.run_until_idle()")
        eye.do(RESUME, process)
    assert kit.run_out(database, list("abcdef")) == 6


def test_a_process_that_suspends_itself(database: TestDatabase) -> None:
    """C16: in one transaction with its answer, and with an answer after it; resume is possible."""
    (process,) = kit.start(database, "two")
    with Session(database) as worker:
        (task,) = claim(worker, ["one"])
        with worker.transaction():
            worker.do(SUSPEND, process)
            assert worker.one(COMPLETE, answer([task]))["instance_status"] == "Suspended"
            worker.do(RESUME, process)
            worker.do(SUSPEND, process)
        assert kit.standing(database, process) == ["one Waiting"]
        worker.do(RESUME, process)
    assert kit.run_out(database, ["one", "next"]) == 1
    assert kit.status_of(database, process) == "Completed"


@pytest.mark.slow
def test_many_open_tasks(database: TestDatabase) -> None:
    """C23, A-18: held, freed and cancelled within the lock timeout of those who wait."""
    groups = kit.sized(15, 120)
    flows = "start > fork" + "".join(f"; fork > fork{n}" for n in range(groups))
    flows += "".join(f"; fork{n} > merge{m}" for n in range(groups) for m in range(100))
    flows += "".join(f"; merge{m} > t" for m in range(100)) + "; t > end; late > end2"
    file = kit.process("wide", flows, None, late=kit.boundary_timer("t", "PT1H"))
    kit.deploy(database, file)
    (process,) = kit.start(database, "wide")
    with Session(database, statement_timeout="10s") as boss:
        for query in (SUSPEND, RESUME, "select * from bpm.cancel_process(%s)"):
            boss.do(query, process)
            while boss.one(TICK, 100)["done"]["inbox"]:
                pass
            states = boss.one(
                "select array_agg(distinct t.state) as states, count(*) as number from bpm.task t"
                " where t.process_instance_id = %s",
                process,
            )
            assert states["number"] == groups * 100
            expected = {SUSPEND: "Held", RESUME: "Ready"}.get(query, "Cancelled")
            assert states["states"] == [expected]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(kit.sized(1, 20)))
def test_turned_on_and_off_at_random(fresh_database: TestDatabase, seed: int) -> None:
    """Random processes, workers that complete, somebody who suspends and resumes all the while."""
    fresh_database.rows("select bpm.set_setting('engine.sweep_batch_size', '2')")
    kit.deploy(
        fresh_database, *(load.random_process(f"random{n}", seed * 10 + n) for n in range(3))
    )
    processes = [
        process for n in range(3) for process in kit.start(fresh_database, f"random{n}", 5)
    ]
    crowd = load.Crowd(fresh_database, seed)

    def turn(session: Session, chance: random.Random) -> None:
        for _ in range(kit.sized(80, 200)):
            query = chance.choice([SUSPEND, RESUME])
            crowd.call(session, query, chance.choice(processes))
            crowd.count(query.split(".")[1].split("_")[0])
            if chance.random() < 0.2:
                found = crowd.call(session, "select * from bpm.check_invariants()") or []
                crowd.wrong += [str(row) for row in found]
        for process in processes:
            crowd.call(session, RESUME, process)

    def tick(session: Session, chance: random.Random) -> None:
        for _ in range(kit.sized(150, 400)):
            crowd.call(session, TICK, chance.choice([1, 3, 100]))

    workers: list[Callable[[Session, random.Random], None]] = [
        load.complete_in_random_batches(crowd)
    ] * 3
    crowd.run(turn, tick, *workers)
    assert not crowd.over, (crowd.errors, crowd.wrong)
    assert crowd.counts["deadlocks"] == crowd.counts["lock timeouts"] == 0, crowd.counts
    fresh_database.audit()
    _finish(fresh_database)
    for process in processes:
        assert kit.status_of(fresh_database, process) == "Completed"
    done = fresh_database.rows(
        "select count(*) as tasks from bpm_core.task_instance t"
        "  join bpm_core.workflow_instance w"
        "    on w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id"
        " where not w.variables ? ('k' || t.id)"
    )
    assert done[0]["tasks"] == 0, "a patch was lost"


def _finish(database: TestDatabase) -> None:
    with Session(database) as worker:
        for _ in range(500):
            worker.do("select bpm.run_until_idle()")
            worker.do("select bpm.advance_clock('2 seconds')")
            tasks = claim(worker, load.TYPES, 1000)
            items = [load.completed(task) for task in tasks]
            worker.do(COMPLETE, json.dumps(items))
            if not tasks and not worker.do("select from bpm.task t where t.state <> 'Completed'"):
                return
    raise AssertionError("never done")
