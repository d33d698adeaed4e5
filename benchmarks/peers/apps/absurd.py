"""absurd: a task of three steps, synchronous workers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
from absurd_sdk import Absurd

from benchmarks.peers.apps.protocol import PATCH, VARIABLES, call, orders, ready, shares

QUEUE = "line"
BATCH = 20


def prepare(url: str) -> None:
    """The schema comes with the package ``absurdctl``."""
    tool = Path(sys.executable).parent / "absurdctl"
    for command in (["init", "-d", url], ["create-queue", "-d", url, QUEUE]):
        subprocess.run([tool, *command], check=True, stdout=subprocess.DEVNULL)


def work(url: str, _processes: str) -> None:
    """A connection and one task at a time per process: its connection serves one call at a time."""
    app = Absurd(psycopg.connect(url, autocommit=True), queue_name=QUEUE)

    @app.register_task("line")
    def line(_params: Any, context: Any) -> dict[str, bool]:
        for name in ("first", "second", "third"):
            context.step(name, lambda: PATCH)
        return PATCH

    ready()
    app.start_worker(concurrency=1, batch_size=BATCH, poll_interval=0.01)


def feed(url: str) -> None:
    """A hundred spawns in one transaction; there is no call that spawns many."""
    conn = psycopg.connect(url, autocommit=True)
    app = Absurd(conn, queue_name=QUEUE)
    for count in orders():
        for share in shares(count):
            with conn.transaction():
                for _ in range(share):
                    app.spawn("line", VARIABLES, queue=QUEUE)


if __name__ == "__main__":
    call({"prepare": prepare, "work": work, "feed": feed})
