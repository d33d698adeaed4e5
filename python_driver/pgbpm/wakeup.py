"""Waking sleeping runners: calls that make work tell a channel, but only while somebody sleeps.

The database knows that somebody sleeps by an advisory lock one of the sleepers, the guard, holds
alone (``bpm_core.wake_sleepers``). Whoever writes tries to share that lock and keeps its share to
the end of its transaction; one that cannot sends a notification, which all runners hear. So the
guard waits, when it takes the lock, for those who wrote before it slept, and looks once more. A
guard that dies loses the lock with its connection; another sleeper takes its place.

A notification is a hint. Polling finds everything without it, so a lost one costs a little time
and nothing else; and where there are many, the guard leaves its post and the runners poll.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import psycopg

from pgbpm.db import AsyncConnection
from pgbpm.ear import Ear

logger = logging.getLogger("pgbpm.runner")
CHANNEL = "pgbpm_wakeup"
GUARD_ENDS = "guard"
"""What a guard tells the other sleepers when it leaves."""

_SPACE = 1885823597
_TRY_GUARD = f"select pg_try_advisory_lock({_SPACE}, 2) as done"
_LOCK_SLEEPERS = f"select pg_advisory_lock({_SPACE}, 1)"
_UNLOCK = "select pg_advisory_unlock_all(), pg_notify(%s, %s)"
# A guard whose machine vanished must not hold its lock for the two hours TCP takes by itself.
_KEEPALIVE = """
select set_config(s.name, s.value, false)
  from (values ('tcp_keepalives_idle', '10'), ('tcp_keepalives_interval', '5'),
               ('tcp_keepalives_count', '3'), ('tcp_user_timeout', '25000'),
               ('lock_timeout', '0'), ('idle_session_timeout', '0')) s(name, value)
