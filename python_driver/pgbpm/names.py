"""Names of receivers, resolved in threads of their own.

The system's resolver cannot be given up: a name whose servers are dead holds its thread for as long
as the system likes, often half a minute. So each name is looked up by one thread at a time, however
many wait for it, and names that are new or were slow never get all the threads: those that were
answered quickly always find one.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

_THREADS = 32
_DOUBTFUL = 24
"""So many threads at most look for names that are new, or were not answered quickly."""
_QUICK_S = 1.0
_REMEMBERED = 10_000

Resolve = Callable[..., list[Any]]


@dataclass(slots=True, eq=False)
class _Search:
    host: str
    port: int
    loop: asyncio.AbstractEventLoop
    answer: asyncio.Future[list[str]]
    doubtful: bool
    waiting: int = 0
    done: Callable[[_Search, list[str] | OSError, float], None] = field(repr=False, default=print)


class Names:
    """Resolves names; one per event loop."""

    def __init__(
        self, *, threads: int = _THREADS, doubtful: int = _DOUBTFUL, resolve: Resolve | None = None
    ) -> None:
        self._most = threads
        self._most_doubtful = doubtful
        self._resolve = resolve
        self._searches: dict[tuple[str, int], _Search] = {}
        self._queue: deque[_Search] = deque()
        self._doubtful_queue: deque[_Search] = deque()
        self._busy = self._busy_doubtful = 0
        self._threads = 0
        self._work: SimpleQueue[_Search | None] = SimpleQueue()
        self._quick: OrderedDict[str, None] = OrderedDict()

    async def find(self, host: str, port: int) -> list[str]:
        """The addresses of a name, each once; waits as long as the caller does.

        Raises ``OSError`` if it has none. An address is its own.
        """
        if is_address(host):
            return [host]
        search = self._searches.get((host, port))
        if search is None:
            search = self._begin(host, port)
        search.waiting += 1
        try:
            return await asyncio.shield(search.answer)
        finally:
            search.waiting -= 1
            if not search.waiting:
                self._drop(search)

    def close(self) -> None:
        """Let idle threads end. Those that look for a name are not waited for."""
        for _ in range(self._threads):
            self._work.put(None)
        self._threads = 0

    def _begin(self, host: str, port: int) -> _Search:
        loop = asyncio.get_running_loop()
        doubtful = host not in self._quick
        search = _Search(host, port, loop, loop.create_future(), doubtful, done=self._told)
        # Nobody may be left to hear of an error.
        search.answer.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._searches[host, port] = search
        (self._doubtful_queue if doubtful else self._queue).append(search)
        self._next()
        return search

    def _drop(self, search: _Search) -> None:
        """Nobody waits for it any more: if no thread is at it yet, none has to."""
        for queue in (self._queue, self._doubtful_queue):
            if search in queue:
                queue.remove(search)
                self._searches.pop((search.host, search.port), None)
                search.answer.cancel()

    def _next(self) -> None:
        while self._busy < self._most:
            if self._queue:
                search = self._queue.popleft()
            elif self._doubtful_queue and self._busy_doubtful < self._most_doubtful:
                search = self._doubtful_queue.popleft()
                self._busy_doubtful += 1
            else:
                return
            self._busy += 1
            if self._threads < self._busy:
                self._threads += 1
                threading.Thread(target=self._run, name="pgbpm-names", daemon=True).start()
            self._work.put(search)

    def _run(self) -> None:
        while (search := self._work.get()) is not None:
            began = time.monotonic()
            answer: list[str] | OSError
            try:
                resolve = self._resolve or socket.getaddrinfo
                found = resolve(search.host, search.port, type=socket.SOCK_STREAM)
                answer = list(dict.fromkeys(str(entry[4][0]) for entry in found))
            except OSError as error:
                answer = error
            except Exception as error:  # a name that cannot be one
                answer = OSError(str(error))
            try:
                search.loop.call_soon_threadsafe(
                    search.done, search, answer, time.monotonic() - began
                )
            except RuntimeError:
                return  # the loop is closed, nobody listens

    def _told(self, search: _Search, answer: list[str] | OSError, seconds: float) -> None:
        self._busy -= 1
        self._busy_doubtful -= search.doubtful
        self._searches.pop((search.host, search.port), None)
        self._quick.pop(search.host, None)
        if seconds < _QUICK_S:
            self._quick[search.host] = None
            if len(self._quick) > _REMEMBERED:
                self._quick.popitem(last=False)
        if not search.answer.done():
            if isinstance(answer, OSError):
                search.answer.set_exception(answer)
            else:
                search.answer.set_result(answer)
        self._next()


def is_address(host: str) -> bool:
    """Whether it is an IP address and no name."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
