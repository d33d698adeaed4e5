"""pgqueuer: a chain of three jobs, each of which enqueues the next."""

from __future__ import annotations

import asyncpg
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver, AsyncpgPoolDriver
from pgqueuer.models import Job
from pgqueuer.queries import Queries

from benchmarks.peers.apps.protocol import VARIABLES, call, orders_async, ready, shares

BATCH = 100
POOL = 8
PAYLOAD = repr(VARIABLES).encode()


async def prepare(url: str) -> None:
    """Its tables, all of them logged, with the autovacuum settings it recommends."""
    conn = await asyncpg.connect(url)
    queries = Queries(AsyncpgDriver(conn))
    await queries.install()
    await queries.optimize_autovacuum()
    await conn.close()


async def work(url: str, _processes: str) -> None:
    """A connection for the queue, a pool for what the jobs enqueue."""
    app = PgQueuer(AsyncpgDriver(await asyncpg.connect(url)))
    async with asyncpg.create_pool(url, min_size=1, max_size=POOL) as pool:
        producer = Queries(AsyncpgPoolDriver(pool))

        @app.entrypoint("first")
        async def first(job: Job) -> None:
            await producer.enqueue("second", job.payload)

        @app.entrypoint("second")
        async def second(job: Job) -> None:
            await producer.enqueue("third", job.payload)

        @app.entrypoint("third")
        async def third(job: Job) -> None:
            pass

        ready()
        await app.qm.run(batch_size=BATCH)


async def feed(url: str) -> None:
    """A hundred jobs per call."""
    conn = await asyncpg.connect(url)
    producer = Queries(AsyncpgDriver(conn))

    async def start(count: int) -> None:
        for share in shares(count):
            await producer.enqueue(["first"] * share, [PAYLOAD] * share, [0] * share)

    await orders_async(start)


if __name__ == "__main__":
    call({"prepare": prepare, "work": work, "feed": feed})
