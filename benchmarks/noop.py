"""Handlers that do nothing, for ``pgbpm run --app benchmarks.noop``."""

from __future__ import annotations

from benchmarks.systems import PATCH, TYPES
from pgbpm.worker import Task, Worker

worker = Worker()


async def done(task: Task) -> dict[str, object]:
    """Answer at once."""
    return dict(PATCH)


for task_type in TYPES:
    worker.task(task_type)(done)
