"""Cycles that could arise between two kinds of calls, each built on purpose.

Two calls are brought to where each holds something; then the gate opens. A cycle would show as
40P01 in one of them. The lock order of the engine (instances, tasks and tokens, shared parents,
message keys; each class at once and sorted) must leave no room for it.
"""

from __future__ import annotations

import json
from concurrent.futures import Future
from typing import Any

import pytest
from tests.races import kit
from tests.races.kit import COMPLETE, Row, Session, answer, claim
from tests.support.database import TestDatabase

CORRELATE = "select * from bpm.correlate_message(%s, %s)"


@pytest.fixture(scope="module", autouse=True)
def _processes(database: TestDatabase) -> None:
    kit.deploy(
        database,
        kit.process("ab", "start > a > b > end", a=kit.message("a"), b=kit.message("b")),
        kit.process("ba", "start > b > a > end", a=kit.message("a"), b=kit.message("b")),
        kit.process("go-a", "start > go > a > end", a=kit.message("a")),
        kit.process("go-b", "start > go > b > end", b=kit.message("b")),
        kit.process("timed-a", "start > t > a > end", t=kit.timer("PT1M"), a=kit.message("a")),
        kit.process("timed-b", "start > t > b > end", t=kit.timer("PT1M"), b=kit.message("b")),
        kit.process("then-a", "start > m > a > end", m=kit.message("m"), a=kit.message("a")),
        kit.process("then-b", "start > m > b > end", m=kit.message("m"), b=kit.message("b")),
        kit.process(
            "many",
            "start > fork > x > end1; fork > y > end2; fork > z > stop",
            stop=kit.terminate(),
            **{name: kit.service(type="step") for name in ("x", "y", "z")},
        ),
    )


def _all_answered(*running: Future[list[Row]]) -> list[list[Row]]:
    answers = kit.settled(running)
    for rows in answers:
        assert isinstance(rows, list), f"{rows.sqlstate}: {rows}"
    return answers  # type: ignore[return-value]


def _key(database: TestDatabase, first: str, second: str) -> str:
    """A business key under which the lock of message ``first`` sorts before that of ``second``."""
    return str(
        database.value(
            "select k.key from generate_series(1, 1000) n(n)"
            " cross join lateral (select %s || md5(random()::text || n.n)) k(key)"
            " where bpm_core.message_key_hash('', %s, k.key)"
            "     < bpm_core.message_key_hash('', %s, k.key) limit 1",
            ["k", first, second],
        )
    )


def _start(database: TestDatabase, code: str, key: str) -> str:
    row = database.rows("select * from bpm.start_process(%s, '{}', %s)", [code, key])[0]
    return str(row["process_instance_id"])


def test_messages_whose_receivers_wait_for_each_others_key(database: TestDatabase) -> None:
    """Two senders, each holding its key, each moving its receiver to a wait for the other key."""
    for first, second in (("a", "b"), ("b", "a")):
        key = _key(database, first, second)
        ab, ba = _start(database, "ab", key), _start(database, "ba", key)
        with Session(database) as eye, kit.sessions(database, 2) as senders:
            with kit.tables_held(database, "subscription"):
                running = [
                    sender.start(CORRELATE, name, key)
                    for sender, name in zip(senders, "ab", strict=True)
                ]
                kit.blocked(eye, senders)
            states = [rows[0]["state"] for rows in _all_answered(*running)]
            assert states == ["Correlated", "Correlated"]
            # A token parked for a busy key goes on after a second.
            eye.do("select bpm.advance_clock('1 second')")
            eye.do("select bpm.run_until_idle()")
        # Each has moved on by one; the second message of neither has been sent.
        assert kit.standing(database, ab) == ["b Waiting"]
        assert kit.standing(database, ba) == ["a Waiting"]


def test_a_tick_takes_message_keys_round_after_round(database: TestDatabase) -> None:
    """A tick opens waits kind by kind; a completion opens two waits at once, sorted."""
    for low, high in (("a", "b"), ("b", "a")):
        key = _key(database, low, high)
        with Session(database) as eye, Session(database) as ticker, Session(database) as worker:
            # The first round of the tick takes the high key, a later one the low key.
            rounds = [_start(database, f"timed-{high}", key), _start(database, f"then-{low}", key)]
            _into_the_inbox(database, key)
            done = [_start(database, f"go-{low}", key), _start(database, f"go-{high}", key)]
            tasks = claim(worker, ["go"], 2, lease="1 hour")
            eye.do("select bpm.advance_clock('2 minutes')")
            with kit.tables_held(database, "inbox"):
                ticking = ticker.start("select * from bpm.tick(100)")
                kit.blocked(eye, [ticker])
                completing = worker.start(COMPLETE, answer(tasks))
                kit.blocked(eye, [worker])
            _, rows = _all_answered(ticking, completing)
            assert [row["outcome"] for row in rows] == ["Completed", "Completed"]
            # A token parked for a busy key goes on after a second.
            eye.do("select bpm.advance_clock('1 second')")
            eye.do("select bpm.run_until_idle()")
        for process in (*rounds, *done):
            (place,) = kit.standing(database, process)
            assert place in ("a Waiting", "b Waiting")


