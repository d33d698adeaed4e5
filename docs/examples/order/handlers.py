"""Handlers of the order process of docs/tour.md."""

from __future__ import annotations

from pgbpm.worker import BpmnError, Retry, Task, Variables, Worker

worker = Worker()


@worker.task("reserve-stock")
def reserve_stock(task: Task) -> Variables:
    """A plain function runs in a thread. The first attempt meets a busy warehouse."""
    if task.attempt == 1:
        raise Retry(0.2, "the warehouse is busy")
    return {"reserved": True}


@worker.task("release-order")
def release_order(task: Task) -> Variables:
    """Exists only once somebody approved."""
    return {"released": True}


@worker.task("charge-card", concurrency=4)
async def charge_card(task: Task) -> Variables:
    """A coroutine. A real one would send ``task.task_id`` along as its idempotency key."""
    if task.variables.get("card") == "stolen":
        raise BpmnError("card-declined", "the card company says no")
    return {"charge": f"charge-{task.task_id}"}


@worker.task("close")
async def close(task: Task) -> Variables:
    """The last step."""
    return {"closed": True}
