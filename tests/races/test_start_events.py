"""Processes that start by themselves, while deployments move what starts them.

The lock of the process definition is what a deployment and a ticker share: whoever has it first
moves, or fires, and the other finds what was left. Tickers never wait for it.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import pytest
from tests.races import kit
from tests.races.kit import Session, sized
from tests.support.database import TestDatabase

TICK = "select * from bpm.tick(100)"
DEPLOY = "select * from bpm.deploy_bpmn(%s)"
SEND = "select * from bpm.correlate_message('order', %s, p_message_id => %s)"


def file(code: str, note: str, rule: str = "R/PT1M") -> str:
    """A message and a timer start event, both leading to a user task."""
    return (
        f'{kit.HEAD}<message id="m" name="order"/><process id="{code}" name="{note}"'
        ' isExecutable="true"><startEvent id="ordered"><messageEventDefinition messageRef="m"/>'
        '</startEvent><startEvent id="timed"><timerEventDefinition bpm:catchUp="All"><timeCycle>'
        f"{rule}</timeCycle></timerEventDefinition></startEvent>"
        '<userTask id="look"/><endEvent id="end"/>'
        '<sequenceFlow id="f1" sourceRef="ordered" targetRef="look"/>'
        '<sequenceFlow id="f2" sourceRef="timed" targetRef="look"/>'
        '<sequenceFlow id="f3" sourceRef="look" targetRef="end"/></process></definitions>'
    )


def advance(database: TestDatabase, seconds: int) -> None:
    database.rows("select bpm.advance_clock(make_interval(secs => %s))", [seconds])


def causes(database: TestDatabase, code: str) -> list[kit.Row]:
    """Version and cause of every instance."""
    return database.rows(
        "select i.process_version as version, h.node_id, h.detail ->> 'message' as message,"
        "       (h.detail ->> 'scheduled_at')::timestamptz as planned"
        "  from bpm.instance i cross join lateral bpm.get_history(i.process_instance_id) h"
        " where i.process_code = %s and h.kind = 'InstanceStarted' order by planned",
        [code],
    )


def scheduled(database: TestDatabase, code: str) -> list[tuple[int, datetime]]:
    """Version and time of every start timer that is scheduled."""
    rows = database.rows(
        "select t.process_version, t.scheduled_at from bpm.timer t"
        " where t.process_code = %s and t.process_instance_id is null and t.status = 'Scheduled'",
        [code],
    )
    return [(row["process_version"], row["scheduled_at"]) for row in rows]


def test_a_deployment_waits_for_the_ticker_that_fires(fresh_database: TestDatabase) -> None:
    kit.deploy(fresh_database, file("moved", "one"))
    ((_, first),) = scheduled(fresh_database, "moved")
    advance(fresh_database, 61)
    with kit.sessions(fresh_database, 3) as (ticker, publisher, eye):
        ticker.begin()
        assert ticker.one(TICK)["done"]["timers"] == 1
        deploying = publisher.start(DEPLOY, file("moved", "two"))
        kit.blocked(eye, [publisher])
        ticker.commit()
        assert deploying.result()[0]["version"] == 2
    assert [row["version"] for row in causes(fresh_database, "moved")] == [1]
    assert scheduled(fresh_database, "moved") == [(2, first + timedelta(minutes=1))]


def test_a_ticker_does_not_wait_for_a_deployment(fresh_database: TestDatabase) -> None:
    kit.deploy(fresh_database, file("moved", "one"))
    advance(fresh_database, 61)
    with kit.sessions(fresh_database, 2) as (ticker, publisher):
        publisher.begin()
        publisher.do(DEPLOY, file("moved", "two"))
        assert ticker.one(TICK)["done"]["timers"] == 0
        publisher.commit()
        assert ticker.one(TICK)["done"]["timers"] == 1
    assert [row["version"] for row in causes(fresh_database, "moved")] == [2]
    assert [version for version, _ in scheduled(fresh_database, "moved")] == [2]


def test_of_two_tickers_one_fires(fresh_database: TestDatabase) -> None:
    kit.deploy(fresh_database, file("moved", "one"), file("other", "one", "R/PT1M"))
    advance(fresh_database, 61)
    with kit.sessions(fresh_database, 2) as (one, other):
        one.begin()
        assert one.one("select * from bpm.tick(1)")["done"]["timers"] == 1
        # The other takes what is left, and does not wait for what is taken.
        assert other.one(TICK)["done"]["timers"] == 1
        one.commit()
        assert other.one(TICK)["done"]["timers"] == 0
    assert len(causes(fresh_database, "moved")) == len(causes(fresh_database, "other")) == 1


def test_a_message_between_two_versions(fresh_database: TestDatabase) -> None:
    kit.deploy(fresh_database, file("moved", "one"))
    with kit.sessions(fresh_database, 2) as (sender, publisher):
        publisher.begin()
        publisher.do(DEPLOY, file("moved", "two"))
        assert sender.one(SEND, "a", "a")["state"] == "Correlated"
        publisher.commit()
        assert sender.one(SEND, "b", "b")["state"] == "Correlated"
        assert sender.one(SEND, "a", "a")["is_new"] is False
    assert [row["version"] for row in causes(fresh_database, "moved")] == [1, 2]


@pytest.mark.timeout(240)
def test_no_start_is_lost_or_doubled(fresh_database: TestDatabase) -> None:
    database = fresh_database
    minutes, messages, versions = sized(15, 120), sized(40, 400), sized(12, 100)
    kit.deploy(database, file("busy", "0"))
    ((_, first),) = scheduled(database, "busy")
    done = threading.Event()

    def publish() -> None:
        with Session(database) as publisher:
            for n in range(1, versions):
                publisher.do(DEPLOY, file("busy", str(n % 5)))

    def send(sender: int) -> Callable[[], None]:
        def work() -> None:
            with Session(database) as session:
                for n in range(messages):
                    # Every other message is sent twice, by two senders at once.
                    name = f"{n}" if n % 2 else f"{sender}-{n}"
                    assert session.one(SEND, name, name)["state"] == "Correlated"

        return work

    def move_clock() -> None:
        for _ in range(minutes):
            advance(database, 60)

    def tick() -> None:
        with Session(database) as ticker:
            positions = None
            while not done.is_set():
                row = ticker.one("select * from bpm.tick(10, %s)", positions)
                positions = json.dumps(row["positions"])

    with ThreadPoolExecutor(6) as pool:
        tickers = [pool.submit(tick) for _ in range(2)]
        work = [pool.submit(job) for job in (publish, send(1), send(2), move_clock)]
        try:
            for future in work:
                future.result()
        finally:
            done.set()
        for future in tickers:
            future.result()
    database.value("select bpm.run_until_idle()")
    found = causes(database, "busy")
    names = Counter(row["message"] for row in found if row["node_id"] == "ordered")
    assert len(names) == messages + messages // 2
    assert set(names.values()) == {1}
    planned = [row["planned"] for row in found if row["node_id"] == "timed"]
    assert planned == [first + timedelta(minutes=n) for n in range(len(planned))]
    assert len(planned) >= minutes
    ((_, following),) = scheduled(database, "busy")
    assert following == planned[-1] + timedelta(minutes=1)
