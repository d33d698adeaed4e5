"""Starts with one key, in turn and at once: one instance, one answer (A-15, C22)."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest
from tests.races import kit
from tests.races.kit import Session
from tests.support.database import TestDatabase

CALLERS = 8
START = (
    "select process_instance_id, workflow_instance_id, status, is_new"
    "  from bpm.start_process('jobs', %s, p_business_key => %s, p_idempotency_key => %s)"
)
STARTS = "select * from bpm.start_processes(%s)"


@pytest.fixture(scope="module", autouse=True)
def _processes(database: TestDatabase) -> None:
    kit.deploy(database, kit.process("jobs", "start > job > end"))


def _count(database: TestDatabase) -> int:
    return int(database.value("select count(*) from bpm.instance"))


def test_repeated_in_turn(database: TestDatabase) -> None:
    """The second call gets the first answer; another payload is a conflict and starts nothing."""
    before = _count(database)
    with Session(database) as caller:
        first = caller.one(START, '{"n": 1}', "B-1", "turn")
        again = caller.one(START, '{"n": 1}', "B-1", "turn")
        assert first["is_new"] is True
        assert again == {**first, "is_new": False}
        for variables, business_key in (('{"n": 2}', "B-1"), ('{"n": 1}', "B-2")):
            with pytest.raises(psycopg.DatabaseError) as conflict:
                caller.do(START, variables, business_key, "turn")
            assert conflict.value.sqlstate == "BP409"
    assert _count(database) == before + 1


@pytest.mark.parametrize("first_commits", [True, False])
def test_at_once(database: TestDatabase, first_commits: bool) -> None:
    """Callers of one key wait for the first; if it rolls back, one of them starts instead."""
    for n in range(kit.sized(3, 100)):
        key = f"once-{first_commits}-{n}"
        before = _count(database)
        with (
            Session(database) as observer,
            Session(database) as first,
            kit.sessions(database, CALLERS) as others,
        ):
            first.begin()
            answer = first.one(START, "{}", None, key)
            running = [other.start(START, "{}", None, key) for other in others]
            kit.blocked(observer, others)
            if first_commits:
                first.commit()
            else:
                first.rollback()
            answers: list[Any] = [rows[0] for rows in kit.settled(running)]  # type: ignore[index]
        started = {row["process_instance_id"] for row in answers}
        assert len(started) == 1
        if first_commits:
            assert started == {answer["process_instance_id"]}
        assert sum(row["is_new"] for row in answers) == (0 if first_commits else 1)
        assert _count(database) == before + 1


def test_another_payload_at_once(database: TestDatabase) -> None:
    """Of several payloads under one key the first to commit stands; the others are conflicts."""
    before = _count(database)
    with (
        Session(database) as observer,
        Session(database) as first,
        kit.sessions(database, CALLERS) as others,
    ):
        first.begin()
        first.one(START, '{"n": 0}', None, "differs")
        running = [
            other.start(START, f'{{"n": {n % 2}}}', None, "differs")
            for n, other in enumerate(others)
        ]
        kit.blocked(observer, others)
        first.commit()
        answers = kit.settled(running)
    for n, rows in enumerate(answers):
        if n % 2:
            assert getattr(rows, "sqlstate", None) == "BP409", rows
        else:
            assert [row["is_new"] for row in rows] == [False], rows  # type: ignore[union-attr]
    assert _count(database) == before + 1


def test_sets_with_common_keys_in_any_order(database: TestDatabase) -> None:
    """Sets whose keys and business keys overlap, in opposite orders: no deadlock, each key once."""
    for n in range(kit.sized(10, 200)):
        keys = [f"set-{n}-{k}" for k in range(20)]
        items = [
            {"code": "jobs", "business_key": f"b-{key}", "idempotency_key": key} for key in keys
        ]
        orders = [items, items[::-1], items[10:] + items[:10], items[5:15][::-1]]
        with Session(database) as observer, kit.sessions(database, len(orders)) as callers:
            with kit.tables_held(database, "idempotency_key"):
                running = [
                    caller.start(STARTS, json.dumps(order))
                    for caller, order in zip(callers, orders, strict=True)
                ]
                kit.blocked(observer, callers)
            answers = kit.settled(running)
        assert all(isinstance(rows, list) for rows in answers), answers
        news = [row for rows in answers for row in rows if row["is_new"]]  # type: ignore[union-attr]
        assert len(news) == 20
        of_key = {
            (order[row["item"] - 1]["idempotency_key"], row["process_instance_id"])
            for rows, order in zip(answers, orders, strict=True)
            for row in rows  # type: ignore[union-attr]
        }
        assert len(of_key) == 20
    kit.run_out(database, ["job"])


def test_the_same_key_twice_in_one_set(database: TestDatabase) -> None:
    """Two items with one key in a call: one instance; with another payload the second conflicts."""
    same = {"code": "jobs", "idempotency_key": "twice"}
    rows = database.rows(STARTS, [json.dumps([same, same, {**same, "variables": {"n": 1}}])])
    assert [row["outcome"] for row in rows] == ["Done", "Done", "Conflict"]
    assert [row["is_new"] for row in rows][:2] == [True, False]
    assert rows[0]["process_instance_id"] == rows[1]["process_instance_id"]


def test_one_business_key_at_once(database: TestDatabase) -> None:
    """Starts without an idempotency key share a business case, and each is its own instance."""
    with (
        Session(database) as observer,
        Session(database) as first,
        kit.sessions(database, CALLERS) as others,
    ):
        first.begin()
        first.one(START, "{}", "one-case", None)
        running = [other.start(START, "{}", "one-case", None) for other in others]
        kit.blocked(observer, others)
        first.commit()
        assert all(isinstance(rows, list) for rows in kit.settled(running))
    row = database.rows(
        "select count(*) as instances, count(distinct p.business_case_id) as cases"
        "  from bpm_core.process_instance p where p.business_key = 'one-case'"
    )
    assert row == [{"instances": CALLERS + 1, "cases": 1}]
