"""What leaves through a runner: commands, questions after them, domain events."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from datetime import datetime
from typing import Any

from pgbpm.delivery import Deliverer
from pgbpm.gateway import Claim, Gateway
from pgbpm.jsontext import write
from pgbpm.pacing import Look
from pgbpm.repeat import GaveUp, Repeater
from pgbpm.results import Results
from pgbpm.sending import EVENTS, PROBES
from pgbpm.slots import Slots
from pgbpm.telling import tell

logger = logging.getLogger("pgbpm.runner")

_LEASE_MARGIN_S = 1.0
_LEVELS = {"Sent": logging.DEBUG, "Throttled": logging.INFO}


class Outgoing:
    """Claims what is to leave, sends it, and hands on what was seen."""

    def __init__(
        self,
        name: str,
        gateway: Gateway,
        repeater: Repeater,
        results: Results,
        deliverer: Deliverer,
        concurrency: int,
    ) -> None:
        self._name = name
        self._gateway = gateway
        self._repeater = repeater
        self._results = results
        self.deliverer = deliverer
        self._positions: dict[str, str | None] = {}
        self._send_slots = Slots(concurrency)
        self._probe_slots = Slots(PROBES)
        self._event_slots = Slots(EVENTS)
        self._under_way: set[asyncio.Task[None]] = set()
        self._stop_sending = asyncio.Event()

    def __len__(self) -> int:
        """How many are being sent."""
        return len(self._under_way)

    # -- looking ---------------------------------------------------------------------------------

    async def commands(self, tenant: str) -> Look:
        """Claim commands and send them."""
        free = await self._send_slots.wait()
        if not free:
            return Look(found=False)
        positions = self._positions.pop(tenant, None)
        claim = await self._repeater(
            "claim_commands",
            lambda: self._gateway.claim_commands(
                tenant, self._name, self.deliverer.kinds, min(free, 1000), positions
            ),
            look=True,
        )
        self._positions[tenant] = claim.positions
        self._send_slots.take(len(claim.items))
        for command in claim.items:
            sending = asyncio.create_task(self._deliver(tenant, command, claim))
            self._under_way.add(sending)
            sending.add_done_callback(self._sent)
        return Look(found=bool(claim.items), due_in=claim.due_in, taken=len(claim.items))

    async def probes(self, tenant: str) -> Look:
        """Claim commands of unknown fate and ask their receivers."""
        free = await self._probe_slots.wait()
        if not free:
            return Look(found=False)
        items, due_in = await self._repeater(
            "claim_probes",
            lambda: self._gateway.claim_probes(
                tenant, self._name, self.deliverer.probing_kinds, free
            ),
            look=True,
        )
        self._probe_slots.take(len(items))
        for item in items:
            asking = asyncio.create_task(self._probe(tenant, item))
            self._under_way.add(asking)
            asking.add_done_callback(self._asked)
        return Look(found=bool(items), due_in=due_in)

    async def events(self, tenant: str) -> Look:
        """Claim the next domain events of a subscription and tell them."""
        if not await self._event_slots.wait():
            return Look(found=False)
        batch = await self._repeater(
            "claim_domain_events",
            lambda: self._gateway.claim_events(tenant, self._name, self.deliverer.kinds),
            look=True,
        )
        if batch is None:
            return Look(found=False)
        self._event_slots.take(1)
        telling = asyncio.create_task(self._tell(tenant, batch))
        self._under_way.add(telling)
        telling.add_done_callback(lambda task: self._ended(task, self._event_slots))
        return Look(found=True)

    # -- sending ---------------------------------------------------------------------------------

    async def _deliver(self, tenant: str, command: dict[str, Any], claim: Claim) -> None:
        lease = _seconds(command["lease_until"]) - claim.server_time
        left = claim.asked_at + lease - asyncio.get_running_loop().time() - _LEASE_MARGIN_S
        report = await self.deliverer.send(
            command, max(left, lease / 4), self._stop_sending, tenant=tenant,
            now=claim.server_time + asyncio.get_running_loop().time() - claim.asked_at,
        )  # fmt: skip
        logger.log(
            _LEVELS.get(report.outcome, logging.WARNING),
            "command %s to %s: %s %s", command["command_id"], command["destination_code"],
            report.outcome, report.detail,
            extra={"command_id": command["command_id"], "outcome": report.outcome},
        )  # fmt: skip
        self._results.mark(tenant, command["command_id"], command["fencing_token"], report)

    async def _probe(self, tenant: str, item: dict[str, Any]) -> None:
        left = item["left_s"] - _LEASE_MARGIN_S
        report = await self.deliverer.probe(item, max(left, item["left_s"] / 4), self._stop_sending)
        logger.info(
            "asked %s for command %s: %s %s", item["destination_code"], item["command_id"],
            report.outcome, report.detail,
            extra={"command_id": item["command_id"], "outcome": report.outcome},
        )  # fmt: skip
        self._results.mark_probe(tenant, item["command_id"], item["fencing_token"], report)

    async def _tell(self, tenant: str, batch: dict[str, Any]) -> None:
        told = await tell(batch, self.deliverer, self._gateway.notify, tenant, self._stop_sending)
        self._results.counts["events told"] += told.count
        if told.error is not None:
            logger.warning("subscription %s: %s", batch["subscription"], told.error)
        with contextlib.suppress(GaveUp):
            outcome = await self._repeater(
                "mark_published",
                lambda: self._gateway.mark_published(
                    tenant, batch["subscription"], batch["fencing_token"], told.to,
                    None if told.error is None else write(told.error),
                ),
            )  # fmt: skip
            if outcome != "Done":
                logger.warning("subscription %s: %s", batch["subscription"], outcome)

    def _asked(self, asking: asyncio.Task[None]) -> None:
        self._ended(asking, self._probe_slots)

    def _sent(self, sending: asyncio.Task[None]) -> None:
        self._ended(sending, self._send_slots)

    def _ended(self, sending: asyncio.Task[None], slots: Slots) -> None:
        self._under_way.discard(sending)
        slots.give()
        if not sending.cancelled() and (error := sending.exception()) is not None:
            logger.error("a command could not be sent", exc_info=error)

    # -- the end ---------------------------------------------------------------------------------

    def close(self) -> None:
        """Nothing more is claimed."""
        for slots in (self._send_slots, self._probe_slots, self._event_slots):
            slots.close()

    async def finish(self, seconds: float) -> None:
        """Wait until everything under way was sent; cut it short after ``seconds``."""
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=seconds)
        self._stop_sending.set()
        if self._under_way:
            await asyncio.wait(self._under_way)

    def abandon(self) -> None:
        """End what is under way at once."""
        for sending in self._under_way:
            sending.cancel()


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
