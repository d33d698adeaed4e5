"""Processes of several workflows between several sessions: ends, ticks, people, all at once."""

from __future__ import annotations

import json

import pytest
from tests.races import kit
from tests.races.kit import COMPLETE, Session, answer, claim
from tests.support.database import TestDatabase

TICK = "select * from bpm.tick(%s)"
CANCEL = "select * from bpm.cancel_process(%s)"
SUSPEND = "select * from bpm.suspend_process(%s)"
RESUME = "select * from bpm.resume_process(%s)"
HEARD = "select count(*) from bpm_core.inbox where target_id = %s"


@pytest.fixture(scope="module", autouse=True)
def _processes(database: TestDatabase) -> None:
    kit.deploy(
        database,
        kit.process("one-step", "start > step > end"),
        kit.process("one-late", "start > late > end"),
        kit.process(
            "one-gate",
            "start > gate > end",
            gate=kit.service(approval="required"),
        ),
    )
    for code, workflows in {
        "pair": ["one-step", "one-step"],
        "four": ["one-step"] * 4,
        "gated": ["one-gate", "one-step"],
    }.items():
        first = [{"binding_key": f"w{n}", "workflow": w} for n, w in enumerate(workflows)]
        keys = [binding["binding_key"] for binding in first]
        for name, more in ((code, []), (f"{code}-then", [_late(keys)])):
            database.rows(
                "select * from bpm.publish_process(%s, %s)", [name, json.dumps(first + more)]
            )


def _late(keys: list[str]) -> dict[str, object]:
    return {"binding_key": "late", "workflow": "one-late", "depends_on": keys}


def _workflows(database: TestDatabase, process: str) -> dict[str, str]:
    rows = database.rows(
        "select binding_key, status from bpm.workflow where process_instance_id = %s", [process]
    )
    assert len(rows) == len({row["binding_key"] for row in rows}), rows
    return {row["binding_key"]: row["status"] for row in rows}


def _sound(database: TestDatabase) -> None:
    assert not database.rows("select * from bpm.check_invariants()")


def _all_at_once(database: TestDatabase, process: str, count: int) -> None:
    """Every open step is answered by a session of its own, all released at once."""
    with Session(database) as observer, kit.sessions(database, count) as workers:
        tasks = [claim(worker, ["step"])[0] for worker in workers]
        assert {str(task["process_instance_id"]) for task in tasks} == {process}
        with kit.instances_held(database):
            running = [
                worker.start(COMPLETE, answer([task], **{f"by{n}": n}))
                for n, (worker, task) in enumerate(zip(workers, tasks, strict=True))
            ]
            kit.blocked(observer, workers)
        outcomes = [rows[0]["outcome"] for rows in kit.settled(running)]  # type: ignore[index]
    assert outcomes == ["Completed"] * count


@pytest.mark.parametrize(("code", "count"), [("pair", 2), ("four", 4)])
def test_workflows_end_in_the_same_instant(database: TestDatabase, code: str, count: int) -> None:
    """A-26: the process ends, once, with what all of them brought; several ticks at once."""
    for _ in range(kit.sized(2, 100)):
        (process,) = kit.start(database, code)
        _all_at_once(database, process, count)
        assert database.value(HEARD, [process]) == count
        with Session(database) as observer, kit.sessions(database, 3) as tickers:
            with kit.tables_held(database, "inbox"):
                running = [ticker.start(TICK, 100) for ticker in tickers]
                kit.blocked(observer, tickers)
            kit.settled(running)
            observer.do("select bpm.run_until_idle()")
        assert kit.status_of(database, process) == "Completed"
        assert len(kit.history(database, process, "ProcessEnded")) == 1
        assert len(kit.history(database, process, "VariablesPassed")) == count
        assert database.value("select bpm.get_variables(%s)", [process]) == {
            f"by{n}": n for n in range(count)
        }
    _sound(database)


