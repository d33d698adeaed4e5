"""Who kills: the runner twice and the server once, each in the middle of work."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from tests.demo.stage import Database, Stage

_DOWN_S = 1.5
_PATIENCE_S = 90.0


class Stuck(Exception):
    """Nothing moves any more, or not in time."""


def play(stage: Stage, orders: int) -> None:
    """Kill at 15 %, 40 % and 65 % of the orders ended, then wait for all of them."""
    db = Database(stage.url)
    plan: list[tuple[float, Callable[[Stage, Database], None]]] = [
        (0.15, _kill_runner),
        (0.40, _kill_server),
        (0.65, _kill_runner),
    ]
    deadline = time.monotonic() + _PATIENCE_S
    ended = 0
    while ended < orders:
        if time.monotonic() > deadline:
            raise Stuck(f"{ended} of {orders} orders ended within {_PATIENCE_S:.0f} s")
        ended = int(db.value("select count(*) from bpm.instance i where i.status <> 'Running'"))
        _show_progress(ended, orders)
        if plan and ended >= plan[0][0] * orders and _busy(db):
            _show_progress(None, orders)
            plan.pop(0)[1](stage, db)
        assert stage.runner is not None
        if stage.runner.poll() is not None:
            raise Stuck(f"the runner ended by itself with code {stage.runner.returncode}")
        time.sleep(0.05)
    _show_progress(None, orders)
    db.close()
    if plan:
        raise Stuck("the orders were done before everything was killed")


def _busy(db: Database) -> bool:
    return bool(db.value("select exists (select from bpm.task t where t.state = 'Executing')"))


def _kill_runner(stage: Stage, db: Database) -> None:
    stage.kill_runner()
    held = db.value("select count(*) from bpm.task t where t.state = 'Executing'")
    sending = db.value("select count(*) from bpm.command c where c.state = 'Sending'")
    stage.tell(
        f"runner killed (SIGKILL) with {held} tasks and {sending} deliveries in its hands;"
        " another one is started"
    )
    stage.start_runner()


def _kill_server(stage: Stage, db: Database) -> None:
    due = db.value(
        "select count(*) from bpm.timer t where t.status = 'Scheduled'"
        " and t.due_at between clock_timestamp() and clock_timestamp() + make_interval(secs => %s)",
        _DOWN_S,
    )
    stage.kill_server()
    stage.tell(f"server killed (SIGKILL to the postmaster); {due} timers fall due while it is down")
    began = time.monotonic()
    time.sleep(_DOWN_S)
    stage.server.start("child")
    assert stage.server.url == stage.url
    stage.tell(f"server is back, recovered after {time.monotonic() - began:.1f} s")


def _show_progress(ended: int | None, orders: int) -> None:
    if sys.stdout.isatty():
        line = "" if ended is None else f"          {ended} of {orders} orders ended"
        print(f"\r{line:<60}\r", end="", flush=True)