def test_two_ticks_take_message_keys_in_opposite_rounds(database: TestDatabase) -> None:
    """One tick has the high key and goes for the low one, the other the other way round."""
    for low, high in (("a", "b"), ("b", "a")):
        key = _key(database, low, high)
        with Session(database) as eye, kit.sessions(database, 2) as tickers:
            timed = [_start(database, f"timed-{high}", key), _start(database, f"timed-{low}", key)]
            waiting = [_start(database, f"then-{low}", key), _start(database, f"then-{high}", key)]
            for _ in waiting:
                _into_the_inbox(database, key)
            eye.do("select bpm.advance_clock('2 minutes')")
            with kit.tables_held(database, "inbox"):
                # The first takes the oldest timer, the second skips it and takes the next.
                running = []
                for limit, ticker in enumerate(tickers, 1):
                    running.append(ticker.start("select * from bpm.tick(%s)", limit))
                    kit.blocked(eye, [ticker])
            _all_answered(*running)
            # A token parked for a busy key goes on after a second.
            eye.do("select bpm.advance_clock('1 second')")
            eye.do("select bpm.run_until_idle()")
        places = [kit.standing(database, process) for process in (*timed, *waiting)]
        assert places == [[f"{name} Waiting"] for name in (high, low, low, high)]


def test_a_key_that_somebody_keeps_stops_only_the_token_that_needs_it(
    database: TestDatabase,
) -> None:
    """A sender that never commits: a tick goes on with everything else and parks that token."""
    key, other = f"kept-{id(database)}", f"free-{id(database)}"
    stuck, free = _start(database, "timed-a", key), _start(database, "timed-a", other)
    with Session(database) as sender, Session(database) as ticker:
        ticker.do("select bpm.advance_clock('2 minutes')")
        sender.begin()
        assert sender.one(CORRELATE, "a", key)["state"] == "Buffered"
        for _ in range(2):
            assert ticker.one("select bpm.run_until_idle(5) as done")["done"] < 5
            assert kit.standing(database, free) == ["a Waiting"]
            assert kit.standing(database, stuck) == ["a Ready"]
            ticker.do("select bpm.advance_clock('1 second')")
        sender.commit()
        # The wait opens and finds the message; the tick that applies it is the same or the next.
        ticker.do("select bpm.run_until_idle()")
    assert kit.status_of(database, stuck) == "Completed"


def _into_the_inbox(database: TestDatabase, key: str) -> None:
    """Send message ``m`` while its receiver is busy."""
    with kit.instances_held(database):
        database.rows(CORRELATE, ["m", key])


def test_a_returned_message_whose_key_is_busy_waits_for_the_next_tick(
    database: TestDatabase,
) -> None:
    """A message goes back from an instance that ended; another sender holds its key meanwhile."""
    key = f"returned-{id(database)}"
    ended, other = _start(database, "then-a", key), _start(database, "then-b", f"{key}-b")
    _into_the_inbox(database, key)
    _into_the_inbox(database, f"{key}-b")
    database.rows("select * from bpm.cancel_process(%s)", [ended])
    with Session(database) as sender, Session(database) as ticker:
        sender.begin()
        sender.do(CORRELATE, "m", key)
        assert ticker.one("select * from bpm.tick(100)")["done"]["inbox"] == 1
        assert kit.standing(database, other) == ["b Waiting"]
        sender.commit()
        assert ticker.one("select * from bpm.tick(100)")["done"]["inbox"] == 1
    states = database.rows(
        "select m.state::text as state from bpm_core.message m where m.correlation_key = %s", [key]
    )
    assert [row["state"] for row in states] == ["Buffered", "Buffered"]


