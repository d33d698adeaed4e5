"""The runner as a process: killed, frozen, told to stop, told twice."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from tests.driver.runner_kit import (
    deploy,
    linear,
    publish_task,
    runner_process,
    start,
    statuses,
    wait_until,
)
from tests.support.database import TestDatabase

APP = """
    import asyncio, os, pathlib, time
    from pgbpm.worker import Worker

    worker = Worker()
    here = pathlib.Path(__file__).parent

    def note(task):
        with (here / "notes").open("a") as notes:
            notes.write(f"{task.task_id} {task.attempt} {os.getpid()}\\n")

    @worker.task("quick")
    async def quick(task):
        return {"attempt": task.attempt}

    @worker.task("held")
    async def held(task):
        note(task)
        while (here / "hold").exists():
            await asyncio.sleep(0.01)
        return {"by": os.getpid()}

    @worker.task("stubborn")
    def stubborn(task):
        note(task)
        time.sleep(60)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "an_app.py").write_text(textwrap.dedent(APP))
    (tmp_path / "hold").touch()
    return tmp_path


def notes(folder: Path) -> list[tuple[str, int, int]]:
    """(task id, attempt, process) of every handler that began."""
    file = folder / "notes"
    lines = file.read_text().splitlines() if file.exists() else []
    return [(a, int(b), int(c)) for a, b, c in (line.split() for line in lines)]


def log(folder: Path) -> str:
    return (folder / "runner.log").read_text()


def attempts(database: TestDatabase, task_type: str) -> list[tuple[int, str]]:
    rows = database.rows(
        "select e.attempt, e.state from bpm.execution e where e.task_type = %s order by 1",
        [task_type],
    )
    return [(row["attempt"], row["state"]) for row in rows]


def one_held_instance(database: TestDatabase, **settings: Any) -> str:
    publish_task(database, "held", lease="1 second", backoff="0 seconds", **settings)
    deploy(database, linear("holding", "held"))
    return start(database, "holding")[0]


def test_a_killed_runner_loses_nothing(fresh_database: TestDatabase, folder: Path) -> None:
    """A-01 with SIGKILL: the lease runs out, another runner takes over, one completion."""
    one_held_instance(fresh_database)
    with runner_process(fresh_database, "an_app", folder) as first:
        wait_until(lambda: notes(folder), "the first runner is at work")
        first.kill()
        first.wait()
    (folder / "hold").unlink()
    with runner_process(fresh_database, "an_app", folder) as second:
        wait_until(lambda: statuses(fresh_database, "holding") == {"Completed": 1}, "completed")
    assert [(attempt, pid) for _, attempt, pid in notes(folder)] == [
        (1, first.pid), (2, second.pid),
    ]  # fmt: skip
    assert attempts(fresh_database, "held") == [(1, "Expired"), (2, "Succeeded")]


def test_a_frozen_runner_that_wakes_up_is_refused(
    fresh_database: TestDatabase, folder: Path
) -> None:
    """A-01: A stands still with its task, B completes it, A wakes up and is told."""
    instance = one_held_instance(fresh_database)
    with runner_process(fresh_database, "an_app", folder, "--worker-name", "A") as first:
        wait_until(lambda: notes(folder), "A is at work")
        first.send_signal(signal.SIGSTOP)
        (folder / "hold").unlink()
        with runner_process(fresh_database, "an_app", folder, "--worker-name", "B") as second:
            wait_until(lambda: statuses(fresh_database, "holding") == {"Completed": 1}, "B is done")
            assert attempts(fresh_database, "held") == [(1, "Expired"), (2, "Succeeded")]
            first.send_signal(signal.SIGCONT)
            wait_until(lambda: "not used" in log(folder), "A was told")
    assert attempts(fresh_database, "held") == [(1, "Expired"), (2, "Succeeded")]
    variables = fresh_database.value(
        "select bpm.get_variables(p_process_instance_id => %s)", [instance]
    )
    assert variables["by"] == second.pid


def test_killed_again_and_again_every_instance_ends(
    fresh_database: TestDatabase, folder: Path
) -> None:
    publish_task(fresh_database, "quick", lease="1 second", backoff="0 seconds", max_attempts=50)
    deploy(fresh_database, linear("quickly", "quick"))
    for _ in range(5):
        start(fresh_database, "quickly", 400)
        before = statuses(fresh_database, "quickly").get("Completed", 0)
        with runner_process(fresh_database, "an_app", folder) as runner:
            wait_until(
                lambda: statuses(fresh_database, "quickly").get("Completed", 0) > before,  # noqa: B023
                "some are done",
            )
            runner.kill()
    with runner_process(fresh_database, "an_app", folder):
        wait_until(
            lambda: statuses(fresh_database, "quickly") == {"Completed": 2000}, "all ended", 60
        )
    assert fresh_database.rows("select 1 from bpm.dead_letter") == []


def test_sigterm_drains_and_ends_well(fresh_database: TestDatabase, folder: Path) -> None:
    one_held_instance(fresh_database)
    with runner_process(fresh_database, "an_app", folder, "--log-json") as runner:
        wait_until(lambda: notes(folder), "at work")
        runner.send_signal(signal.SIGTERM)
        wait_until(lambda: "drains" in log(folder), "draining")
        assert runner.poll() is None
        (folder / "hold").unlink()
        assert runner.wait(20) == 0
    assert statuses(fresh_database, "holding") == {"Completed": 1}
    lines = [json.loads(line) for line in log(folder).splitlines()]
    assert [line["level"] for line in lines if line["level"] not in {"info"}] == []
    assert "Completed 1" in lines[-1]["message"]


def test_a_thread_that_does_not_end_does_not_keep_the_process(
    fresh_database: TestDatabase, folder: Path
) -> None:
    deploy(fresh_database, linear("stubbornly", "stubborn"))
    start(fresh_database, "stubbornly")
    with runner_process(
        fresh_database, "an_app", folder, BPM__RUNNER__DRAIN_SECONDS="0.2"
    ) as runner:
        wait_until(lambda: notes(folder), "at work")
        runner.send_signal(signal.SIGINT)
        assert runner.wait(20) == 0
    assert attempts(fresh_database, "stubborn") == [(1, "Released")]
    assert "leaving without them" in log(folder)


def test_a_second_signal_ends_at_once(fresh_database: TestDatabase, folder: Path) -> None:
    one_held_instance(fresh_database)
    with runner_process(fresh_database, "an_app", folder) as runner:
        wait_until(lambda: notes(folder), "at work")
        runner.send_signal(signal.SIGTERM)
        wait_until(lambda: "draining" in log(folder), "told once")
        runner.send_signal(signal.SIGTERM)
        assert runner.wait(5) == 130
    assert attempts(fresh_database, "held") == [(1, "Running")]


def test_a_wrong_app_is_a_usage_error(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pgbpm", "run", "--app", "an_app:nothing"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "an_app has no worker 'nothing'" in done.stderr
    assert "found: worker" in done.stderr


def test_no_database_has_an_exit_code_of_its_own(folder: Path) -> None:
    done = subprocess.run(
        [
            sys.executable, "-m", "pgbpm", "--database-url", "postgresql://127.0.0.1:1/x",
            "run", "--app", "an_app",
        ],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 3
    assert "cannot connect" in done.stderr
