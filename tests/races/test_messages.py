"""A message and the wait for it: whichever comes first, and when both come at once (A-19, C12)."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from tests.races import kit
from tests.races.kit import COMPLETE, Session, answer, claim
from tests.support.database import TestDatabase

CORRELATE = "select * from bpm.correlate_message(%s, %s, %s)"
_numbers = itertools.count()


@pytest.fixture(scope="module", autouse=True)
def _processes(database: TestDatabase) -> None:
    kit.deploy(
        database,
        kit.process("order", "start > ask > wait > thank > end", wait=kit.message("reply")),
        kit.process(
            "both",
            "start > fork > one > join > thank > end; fork > two > join",
            one=kit.message("first"),
            two=kit.message("second"),
        ),
        kit.process(
            "same",
            "start > fork > one > join > thank > end; fork > two > join",
            one=kit.message("same"),
            two=kit.message("same"),
        ),
        kit.process(
            "race",
            "start > fork > wait > end1; fork > stopper > stop",
            wait=kit.message("late"),
            stop=kit.terminate(),
        ),
    )


def _start(database: TestDatabase, code: str) -> tuple[str, str]:
    """Start a process with a business key of its own; its id and the key."""
    key = f"{code}-{next(_numbers)}"
    row = database.rows("select * from bpm.start_process(%s, '{}', %s)", [code, key])[0]
    return str(row["process_instance_id"]), key


def _messages(database: TestDatabase, key: str) -> list[str]:
    rows = database.rows(
        "select m.state::text as state from bpm_core.message m where m.correlation_key = %s"
        " order by 1",
        [key],
    )
    return [row["state"] for row in rows]


@pytest.mark.parametrize("order", ["message first", "wait first", "message inside", "wait inside"])
def test_a_message_at_the_time_its_wait_opens(database: TestDatabase, order: str) -> None:
    """A-19: both commit orders, one after the other and overlapping; correlated exactly once."""
    for _ in range(kit.sized(4, 100)):
        process, key = _start(database, "order")
        with Session(database) as worker, Session(database) as sender, Session(database) as eye:
            (task,) = claim(worker, ["ask"])
            send: tuple[Any, ...] = (CORRELATE, "reply", key, '{"said": "yes"}')
            open_wait: tuple[Any, ...] = (COMPLETE, answer([task]))
            if order == "message first":
                assert sender.one(*send)["state"] == "Buffered"
                worker.do(*open_wait)
            elif order == "wait first":
                worker.do(*open_wait)
                assert sender.one(*send)["state"] == "Correlated"
            elif order == "message inside":
                # The message is stored but not committed when the wait wants to open: it waits.
                sender.begin()
                assert sender.one(*send)["state"] == "Buffered"
                running = worker.start(*open_wait)
                kit.blocked(eye, [worker])
                sender.commit()
                running.result()
            else:
                # The wait is open but not committed when the message comes: it waits.
                worker.begin()
                worker.do(*open_wait)
                running = sender.start(*send)
                kit.blocked(eye, [sender])
                worker.commit()
                assert running.result()[0]["state"] == "Correlated"
            eye.do("select bpm.run_until_idle()")
        assert kit.standing(database, process) == ["thank Waiting"]
        assert len(kit.history(database, process, "MessageReceived")) == 1
        assert database.value("select bpm.get_variables(%s)", [process])["said"] == "yes"
        assert _messages(database, key) == ["Correlated"]
    kit.run_out(database, ["thank"])


def test_messages_and_waits_in_the_same_instant(database: TestDatabase) -> None:
    """A-19 without an order: many pairs released at once; every message meets its wait, once."""
    pairs = kit.sized(21, 300)
    started = [_start(database, "order") for _ in range(pairs)]
    with (
        Session(database) as eye,
        kit.sessions(database, 3) as workers,
        kit.sessions(database, 3) as senders,
    ):
        tasks = claim(eye, ["ask"], 1000)
        assert len(tasks) == pairs
        for n in range(0, pairs, 3):
            with kit.tables_held(database, "message", "subscription"):
                running = []
                for worker, sender, task in zip(workers, senders, tasks[n : n + 3], strict=True):
                    running.append(worker.start(COMPLETE, answer([task])))
                    running.append(sender.start(CORRELATE, "reply", task["business_key"], "{}"))
                kit.blocked(eye, [*workers, *senders])
            assert all(isinstance(rows, list) for rows in kit.settled(running))
        eye.do("select bpm.run_until_idle()")
    for process, key in started:
        assert kit.standing(database, process) == ["thank Waiting"]
        assert _messages(database, key) == ["Correlated"]
    kit.run_out(database, ["thank"])


def test_two_messages_for_one_instance_at_once(database: TestDatabase) -> None:
    """C12: both are recorded, the join fires once, the instance can finish."""
    for _ in range(kit.sized(5, 100)):
        process, key = _start(database, "both")
        with Session(database) as eye, kit.sessions(database, 2) as senders:
            with kit.tables_held(database, "subscription"):
                running = [
                    sender.start(CORRELATE, name, key, f'{{"{name}": true}}')
                    for sender, name in zip(senders, ("first", "second"), strict=True)
                ]
                kit.blocked(eye, senders)
            answers = kit.settled(running)
            assert [rows[0]["state"] for rows in answers] == ["Correlated"] * 2  # type: ignore[index]
            eye.do("select bpm.run_until_idle()")
        assert kit.standing(database, process) == ["thank Waiting"]
        assert len(kit.history(database, process, "MessageReceived")) == 2
        assert database.value("select bpm.get_variables(%s)", [process]) == {
            "first": True,
            "second": True,
        }
    kit.run_out(database, ["thank"])


def test_several_senders_of_one_message_id(database: TestDatabase) -> None:
    """One message id from many senders at once: one message, one answer, one effect."""
    process, key = _start(database, "order")
    with (
        Session(database) as eye,
        Session(database) as first,
        kit.sessions(database, 5) as senders,
    ):
        (task,) = claim(eye, ["ask"])
        eye.do(COMPLETE, answer([task]))
        send = "select * from bpm.correlate_message('reply', %s, '{}', '1 hour', 'the-one')"
        first.begin()
        answered = first.one(send, key)
        running = [sender.start(send, key) for sender in senders]
        kit.blocked(eye, senders)
        first.commit()
        repeats = [rows[0] for rows in kit.settled(running)]  # type: ignore[index]
    assert repeats == [{**answered, "is_new": False}] * 5
    assert kit.standing(database, process) == ["thank Waiting"]
    assert _messages(database, key) == ["Correlated"]
    kit.run_out(database, ["thank"])


def test_two_waits_of_one_key_get_one_message_each(database: TestDatabase) -> None:
    """Two waits for the same name and key, three messages at once: two meet, one is kept."""
    process, key = _start(database, "same")
    with Session(database) as eye, kit.sessions(database, 3) as senders:
        with kit.tables_held(database, "subscription"):
            running = [
                sender.start(CORRELATE, "same", key, f'{{"from{n}": true}}')
                for n, sender in enumerate(senders)
            ]
            kit.blocked(eye, senders)
        states = [rows[0]["state"] for rows in kit.settled(running)]  # type: ignore[index]
        assert sorted(states) == ["Buffered", "Correlated", "Correlated"]
        eye.do("select bpm.run_until_idle()")
    assert kit.standing(database, process) == ["thank Waiting"]
    assert _messages(database, key) == ["Buffered", "Correlated", "Correlated"]
    kit.run_out(database, ["thank"])


def test_a_wait_gets_one_message_even_while_its_instance_is_busy(database: TestDatabase) -> None:
    """Three messages, two waits of an instance somebody holds: each wait is promised once."""
    process, key = _start(database, "same")
    with kit.instances_held(database), Session(database) as sender:
        states = [sender.one(CORRELATE, "same", key, "{}")["state"] for _ in range(3)]
    assert states == ["Correlated", "Correlated", "Buffered"]
    database.rows("select bpm.run_until_idle()")
    assert kit.standing(database, process) == ["thank Waiting"]
    kit.run_out(database, ["thank"])


@pytest.mark.parametrize("first", ["message", "end"])
def test_a_message_while_its_instance_ends(database: TestDatabase, first: str) -> None:
    """A closing instance never swallows a message: it is applied before, or kept for the next."""
    for _ in range(kit.sized(4, 100)):
        process, key = _start(database, "race")
        with Session(database) as worker, Session(database) as sender, Session(database) as eye:
            (task,) = claim(worker, ["stopper"])
            if first == "message":
                sender.begin()
                assert sender.one(CORRELATE, "late", key, "{}")["state"] == "Correlated"
                running = worker.start(COMPLETE, answer([task]))
                kit.blocked(eye, [worker])
                sender.commit()
                assert running.result()[0]["outcome"] == "Completed"
            else:
                worker.begin()
                worker.do(COMPLETE, answer([task]))
                # The wait still looks open, but its instance is held: into the inbox with it.
                assert sender.one(CORRELATE, "late", key, "{}")["state"] == "Correlated"
                worker.commit()
            eye.do("select bpm.run_until_idle()")
        assert kit.status_of(database, process) == "Completed"
        assert _messages(database, key) == (["Correlated"] if first == "message" else ["Buffered"])
        if first == "end":
            # The next wait for that key gets it.
            row = database.rows("select * from bpm.start_process('race', '{}', %s)", [key])[0]
            database.rows("select bpm.run_until_idle()")
            again = str(row["process_instance_id"])
            assert kit.standing(database, again) == ["stopper Waiting"]
            kit.run_out(database, ["stopper"])


def test_several_tickers_poll_one_inbox_row(database: TestDatabase) -> None:
    """A-09: a message left in the inbox is applied once, whoever polls."""
    for _ in range(kit.sized(4, 100)):
        process, key = _start(database, "order")
        with Session(database) as eye, kit.sessions(database, 5) as tickers:
            (task,) = claim(eye, ["ask"])
            eye.do(COMPLETE, answer([task]))
            with kit.instances_held(database):
                assert eye.one(CORRELATE, "reply", key, "{}")["state"] == "Correlated"
            with kit.tables_held(database, "inbox"):
                running = [ticker.start("select * from bpm.tick(100)") for ticker in tickers]
                kit.blocked(eye, tickers)
            done = [rows[0]["done"]["inbox"] for rows in kit.settled(running)]  # type: ignore[index]
        assert sorted(done) == [0, 0, 0, 0, 1]
        assert len(kit.history(database, process, "MessageReceived")) == 1
    kit.run_out(database, ["thank"])
