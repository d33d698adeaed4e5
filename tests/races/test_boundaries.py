"""Events on activities and behind gateways that race with what they interrupt (A-10)."""

from __future__ import annotations

import itertools

import pytest
from tests.races import kit
from tests.races.kit import COMPLETE, Session, answer, claim
from tests.support.database import TestDatabase

CORRELATE = "select * from bpm.correlate_message(%s, %s)"
_numbers = itertools.count()


def _boundary(event: str, interrupting: bool) -> str:
    cancels = str(interrupting).lower()
    return (
        f'<boundaryEvent {{id}} attachedToRef="work" cancelActivity="{cancels}">'
        f"{event}</boundaryEvent>"
    )


_MESSAGE = '<messageEventDefinition messageRef="message-stop"/>'


@pytest.fixture(scope="module", autouse=True)
def _processes(database: TestDatabase) -> None:
    shape = "start > ask > work > done > end; stop > undo > end2"
    kit.deploy(
        database,
        kit.process("cut", shape, stop=_boundary(_MESSAGE, True)),
        kit.process("note", shape, stop=_boundary(_MESSAGE, False)),
        kit.process(
            "either",
            "start > ask > gate > one > done > end; gate > two > undo > end2",
            gate="<eventBasedGateway {id}/>",
            one=kit.message("one"),
            two=kit.message("two"),
        ),
    )


def _start(database: TestDatabase, code: str) -> tuple[str, str]:
    """Start a process with a business key of its own; its id and the key."""
    key = f"{code}-{next(_numbers)}"
    row = database.rows("select * from bpm.start_process(%s, '{}', %s)", [code, key])[0]
    return str(row["process_instance_id"]), key


@pytest.mark.parametrize("order", ["answer first", "message first"])
def test_a_message_while_its_task_completes(database: TestDatabase, order: str) -> None:
    """A-10: the two meet inside one instance; exactly one path goes on."""
    for _ in range(kit.sized(4, 100)):
        process, key = _start(database, "cut")
        with Session(database) as worker, Session(database) as sender, Session(database) as eye:
            worker.do(COMPLETE, answer(claim(worker, ["ask"])))
            tasks = claim(worker, ["work"])
            if order == "answer first":
                worker.begin()
                worker.do(COMPLETE, answer(tasks))
                # The sender never waits for an instance: the message is in the mailbox.
                assert sender.one(CORRELATE, "stop", key)["state"] == "Correlated"
                worker.commit()
                eye.do("select bpm.run_until_idle()")
                expected, state = "done Waiting", "Buffered"
            else:
                sender.begin()
                assert sender.one(CORRELATE, "stop", key)["state"] == "Correlated"
                running = worker.start(COMPLETE, answer(tasks))
                kit.blocked(eye, [worker])
                sender.commit()
                assert running.result()[0]["outcome"] == "Cancelled"
                expected, state = "undo Waiting", "Correlated"
        assert kit.standing(database, process) == [expected]
        assert (
            database.value(
                "select m.state::text from bpm_core.message m where m.correlation_key = %s", [key]
            )
            == state
        )
    kit.run_out(database, ["done", "undo"])


@pytest.mark.parametrize("code", ["cut", "note", "either"])
def test_a_held_key_parks_the_host(database: TestDatabase, code: str) -> None:
    """The host cannot be armed while another call holds its key: it is entered again later."""
    process, key = _start(database, code)
    name = "one" if code == "either" else "stop"
    with Session(database) as worker, Session(database) as sender:
        sender.begin()
        assert sender.one(CORRELATE, name, key)["state"] == "Buffered"
        worker.do(COMPLETE, answer(claim(worker, ["ask"])))
        host = "gate" if code == "either" else "work"
        assert kit.standing(database, process) == [f"{host} Ready"]
        assert claim(worker, ["work"]) == []
        sender.commit()
        worker.do("select bpm.advance_clock('2 seconds')")
        worker.do("select bpm.run_until_idle()")
    expected = {
        "cut": ["undo Waiting"],
        "note": ["undo Waiting", "work Waiting"],
        "either": ["done Waiting"],
    }
    assert kit.standing(database, process) == expected[code]
    kit.run_out(database, ["work", "done", "undo"])


def test_two_events_of_a_gateway_at_once(database: TestDatabase) -> None:
    """Both messages are sent at the same time: one wins, the other is kept."""
    for _ in range(kit.sized(4, 100)):
        process, key = _start(database, "either")
        with Session(database) as eye, kit.sessions(database, 2) as senders:
            eye.do(COMPLETE, answer(claim(eye, ["ask"])))
            with kit.tables_held(database, "subscription"):
                running = [
                    sender.start(CORRELATE, name, key)
                    for sender, name in zip(senders, ("one", "two"), strict=True)
                ]
                kit.blocked(eye, senders)
            kit.settled(running)
            eye.do("select bpm.run_until_idle()")
        assert kit.standing(database, process) in (["done Waiting"], ["undo Waiting"])
        states = database.rows(
            "select m.state::text as state from bpm_core.message m where m.correlation_key = %s"
            " order by 1",
            [key],
        )
        assert [row["state"] for row in states] == ["Buffered", "Correlated"]
        assert len(kit.history(database, process, "MessageReceived")) == 1
    kit.run_out(database, ["done", "undo"])
