"""Inclusive joins under real concurrency: who arrives, leaves or dies in the same instant."""

from __future__ import annotations

import random

import pytest
from tests.races import kit
from tests.races.kit import COMPLETE, Session, answer, claim
from tests.support.database import TestDatabase

BRANCHES = 8
THROW = "select * from bpm.throw_error(%s, %s, 'gone')"
INCLUSIVE = "<inclusiveGateway {id}/>"

# Of eight branches those above n are taken.
SOME = kit.process(
    "some",
    "start > split; both > after > end"
    + "".join(f"; split > b{n} > both" for n in range(BRANCHES)),
    {f"split>b{n}": f"${{n &lt; {n}}}" for n in range(1, BRANCHES)},
    split=INCLUSIVE,
    both=INCLUSIVE,
    **{f"b{n}": kit.service(type="step") for n in range(BRANCHES)},
)
# Branch b may leave by an error or a timer and end elsewhere.
LEAVING = kit.process(
    "leaving",
    "start > fork > a > both > after > end; fork > b > both; gone > end2; late > end3",
    both=INCLUSIVE,
    gone=kit.boundary_error("b", "gone"),
    late=kit.boundary_timer("b", "PT1M"),
    a=kit.service(type="step"),
    b=kit.service(type="step"),
)


@pytest.fixture(scope="module", autouse=True)
def _processes(database: TestDatabase) -> None:
    kit.deploy(database, SOME, LEAVING)


def _fired_once(database: TestDatabase, process: str, arrived: int) -> None:
    assert len(kit.history(database, process, "JoinReached")) == arrived
    assert len(kit.history(database, process, "JoinFired")) == 1
    assert kit.standing(database, process) == ["after Waiting"]


@pytest.mark.parametrize("taken", [2, 5, BRANCHES])
def test_branches_complete_in_the_same_instant(database: TestDatabase, taken: int) -> None:
    """A-13, C01: some of the branches end in as many sessions; exactly one passes the join."""
    for _ in range(kit.sized(3, 200)):
        (process,) = kit.start(database, "some", n=BRANCHES - taken)
        with Session(database) as observer, kit.sessions(database, taken) as workers:
            tasks = [claim(worker, ["step"])[0] for worker in workers]
            with kit.instances_held(database):
                running = [
                    worker.start(COMPLETE, answer([task]))
                    for worker, task in zip(workers, tasks, strict=True)
                ]
                kit.blocked(observer, workers)
            answers = kit.settled(running)
        assert [rows[0]["outcome"] for rows in answers] == ["Completed"] * taken  # type: ignore[index]
        _fired_once(database, process, taken)
    kit.run_out(database, ["after"])


def test_branches_complete_in_one_batch(database: TestDatabase) -> None:
    """A-27: arrivals of several instances in one call, in any order."""
    taken = dict.fromkeys(kit.start(database, "some", 4, n=BRANCHES - 5), 5)
    taken |= dict.fromkeys(kit.start(database, "some", 3, n=BRANCHES), 1)
    with Session(database) as worker:
        tasks = claim(worker, ["step"], 1000)
        random.Random(11).shuffle(tasks)
        worker.do(COMPLETE, answer(tasks))
    for process, arrived in taken.items():
        _fired_once(database, process, arrived)
    kit.run_out(database, ["after"])


@pytest.mark.parametrize("first", ["a", "b"])
def test_a_branch_dies_as_another_arrives(database: TestDatabase, first: str) -> None:
    """C03: one branch leaves by an error boundary in the instant in which the other arrives."""
    for _ in range(kit.sized(4, 200)):
        (process,) = kit.start(database, "leaving")
        with Session(database) as observer, kit.sessions(database, 2) as (one, two):
            tasks = {task["node_id"]: task for task in claim(one, ["step"], 2)}
            calls = {
                "a": (COMPLETE, [answer([tasks["a"]])]),
                "b": (THROW, [tasks["b"]["task_id"], tasks["b"]["fencing_token"]]),
            }
            with kit.instances_held(database):
                running = []
                for session, node in zip((one, two), sorted(calls, key=first.__ne__), strict=True):
                    query, params = calls[node]
                    running.append(session.start(query, *params))
                    kit.blocked(observer, [session])
            for rows in kit.settled(running):
                assert isinstance(rows, list), rows
        _fired_once(database, process, 1)
    kit.run_out(database, ["after"])


@pytest.mark.parametrize("first", ["tick", "worker"])
def test_a_timer_takes_a_branch_as_it_completes(database: TestDatabase, first: str) -> None:
    """A-10 before a join: the branch arrives or leaves, never both; the join fires either way."""
    for _ in range(kit.sized(3, 100)):
        (process,) = kit.start(database, "leaving")
        with Session(database) as eye, kit.sessions(database, 2) as (worker, ticker):
            tasks = {task["node_id"]: task for task in claim(worker, ["step"], 2)}
            worker.do(COMPLETE, answer([tasks["a"]]))
            database.rows("select bpm.advance_clock('61 seconds')")
            if first == "tick":
                ticker.begin()
                ticker.do("select bpm.tick()")
                done = worker.start(COMPLETE, answer([tasks["b"]]))
                kit.blocked(eye, [worker])
                ticker.commit()
                kit.settled([done])
                arrived = 1
            else:
                worker.begin()
                worker.do(COMPLETE, answer([tasks["b"]]))
                ticker.do("select bpm.tick()")  # skips the instance, which is held
                worker.commit()
                ticker.do("select bpm.tick()")
                arrived = 2
        _fired_once(database, process, arrived)
    kit.run_out(database, ["after"])


@pytest.mark.breaks_invariants
def test_asked_at_arrivals_only_the_join_waits_for_ever(fresh_database: TestDatabase) -> None:
    """What these tests are for can fail, and I-06 says so: a join that is not asked at deaths."""
    kit.deploy(fresh_database, LEAVING)
    kit.mutate(
        fresh_database,
        "bpm_core.drive(bpm_core.moving[])",
        r"v_inclusive := exists \(.*?limit 1\) f\);",
        "v_inclusive := false;",
    )
    (process,) = kit.start(fresh_database, "leaving")
    with Session(fresh_database) as worker:
        tasks = {task["node_id"]: task for task in claim(worker, ["step"], 2)}
        worker.do(COMPLETE, answer([tasks["a"]]))
        fresh_database.audit()
        worker.do(THROW, tasks["b"]["task_id"], tasks["b"]["fencing_token"])
    assert kit.standing(fresh_database, process) == ["both Waiting"]
    broken = fresh_database.rows("select c.invariant, c.detail from bpm.check_invariants() c")
    assert [row["detail"]["rule"] for row in broken] == ["may fire, but did not"]
