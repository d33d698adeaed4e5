"""A claim whose transaction lasts: a tick leaves its instance for later and goes on with others.

Claims of people lock their instance, so a tick passes over it. A worker's claim locks its task
alone; a tick that wants to close the task waits a second for it, once for all that are held.
"""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from tests.races import kit
from tests.races.kit import Session
from tests.support.database import TestDatabase

TICK = "select * from bpm.tick(100)"
CLAIM = "select * from bpm.claim_tasks('w', %s, 1)"


@pytest.fixture(scope="module", autouse=True)
def _processes(database: TestDatabase) -> None:
    late = kit.boundary_timer("work", "PT1H")
    gate = {"approval": "required", "approvalExpires": "PT1H"}
    call = '<callActivity {id} calledElement="called"/>'
    kit.deploy(
        database,
        kit.process("timed", "start > work > end; late > end2", late=late),
        kit.process("asks", "start > work > end; late > end2", work=kit.user(), late=late),
        kit.process("gated", "start > act > end", act=kit.service(**gate)),
        kit.process(
            "beside", "start > fork > act > end; fork > work > end2", act=kit.service(**gate)
        ),
        kit.process("called", "start > work > end"),
        kit.process(
            "calls",
            "start > call > end; late > end2",
            call=call,
            late=kit.boundary_timer("call", "PT1H"),
        ),
        kit.process(
            "parked",
            "start > fork > work > end; fork > merge > step > again > stop; again > merge",
            {"again>merge": "${go != true}"},
            step="<manualTask {id}/>",
            again=kit.choice("again_stop"),
            stop=kit.terminate(),
        ),
    )


def _tick(database: TestDatabase, kind: str) -> int:
    return int(database.rows(TICK)[0]["done"][kind])


def _clear(database: TestDatabase) -> None:
    """Nothing is left that another test would find."""
    for row in database.rows("select p.process_instance_id from bpm.instance p"):
        database.rows("select from bpm.cancel_process(%s)", [row["process_instance_id"]])
    database.rows("select bpm.run_until_idle()")


@pytest.mark.parametrize(
    ("code", "claims"),
    [
        ("asks", ["select * from bpm.claim_user_task(%s, 'ann')"]),
        ("asks", ["select * from bpm.claim_user_task(%s, 'ann')",
                  "select * from bpm.unclaim_user_task(%s, 'ann')"]),
        ("asks", ["""select * from bpm.set_user_task(%s, '{"priority": "low"}')"""]),
        ("asks", ["select * from bpm.assign_user_task(%s, 'ann')"]),
        ("gated", ["select * from bpm.claim_approval(%s, 'ann')"]),
        ("gated", ["select * from bpm.claim_approval(%s, 'ann')",
                   "select * from bpm.unclaim_approval(%s, 'ann')"]),
    ],
)  # fmt: skip
def test_what_people_hold_is_passed_over(
    database: TestDatabase, code: str, claims: list[str]
) -> None:
    """The tick does not even wait: the instance is held, and it takes those nobody holds."""
    first, second = kit.start(database, code, 2)
    column, view = ("task_id", "task") if code == "asks" else ("approval_id", "approval")
    held = database.value(
        f"select v.{column} from bpm.{view} v where v.process_instance_id = %s", [first]
    )
    *before, last = claims
    for query in before:
        database.rows(query, [held])
    kind = "timers" if code == "asks" else "decisions"
    free = (
        "select p.process_instance_id from bpm_core.workflow_instance p"
        " where p.process_instance_id = any (%s) for no key update skip locked"
    )
    with kit.holding(database, last, held):
        database.rows("select bpm.advance_clock('1 hour')")
        (other,) = database.rows(free, [[first, second]])
        assert str(other["process_instance_id"]) == second
        assert _tick(database, kind) == 1
        assert kit.status_of(database, second) in ("Completed", "Failed")
        assert kit.status_of(database, first) == "Running"
    assert _tick(database, kind) == 1
    assert kit.status_of(database, first) in ("Completed", "Failed")


@pytest.mark.parametrize(
    ("code", "kind"),
    [("timed", "timers"), ("beside", "decisions"), ("calls", "inbox"), ("parked", "tokens")],
)
def test_what_workers_hold_holds_up_nothing_else(
    database: TestDatabase, code: str, kind: str
) -> None:
    """Boundary timers, approvals that fail their instance, cancelled children, tokens that were
    parked before a terminate event: of three instances one is held, the others end."""
    started = kit.start(database, code, 3)
    database.rows("select bpm.advance_clock('1 hour')")
    with ExitStack() as stack:
        holder = stack.enter_context(Session(database))
        stack.enter_context(holder.transaction())
        (task,) = holder.do(CLAIM, ["work"])
        if code == "calls":
            # The callers go on by their timers; what they called hears of it by the inbox.
            assert _tick(database, "timers") == 3
            running = database.rows(
                "select w.id from bpm_core.workflow_instance w where w.status = 'Running'"
            )
            assert [row["id"] for row in running] == [task["workflow_instance_id"]]
            held = ""
        else:
            if code == "parked":
                for process in started:
                    database.rows("select bpm.set_variables(%s, '{\"go\": true}')", [process])
            held = str(task["process_instance_id"])
            assert _tick(database, kind) == 2
            states = {process: kit.status_of(database, process) for process in started}
            assert {process for process in started if states[process] == "Running"} == {held}
    if code != "calls":
        assert _tick(database, kind) == 1
        assert kit.status_of(database, held) in ("Completed", "Failed")
    database.rows("select bpm.run_until_idle()")
    assert database.rows("select from bpm.task t where t.state in ('Ready', 'Executing')") == []
    _clear(database)
