"""Looking for tasks and letting time pass: what a runner claims for handlers, and its ticks."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from pgbpm.attempts import Attempts
from pgbpm.config import Config, RunnerConfig
from pgbpm.gateway import Begun, Claim, Gateway
from pgbpm.pacing import Look
from pgbpm.repeat import Repeater
from pgbpm.results import Results
from pgbpm.slots import Slots
from pgbpm.worker import TaskHandler, Worker

logger = logging.getLogger("pgbpm.runner")

_MOST_TYPES = 100
_RESULTS_AHEAD = 5


@dataclass(slots=True)
class Group:
    """Task types whose handlers share places."""

    handlers: dict[str, TaskHandler]
    slots: Slots
    types: list[str] = field(init=False)
    positions: dict[str, str | None] = field(default_factory=dict)
    begun: dict[str, Begun] = field(default_factory=dict)
    """Claims that are under way before anybody looks."""

    def __post_init__(self) -> None:
        self.types = list(self.handlers)

    def rotated(self) -> list[str]:
        """The types, another one first each time: the engine serves them in the order given."""
        self.types.append(self.types.pop(0))
        return self.types


def groups_of(worker: Worker, config: RunnerConfig) -> list[Group]:
    """Handlers with a number of their own alone; the others share, coroutines and threads."""

    def group(handlers: list[TaskHandler], size: int) -> Group:
        slots = Slots(size, ahead_s=config.ahead_ms / 1000, most_ahead=config.batch_size)
        return Group({h.task_type: h for h in handlers}, slots)

    alone = [h for h in worker.handlers.values() if h.concurrency is not None]
    groups = [group([h], h.concurrency or 1) for h in alone]
    for is_async, size in ((True, config.concurrency), (False, config.threads)):
        shared = [
            h for h in worker.handlers.values() if h.concurrency is None and h.is_async == is_async
        ]
        for first in range(0, len(shared), _MOST_TYPES):
            groups.append(group(shared[first : first + _MOST_TYPES], size))
    return groups


class Claims:
    """Claims tasks and hands them to their handlers; drives what falls due by itself.

    ``moved(tenant)`` is called when a tick did something.
    """

    def __init__(
        self,
        name: str,
        gateway: Gateway,
        repeater: Repeater,
        results: Results,
        attempts: Attempts,
        config: Config,
        moved: Callable[[str], None],
    ) -> None:
        self._name = name
        self._gateway = gateway
        self._repeater = repeater
        self._results = results
        self._attempts = attempts
        self._runner = config.runner
        self._most_results = _RESULTS_AHEAD * config.runner.batch_size
        self._tick_limit = config.engine.timer_batch_size
        self._moved = moved
        self._tick_positions: dict[str, str | None] = {}
        self.ticked: Counter[str] = Counter()
        """What ticks did, per kind."""

    async def tick(self, tenant: str) -> Look:
        """Drive what is due."""
        positions = self._tick_positions.pop(tenant, None)
        ticked = await self._repeater(
            "tick", lambda: self._gateway.tick(tenant, self._tick_limit, positions), look=True
        )
        self._tick_positions[tenant] = ticked.positions
        did = sum(ticked.done.values())
        if did:
            self.ticked.update(ticked.done)
            logger.debug("tick of tenant %r: %s", tenant, ticked.done)
            self._moved(tenant)
        return Look(found=did > 0, due_in=ticked.due_in)

    def begin(self, group: Group, tenant: str) -> bool:
        """Send a claim at once, whose answer the next call of :meth:`tasks` takes, if that can be
        done without waiting for anything."""
        ready = group.slots.free > 0 and self._results.pending < self._most_results
        if not ready or self._repeater.stopping or tenant in group.begun:
            return False
        begun = self._gateway.begin_claim(*self._terms(group, tenant))
        if begun is not None:
            group.begun[tenant] = begun
        return begun is not None

    def _terms(
        self, group: Group, tenant: str
    ) -> tuple[str, str, list[str], int, float | None, str | None]:
        """What to claim. The positions are gone if the claim fails."""
        limit = max(min(group.slots.free, self._runner.batch_size, 1000), 1)
        positions = group.positions.pop(tenant, None)
        return tenant, self._name, group.rotated(), limit, self._runner.lease_s, positions

    async def tasks(self, group: Group, tenant: str) -> Look:
        """Claim tasks of a group, as many as there are places, and start their handlers."""
        begun = group.begun.pop(tenant, None)
        if begun is None:
            await self._results.below(self._most_results)
            if not await group.slots.wait():
                return Look(found=False)
        terms = None if begun else self._terms(group, tenant)

        async def ask() -> Claim:
            nonlocal begun, terms
            sent, begun = begun, None
            claim = await self._gateway.claimed(sent) if sent else None
            if claim is None:
                terms = terms or self._terms(group, tenant)
                claim = await self._gateway.claim_tasks(*terms)
            return claim

        claim = await self._repeater("claim_tasks", ask, look=True)
        group.positions[tenant] = claim.positions
        if claim.items:
            group.slots.take(len(claim.items))
            self._attempts.start(tenant, claim, group.handlers, group.slots)
            await asyncio.sleep(0)  # the handlers begin before the next claim is written
        return Look(found=bool(claim.items), due_in=claim.due_in, taken=len(claim.items))
