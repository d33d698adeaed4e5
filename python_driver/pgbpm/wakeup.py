"""Waking sleeping runners by LISTEN and NOTIFY, beside the work and never in its transactions.

A notification is a hint: it says that a look may be worth while. Polling finds everything without
it, so a lost one costs a little time and nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

import psycopg

CHANNEL = "pgbpm_wakeup"
logger = logging.getLogger("pgbpm.runner")


class Wakeup:
    """Listens for other runners (on a connection of its own) and tells them of new work.

    ``connect`` opens an autocommit connection, ``notify(channel, payload)`` sends one
    notification, ``woken`` is called when somebody else sent one.
    """

    def __init__(
        self,
        me: str,
        connect: Callable[[], Awaitable[psycopg.AsyncConnection[dict[str, object]]]],
        notify: Callable[[str, str], Awaitable[None]],
        woken: Callable[[], None],
        *,
        quietest: float = 0.1,
    ) -> None:
        self._me = me
        self._connect = connect
        self._notify = notify
        self._woken = woken
        self._quietest = quietest
        self._news = asyncio.Event()

    def tell(self) -> None:
        """There may be work for others. Returns at once; several calls become one notification."""
        self._news.set()

    async def run(self) -> None:
        """Listen and tell until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._listen())
            group.create_task(self._send())

    async def _send(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            with contextlib.suppress(psycopg.Error):  # PoolTimeout is one too
                await self._notify(CHANNEL, self._me)
            await asyncio.sleep(self._quietest)

    async def _listen(self) -> None:
        while True:
            try:
                async with await self._connect() as connection:
                    await connection.execute(f"listen {CHANNEL}")
                    self._woken()  # what was told before we listened
                    async for notice in connection.notifies():
                        if notice.payload != self._me:
                            self._woken()
            except (psycopg.Error, OSError) as error:
                logger.debug("not listening for wake-ups: %s", error)
            await asyncio.sleep(1.0)
