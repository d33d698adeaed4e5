"""Parallel branches of one instance: whether the time is linear in branches."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import psycopg

from benchmarks.context import Context, Outcome, median, spread
from benchmarks.server import database
from benchmarks.systems import connect

_XML = """<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
  xmlns:bpm="urn:pgbpm:bpmn:1" targetNamespace="bench"><process id="wide" isExecutable="true">
  <startEvent id="start"/><serviceTask id="branch">
    <multiInstanceLoopCharacteristics bpm:outputCollection="results" bpm:outputElement="result">
      <loopCardinality>${branches}</loopCardinality></multiInstanceLoopCharacteristics>
  </serviceTask><endEvent id="end"/>
  <sequenceFlow id="f1" sourceRef="start" targetRef="branch"/>
  <sequenceFlow id="f2" sourceRef="branch" targetRef="end"/></process></definitions>"""
_CLAIM = """
select c.tasks, c.positions::text
  from bpm.claim_tasks_at(%s, '{branch}', %s, p_positions => %s::jsonb) c
"""
_TICK = "select k.positions::text from bpm.tick(100, %s::jsonb) k"
_QUEUE = """
select count(*) from pg_stat_activity a
 where a.datname = current_database() and a.wait_event_type = 'Lock'
"""
_PAUSE_S = 0.002
_PATIENCE_S = 300.0


def measure_branches(context: Context) -> Outcome:
    """One instance of very many parallel branches, completed by several workers in batches.

    Against several of fewer branches, one after the other, as many in all. ``branches_linear`` is
    the time per branch of the many / of the few: 1 is linear.
    """
    sizes = context.sizes
    few, many = sizes.branches
    samples: dict[int, list[float]] = {few: [], many: []}
    with (
        database(context.server.url, context.template) as url,
        connect(url) as conn,
        _watched(url) as queue,
        contextlib.ExitStack() as stack,
    ):
        workers = [stack.enter_context(connect(url)) for _ in range(sizes.workers)]
        conn.execute("select * from bpm.deploy_bpmn(p_xml => %s)", [_XML])
        _instance(conn, workers, few, sizes.batch)  # plans and caches
        for _ in range(sizes.repeats):
            for count in (few, many):
                seconds = sum(
                    _instance(conn, workers, count, sizes.batch) for _ in range(many // count)
                )
                samples[count].append(1000 * seconds / many)
    ratios = [m / f for f, m in zip(samples[few], samples[many], strict=True)]
    context.say(
        f"  {many:,} branches: {median(samples[many]):.3f} ms each, {few:,}:"
        f" {median(samples[few]):.3f} ms; at most {max(queue)} waited for a lock"
    )
    return Outcome(
        {"branches_linear": median(ratios)},
        {
            "spread": spread(ratios),
            "longest_lock_queue": max(queue),
            "workers": sizes.workers,
            "batch": sizes.batch,
            "ms_per_branch": {str(count): ms for count, ms in samples.items()},
        },
    )


def _instance(
    conn: psycopg.Connection[Any], workers: list[psycopg.Connection[Any]], branches: int, batch: int
) -> float:
    """Seconds from the start of one instance to its end, its outputs collected."""
    began = time.monotonic()
    row = conn.execute(
        "select s.process_instance_id from bpm.start_process('wide', %s) s",
        [json.dumps({"branches": branches})],
    ).fetchone()
    assert row is not None
    left = _Left(branches)
    threads = [
        threading.Thread(target=_work, args=(worker, f"w{number}", batch, left))
        for number, worker in enumerate(workers)
    ]
    for thread in threads:
        thread.start()
    positions, status = None, "Running"
    while status == "Running":
        (positions,) = conn.execute(_TICK, [positions]).fetchone() or (None,)
        ((status,),) = conn.execute(
            "select p.status::text from bpm_core.process_instance p where p.id = %s", row
        ).fetchall()
        assert time.monotonic() < began + _PATIENCE_S
        assert not left.failed
        time.sleep(_PAUSE_S if status == "Running" else 0)
    seconds = time.monotonic() - began
    for thread in threads:
        thread.join()
    assert status == "Completed", status
    return seconds


class _Left:
    """How many branches are not completed yet, for all workers."""

    def __init__(self, count: int) -> None:
        self._lock = threading.Lock()
        self.count = count
        self.failed = False

    def take(self, done: int) -> None:
        with self._lock:
            self.count -= done


def _work(conn: psycopg.Connection[Any], name: str, batch: int, left: _Left) -> None:
    positions = None
    try:
        while left.count > 0 and not left.failed:
            row = conn.execute(_CLAIM, [name, batch, positions]).fetchone()
            assert row is not None
            tasks, positions = row
            if tasks:
                _complete(conn, tasks)
                left.take(len(tasks))
            else:
                time.sleep(_PAUSE_S)
    except BaseException:
        left.failed = True
        raise


def _complete(conn: psycopg.Connection[Any], tasks: list[dict[str, Any]]) -> None:
    items = [
        {
            "task_id": t["task_id"],
            "fencing_token": t["fencing_token"],
            "variables": {"result": t["variables"]["loopCounter"]},
        }
        for t in tasks
    ]
    outcomes = conn.execute(
        "select distinct c.outcome::text from bpm.complete_tasks(p_items => %s) c",
        [json.dumps(items)],
    ).fetchall()
    assert outcomes == [("Completed",)], outcomes


@contextlib.contextmanager
def _watched(url: str) -> Iterator[list[int]]:
    """How many sessions wait for a lock, looked at again and again during the block."""
    seen = [0]
    over = threading.Event()

    def watch() -> None:
        with connect(url) as conn:
            while not over.wait(0.01):
                ((waiting,),) = conn.execute(_QUEUE).fetchall()
                seen.append(waiting)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()
