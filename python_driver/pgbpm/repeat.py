"""Which failed calls are repeated, and how long to wait before.

Repeating is safe because every call of the engine gives the same answer to the same question;
it never uses up an attempt of a task.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

import psycopg

T = TypeVar("T")
logger = logging.getLogger("pgbpm.runner")

CONFLICT_STATES = frozenset({"40001", "40P01", "55P03", "BP503"})
"""Serialization failure, deadlock, lock timeout, "try again": another one was in the way."""

AWAY_CLASSES = frozenset({"08", "53", "57", "58"})
"""Connection lost, out of resources, operator intervention (stop, crash, timeout), system error."""

_TELL_AGAIN_S = 20.0
_TELL_AT_LEAST_S = 300.0

STANDBY = "25006"
"""Read-only transaction: the server we reach became a standby."""

REFUSED_STATES = frozenset({"BP400", "BP422"})
"""What was asked for can never be done; class 22 (data) too."""


def is_conflict(error: BaseException) -> bool:
    """Whether the transaction lost against another one and can be repeated at once."""
    return isinstance(error, psycopg.Error) and error.sqlstate in CONFLICT_STATES


def is_away(error: BaseException) -> bool:
    """Whether the server could not be reached or could not work, or its answer was lost."""
    if not isinstance(error, psycopg.Error):
        return False
    if error.sqlstate is None:  # libpq itself: no connection, broken connection, pool timed out
        return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return error.sqlstate[:2] in AWAY_CLASSES or error.sqlstate == STANDBY


def is_refusal(error: psycopg.Error) -> bool:
    """Whether the engine said that this can never be done as it was asked."""
    state = error.sqlstate or ""
    return state in REFUSED_STATES or state[:2] == "22"


def explain(error: psycopg.Error) -> str:
    """An error in one line: code, message, hint; without the detail, which may quote data."""
    code = f"{error.sqlstate}: " if error.sqlstate else ""
    message = error.diag.message_primary or str(error).strip() or type(error).__name__
    hint = f" ({error.diag.message_hint})" if error.diag.message_hint else ""
    return f"{code}{' '.join(message.split())}{hint}"


class Patience:
    """Exponential pauses with jitter: 10 ms, 20 ms, … up to ``longest`` seconds."""

    def __init__(self, longest: float = 1.0) -> None:
        self._next = 0.01
        self._longest = longest

    def pause(self) -> float:
        """Seconds to wait before the next try."""
        pause, self._next = self._next, min(self._next * 2, self._longest)
        return pause * random.uniform(0.5, 1.0)


class GaveUp(Exception):
    """A call was not answered before its time was up; what it asked for may have happened."""


class Repeater:
    """Repeats calls until they are answered, and tells once when the database is away."""

    def __init__(self) -> None:
        self.stopping = False
        """Looks for work are not repeated any more (what has results in it is)."""
        self.give_up_at: float | None = None
        """Event loop time after which nothing is repeated any more."""
        self.away_since: float | None = None
        self._tell_at = 0.0
        self._tell_in = 0.0
        self.lost_connections = 0
        self.conflicts = 0

    async def __call__(
        self, what: str, call: Callable[[], Awaitable[T]], *, look: bool = False
    ) -> T:
        """The answer of ``call``; ``look``: it asks for work and may be given up when stopping.

        Raises what is not worth repeating, and :class:`GaveUp`.
        """
        loop = asyncio.get_running_loop()
        patience = Patience()
        while True:
            try:
                answer = await call()
            except psycopg.Error as error:
                if is_conflict(error):
                    self.conflicts += 1
                    logger.debug("%s is repeated: %s", what, explain(error))
                elif is_away(error):
                    self._went_away(what, error)
                else:
                    raise
                over = self.give_up_at is not None and loop.time() >= self.give_up_at
                if over or (look and self.stopping):
                    raise GaveUp(f"{what} was not answered: {error}") from error
                await asyncio.sleep(patience.pause())
            else:
                if self.away_since is not None:
                    away = loop.time() - self.away_since
                    self.away_since = None
                    logger.info("the database is back after %.1f s", away)
                return answer

    def _went_away(self, what: str, error: psycopg.Error) -> None:
        self.lost_connections += 1
        now = asyncio.get_running_loop().time()
        if self.away_since is None:
            self.away_since = now
            self._tell_in = _TELL_AGAIN_S
            self._tell_at = now + self._tell_in
            logger.warning(
                "lost the database (%s: %s); repeating until it is back", what, explain(error)
            )
        elif now >= self._tell_at:
            logger.warning("still no database (%.0f s): %s", now - self.away_since, explain(error))
            self._tell_in = min(self._tell_in * 2, _TELL_AT_LEAST_S)
            self._tell_at = now + self._tell_in