def test_what_depends_on_them_begins_once(database: TestDatabase) -> None:
    """A-26: many ticks hear of the ends, one row at a time each; the next workflow begins once."""
    for _ in range(kit.sized(2, 100)):
        (process,) = kit.start(database, "four-then")
        _all_at_once(database, process, 4)
        with Session(database) as observer, kit.sessions(database, 4) as tickers:
            with kit.tables_held(database, "inbox"):
                running = [ticker.start(TICK, 1) for ticker in tickers]
                kit.blocked(observer, tickers)
            kit.settled(running)
            observer.do("select bpm.run_until_idle()")
        assert _workflows(database, process)["late"] == "Running"
        assert kit.standing(database, process) == ["late Waiting"]
    kit.run_out(database, ["late"])
    assert kit.status_of(database, process) == "Completed"
    _sound(database)


def test_a_tick_that_holds_the_process_is_not_waited_for_by_others(database: TestDatabase) -> None:
    """Law 3: a second tick skips the process that one has, and finds the row with its next pass."""
    (process,) = kit.start(database, "pair-then")
    _all_at_once(database, process, 2)
    with Session(database) as first, Session(database) as second:
        first.begin()
        assert first.one(TICK, 100)["done"]["inbox"] == 2
        assert second.one(TICK, 100)["done"]["inbox"] == 0
        first.rollback()
        assert second.one(TICK, 100)["done"]["inbox"] == 2
    assert _workflows(database, process)["late"] == "Running"
    kit.run_out(database, ["late"])
    _sound(database)


@pytest.mark.parametrize("first", ["tick", "cancel"])
def test_a_process_is_cancelled_while_it_hears_of_an_end(
    database: TestDatabase, first: str
) -> None:
    """The one that comes second sees what the first did: nothing that has begun is left."""
    for _ in range(kit.sized(2, 100)):
        (process,) = kit.start(database, "pair-then")
        _all_at_once(database, process, 2)
        with Session(database) as eye, Session(database) as ticker, Session(database) as person:
            if first == "tick":
                ticker.begin()
                assert ticker.one(TICK, 100)["done"]["inbox"] == 2
                running = person.start(CANCEL, process)
                kit.blocked(eye, [person])
                ticker.commit()
                assert running.result()[0]["status"] == "Cancelled"
                assert _workflows(database, process)["late"] == "Cancelled"
            else:
                person.begin()
                assert person.one(CANCEL, process)["status"] == "Cancelled"
                assert ticker.one(TICK, 100)["done"]["inbox"] == 0
                person.commit()
                eye.do("select bpm.run_until_idle()")
                assert "late" not in _workflows(database, process)
        assert kit.status_of(database, process) == "Cancelled"
        assert len(kit.history(database, process, "ProcessEnded")) == 1
        assert kit.run_out(database, ["late"]) == 0
    _sound(database)


def test_an_end_while_the_process_is_cancelled(database: TestDatabase) -> None:
    """An answer and a cancel at once: one is first, and the process is Cancelled either way."""
    for _ in range(kit.sized(4, 200)):
        (process,) = kit.start(database, "pair-then")
        with Session(database) as eye, kit.sessions(database, 3) as s:
            tasks = claim(s[0], ["step"], 2)
            with kit.instances_held(database):
                running = [
                    s[0].start(COMPLETE, answer(tasks[:1])),
                    s[1].start(CANCEL, process),
                    s[2].start(COMPLETE, answer(tasks[1:])),
                ]
                kit.blocked(eye, s)
            outcomes = kit.settled(running)
            assert outcomes[1][0]["status"] == "Cancelled"  # type: ignore[index]
            assert {o[0]["outcome"] for o in (outcomes[0], outcomes[2])} <= {  # type: ignore[index]
                "Completed",
                "Cancelled",
            }
            eye.do("select bpm.run_until_idle()")
        assert kit.status_of(database, process) == "Cancelled"
        assert "late" not in _workflows(database, process)
    _sound(database)


