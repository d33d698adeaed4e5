"""The decorator API, loading of apps, and what of a handler's result can be stored."""

from __future__ import annotations

import decimal
import math
import re
import sys
import textwrap
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pgbpm.errors import ConfigError
from pgbpm.jsontext import NotJson, jsonb_text, read_exact, storable, write, write_object
from pgbpm.loading import load_worker
from pgbpm.worker import BpmnError, Retry, Task, Worker


def test_coroutines_and_plain_functions_are_told_apart() -> None:
    worker = Worker()

    @worker.task("a")
    async def a(task: Task) -> None: ...

    @worker.task("b", concurrency=3)
    def b(task: Task) -> None: ...

    class Callable:
        async def __call__(self, task: Task) -> None: ...

    worker.task("c")(Callable())
    found = {name: (h.is_async, h.concurrency) for name, h in worker.handlers.items()}
    assert found == {"a": (True, None), "b": (False, 3), "c": (True, None)}
    assert worker.handlers["a"].function is a  # the decorated function stays what it was


def test_registrations_that_make_no_sense_are_refused() -> None:
    worker = Worker()
    worker.task("a")(lambda task: None)
    with pytest.raises(ValueError, match="has a handler already"):
        worker.task("a")
    with pytest.raises(ValueError, match="concurrency"):
        worker.task("b", concurrency=0)
    with pytest.raises(ValueError, match="1 to 200"):
        worker.task("")
    for seconds in (-1, math.inf, math.nan):
        with pytest.raises(ValueError, match="in_seconds"):
            Retry(seconds)


def test_the_repr_of_a_task_has_no_variables() -> None:
    task = Task("1", "2", None, "n", "t", 1, 1, datetime.now(UTC), {"card": "4111"})
    assert "4111" not in repr(task)
    assert "'t'" in repr(task)


def test_bpmn_error_says_code_and_message() -> None:
    assert str(BpmnError("card-declined", "no cover")) == "card-declined: no cover"
    assert BpmnError("x", variables={"a": 1}).variables == {"a": 1}


@pytest.fixture
def app_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


def test_apps_are_found_in_the_working_directory(app_folder: Path) -> None:
    (app_folder / "some_app.py").write_text(
        textwrap.dedent("""
            from pgbpm.worker import Worker
            other = Worker()
            worker = Worker()
            worker.task("x")(lambda task: None)
        """)
    )
    assert list(load_worker("some_app:worker").handlers) == ["x"]
    assert list(load_worker("some_app").handlers) == ["x"]
    assert list(load_worker("some_app:other").handlers) == []
    with pytest.raises(ConfigError, match="no worker 'nothing'") as caught:
        load_worker("some_app:nothing")
    assert caught.value.hint == "found: other, worker"


def test_what_is_wrong_with_an_app_is_said(app_folder: Path) -> None:
    (app_folder / "needs_more.py").write_text("import surely_not_installed")
    with pytest.raises(ConfigError, match="No module named 'not_there'") as caught:
        load_worker("not_there:worker")
    assert str(app_folder) in str(caught.value.hint)
    with pytest.raises(ConfigError, match="surely_not_installed"):
        load_worker("needs_more:worker")
    with pytest.raises(ConfigError):
        load_worker(":worker")


@pytest.mark.parametrize(
    ("app", "text", "message", "hint"),
    [
        ("bad_a", "x = 1\ndef f(:\n", r"--app bad_a: bad_a\.py:2: invalid syntax", "mend"),
        ("bad_b", "import os\nimport surely_missing\n",
         r"bad_b\.py:2: No module named 'surely_missing'", "install it"),
        ("bad_c", "from pgbpm.worker import Worker\nworker = Worker()\n"
         "worker.task('x')(print)\nworker.task('x')(print)\n",
         r"bad_c\.py:4: ValueError: task type 'x' has a handler already", "must not fail"),
        ("bad_d", "raise SystemExit(3)\n", r"bad_d\.py:1: SystemExit: 3", "must not fail"),
        ("hr.py", "", "that is a file", "write hr$"),
        ("hr.py:staff", "", "that is a file", "write hr:staff$"),
        ("./apps/hr.py", "", "that is a file", r"write apps\.hr$"),
        ("h r", "", "no name of a module", "MODULE:WORKER"),
    ],
)  # fmt: skip
def test_a_fault_in_an_app_is_shown_where_it_is(
    app_folder: Path, app: str, text: str, message: str, hint: str
) -> None:
    if app.isidentifier():
        (app_folder / f"{app}.py").write_text(text)
    with pytest.raises(ConfigError, match=message) as caught:
        load_worker(app)
    assert re.search(hint, caught.value.hint or "")
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({"a": object()}, "not JSON serializable"),
        ({"a": math.nan}, "Out of range"),
        ({"a": "x\0y"}, "U[+]0000"),
        ({"a\0": 1}, "U[+]0000"),
        ({"a": ["\ud800"]}, "surrogate"),
        ({"a": 10**5000}, "digits"),
        ([1], "expected a dict"),
        ({1: 2}, "expected a dict"),
        ("text", "expected a dict"),
    ],
)
def test_results_that_cannot_be_stored_are_refused(value: object, why: str) -> None:
    with pytest.raises(NotJson, match=why):
        write_object(value)


def test_circles_are_refused() -> None:
    circle: dict[str, object] = {}
    circle["circle"] = circle
    with pytest.raises(NotJson):
        write_object(circle)


def test_results_are_written_compactly() -> None:
    assert write_object(None) == "{}"
    assert write_object({"số": 1, "a": [True, None, "\\u0000"]}) == (
        '{"số":1,"a":[true,null,"\\\\u0000"]}'
    )
    assert write("ü") == '"ü"'


def test_numbers_of_payloads_stay_exact() -> None:
    text = '{"a": 1.10, "b": 12345678901234567890.5, "c": 0.0000001, "d": [1, true, null]}'
    value = read_exact(text)
    assert value["b"] == decimal.Decimal("12345678901234567890.5")
    assert jsonb_text(value) == text


def test_what_comes_from_outside_is_made_storable() -> None:
    assert storable({"a\0": ["x\0", "\ud800", 1]}) == {"a\ufffd": ["x\ufffd", "?", 1]}
