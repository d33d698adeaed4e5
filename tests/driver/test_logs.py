"""Logs: readable or JSON lines; of a pool only why no connection can be had, and that seldom."""

from __future__ import annotations

import json
import logging
import sys

from pgbpm.logs import ConnectFailures, JsonLines


def record(message: str, created: float = 1000.0, **extra: object) -> logging.LogRecord:
    made = logging.makeLogRecord({"name": "pgbpm.runner", "levelname": "INFO", "msg": message})
    made.created = created
    vars(made).update(extra)
    return made


def test_json_lines_have_the_fields_of_the_record() -> None:
    line = json.loads(JsonLines().format(record("số 1", task_id="T-1", attempt=2)))
    assert line == {
        "at": "1970-01-01T00:16:40.000+00:00", "level": "info", "logger": "pgbpm.runner",
        "message": "số 1", "task_id": "T-1", "attempt": 2,
    }  # fmt: skip


def test_exceptions_stay_on_one_line() -> None:
    try:
        raise ValueError("broken\nin two")
    except ValueError:
        text = JsonLines().format(record("oh", exc_info=sys.exc_info()))
    assert len(text.splitlines()) == 1
    assert "broken\nin two" in json.loads(text)["exception"]


def test_a_pool_says_seldom_why_it_cannot_connect() -> None:
    failures = ConnectFailures(pause_s=60)
    assert failures.filter(record("error connecting in 'pool-1': refused", 1000))
    assert not failures.filter(record("error connecting in 'pool-1': refused", 1059))
    assert failures.filter(record("error connecting in 'pool-1': wrong password", 1059))
    assert failures.filter(record("error connecting in 'pool-1': refused", 1061))
    assert not failures.filter(record("discarding closed connection", 2000))
