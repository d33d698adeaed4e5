"""Tells a subscriber of domain events: one after the other, in order, until one cannot be told."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pgbpm.delivery import Deliverer
from pgbpm.jsontext import jsonb_text, write

_MARGIN_S = 5.0


@dataclass(frozen=True, slots=True)
class Told:
    """Up to which number, how many, and what kept it from more."""

    to: int
    count: int
    error: dict[str, Any] | None = None


async def tell(
    batch: Mapping[str, Any],
    deliverer: Deliverer,
    notify: Callable[[str, str], Awaitable[None]],
    tenant: str,
    stopped: asyncio.Event,
) -> Told:
    """Tell what ``claim_domain_events`` gave.

    A channel gets one NOTIFY for all. A destination gets each event by itself, its id as the key.
    """
    events: list[dict[str, Any]] = batch["events"]
    if batch["notify_channel"] is not None:
        first, last = events[0]["published_no"], events[-1]["published_no"]
        said = {"tenant": tenant, "from": first, "to": last, "events": len(events)}
        try:
            await notify(batch["notify_channel"], write(said))
        except Exception as error:
            return Told(first - 1, 0, {"error": type(error).__name__, "message": str(error)[:500]})
        return Told(batch["published_to"], len(events))
    end = asyncio.get_running_loop().time() + batch["left_s"] - _MARGIN_S
    to, count = events[0]["published_no"] - 1, 0
    for event in events:
        left = end - asyncio.get_running_loop().time()
        if left <= 0 or stopped.is_set():
            return Told(to, count)
        command = {
            "command_id": event["event_id"],
            "destination": batch["destination"],
            "payload": event,
            "payload_hash": hashlib.sha256(jsonb_text(event).encode()).hexdigest(),
        }
        report = await deliverer.send(command, left, stopped, tenant=tenant)
        done = report.outcome == "Sent" or (
            report.outcome == "Conflict" and batch["destination"].get("conflict_means") == "Sent"
        )
        if not done:
            return Told(to, count, {"outcome": report.outcome, **report.detail})
        to, count = event["published_no"], count + 1
    return Told(batch["published_to"], count)
