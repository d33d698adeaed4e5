"""Results that speak of one subject at once, and purges of the evidence they bring."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from tests.races import kit
from tests.races.kit import COMPLETE, Row, Session, claim
from tests.support.database import TestDatabase

FACTS = "select name, value, is_current, subject_version from bpm.get_facts('shipment', %s, true)"


@pytest.fixture(scope="module", autouse=True)
def _processes(database: TestDatabase) -> None:
    kit.deploy(database, kit.process("loads", "start > load > end"))


def _tasks(database: TestDatabase, n: int) -> list[Row]:
    for _ in range(n):
        database.rows("select * from bpm.start_process('loads')")
    with Session(database) as worker:
        return claim(worker, ["load"], n)


def _fact(key: str, value: Any, expected: int | None = None, **more: Any) -> dict[str, Any]:
    fact = {"subject_type": "shipment", "subject_key": key, "name": "place", "value": value, **more}
    return fact if expected is None else {**fact, "expected_version": expected}


def _items(tasks: list[Row], *facts: list[dict[str, Any]], **more: Any) -> str:
    return json.dumps(
        [
            {
                "task_id": str(task["task_id"]),
                "fencing_token": task["fencing_token"],
                "facts": told,
                **more,
            }
            for task, told in zip(tasks, facts, strict=True)
        ]
    )


@pytest.mark.parametrize("known", [False, True])
def test_two_who_expect_the_same_version(database: TestDatabase, known: bool) -> None:
    """One writes, the other is told that the subject moved, also where it was not there before."""
    for n in range(kit.sized(3, 100)):
        key = f"same-{known}-{n}"
        tasks = _tasks(database, 9)
        if known:
            database.rows(COMPLETE, [_items(tasks[8:], [_fact(key, 0)])])
        expected = 1 if known else 0
        with Session(database) as eye, kit.sessions(database, 8) as workers:
            with kit.tables_held(database, "subject"):
                running = [
                    worker.start(COMPLETE, _items([task], [_fact(key, k, expected)]))
                    for k, (worker, task) in enumerate(zip(workers, tasks, strict=False))
                ]
                kit.blocked(eye, workers)
            answers = [rows[0] for rows in kit.settled(running)]  # type: ignore[index]
        outcomes = sorted(row["outcome"] for row in answers)
        assert outcomes == ["Completed"] + ["Conflict"] * 7
        facts = database.rows(FACTS, [key])
        assert [row["subject_version"] for row in facts] == list(range(1, expected + 2))
        assert [row["is_current"] for row in facts] == [False] * expected + [True]


def test_many_who_expect_nothing(database: TestDatabase) -> None:
    """All are written, each supersedes the one before."""
    tasks = _tasks(database, 8)
    with Session(database) as eye, kit.sessions(database, 8) as workers:
        with kit.tables_held(database, "subject"):
            running = [
                worker.start(COMPLETE, _items([task], [_fact("all", k)]))
                for k, (worker, task) in enumerate(zip(workers, tasks, strict=True))
            ]
            kit.blocked(eye, workers)
        answers = [rows[0] for rows in kit.settled(running)]  # type: ignore[index]
    assert [row["outcome"] for row in answers] == ["Completed"] * 8
    facts = database.rows(FACTS, ["all"])
    assert [row["subject_version"] for row in facts] == list(range(1, 9))
    assert [row["is_current"] for row in facts] == [False] * 7 + [True]
    assert sorted(row["value"] for row in facts) == list(range(8))


def test_subjects_in_any_order(database: TestDatabase) -> None:
    """Sets that speak of the same subjects and bring the same evidence in opposite orders."""
    keys = [f"cross-{k}" for k in range(10)]
    pieces = [
        {"object_key": key, "sha256": hashlib.sha256(key.encode()).hexdigest()} for key in keys
    ]
    for _ in range(kit.sized(3, 100)):
        tasks = _tasks(database, 40)
        orders = [keys, keys[::-1], keys[5:] + keys[:5], keys[::2] + keys[1::2]]
        with Session(database) as eye, kit.sessions(database, 4) as workers:
            with kit.tables_held(database, "subject"):
                running = [
                    worker.start(
                        COMPLETE,
                        _items(
                            tasks[10 * w : 10 * w + 10],
                            *[[_fact(key, w, evidence=[0, 9])] for key in order],
                            evidence=pieces if w % 2 else pieces[::-1],
                        ),
                    )
                    for w, (worker, order) in enumerate(zip(workers, orders, strict=True))
                ]
                kit.blocked(eye, workers)
            answers = kit.settled(running)
        for rows in answers:
            assert isinstance(rows, list), f"{rows.sqlstate}: {rows}"
            assert {row["outcome"] for row in rows} == {"Completed"}
    assert database.value("select count(*) from bpm.evidence where object_key ~ '^cross'") == 10


@pytest.mark.parametrize("purge_first", [False, True])
def test_purge_against_reference(database: TestDatabase, purge_first: bool) -> None:
    """Either the purge waits for what refers to the evidence, or that is told it is purged."""
    key = f"purged-{purge_first}"
    piece = {"object_key": key, "sha256": hashlib.sha256(key.encode()).hexdigest()}
    kept = database.rows("select * from bpm.attach_evidence(%s)", [json.dumps([piece])])[0]
    task = _tasks(database, 1)
    complete = _items(task, [_fact(key, 1, evidence=[0])], evidence=[piece])
    purge = "select is_new from bpm.purge_evidence(%s, 'asked for')"
    with Session(database) as eye, Session(database) as first, Session(database) as second:
        first.begin()
        if purge_first:
            first.one(purge, kept["evidence_id"])
            running = second.start(COMPLETE, complete)
        else:
            first.one(COMPLETE, complete)
            running = second.start(purge, kept["evidence_id"])
        kit.blocked(eye, [second])
        first.commit()
        [rows] = kit.settled([running])
    assert isinstance(rows, list), rows
    if purge_first:
        assert [row["outcome"] for row in rows] == ["Conflict"]
        assert database.rows(FACTS, [key]) == []
        assert database.rows(COMPLETE, [_items(task, [])])[0]["outcome"] == "Completed"
    else:
        assert rows == [{"is_new": True}]
        assert len(database.rows(FACTS, [key])) == 1
