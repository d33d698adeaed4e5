"""A handler that says when it was entered, for ``pgbpm run --app benchmarks.stamp``."""

from __future__ import annotations

import os
import time

from pgbpm.worker import Task, Worker

FILE = "PGBPM_BENCH_STAMPS"
"""Environment variable: the file lines ``<business key> <monotonic ns>`` are appended to."""

worker = Worker()
_file = os.open(os.environ.get(FILE, os.devnull), os.O_WRONLY | os.O_APPEND | os.O_CREAT)


@worker.task("stamp")
async def stamp(task: Task) -> None:
    """Write down the time, by the clock all processes of this machine share."""
    now = time.monotonic_ns()
    os.write(_file, f"{task.business_key} {now}\n".encode())
