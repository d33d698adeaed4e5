"""Collects items and hands them on in batches, by count or by age."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Batcher(Generic[T]):
    """Items per tenant, sent in batches of one tenant by a few writers.

    A batch goes out when it is full, when its oldest item is ``max_age`` seconds old, or as soon
    as a writer is free after that. ``send`` must not raise; it has the items' fate in its hands.
    """

    def __init__(
        self,
        send: Callable[[str, list[T]], Awaitable[None]],
        *,
        max_items: int,
        max_age: float,
        writers: int,
    ) -> None:
        self._send = send
        self._max_items = max_items
        self._max_age = max_age
        self._writers = writers
        self._waiting: dict[str, deque[T]] = {}
        self._ripe: asyncio.Queue[str] = asyncio.Queue()
        self._queued: set[str] = set()
        self._idle = asyncio.Event()
        self._idle.set()
        self.pending = 0
        """Items put in and not yet handed over and answered."""

    def put(self, tenant: str, item: T) -> None:
        """Add an item; returns at once."""
        waiting = self._waiting.setdefault(tenant, deque())
        waiting.append(item)
        self.pending += 1
        self._idle.clear()
        if len(waiting) >= self._max_items:
            self._ripen(tenant)
        elif len(waiting) == 1:
            self._ripen_later(tenant)

    def _ripen_later(self, tenant: str) -> None:
        asyncio.get_running_loop().call_later(self._max_age, self._ripen, tenant)

    def _ripen(self, tenant: str) -> None:
        if self._waiting.get(tenant) and tenant not in self._queued:
            self._queued.add(tenant)
            self._ripe.put_nowait(tenant)

    async def run(self) -> None:
        """Send batches until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(self._writers):
                group.create_task(self._write())

    async def _write(self) -> None:
        while True:
            tenant = await self._ripe.get()
            self._queued.discard(tenant)
            waiting = self._waiting.get(tenant, deque())
            batch = [waiting.popleft() for _ in range(min(len(waiting), self._max_items))]
            if len(waiting) >= self._max_items:
                self._ripen(tenant)
            elif waiting:
                self._ripen_later(tenant)
            else:
                self._waiting.pop(tenant, None)
            if not batch:
                continue
            try:
                await self._send(tenant, batch)
            finally:
                self.pending -= len(batch)
                if not self.pending:
                    self._idle.set()

    async def drained(self) -> None:
        """Wait until everything put in has been answered."""
        await self._idle.wait()
