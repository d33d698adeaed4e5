"""An ordinary step that waits for the lock of its instance goes on with what it finds then.

The statement that takes it (``take_direct_steps``) locks and decides at once. Somebody holds the
instance, changes something in it and commits while the answer waits; outcome and rows must be those
of the general way, which locks first and reads in statements of its own: the same process again,
with its marks of direct flows taken away.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.races import kit
from tests.races.kit import COMPLETE, Session, answer, blocked, claim
from tests.support.database import TestDatabase

FAIL = "select * from bpm.fail_tasks(%s)"

ACTS: dict[str, tuple[str, str]] = {
    "cancel": ("select bpm.cancel_process(%s)", "process"),
    "suspend": ("select bpm.suspend_process(%s)", "process"),
    "set variables": ('select bpm.set_variables(%s, \'{"v": 0, "z": 1}\')', "process"),
    "same answer": (COMPLETE, "same"),
    "other answer": (COMPLETE, "other"),
    "sibling": (COMPLETE, "sibling"),
    "fail": (FAIL, "error"),
    "fail for good": (FAIL, "fatal"),
    "release": ("select * from bpm.release_tasks(%s)", "held"),
    "extend": ("select * from bpm.extend_leases(%s)", "held"),
    "lease over": (
        "update bpm_core.task_instance set lease_until = claimed_at + interval '1 microsecond'"
        " where id = %s",
        "task",
    ),
    "migrate": ("select * from bpm.migrate_process(%s, 2)", "process"),
}
GENERAL = "v-general"
CODES = ("v-direct", GENERAL)
"""Alike enough that the nodes named after them stand in the same order among the others."""
FLOWS = {
    "line": "start > {c}a > {c}b > end",
    "fork": "start > {c}0 > fork > {c}a > end1; fork > {c}b > end2",
    "cut": "start > {c}0 > fork > {c}a > end1; fork > {c}b > stop",
}


def _deploy(database: TestDatabase, code: str, shape: str) -> None:
    elements = {"stop": kit.terminate()} if shape == "cut" else {}
    flows = FLOWS[shape].format(c=code)
    kit.deploy(database, kit.process(code, flows, **elements))
    kit.deploy(database, kit.process(code, flows.replace("end", "ende"), **elements))
    if code == GENERAL:
        database.rows(
            "update bpm_core.workflow_flow set is_direct = null where source_id like %s",
            [GENERAL + "%"],
        )


def _wait(database: TestDatabase, code: str, shape: str, act: str) -> list[Any]:
    """What became of an answer that waited while ``act`` was done, twice; the rows; warnings."""
    process, *_ = database.rows(
        "select * from bpm.start_processes(%s)", [json.dumps([{"code": code, "version": 1}])]
    )
    with Session(database) as holder, Session(database) as worker, Session(database) as observer:
        if shape != "line":
            worker.do(COMPLETE, answer(claim(worker, [f"{code}0"], worker="w"), u=1))
        task = claim(worker, [f"{code}a"], worker="w")[0]
        sibling = claim(worker, [f"{code}b"], worker="w")
        item = kit.held(task)
        values = {
            "process": process["process_instance_id"],
            "same": answer([task], v=1),
            "other": answer([task], v=2),
            "sibling": answer(sibling, v=3, q=1),
            "error": json.dumps([{**item, "error": "x", "retry_in_seconds": 600}]),
            "fatal": json.dumps([{**item, "error": "x", "retryable": False}]),
            "held": json.dumps([item]),
            "task": task["task_id"],
        }
        query, value = ACTS[act]
        holder.begin()
        holder.do(
            "select from bpm_core.workflow_instance where id = %s for update",
            process["workflow_instance_id"],
        )
        holder.do(query, values[value])
        waiting = worker.start(COMPLETE, answer([task], v=1))
        blocked(observer, [worker])
        holder.commit()
        first = waiting.result()
        again = worker.do(COMPLETE, answer([task], v=1))
        told = list(worker.warnings)
    rows = database.rows(ROWS, [process["workflow_instance_id"]])[0]["rows"]
    database.rows("select bpm.cancel_process(%s)", [process["process_instance_id"]])
    outcomes = [(row["outcome"], row["instance_status"]) for row in [*first, *again]]
    seen: list[Any] = json.loads(json.dumps([outcomes, rows, told]).replace(code, ""))
    return seen


ROWS = """
select jsonb_build_object(
  'instance', to_jsonb(w) - '{id,process_instance_id,workflow_version_id,role_version_id}'::text[]
              - '{created_at,ended_at}'::text[],
  'ended', w.ended_at is not null,
  'tokens', (select jsonb_agg(to_jsonb(t) - '{id,workflow_instance_id,updated_at}'::text[]
                              - 'parallel_group_id' order by t.node_id)
               from bpm_core.token t where t.workflow_instance_id = w.id),
  'tasks', (select jsonb_agg(to_jsonb(t) - '{id,workflow_instance_id,token_id,claimed_at}'::text[]
                             - '{task_version_id,available_at,lease_until}'::text[]
                             order by t.node_id)
              from bpm_core.task_instance t where t.workflow_instance_id = w.id),
  'executions', (select jsonb_agg(concat_ws(' ', e.state, e.outcome) order by t.node_id, e.attempt)
                   from bpm_core.execution e
                   join bpm_core.task_instance t on t.id = e.task_instance_id
                  where t.workflow_instance_id = w.id),
  'results', (select jsonb_agg(r.output order by t.node_id, r.attempt)
                from bpm_core.result r join bpm_core.task_instance t on t.id = r.task_instance_id
               where t.workflow_instance_id = w.id),
  'history', (select jsonb_agg(h.kind || coalesce(' ' || h.node_id, '') order by h.seq)
                from bpm_core.history_event h where h.workflow_instance_id = w.id)) as rows
  from bpm_core.workflow_instance w
 where w.id = %s"""


@pytest.mark.breaks_invariants
@pytest.mark.parametrize("shape", FLOWS)
def test_a_step_that_waited_ends_as_in_the_general_way(
    fresh_database: TestDatabase, shape: str
) -> None:
    """All acts, one after the other, each in instances of their own."""
    for code in CODES:
        _deploy(fresh_database, code, shape)
    for act in ACTS:
        if act == "sibling" and shape == "line":
            continue
        direct, general = (_wait(fresh_database, c, shape, act) for c in CODES)
        assert direct == general, act
    broken = fresh_database.rows("select * from bpm.check_invariants('')")
    assert {row["invariant"] for row in broken} <= {"I-21"}, broken  # the marks taken away


@pytest.mark.breaks_invariants
def test_a_step_that_decides_before_it_has_the_lock_is_noticed(
    fresh_database: TestDatabase,
) -> None:
    """The test above can fail: the task's state as of before the wait."""
    for code in CODES:
        _deploy(fresh_database, code, "line")
    kit.mutate(
        fresh_database,
        "bpm_core.take_direct_steps(text,jsonb)",
        r"t\.id = k\.task_id for no key update",
        "t.id = k.task_id",
    )
    direct, general = (_wait(fresh_database, code, "line", "release") for code in CODES)
    assert direct != general
