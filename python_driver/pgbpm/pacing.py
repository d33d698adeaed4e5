"""When to look for work again: adaptive polling per tenant, with jitter, and wake-ups."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass

from pgbpm.shares import Shares
from pgbpm.wakeup import Load, mark_of


@dataclass(frozen=True, slots=True)
class Look:
    """What one look for work found.

    ``found``: something was there, look again at once. ``due_in``: seconds until the next thing
    falls due, as far as the database knows (None: nothing planned). ``taken``: how much of what
    tenants share it was given.
    """

    found: bool
    due_in: float | None = None
    taken: int = 0


@dataclass(slots=True)
class _Pace:
    at: float = 0.0
    interval: float = 0.0
    quiet_since: int = -1
    next_due: float | None = None
    visited: int = 0


class Rounds:
    """Looks for one kind of work in all tenants, in turn.

    ``look(tenant)`` is called for one tenant at a time. Between two empty looks the pause grows
    from ``shortest`` to ``longest`` seconds, but never past what falls due; a wake-up or work
    found starts it over. While ``told()`` says that we are told of whatever comes, each pause is as
    long as it may be: a look under way at that moment would only have to end first. ``paused()`` is
    called when a pause begins. ``begin(tenant)`` is called when a notification ends a pause for one
    tenant; it may send what the look asks at once, and a look that has begun so is taken even when
    stopping. While there is more to do than can be done, tenants have turns in proportion to their
    weights, see :class:`Shares`.
    """

    def __init__(
        self,
        name: str,
        look: Callable[[str], Awaitable[Look]],
        *,
        shortest: float,
        longest: float,
        activity: Callable[[], int],
        work: str | None = None,
        paused: Callable[[], None] = lambda: None,
        told: Callable[[], bool] = lambda: False,
        begin: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self.name = name
        self._look = look
        self._shortest = shortest
        self._longest = max(longest, shortest)
        self._activity = activity
        self._paces: dict[str, _Pace] = {}
        self._woken = asyncio.Event()
        self._passed = asyncio.Event()
        self._left: set[str] | None = None
        """Of a round in which each tenant is looked at once: those still to come."""
        self._shares = Shares()
        self._visits = 0
        self._stopping = False
        self.work = work
        """What notifications call what is looked for here; None: they do not speak of it."""
        self._paused = paused
        self._told = told
        self._begin = begin
        self._begun: str | None = None
        """Whose look has begun and is to be taken."""
        self._awake_since: float | None = None
        self._found_at = float("-inf")

    def stop(self) -> None:
        """End :meth:`run` after the look under way, whose answer must not be lost."""
        self._stopping = True
        self._woken.set()

    def serve(self, tenants: Mapping[str, int], *, once: bool = False) -> None:
        """Work for exactly these tenants from now on, with these weights. ``once``: look once in
        each that has a turn, and then no more until told anew; :meth:`passed` says when that is
        done, and the caller when a round begins (:meth:`begin_round`)."""
        self._shares.weigh(tenants)
        self._paces = {tenant: self._paces.get(tenant) or _Pace() for tenant in tenants}
        self._left = set(self._paces) if once else None
        self._passed.clear()
        if once and not self._left:
            self._passed.set()
        self._woken.set()

    def begin_round(self) -> None:
        """Of rounds in which each tenant is looked at once: the next one begins."""
        self._shares.begin_round()

    async def passed(self) -> None:
        """Wait until each tenant was looked at since :meth:`serve`."""
        await self._passed.wait()

    def wake(self, tenant: str | None = None) -> None:
        """Look at once, for one tenant or for all."""
        self._wake_these(self._paces if tenant is None else (tenant,))

    def wake_marked(self, mark: str) -> None:
        """Look at once, for those a notification may mean."""
        meant = [tenant for tenant in self._paces if mark_of(tenant) == mark]
        pauses = self._awake_since is None and not self._stopping and self._left is None
        if len(meant) == 1 and pauses and self._begun is None and self._begin(meant[0]):
            self._begun = meant[0]
        self._wake_these(meant)

    def _wake_these(self, tenants: Iterable[str]) -> None:
        if self._left is not None:
            return  # each has its turn
        for tenant in tenants:
            pace = self._paces.get(tenant)
            if pace is not None:
                pace.at = pace.interval = 0.0
        self._woken.set()

    def load(self) -> Load:
        """How much there is to do."""
        now = asyncio.get_running_loop().time()
        awake = 0.0 if self._awake_since is None else now - self._awake_since
        return Load(awake, now - self._found_at)

    def quiet(self, activity: int, horizon: float) -> bool:
        """Whether every tenant was looked at and nothing found since ``activity`` was counted,
        and nothing falls due before ``horizon`` (event loop time)."""
        return self._begun is None and all(
            pace.quiet_since == activity and (pace.next_due is None or pace.next_due > horizon)
            for pace in self._paces.values()
        )

    async def run(self) -> None:
        """Look until stopped."""
        loop = asyncio.get_running_loop()
        self._awake_since = loop.time()
        while self._begun is not None or not self._stopping:
            self._woken.clear()
            if self._begun is not None:
                tenant, self._begun = self._begun, None
                await self._visit(tenant, self._paces.get(tenant, _Pace()))
                continue
            now = loop.time()
            due = [t for t, pace in self._paces.items() if self._is_due(t, pace, now)]
            due.sort(key=lambda t: self._paces[t].visited)  # who comes now, before who always does
            if self._left is None:
                self._shares.begin_round()
            for tenant in due:
                if self._stopping:
                    break
                pace = self._paces.get(tenant)
                if pace is None:
                    continue
                if self._shares.in_turn(tenant):
                    await self._visit(tenant, pace)
                else:
                    self._done_with(tenant)
                    await asyncio.sleep(0)
            if not due:
                never = now + self._longest
                at = min((pace.at for pace in self._paces.values()), default=never)
                at = never if self._left is not None else at
                self._awake_since = None
                self._paused()
                try:
                    async with asyncio.timeout(max(at - loop.time(), 0.0)):
                        await self._woken.wait()
                except TimeoutError:
                    pass
                self._awake_since = loop.time()

    def _is_due(self, tenant: str, pace: _Pace, now: float) -> bool:
        return pace.at <= now if self._left is None else tenant in self._left

    async def _visit(self, tenant: str, pace: _Pace) -> None:
        self._visits += 1
        pace.visited = self._visits
        activity = self._activity()
        pace.at = float("inf")  # a wake-up while we look sets it back to 0 and is not lost
        seen = await self._look(tenant)
        self._shares.took(tenant, seen.taken)
        self._done_with(tenant)
        now = asyncio.get_running_loop().time()
        pace.next_due = None if seen.due_in is None else now + seen.due_in
        pace.quiet_since = -1 if seen.found else activity
        if seen.found:
            self._found_at = now
            pace.interval = pace.at = 0.0
        elif pace.at == float("inf"):
            longer = self._longest if self._told() else max(pace.interval * 2, self._shortest)
            pace.interval = min(longer, self._longest)
            pause = pace.interval * random.uniform(0.75, 1.0)
            if seen.due_in is not None:
                pause = min(pause, max(seen.due_in, 0.001))
            pace.at = now + pause

    def _done_with(self, tenant: str) -> None:
        if self._left is not None:
            self._left.discard(tenant)
            if not self._left:
                self._passed.set()
