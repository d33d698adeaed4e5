"""Which tenants a runner serves: all of a few all the time, of many those with work, in rounds."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
from collections.abc import Callable, Sequence

import psycopg

from pgbpm.config import RunnerConfig
from pgbpm.gateway import Gateway
from pgbpm.pacing import Rounds
from pgbpm.repeat import GaveUp, Repeater

logger = logging.getLogger("pgbpm.runner")

MOST_RESIDENT = 200
"""Up to so many tenants are served all the time; of more those that have work, in rounds."""
PAGE = 200
LONGEST_ROUND_PAUSE_S = 0.25


class Tenants:
    """Gives the rounds their tenants. ``chosen``: only these; ``activity``: counts what is found;
    ``within``: seconds in which what falls due counts as work."""

    def __init__(
        self,
        gateway: Gateway,
        repeater: Repeater,
        config: RunnerConfig,
        rounds: Sequence[Rounds],
        *,
        chosen: Sequence[str] | None,
        activity: Callable[[], int],
        within: float,
    ) -> None:
        self._gateway = gateway
        self._repeater = repeater
        self._shortest = config.poll_min_ms / 1000
        self._longest = config.poll_max_ms / 1000
        self._rounds = rounds
        self._chosen = list(chosen) if chosen is not None else None
        self._activity = activity
        self._within = within
        self._round_pause = 0.0
        self._stirred = asyncio.Event()
        self.serving: list[str] = []
        """Those served now."""
        self.resident = True
        """Whether they are served all the time."""
        self.idle_round = -1
        """The activity before the last round in which nobody had work."""

    def stir(self) -> None:
        """There may be work: no pause between two rounds."""
        self._stirred.set()

    async def refresh(self) -> bool:
        """Serve all tenants there are, if these are few; whether there are any."""
        chosen = self._chosen
        if chosen is not None:
            tenants = await self._repeater(
                "tenants", lambda: self._gateway.weights(chosen), look=True
            )
        else:
            tenants = await self._repeater(
                "tenants_with_work",
                lambda: self._gateway.granted_tenants(MOST_RESIDENT + 1),
                look=True,
            )
            self.resident = len(tenants) <= MOST_RESIDENT
        if self.resident:
            self._serve(tenants)
        return bool(tenants)

    async def watch(self) -> None:
        """Go on looking who is there, until cancelled."""
        while self._chosen is None:
            if self.resident:
                await asyncio.sleep(self._longest)
            try:
                if not self.resident:
                    await self._go_round()
                await self.refresh()
            except (GaveUp, psycopg.Error) as error:
                logger.error("tenants_with_work failed: %s", error)
                await asyncio.sleep(self._longest)

    def _serve(self, tenants: dict[str, int], *, once: bool = False) -> None:
        self.serving = list(tenants)
        for a_round in self._rounds:
            a_round.serve(tenants, once=once)

    async def _go_round(self) -> None:
        """One round of the tenants that have work, page by page: each look is taken once in each
        of them whose turn it is by its weight, so that with equal weights none waits for longer
        than a round. After a round without any a pause."""
        activity, seen = self._activity(), 0
        after: str | None = None
        self._stirred.clear()
        for a_round in self._rounds:
            a_round.begin_round()
        while True:
            page = await self._repeater(
                "tenants_with_work",
                functools.partial(self._gateway.tenants_with_work, PAGE, after, self._within),
                look=True,
            )
            seen += len(page)
            self._serve(page, once=True)
            for a_round in self._rounds:
                await a_round.passed()
            if len(page) < PAGE:
                break
            after = next(reversed(page))
        self.idle_round = -1 if seen else activity
        if self._activity() != activity:
            self._round_pause = 0.0
            return
        # Work for others, or work that is not due yet: it is looked at like time.
        longest = min(self._longest, LONGEST_ROUND_PAUSE_S)
        self._round_pause = min(max(self._round_pause * 2, self._shortest), longest)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._round_pause):
                await self._stirred.wait()