"""

_BUSY_AFTER_S = 0.05
_FINDS_S = 0.25
_MOST_PER_S = 200.0
_BURST = 100.0
_LONGEST_LEAVE_S = 1.0
_RETRY_S = 1.0


@functools.lru_cache(maxsize=4096)
def mark_of(tenant: str) -> str:
    """What a notification says of a tenant: enough to look in few, too little to know it."""
    return hashlib.md5(tenant.encode(), usedforsecurity=False).hexdigest()[:2]


@dataclass(frozen=True, slots=True)
class Load:
    """How a runner looks for work: for how long without a pause, and when it last found some.

    ``awake_s``: 0 while it pauses. ``found_s``: seconds since.
    """

    awake_s: float
    found_s: float


def is_busy(loads: list[Load]) -> bool:
    """Whether a runner needs no wake-up: it finds work without ever pausing, or has no place
    for more."""
    if any(load.awake_s > _BUSY_AFTER_S and load.found_s < _FINDS_S for load in loads):
        return True
    return all(load.awake_s > _BUSY_AFTER_S for load in loads)


class Wakeup:
    """Listens, and stands guard while nobody else does and the runner sleeps.

    ``connect(role)`` opens an autocommit connection (two are used: one listens, the other may
    have to wait for a lock), ``woken(work, mark)`` is called when there may be work (None: of any
    kind, of any tenant), ``busy`` tells whether the runner has enough to do, ``ours`` whether a
    notification comes from a connection of this runner; ``statement`` is what the connection that
    listens has at hand, see :class:`Ear`.
    """

    def __init__(
        self,
        connect: Callable[[str], Awaitable[AsyncConnection]],
        woken: Callable[[str | None, str | None], None],
        busy: Callable[[], bool],
        ours: Callable[[int], bool],
        statement: str,
    ) -> None:
        self._connect = connect
        self._woken = woken
        self._busy = busy
        self._ours = ours
        self._statement = statement
        self._listening = asyncio.Event()
        self._paused = asyncio.Event()
        self._stirred = asyncio.Event()
        self._guard_left = asyncio.Event()
        self._tokens = _BURST
        self._counted_at = 0.0
        self._leave_s = 0.0
        self.guarding = False
        """Whether this runner is the guard now and holds the lock."""
        self.ear: Ear | None = None
        """What listens, while it does."""

    def paused(self) -> None:
        """The runner found nothing and pauses."""
        self._paused.set()

    def stirred(self) -> None:
        """The runner found something."""
        self._stirred.set()

    async def run(self) -> None:
        """Listen and stand guard until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._again("wakeup", self._listen))
            group.create_task(self._again("guard", self._take_turns))

    async def _again(self, role: str, serve: Callable[[AsyncConnection], Awaitable[None]]) -> None:
        while True:
            try:
                async with await self._connect(role) as connection:
                    await serve(connection)
            except (psycopg.Error, OSError) as error:
                logger.debug("no wake-ups (%s): %s", role, error)
            await asyncio.sleep(_RETRY_S)

    # -- listening -------------------------------------------------------------------------------

    async def _listen(self, connection: AsyncConnection) -> None:
        ear = Ear(connection, self._heard)
        await ear.listen(CHANNEL, self._statement)
        self._listening.set()
        self.ear = ear
        try:
            self._woken(None, None)  # what was told before we listened
            await ear.until_lost()
        finally:
            self.ear = None
            self._listening.clear()

    def _heard(self, payload: str, pid: int) -> None:
        if payload == GUARD_ENDS:
            self._guard_left.set()
            return
        work, _, mark = payload.partition(" ")
        # What our own calls made ready we look for anyway, except what the next tick drives.
        if work == "tick" or not self._ours(pid):
            self._woken(work or None, mark or None)
        self._count()
        self._stirred.set()

    def _count(self) -> None:
        self._tokens = self._left() - 1.0
        self._counted_at = asyncio.get_running_loop().time()

    def _left(self) -> float:
        """How many notifications may still come at once before they are too many."""
        passed = asyncio.get_running_loop().time() - self._counted_at
        return min(self._tokens + passed * _MOST_PER_S, _BURST)

    # -- standing guard --------------------------------------------------------------------------

    async def _take_turns(self, connection: AsyncConnection) -> None:
        await connection.execute(_KEEPALIVE)
        loop = asyncio.get_running_loop()
        while True:
            await self._asleep()
            self._guard_left.clear()
            cursor = await connection.execute(_TRY_GUARD)
            row = await cursor.fetchone()
            if not (row and row["done"]):  # somebody else stands guard for all of us
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_RETRY_S * random.uniform(0.75, 1.0)):
                        await self._guard_left.wait()
                continue
            began = loop.time()
            try:
                if await self._lock(connection):
                    self.guarding = True
                    self._woken(None, None)  # what was written until nobody could miss us
                    await self._until_busy()
            finally:
                if self.guarding:
                    self.guarding = False
                    self._woken(None, None)  # nobody tells us any more: back to polling
            await connection.execute(_UNLOCK, [CHANNEL, GUARD_ENDS])
            # Short watches mean load: polling is cheaper then, and writers are left alone.
            short = loop.time() - began < 1.0
            self._leave_s = min(self._leave_s * 2, _LONGEST_LEAVE_S) if short else _BUSY_AFTER_S

    async def _asleep(self) -> None:
        await asyncio.sleep(self._leave_s)
        self._leave_s = max(self._leave_s, _BUSY_AFTER_S)
        await self._listening.wait()
        while self._busy():
            self._paused.clear()
            await self._paused.wait()
            await asyncio.sleep(_BUSY_AFTER_S / 2)

    async def _lock(self, connection: AsyncConnection) -> bool:
        """Take the lock. While we wait for those who write, newcomers see us already."""
        locking = asyncio.create_task(connection.execute(_LOCK_SLEEPERS))
        try:
            looked = False
            while not locking.done():
                await asyncio.wait([locking], timeout=_BUSY_AFTER_S)
                if not locking.done() and self._has_enough():
                    await connection.cancel_safe()
                    await asyncio.wait([locking])
                elif not locking.done() and not looked:
                    looked = True  # what was committed before we stood in the queue
                    self._woken(None, None)
        except asyncio.CancelledError:
            locking.cancel()
            raise
        try:
            await locking
        except psycopg.errors.QueryCanceled:
            return False
        return True

    async def _until_busy(self) -> None:
        while True:
            self._stirred.clear()
            await self._stirred.wait()
            await asyncio.sleep(_BUSY_AFTER_S)
            if self._has_enough():
                return

    def _has_enough(self) -> bool:
        return self._left() < 0 or self._busy()
