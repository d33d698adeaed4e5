"""Timers between several tickers and workers: each takes effect once, whoever comes first."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.races import kit
from tests.races.kit import COMPLETE, Session, answer, claim
from tests.support.database import TestDatabase

TICK = "select * from bpm.tick(%s)"


@pytest.fixture(scope="module", autouse=True)
def _processes(database: TestDatabase) -> None:
    kit.deploy(
        database,
        kit.process("wake", "start > pause > rang > end", pause=kit.timer("PT10M")),
        kit.process(
            "patience",
            "start > slow > done > end1; late > gave > end2",
            late=kit.boundary_timer("slow", "PT10M"),
        ),
        kit.process(
            "nag",
            "start > chore > fine > end1; hour > nagged > end2",
            hour=kit.boundary_timer("chore", "R3/PT10M", interrupting=False),
        ),
    )


def _advance(database: TestDatabase, minutes: int) -> None:
    database.rows("select bpm.advance_clock(make_interval(mins => %s))", [minutes])


def _fired(database: TestDatabase, processes: list[str]) -> list[dict[str, Any]]:
    """What history tells of fired timers of these processes, in the order of firing."""
    return database.rows(
        "select h.process_instance_id, h.detail from bpm.history h"
        " where h.kind = 'TimerFired' and h.process_instance_id = any (%s::uuid[]) order by h.seq",
        [processes],
    )


def test_two_hundred_timers_came_due_during_downtime(database: TestDatabase) -> None:
    """A-08: 200 timers due, several tickers at once: each once, oldest first."""
    processes: list[str] = []
    for _ in range(20):
        processes += kit.start(database, "wake", 10)
        _advance(database, 1)
    _advance(database, 60)
    with Session(database) as observer, kit.sessions(database, 4) as tickers:
        # Once all together, then each on until nothing is left.
        with kit.tables_held(database, "timer"):
            running = [ticker.start(TICK, 30) for ticker in tickers]
            kit.blocked(observer, tickers)
        done = [rows[0]["done"]["timers"] for rows in kit.settled(running)]  # type: ignore[index]
        running = [ticker.start("select bpm.run_until_idle(7) as done") for ticker in tickers]
        kit.settled(running)
        # A ticker skips what another holds just now, so the last look is alone.
        observer.do("select bpm.run_until_idle()")
    assert max(done) == 30, done
    fired = _fired(database, processes)
    assert sorted(str(row["process_instance_id"]) for row in fired) == sorted(processes)
    assert kit.run_out(database, ["rang"]) == 200


def test_one_ticker_fires_oldest_first(database: TestDatabase) -> None:
    """A-08, the order: one ticker, small steps, many due timers."""
    processes: list[str] = []
    for _ in range(10):
        processes += kit.start(database, "wake")
        _advance(database, 1)
    _advance(database, 60)
    with Session(database) as ticker:
        while ticker.one(TICK, 3)["done"]["timers"]:
            pass
    assert [str(row["process_instance_id"]) for row in _fired(database, processes)] == processes
    kit.run_out(database, ["rang"])


def test_several_tickers_poll_one_due_timer(database: TestDatabase) -> None:
    """A-09: one effect, and nobody waits: a ticker skips the instance another holds."""
    for _ in range(kit.sized(5, 100)):
        (process,) = kit.start(database, "wake")
        _advance(database, 11)
        with Session(database) as observer, kit.sessions(database, 6) as tickers:
            with kit.tables_held(database, "timer"):
                running = [ticker.start(TICK, 100) for ticker in tickers]
                kit.blocked(observer, tickers)
            done = [rows[0]["done"]["timers"] for rows in kit.settled(running)]  # type: ignore[index]
        assert sorted(done) == [0, 0, 0, 0, 0, 1]
        assert len(_fired(database, [process])) == 1
    kit.run_out(database, ["rang"])


@pytest.mark.parametrize("first", ["complete", "tick"])
def test_a_timer_fires_while_its_task_completes(database: TestDatabase, first: str) -> None:
    """A-10: exactly one path continues, whichever is first; the other is told or does nothing."""
    for _ in range(kit.sized(5, 100)):
        (process,) = kit.start(database, "patience")
        with Session(database) as worker, Session(database) as ticker, Session(database) as eye:
            (task,) = claim(worker, ["slow"], lease="1 hour")
            _advance(database, 11)
            if first == "complete":
                # The completion holds the instance; tick skips it and finds it again afterwards.
                worker.begin()
                assert worker.one(COMPLETE, answer([task]))["outcome"] == "Completed"
                assert ticker.one(TICK, 100)["done"]["timers"] == 0
                worker.commit()
                assert ticker.one(TICK, 100)["done"]["timers"] == 0
                assert kit.standing(database, process) == ["done Waiting"]
            else:
                # The tick holds the instance; the completion waits for it and is told.
                ticker.begin()
                assert ticker.one(TICK, 100)["done"]["timers"] == 1
                running = worker.start(COMPLETE, answer([task]))
                kit.blocked(eye, [worker])
                ticker.commit()
                assert running.result()[0]["outcome"] == "Cancelled"
                assert kit.standing(database, process) == ["gave Waiting"]
        assert len(_fired(database, [process])) == (first == "tick")
    kit.run_out(database, ["done", "gave"])


def test_a_timer_and_its_task_in_the_same_instant(database: TestDatabase) -> None:
    """A-10 without an order: many at once, every instance on exactly one path."""
    count = kit.sized(30, 500)
    processes = kit.start(database, "patience", count)
    with (
        Session(database) as worker,
        kit.sessions(database, 4) as sessions,
        Session(database) as eye,
    ):
        tasks = claim(worker, ["slow"], 1000, lease="1 hour")
        assert len(tasks) == count
        _advance(database, 11)
        with kit.tables_held(database, "timer"):
            halves = [tasks[: count // 2], tasks[count // 2 :]]
            running = [
                s.start(COMPLETE, answer(half)) for s, half in zip(sessions, halves, strict=False)
            ]
            running += [s.start(TICK, count // 3) for s in sessions[2:]]
            kit.blocked(eye, sessions)
        answers = kit.settled(running)
        assert all(isinstance(rows, list) for rows in answers), answers
        eye.do("select bpm.run_until_idle()")
    outcomes = {
        str(task["process_instance_id"]): row["outcome"]
        for half, rows in zip(halves, answers, strict=False)
        for task, row in zip(half, rows, strict=True)  # type: ignore[arg-type]
    }
    assert set(outcomes.values()) <= {"Completed", "Cancelled"}
    for process in processes:
        expected = ["done Waiting"] if outcomes[process] == "Completed" else ["gave Waiting"]
        assert kit.standing(database, process) == expected, outcomes[process]
    kit.run_out(database, ["done", "gave"])


def test_a_repeating_timer_beside_its_task(database: TestDatabase) -> None:
    """A timer that does not interrupt fires while the task completes: both, on their own paths."""
    (process,) = kit.start(database, "nag")
    with Session(database) as worker, Session(database) as ticker, Session(database) as eye:
        (task,) = claim(worker, ["chore"], lease="5 hours")
        _advance(database, 11)
        ticker.begin()
        assert ticker.one(TICK, 100)["done"]["timers"] == 1
        running = worker.start(COMPLETE, answer([task]))
        kit.blocked(eye, [worker])
        ticker.commit()
        assert running.result()[0]["outcome"] == "Completed"
        # The task has left: its second and third occurrence are cancelled with it.
        _advance(database, 60)
        assert ticker.one(TICK, 100)["done"]["timers"] == 0
    assert kit.standing(database, process) == ["fine Waiting", "nagged Waiting"]
    kit.run_out(database, ["fine", "nagged"])
    assert kit.status_of(database, process) == "Completed"


def test_timers_of_held_instances_starve_nobody(database: TestDatabase) -> None:
    """The oldest timers belong to instances somebody holds: the others fire all the same."""
    held = kit.start(database, "wake", 12)
    _advance(database, 1)
    free = kit.start(database, "wake", 2)
    _advance(database, 20)
    with kit.sessions(database, 2) as (owner, ticker):
        owner.begin()
        owner.do(
            "select from bpm_core.workflow_instance w"
            " where w.process_instance_id = any (%s::uuid[]) order by w.id for no key update",
            held,
        )
        row = ticker.one("select * from bpm.tick(5)")
        assert row["done"]["timers"] == 2
        assert [kit.standing(database, process) for process in free] == [["rang Waiting"]] * 2
        owner.commit()
        # The position has not passed what was held.
        positions = row["positions"]
        done = 0
        for _ in range(3):
            row = ticker.one("select * from bpm.tick(5, %s)", json.dumps(positions))
            done, positions = done + row["done"]["timers"], row["positions"]
        assert done == 12