def test_one_poisoned_inbox_row_does_not_spoil_the_others(database: TestDatabase) -> None:
    """Rows are applied as a set; one that raises is put back alone."""
    key = f"poison-{id(database)}"
    good = [_start(database, "then-a", f"{key}-{n}") for n in range(3)]
    for n in range(3):
        _into_the_inbox(database, f"{key}-{n}")
    database.rows(
        'update bpm_core.inbox i set payload = \'{"subscription": "no uuid"}\' where i.target_id ='
        " (select w.id from bpm_core.workflow_instance w where w.process_instance_id = %s)",
        [good[1]],
    )
    database.rows("select bpm.run_until_idle()")
    assert [kit.standing(database, process) for process in good] == [
        ["a Waiting"],
        ["m Waiting"],
        ["a Waiting"],
    ]
    (row,) = database.rows("select i.attempts from bpm_core.inbox i")
    assert row["attempts"] == 1
    database.rows("delete from bpm_core.inbox")
    database.rows("select * from bpm.cancel_process(%s)", [good[1]])


def test_a_claim_between_a_cancel_and_its_locks(database: TestDatabase) -> None:
    """What was claimed while a cancel waited ends after it began (I-09 looks at the times)."""
    (process,) = kit.start(database, "many")
    with Session(database) as eye, Session(database) as canceller:
        tasks = eye.do("select t.task_id from bpm.task t where t.state = 'Ready' order by 1")
        with kit.holding(
            database,
            "select from bpm_core.task_instance t where t.id = %s for no key update",
            tasks[0]["task_id"],
        ):
            running = canceller.start("select * from bpm.cancel_process(%s)", process)
            kit.blocked(eye, [canceller])
            assert len(claim(eye, ["step"], 3)) == 2
        _all_answered(running)
    assert kit.status_of(database, process) == "Cancelled"


@pytest.mark.parametrize("verb", ["extend_leases", "release_tasks", "fail_tasks", "complete_tasks"])
def test_a_call_for_several_tasks_while_their_instance_is_terminated(
    database: TestDatabase, verb: str
) -> None:
    """C26: a completion that ends the instance closes tasks another call names beside its own."""
    hits = 0
    while hits < kit.sized(2, 20):
        kit.start(database, "many")
        with Session(database) as eye, Session(database) as ender, Session(database) as other:
            tasks = {task["node_id"]: task for task in claim(eye, ["step"], 3)}
            z = tasks["z"]
            before = [t for t in tasks.values() if t["task_id"].int < z["task_id"].int]
            if not before:
                # Ids drawn within one millisecond have no order; this needs one before z.
                eye.do(COMPLETE, answer([z]))
                continue
            hits += 1
            items = json.dumps([kit.held(task) for task in (*before, z)])
            # The completion stands between its own task and those it will close.
            with kit.tables_held(database, "timer"):
                ending = ender.start(COMPLETE, answer([z]))
                kit.blocked(eye, [ender])
                calling = other.start(f"select * from bpm.{verb}(%s)", items)
                kit.blocked(eye, [other])
            ended, called = _all_answered(ending, calling)
        assert ended[0]["outcome"] == "Completed"
        refused = {"extend_leases": "LeaseLost", "release_tasks": "LeaseLost"}
        mine: dict[str, Any] = {"fail_tasks": "Conflict", "complete_tasks": "Completed"}
        assert [row["outcome"] for row in called] == [
            *["Cancelled"] * len(before),
            mine.get(verb, refused.get(verb)),
        ]


def test_completions_cancels_heartbeats_and_ticks_in_opposite_orders(
    database: TestDatabase,
) -> None:
    """C26: sets of the same instances in any order, all released at once."""
    processes = kit.start(database, "many", 10)
    with (
        Session(database) as eye,
        kit.sessions(database, 6) as callers,
        Session(database) as canceller,
        Session(database) as ticker,
    ):
        tasks = claim(eye, ["step"], 1000)
        assert len(tasks) == 30
        orders = [tasks, tasks[::-1], tasks[15:] + tasks[:15]]
        verbs = [COMPLETE, "select * from bpm.extend_leases(%s)"]
        with kit.instances_held(database):
            running = [
                caller.start(verb, json.dumps([kit.held(task) for task in order]))
                for caller, (verb, order) in zip(
                    callers, [(verb, order) for verb in verbs for order in orders], strict=True
                )
            ]
            running.append(canceller.start("select * from bpm.cancel_process(%s)", processes[4]))
            kit.blocked(eye, [*callers, canceller])
            running.append(ticker.start("select * from bpm.tick(100)"))
        _all_answered(*running)
    assert {kit.status_of(database, process) for process in processes} <= {"Completed", "Cancelled"}
