"""Sub-processes and calls between several sessions: what ends, fires or is cancelled at once."""

from __future__ import annotations

import pytest
from tests.races import kit
from tests.races.kit import COMPLETE, Session, answer, claim
from tests.support.database import TestDatabase

BRANCHES = 4
TICK = "select * from bpm.tick(%s)"
CANCEL = "select * from bpm.cancel_process(%s)"
_NAMES = [f"b{n}" for n in range(BRANCHES)]
_TASKS = "".join(
    f'<serviceTask id="{n}" bpm:type="step"/><endEvent id="{n}-end"/>'
    f'<sequenceFlow id="f-{n}" sourceRef="inner-fork" targetRef="{n}"/>'
    f'<sequenceFlow id="{n}-e" sourceRef="{n}" targetRef="{n}-end"/>'
    for n in _NAMES
)
_BOX = (
    '<subProcess {id}><startEvent id="inner"/><parallelGateway id="inner-fork"/>'
    f'<sequenceFlow id="f-0" sourceRef="inner" targetRef="inner-fork"/>{_TASKS}</subProcess>'
)
_STOP = (
    '<boundaryEvent {{id}} attachedToRef="{}"><messageEventDefinition messageRef="message-stop"/>'
    "</boundaryEvent>"
)


@pytest.fixture(scope="module", autouse=True)
def _processes(database: TestDatabase) -> None:
    kit.deploy(
        database,
        kit.process(
            "box",
            "start > inside > after > end; late > gave > end2",
            inside=_BOX,
            late=kit.boundary_timer("inside", "PT1H"),
        ),
        kit.process("leaf", "start > step > end"),
        kit.process(
            "callers",
            "start > fork; join > after > end"
            + "".join(f"; fork > {name} > join" for name in _NAMES),
            **dict.fromkeys(_NAMES, '<callActivity {id} calledElement="leaf"/>'),
        ),
        *(
            kit.process(
                code,
                "start > call > end; stop > gave > end2",
                call=f'<callActivity {{id}} calledElement="{called}"/>',
                stop=_STOP.format("call"),
            )
            for code, called in (("lower", "leaf"), ("upper", "lower"))
        ),
    )


def _all_at_once(database: TestDatabase, code: str) -> str:
    """Every open step is answered by a session of its own, all released at once; the process."""
    (process,) = kit.start(database, code)
    with Session(database) as observer, kit.sessions(database, BRANCHES) as workers:
        tasks = [claim(worker, ["step"])[0] for worker in workers]
        with kit.instances_held(database):
            running = [
                worker.start(COMPLETE, answer([task]))
                for worker, task in zip(workers, tasks, strict=True)
            ]
            kit.blocked(observer, workers)
        outcomes = [rows[0]["outcome"] for rows in kit.settled(running)]  # type: ignore[index]
    assert outcomes == ["Completed"] * BRANCHES
    return process


def _sound(database: TestDatabase) -> None:
    assert not database.rows("select * from bpm.check_invariants()")
    assert database.value("select count(*) from bpm_core.inbox") == 0


def test_the_branches_of_a_sub_process_end_in_the_same_instant(database: TestDatabase) -> None:
    """C01, A-13: the last one takes the token on, once."""
    for _ in range(kit.sized(2, 100)):
        process = _all_at_once(database, "box")
        assert kit.standing(database, process) == ["after Waiting"]
        assert len(kit.history(database, process, "ScopeCompleted")) == 1
    kit.run_out(database, ["after"])
    _sound(database)


def test_called_processes_end_in_the_same_instant(database: TestDatabase) -> None:
    """C01, A-13: callers are told through the inbox; several ticks at once, one firing."""
    for _ in range(kit.sized(2, 100)):
        process = _all_at_once(database, "callers")
        with Session(database) as observer, kit.sessions(database, 2) as tickers:
            with kit.tables_held(database, "inbox"):
                running = [ticker.start(TICK, 100) for ticker in tickers]
                kit.blocked(observer, tickers)
            kit.settled(running)
            observer.do("select bpm.run_until_idle()")
        assert kit.standing(database, process) == ["after Waiting"]
        assert len(kit.history(database, process, "JoinFired")) == 1
        assert len(kit.history(database, process, "CallCompleted")) == BRANCHES
    kit.run_out(database, ["after"])
    _sound(database)


