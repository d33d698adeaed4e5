"""Handlers of the compose file's runner: replace them with yours."""

from __future__ import annotations

from typing import Any

from pgbpm.worker import Task, Worker

worker = Worker()


@worker.task("hello")
def hello(task: Task) -> dict[str, Any]:
    """Greets whoever the process names."""
    return {"greeting": f"Hello, {task.variables.get('name', 'world')}"}
