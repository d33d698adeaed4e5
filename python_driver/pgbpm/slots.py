"""Places for handlers, and how many tasks are claimed ahead for them."""

from __future__ import annotations

import asyncio
from collections import deque

_WEIGHT = 0.2
_SHORTEST_S = 1e-5


class Slots:
    """Places for handlers that run at the same time, and a short queue before them.

    What is claimed is held (:meth:`take`, :meth:`give`); of that at most ``size`` run
    (:meth:`enter`, :meth:`leave`). So much more is claimed as handlers, by the time they took so
    far, get through within ``ahead_s``, and never more than ``most_ahead``: short ones do not wait
    for a claim each, and what takes long lies in nobody's queue.
    """

    def __init__(self, size: int, *, ahead_s: float = 0.0, most_ahead: int = 0) -> None:
        self.size = size
        self._ahead_s = ahead_s
        self._most_ahead = most_ahead
        self._usual_s: float | None = None
        self._held = 0
        self._running = 0
        self._queue: deque[asyncio.Future[bool]] = deque()
        self._change = asyncio.Event()
        self._closed = False

    @property
    def free(self) -> int:
        """How many may still be claimed."""
        return self.size + self._ahead() - self._held

    def _ahead(self) -> int:
        if self._usual_s is None:
            return 0
        through = self.size * self._ahead_s / max(self._usual_s, _SHORTEST_S)
        return min(int(through), self._most_ahead)

    async def wait(self) -> int:
        """Number of free places once there is one; 0 after :meth:`close`."""
        while self.free <= 0 and not self._closed:
            self._change.clear()
            await self._change.wait()
        return 0 if self._closed else self.free

    def take(self, count: int) -> None:
        """Occupy places."""
        self._held += count

    def give(self) -> None:
        """One place is free again."""
        self._held -= 1
        self._change.set()

    async def enter(self) -> bool:
        """Begin to run, in turn; False when nothing more may begin."""
        if self._closed:
            return False
        if self._running < self.size:
            self._running += 1
            return True
        turn: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.result():
                self._next()
            raise

    def leave(self, seconds: float) -> None:
        """One that ran has ended, after so many seconds."""
        usual = seconds if self._usual_s is None else self._usual_s
        self._usual_s = usual + (seconds - usual) * _WEIGHT
        self._next()

    def _next(self) -> None:
        while self._queue:
            turn = self._queue.popleft()
            if not turn.done():
                turn.set_result(True)
                return
        self._running -= 1

    def close(self) -> None:
        """Nobody takes a place any more, and what has not begun does not begin."""
        self._closed = True
        self._change.set()
        while self._queue:
            turn = self._queue.popleft()
            if not turn.done():
                turn.set_result(False)
