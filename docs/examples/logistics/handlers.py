"""The drivers, the scales and the couriers of the logistics example.

A real worker would talk to devices. This one makes up what they say, but keeps what proves it as a
real one does: the object in a store of its own (here a folder), where it lies and its hash with the
fact.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pgbpm.worker import Done, Task, Worker

worker = Worker()
STORE = Path("store")


def keep(name: str, content: bytes, mime: str) -> dict[str, Any]:
    """Put an object into the store; the evidence that says where it is."""
    STORE.mkdir(exist_ok=True)
    (STORE / name).write_bytes(content)
    return {
        "object_key": f"store/{name}",
        "sha256": hashlib.sha256(content).hexdigest(),
        "mime": mime,
        "size_bytes": len(content),
        "occurred_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def fact(task: Task, name: str, value: Any, *evidence: int) -> dict[str, Any]:
    """Something that is true of the shipment of this task, and which evidence proves it."""
    return {
        "subject_type": "shipment",
        "subject_key": task.business_key,
        "name": name,
        "value": value,
        "evidence": list(evidence),
    }


@worker.task("collect")
def collect(task: Task) -> Done:
    """The driver takes it over, with a photo."""
    photo = keep(f"{task.business_key}-collected.jpg", b"a photo of the parcel", "image/jpeg")
    return Done(
        evidence=[photo],
        facts=[
            fact(task, "status", "collected"),
            fact(task, "place", task.variables["from"], 0),
        ],
    )


@worker.task("weigh")
def weigh(task: Task) -> Done:
    """The scales of the hub. What they say is a variable (the drawing asks for it) and a fact."""
    weight = task.variables.get("on_the_scales", task.variables["declared_kg"])
    slip = keep(f"{task.business_key}-scales.txt", f"{weight} kg".encode(), "text/plain")
    return Done(
        {"weight_kg": weight},
        evidence=[slip],
        facts=[
            fact(task, "weight_kg", weight, 0),
            fact(task, "place", "hub", 0),
        ],
    )


@worker.task("deliver")
def deliver(task: Task) -> Done:
    """The courier hands it over against a signature."""
    signature = keep(f"{task.business_key}-signed.png", b"a signature", "image/png")
    return Done(
        evidence=[signature],
        facts=[
            fact(task, "status", "delivered", 0),
            fact(task, "place", task.variables["to"], 0),
            fact(task, "received_by", task.variables["recipient"], 0),
        ],
    )
