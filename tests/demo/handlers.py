"""The service tasks of ``tests/bpmn/order.bpmn``."""

from __future__ import annotations

import asyncio
import os

import httpx

from pgbpm.worker import BpmnError, Task, Variables, Worker
from tests.demo.orders import Order

worker = Worker()
_cards = httpx.AsyncClient(base_url=os.environ["DEMO_WORLD_URL"], trust_env=False, timeout=5)


def _order(task: Task) -> Order:
    return Order(task.variables["order"])


@worker.task("reserve-stock")
async def reserve_stock(task: Task) -> Variables:
    """Every fifth order meets a warehouse that fails twice."""
    if _order(task).warehouse_fails_twice and task.attempt <= 2:
        raise TimeoutError("the warehouse does not answer")
    await asyncio.sleep(0.02)
    return {"reserved": True}


@worker.task("release-order")
def release_order(task: Task) -> Variables:
    """Exists only once somebody approved."""
    return {"released": True}


@worker.task("charge-card", concurrency=8)
async def charge_card(task: Task) -> Variables:
    """The money moves once per task id, however often this runs: the card company knows the key."""
    order = _order(task)
    answer = await _cards.post(
        "/cards", json={"order": order.number}, headers={"Idempotency-Key": task.task_id}
    )
    if answer.status_code == httpx.codes.PAYMENT_REQUIRED:
        raise BpmnError("card-declined", "the card company says no")
    answer.raise_for_status()
    return {"charge": answer.json()["reference"]}


@worker.task("close")
async def close(task: Task) -> Variables:
    """The last step."""
    return {"closed": True}
