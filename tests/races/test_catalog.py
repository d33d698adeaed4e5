"""Publishing, starting, archiving and deleting at the same time.

Publishers of one code take turns at the lock of its definition; starts take no lock of it. So a
start runs what was current when it looked, and stays with it, and nothing is started after what
took it out of use was committed.
"""

from __future__ import annotations

import json
import threading
from typing import Any

import psycopg
from tests.races import kit
from tests.races.kit import Session, sized
from tests.support.database import TestDatabase

ROLE = "select * from bpm.publish_role('clerk', %s)"
WORKFLOW = "select * from bpm.publish_workflow('flow', %s)"
PROCESS = "select * from bpm.publish_process('sale', %s)"
START = "select * from bpm.start_process('sale')"
ARCHIVE = "select * from bpm.archive_definition(%s, %s)"
DELETE = "select * from bpm.delete_definition(%s, %s)"
MAIN = json.dumps([{"binding_key": "main", "workflow": "flow"}])


def file(note: str) -> str:
    """A process that rests at a user task; each note is another content."""
    return (
        f'{kit.HEAD}<process id="flow" name="{note}" isExecutable="true"><startEvent id="s"/>'
        '<userTask id="u"/><endEvent id="e"/><sequenceFlow id="f1" sourceRef="s" targetRef="u"/>'
        '<sequenceFlow id="f2" sourceRef="u" targetRef="e"/></process></definitions>'
    )


def audit(database: TestDatabase) -> list[kit.Row]:
    return database.rows("select * from bpm.check_invariants()")


def versions(answers: list[Any]) -> list[tuple[int, bool]]:
    return sorted((rows[0]["version"], rows[0]["is_new"]) for rows in answers)


def code(answer: Any) -> str:
    assert isinstance(answer, psycopg.Error), answer
    return str(answer.sqlstate)


def test_publishers_of_one_code_take_turns(fresh_database: TestDatabase) -> None:
    """Different contents get consecutive versions, the same content one; whatever the kind."""
    roles = [json.dumps({"policy": {"n": n}}) for n in (1, 2, 2)]
    files = [file(note) for note in ("one", "two", "two")]
    with kit.sessions(fresh_database, 5) as (first, *others, eye):
        for query, contents in ((ROLE, roles), (WORKFLOW, files)):
            first.begin()
            first.do(query, contents[0])
            waiting = [
                session.start(query, content)
                for session, content in zip(others, contents, strict=True)
            ]
            kit.blocked(eye, others)
            first.commit()
            assert versions(kit.settled(waiting)) == [(1, False), (2, False), (2, True)]
        first.begin()
        first.do(PROCESS, MAIN)
        named = json.dumps([{"binding_key": "other", "workflow": "flow"}])
        waiting = [s.start(PROCESS, b) for s, b in zip(others, [MAIN, named, named], strict=True)]
        kit.blocked(eye, others)
        first.commit()
        assert versions(kit.settled(waiting)) == [(1, False), (2, False), (2, True)]
    assert audit(fresh_database) == []


def test_starts_while_others_publish(fresh_database: TestDatabase) -> None:
    """Each instance has one of the versions there were, and its graph is the one of that."""
    fresh_database.rows(WORKFLOW, [file("0")])
    fresh_database.rows(PROCESS, [MAIN])
    rounds = sized(12, 100)
    done = threading.Event()
    started: list[str] = []
    goal = [0]

    def start() -> None:
        with Session(fresh_database) as session:
            while not done.is_set():
                started.append(session.one(START)["process_instance_id"])

    starters = [threading.Thread(target=start) for _ in range(2)]
    for thread in starters:
        thread.start()
    try:
        with Session(fresh_database) as publisher:
            for n in range(1, rounds):
                publisher.do(WORKFLOW, file(str(n)))
                assert publisher.one(PROCESS, MAIN) == {"version": n + 1, "is_new": True}
                goal[0] = len(started)
                kit.until(lambda: len(started) > goal[0], "somebody starts")
    finally:
        done.set()
        for thread in starters:
            thread.join()
    rows = fresh_database.rows(
        "select i.process_version, count(*)::int as n from bpm.instance i group by 1"
    )
    assert sum(row["n"] for row in rows) == len(started)
    assert len(rows) > rounds // 3
    assert audit(fresh_database) == []


def test_nothing_starts_after_it_was_archived(fresh_database: TestDatabase) -> None:
    """A start does not wait for who archives; it finds what is committed."""
    fresh_database.rows(WORKFLOW, [file("0")])
    fresh_database.rows(PROCESS, [MAIN])
    with kit.sessions(fresh_database, 3) as (admin, starter, eye):
        admin.begin()
        admin.do(ARCHIVE, "process", "sale")
        assert starter.one(START)["status"] == "Running"
        publishing = eye.start(PROCESS, MAIN)
        with kit.sessions(fresh_database, 1) as (watcher,):
            kit.blocked(watcher, [eye])
        admin.rollback()
        assert publishing.result()[0]["is_new"] is False
        admin.do(ARCHIVE, "process", "sale")
        (refused,) = kit.settled([starter.start(START)])
        assert code(refused) == "BP404"
        assert admin.one(PROCESS, MAIN) == {"version": 1, "is_new": False}
        assert starter.one(START)["status"] == "Running"
    assert audit(fresh_database) == []


def test_deleting_and_publishing_again(fresh_database: TestDatabase) -> None:
    """Who comes second finds what the first has made of it."""
    fresh_database.rows(ROLE, ["{}"])
    fresh_database.rows(ARCHIVE, ["role", "clerk"])
    fresh_database.rows("select bpm.advance_clock('2 minutes')")
    with kit.sessions(fresh_database, 3) as (first, second, eye):
        first.begin()
        first.do(ROLE, "{}")
        deleting = second.start(DELETE, "role", "clerk")
        kit.blocked(eye, [second])
        first.commit()
        assert code(kit.settled([deleting])[0]) == "BP409"
        first.do(ARCHIVE, "role", "clerk")
        first.do("select bpm.advance_clock('2 minutes')")
        first.begin()
        first.do(DELETE, "role", "clerk")
        publishing = second.start(ROLE, '{"policy": {"n": 1}}')
        kit.blocked(eye, [second])
        first.commit()
        assert publishing.result() == [{"version": 1, "is_new": True}]
    assert audit(fresh_database) == []