@pytest.mark.parametrize("first", ["complete", "tick"])
def test_the_timer_of_a_sub_process_and_its_last_answers(
    database: TestDatabase, first: str
) -> None:
    """A-10: one path goes on, whichever is first; the other is told, or does nothing."""
    for _ in range(kit.sized(2, 100)):
        (process,) = kit.start(database, "box")
        with Session(database) as worker, Session(database) as ticker, Session(database) as eye:
            tasks = claim(worker, ["step"], BRANCHES, lease="5 hours")
            database.rows("select bpm.advance_clock('2 hours')")
            if first == "complete":
                worker.begin()
                assert {r["outcome"] for r in worker.do(COMPLETE, answer(tasks))} == {"Completed"}
                assert ticker.one(TICK, 100)["done"]["timers"] == 0
                worker.commit()
                assert ticker.one(TICK, 100)["done"]["timers"] == 0
                assert kit.standing(database, process) == ["after Waiting"]
            else:
                ticker.begin()
                assert ticker.one(TICK, 100)["done"]["timers"] == 1
                running = worker.start(COMPLETE, answer(tasks))
                kit.blocked(eye, [worker])
                ticker.commit()
                assert {row["outcome"] for row in running.result()} == {"Cancelled"}
                assert kit.standing(database, process) == ["gave Waiting"]
    kit.run_out(database, ["after", "gave"])
    _sound(database)


def test_nested_calls_are_interrupted_answered_and_cancelled_at_once(
    database: TestDatabase,
) -> None:
    """C07, C26, A-18: two messages, an answer, a cancel and two ticks; nobody deadlocks."""
    for _ in range(kit.sized(3, 200)):
        (process,) = kit.start(database, "upper")
        key = database.value(
            "select business_key from bpm.instance where process_instance_id = %s", [process]
        )
        with Session(database) as eye, kit.sessions(database, 6) as s:
            (task,) = claim(s[0], ["step"])
            correlate = "select * from bpm.correlate_message('stop', %s, p_ttl => '0')"
            with kit.instances_held(database):
                running = [
                    s[0].start(COMPLETE, answer([task])),
                    s[1].start(CANCEL, process),
                    s[2].start(correlate, key),
                    s[3].start(correlate, key),
                    s[4].start(TICK, 100),
                    s[5].start(TICK, 100),
                ]
                # Messages and ticks skip what is held.
                kit.blocked(eye, s[:2])
            answers = kit.settled(running)
            assert all(isinstance(rows, list) for rows in answers), answers
            assert answers[0][0]["outcome"] in {"Completed", "Cancelled"}  # type: ignore[index]
            eye.do("select bpm.run_until_idle()")
        assert kit.standing(database, process) == []
        assert kit.status_of(database, process) == "Cancelled"
    _sound(database)


def test_cancelled_in_chunks_while_workers_ask(database: TestDatabase) -> None:
    """C23, A-18: what a cancelled process called is handed to nobody, swept or not."""
    (process,) = kit.start(database, "callers")
    with kit.sessions(database, 3) as (operator, ticker, worker):
        operator.do(CANCEL, process)
        assert claim(worker, ["step"], 100) == []
        ticker.begin()
        ticker.do(TICK, 2)
        database.rows("select bpm.advance_clock('2 seconds')")
        assert claim(worker, ["step"], 100) == []
        ticker.commit()
        ticker.do("select bpm.run_until_idle()")
        assert claim(worker, ["step"], 100) == []
    assert kit.standing(database, process) == []
    _sound(database)
