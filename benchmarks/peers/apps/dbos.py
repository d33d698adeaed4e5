"""DBOS: a workflow of three steps, called in the process that runs it, without a queue."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

from dbos import DBOS, DBOSConfig

from benchmarks.peers.apps.protocol import PATCH, VARIABLES, call, orders

THREADS = 8


@DBOS.step()
def first() -> dict[str, bool]:
    return PATCH


@DBOS.step()
def second() -> dict[str, bool]:
    return PATCH


@DBOS.step()
def third() -> dict[str, bool]:
    return PATCH


@DBOS.workflow()
def line(variables: dict[str, object]) -> dict[str, bool]:
    first()
    second()
    third()
    return PATCH


def launch(url: str) -> None:
    """Each process has an executor of its own, so that none takes up what another is doing."""
    config: DBOSConfig = {
        "name": "line",
        "system_database_url": url,
        "log_level": "ERROR",
        "executor_id": f"bench-{os.getpid()}",
        "application_version": "bench",
        "sys_db_pool_size": THREADS + 2,
    }
    DBOS(config=config)
    DBOS.launch()


def prepare(url: str) -> None:
    """Launching makes the tables."""
    launch(url)
    DBOS.destroy()


def work(url: str, _processes: str) -> None:
    """Starts its own instances, ``THREADS`` of them at a time."""
    launch(url)
    with ThreadPoolExecutor(THREADS) as pool:
        for count in orders():
            list(pool.map(line, [VARIABLES] * count))
    DBOS.destroy()


if __name__ == "__main__":
    call({"prepare": prepare, "work": work})