@pytest.mark.parametrize("first", ["tick", "suspend"])
def test_a_process_is_suspended_while_it_hears_of_an_end(
    database: TestDatabase, first: str
) -> None:
    """What has begun is suspended with it; what has not waits in the inbox until it is resumed."""
    for _ in range(kit.sized(2, 100)):
        (process,) = kit.start(database, "pair-then")
        _all_at_once(database, process, 2)
        with Session(database) as eye, Session(database) as ticker, Session(database) as person:
            if first == "tick":
                ticker.begin()
                assert ticker.one(TICK, 100)["done"]["inbox"] == 2
                running = person.start(SUSPEND, process)
                kit.blocked(eye, [person])
                ticker.commit()
                assert running.result()[0]["status"] == "Suspended"
                assert _workflows(database, process)["late"] == "Suspended"
            else:
                person.begin()
                assert person.one(SUSPEND, process)["status"] == "Suspended"
                assert ticker.one(TICK, 100)["done"]["inbox"] == 0
                person.commit()
                eye.do("select bpm.run_until_idle()")
                assert "late" not in _workflows(database, process)
            _sound(database)
            assert not claim(eye, ["late"])
            eye.do(RESUME, process)
            eye.do("select bpm.run_until_idle()")
        assert _workflows(database, process)["late"] == "Running"
        assert kit.run_out(database, ["late"]) == 1
        assert kit.status_of(database, process) == "Completed"
    _sound(database)


def test_one_fails_while_the_other_ends(database: TestDatabase) -> None:
    """A rejection and an answer at once: the process fails, whatever it hears first."""
    for _ in range(kit.sized(4, 100)):
        (process,) = kit.start(database, "gated-then")
        approval = database.value(
            "select approval_id from bpm.approval"
            " where process_instance_id = %s and status = 'Pending'",
            [process],
        )
        with Session(database) as eye, kit.sessions(database, 2) as s:
            tasks = claim(s[0], ["step"])
            with kit.instances_held(database):
                running = [
                    s[0].start(COMPLETE, answer(tasks)),
                    s[1].start("select * from bpm.decide_approval(%s, 'Rejected')", approval),
                ]
                kit.blocked(eye, s)
            kit.settled(running)
            with kit.tables_held(database, "inbox"):
                ticking = [session.start(TICK, 100) for session in s]
                kit.blocked(eye, s)
            kit.settled(ticking)
            eye.do("select bpm.run_until_idle()")
        assert kit.status_of(database, process) == "Failed"
        assert _workflows(database, process) == {"w0": "Failed", "w1": "Completed"}
    _sound(database)


def test_everybody_at_once_deadlocks_nobody(database: TestDatabase) -> None:
    """Answers, ticks, suspending, resuming and variables by hand, all released at once."""
    for _ in range(kit.sized(3, 200)):
        (process,) = kit.start(database, "four-then")
        with Session(database) as eye, kit.sessions(database, 8) as s:
            tasks = claim(s[0], ["step"], 4)
            eye.do(COMPLETE, answer(tasks[:1]))
            with kit.instances_held(database):
                running = [
                    *(s[n].start(COMPLETE, answer([tasks[n]])) for n in (1, 2, 3)),
                    s[4].start(SUSPEND, process),
                    s[5].start(RESUME, process),
                    s[6].start('select bpm.set_variables(%s, \'{"by": "hand"}\')', process),
                ]
                kit.blocked(eye, s[1:7])
            running += [s[0].start(TICK, 100), s[7].start(TICK, 100)]
            for rows in kit.settled(running):
                assert isinstance(rows, list), f"{rows.sqlstate}: {rows}"
            eye.do(RESUME, process)
            eye.do("select bpm.run_until_idle()")
        assert {_workflows(database, process)[f"w{n}"] for n in range(4)} == {"Completed"}
        assert kit.run_out(database, ["late"]) == 1
        assert kit.status_of(database, process) == "Completed"
    _sound(database)


def test_starts_with_one_key_at_once(database: TestDatabase) -> None:
    """A-15: one process, whatever the number of its workflows."""
    start = "select * from bpm.start_process('pair-then', p_idempotency_key => 'once')"
    with Session(database) as eye, kit.sessions(database, 4) as s:
        with kit.tables_held(database, "idempotency_key"):
            running = [session.start(start) for session in s]
            kit.blocked(eye, s)
        rows = [result[0] for result in kit.settled(running)]  # type: ignore[index]
    assert len({row["process_instance_id"] for row in rows}) == 1
    assert len({row["workflow_instance_id"] for row in rows}) == 1
    assert sorted(row["is_new"] for row in rows) == [False, False, False, True]
    process = str(rows[0]["process_instance_id"])
    assert _workflows(database, process) == {"w0": "Running", "w1": "Running"}
    kit.run_out(database, ["step", "late"])
    _sound(database)
