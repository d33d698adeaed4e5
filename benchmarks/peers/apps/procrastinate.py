"""procrastinate: a chain of three jobs, each of which defers the next."""

from __future__ import annotations

from typing import Any

from procrastinate import App, PsycopgConnector

from benchmarks.peers.apps.protocol import VARIABLES, call, orders_async, ready, shares

CONCURRENCY = 20
POOL = 8

app = App(connector=PsycopgConnector())


@app.task(name="first")
async def first(**variables: Any) -> None:
    await second.defer_async(**variables)


@app.task(name="second")
async def second(**variables: Any) -> None:
    await third.defer_async(**variables)


@app.task(name="third")
async def third(**_variables: Any) -> None:
    pass


def opened(url: str) -> App:
    return app.with_connector(PsycopgConnector(conninfo=url, min_size=1, max_size=POOL))


async def prepare(url: str) -> None:
    async with opened(url).open_async() as own:
        await own.schema_manager.apply_schema_async()


async def work(url: str, _processes: str) -> None:
    """Takes one job per call, runs ``CONCURRENCY`` of them at a time, wakes by NOTIFY."""
    with app.replace_connector(PsycopgConnector(conninfo=url, min_size=1, max_size=POOL)) as own:
        async with own.open_async():
            ready()
            await own.run_worker_async(concurrency=CONCURRENCY)


async def feed(url: str) -> None:
    """A hundred jobs per call."""
    with app.replace_connector(PsycopgConnector(conninfo=url, min_size=1, max_size=POOL)) as own:
        async with own.open_async():

            async def start(count: int) -> None:
                for share in shares(count):
                    await first.batch_defer_async(*[VARIABLES] * share)

            await orders_async(start)


if __name__ == "__main__":
    call({"prepare": prepare, "work": work, "feed": feed})
