"""Ten thousand tenants and a noisy one: who waits, and for how long."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator

import psycopg
import pytest
from psycopg.rows import dict_row
from tests.driver.runner_kit import linear, make_runner
from tests.support import tenants
from tests.support.database import TestDatabase

from pgbpm import tenants as tenants_module
from pgbpm.devtools import scratch
from pgbpm.worker import Task, Worker

NIGHTLY = os.environ.get("PGBPM_TEST_SIZE") == "nightly"
MANY = 10_000
NOISE = 20_000 if NIGHTLY else 5_000
BATCH = 100


def _populate(url: str, quiet: int, noise: int) -> None:
    """One tenant with ``noise`` ready tasks and ``quiet`` others with one each."""
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("select bpm.grant_access(session_user::text, '%', 'admin')")
        for name in ("m-noisy", "template"):
            conn.execute("select bpm.create_tenant(%s, %s)", [name, name])
            conn.execute(
                "select from bpm.deploy_bpmn(%s, p_tenant_id => %s)",
                [linear("crowd", "fair"), name],
            )
        size = min(1000, noise)
        for _ in range(0, noise, size):
            conn.execute(
                "select count(*) from bpm.start_processes(%s, p_tenant_id => 'm-noisy')",
                ["[" + ",".join(['{"code": "crowd", "variables": {"who": "noisy"}}'] * size) + "]"],
            )
        conn.execute(
            "select from bpm.start_process('crowd', %s, p_tenant_id => 'template')",
            ['{"who": "quiet"}'],
        )
        tenants.clone(conn, "template", "q%s", quiet - 1)


@pytest.fixture(scope="module")
def crowd(server_url: str, template: str) -> Iterator[TestDatabase]:
    """Ten thousand quiet tenants and a noisy one in the middle of them."""
    with scratch.scratch_database(server_url, template) as url:
        _populate(url, MANY, NOISE)
        yield TestDatabase(url)


def test_pages_go_round_all_tenants_with_work(crowd: TestDatabase) -> None:
    """Page by page each comes once, in order; a page costs what is in it, not what there is."""
    seen: list[str] = []
    times = []
    after = None
    with crowd.connect() as conn:
        while True:
            began = time.monotonic()
            page = [
                row["t"]
                for row in conn.execute(
                    "select t from bpm.tenants_with_work(200, %s) t(t)", [after]
                )
            ]
            times.append(time.monotonic() - began)
            seen += page
            if len(page) < 200:
                break
            after = page[-1]
    assert len(seen) == len(set(seen)) == MANY + 1
    assert seen == sorted(seen)
    assert sorted(times)[len(times) // 2] < 0.1


def test_one_round_hands_out_the_oldest_task_of_each_tenant(crowd: TestDatabase) -> None:
    """The bound: after one round nobody's oldest task waits; the noisy one had one batch."""
    query = """
        select count(*) filter (where c.tenant_id = 'm-noisy')::int as noisy, count(*)::int as n
          from (select t.tenant_id, x.task_id
                  from (select * from bpm.tenants_with_work(10000)
                        union all select * from bpm.tenants_with_work(10, 'q9998')) t(tenant_id)
                 cross join lateral bpm.claim_tasks('w', '{fair}', %s, p_tenant_id => t.tenant_id) x
               ) c
    """
    (first,) = crowd.rows(query, [BATCH])
    assert first["noisy"] == BATCH
    assert first["n"] == MANY + BATCH
    (second,) = crowd.rows("select array_agg(t) as left from bpm.tenants_with_work() t(t)")
    assert second["left"] == ["m-noisy"]


def test_a_runner_goes_round(
    server_url: str, template: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More tenants than a runner keeps: it serves them in rounds, the noisy one batch by batch."""
    quiet, noise, batch = (MANY, 20_000, 100) if NIGHTLY else (120, 600, 10)
    if not NIGHTLY:
        monkeypatch.setattr(tenants_module, "MOST_RESIDENT", 20)
        monkeypatch.setattr(tenants_module, "PAGE", 25)
    order: list[str] = []
    began = 0.0
    quiet_done = 0.0
    worker = Worker()

    @worker.task("fair")
    async def handler(task: Task) -> None:
        nonlocal quiet_done
        order.append(task.variables["who"])
        if task.variables["who"] == "quiet":
            quiet_done = time.monotonic() - began

    with scratch.scratch_database(server_url, template) as url:
        _populate(url, quiet, noise)
        database = TestDatabase(url)
        began = time.monotonic()
        asyncio.run(make_runner(database, worker, batch_size=batch).run())
        with psycopg.connect(url, row_factory=dict_row) as conn:
            row = conn.execute(
                "select count(*)::int as n from bpm.instance where status = 'Completed'"
            ).fetchone()
            assert row is not None
            assert row["n"] == quiet + noise
    last = max(n for n, who in enumerate(order) if who == "quiet")
    before = order[:last].count("noisy")
    print(
        f"the last of {quiet} quiet tenants after {quiet_done:.1f} s, {before} noisy tasks before"
    )
    assert before <= 3 * batch


@pytest.mark.parametrize("resident", [True, False], ids=["all the time", "in rounds"])
def test_a_runner_goes_round_by_weight(
    server_url: str, template: str, monkeypatch: pytest.MonkeyPatch, resident: bool
) -> None:
    """Two tenants with more than the handlers can do: 4 to 1, and everything is done in the end."""
    if not resident:
        monkeypatch.setattr(tenants_module, "MOST_RESIDENT", 1)
    order: list[str] = []
    worker = Worker()

    @worker.task("fair", concurrency=5)
    async def handler(task: Task) -> None:
        order.append(task.variables["who"])

    with scratch.scratch_database(server_url, template) as url:
        with psycopg.connect(url, autocommit=True) as conn:
            conn.execute("select bpm.grant_access(session_user::text, '%', 'admin')")
            for name, weight in (("light", 1), ("heavy", 4)):
                conn.execute("select bpm.create_tenant(%s, %s)", [name, name])
                conn.execute("select bpm.set_tenant_weight(%s, %s)", [name, weight])
                conn.execute(
                    "select from bpm.deploy_bpmn(%s, p_tenant_id => %s)",
                    [linear("crowd", "fair"), name],
                )
                items = [f'{{"code": "crowd", "variables": {{"who": "{name}"}}}}'] * 250
                conn.execute(
                    "select count(*) from bpm.start_processes(%s, p_tenant_id => %s)",
                    ["[" + ",".join(items) + "]", name],
                )
        asyncio.run(make_runner(TestDatabase(url), worker, batch_size=10).run())
    assert len(order) == 500
    first = order[: 250 + 250 // 4]
    assert first.count("light") == pytest.approx(len(first) / 5, rel=0.15), first.count("light")
