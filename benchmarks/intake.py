"""Events per second: accepted in batches, and dispatched by a rule that starts the line."""

from __future__ import annotations

import itertools
import json
import time
from typing import Any

import psycopg

from benchmarks.context import Context, Outcome, median, spread
from benchmarks.count import Cost, Monitor, per_unit, told
from benchmarks.server import database
from benchmarks.systems import VARIABLES, connect

RULE = (
    "select from bpm.set_routing_rule('line', 'order.*', 'StartProcess',"
    " '${payload.amount > 10}', p_process_code => 'line', p_business_key_path => 'payload.order')"
)
TICK = "select (k.done ->> 'events')::integer, k.positions::text from bpm.tick(%s, %s::jsonb) k"


def measure_intake(context: Context) -> Outcome:
    """Events accepted by one connection, each batch committed, then dispatched by one that ticks.

    Each has a key, a payload and a content hash; a rule with a condition and a business key starts
    the line process for it.
    """
    accepted: list[float] = []
    dispatched: list[float] = []
    costs: list[Cost] = []
    for number in range(context.sizes.repeats):
        with database(context.server.url, context.template) as url, connect(url) as conn:
            conn.execute(RULE)
            ids = itertools.count()
            _accept(conn, ids, 5, context.sizes.batch)  # plans and caches
            _dispatch(conn, context.sizes.batch)
            calls = context.sizes.events // context.sizes.batch
            told(conn)
            monitor = Monitor(url)
            accepted.append(_accept(conn, ids, calls, context.sizes.batch))
            told(conn)
            costs.append(monitor.cost(calls * context.sizes.batch, alone=False))
            dispatched.append(_dispatch(conn, context.sizes.batch))
        rates = f"{accepted[-1]:,.0f} accepted/s, {dispatched[-1]:,.0f} dispatched/s"
        context.say(f"  run {number + 1}: {rates}")
    return Outcome(
        {"accepts_per_s": median(accepted), "dispatches_per_s": median(dispatched)},
        {
            "batch": context.sizes.batch,
            "events": context.sizes.events,
            "spread_accept": spread(accepted),
            **per_unit(costs),
            "spread_dispatch": spread(dispatched),
            "accepted": accepted,
            "dispatched": dispatched,
        },
    )


def _accept(
    conn: psycopg.Connection[Any], ids: itertools.count[int], calls: int, batch: int
) -> float:
    """Accepts per second."""
    batches = [
        json.dumps(
            [
                {
                    "channel": "shop",
                    "provider_event_id": f"evt-{n}",
                    "type": "order.created",
                    "payload": {**VARIABLES, "order": f"A-{n}"},
                }
                for n in itertools.islice(ids, batch)
            ]
        )
        for _ in range(calls)
    ]
    began = time.monotonic()
    for items in batches:
        row = conn.execute(
            "select count(*) from bpm.accept_events(p_items => %s) a where a.is_new", [items]
        ).fetchone()
        assert row == (batch,)
    return calls * batch / (time.monotonic() - began)


def _dispatch(conn: psycopg.Connection[Any], batch: int) -> float:
    """Dispatches per second, until nothing is pending."""
    total, positions = 0, None
    began = ended = time.monotonic()
    while True:
        row = conn.execute(TICK, [batch, positions]).fetchone()
        assert row is not None
        done, positions = row
        if done == 0:
            break
        total, ended = total + done, time.monotonic()
    left = conn.execute("select count(*) from bpm.event where dispatch_state <> 'Dispatched'")
    assert left.fetchone() == (0,)
    return total / (ended - began)
