"""Domain events through the runner: to a webhook, over a channel, again after a death. A-07."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict

import psycopg
from tests.driver.runner_kit import deploy, linear, run_until_idle, running, start, until
from tests.driver.test_delivery_engine import receiver, register
from tests.support.database import TestDatabase

from pgbpm.worker import Worker


def subscribe(database: TestDatabase, code: str, **arguments: object) -> None:
    given = "".join(f", p_{name} => %({name})s" for name in arguments)
    database.rows(f"select bpm.subscribe_events(%(code)s{given})", {"code": code, **arguments})


def test_a_destination_is_told_in_order_again_and_again_until_it_has_it(
    fresh_database: TestDatabase,
) -> None:
    deploy(fresh_database, linear("told", "tell-task"))
    worker = Worker()
    worker.task("tell-task")(lambda task: None)
    with receiver(lambda times: 503 if times == 1 else 200) as told:
        register(fresh_database, "listener", told.url)
        subscribe(fresh_database, "listener", process_code="told", destination="listener")
        start(fresh_database, "told", 3)
        run_until_idle(fresh_database, worker)

        async def main() -> None:
            async with running(fresh_database, worker):
                await until(
                    lambda: (
                        fresh_database.value("select s.behind from bpm.event_subscription s") == 0
                    ),
                    "all is told",
                    40,
                )

        asyncio.run(main())
    seen: dict[str, list[str]] = defaultdict(list)
    first: set[str] = set()
    for request in told.requests:
        event = json.loads(request["body"])
        assert request["key"] == event["event_id"]
        if request["key"] in first:
            seen[event["workflow_instance_id"]].append(event["type"])
        first.add(request["key"])
    assert list(seen.values()) == [["InstanceStarted", "InstanceCompleted"]] * 3
    assert len(told.requests) == 12  # each was refused once


def test_what_was_told_but_not_marked_is_told_again(fresh_database: TestDatabase) -> None:
    """A-07: whoever told it died before the mark."""
    deploy(fresh_database, linear("told", "tell-task"))
    with receiver(lambda times: 200) as told:
        register(fresh_database, "listener", told.url)
        subscribe(fresh_database, "listener", destination="listener")
        start(fresh_database, "told")
        fresh_database.rows("select * from bpm.tick()")
        claimed = fresh_database.rows(
            "select * from bpm.claim_domain_events('dead', 10, '1 second')"
        )
        assert len(claimed) == 1

        async def main() -> None:
            async with running(fresh_database, Worker()):
                await until(lambda: told.requests, "it is told again", 30)
                await until(
                    lambda: (
                        fresh_database.value("select s.behind from bpm.event_subscription s") == 0
                    ),
                    "and marked",
                )

        asyncio.run(main())
    late = fresh_database.value(
        "select bpm.mark_published('listener', %s, 1)", [claimed[0]["fencing_token"]]
    )
    assert late == "LeaseLost"
    assert len(told.requests) == 1


def test_a_channel_is_told_in_batches(fresh_database: TestDatabase) -> None:
    deploy(fresh_database, linear("told", "tell-task"))
    subscribe(fresh_database, "wake", notify_channel="bpm_happened")
    with psycopg.connect(fresh_database.url, autocommit=True) as listener:
        listener.execute("listen bpm_happened")
        start(fresh_database, "told", 20)
        fresh_database.rows("select * from bpm.tick()")
        run_until_idle(fresh_database, Worker(), idle_grace_s=0.5)
        heard = [json.loads(n.payload) for n in listener.notifies(timeout=5, stop_after=1)]
    assert heard == [{"tenant": "", "from": 1, "to": 20, "events": 20}]
