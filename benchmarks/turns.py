"""Sessions that make the same calls, each call of one right after that of the other.

A machine's pace drifts from second to second; what is compared should be measured side by side.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence

from benchmarks.queues import Timed


class _Stopped(Exception):
    """Another one failed."""


class Turns:
    """Threads of which one runs at a time: at the end of each of its timed calls it is the next
    one's turn."""

    def __init__(self, count: int) -> None:
        self._turn = [threading.Semaphore(0) for _ in range(count)]
        self._at_work: set[int] = set()
        self._faults: list[BaseException] = []

    def timed(self, number: int, timed: Timed) -> Timed:
        """``timed`` for number ``number``, who hands on after each call."""

        @contextlib.contextmanager
        def one(name: str) -> Iterator[None]:
            with timed(name):
                yield
            self._hand_on(number)
            self._turn[number].acquire()
            if self._faults:
                raise _Stopped

        return one

    def run(self, work: Sequence[Callable[[], None]], first: int = 0) -> None:
        """Do everybody's work. Raises what the first one to fail raised."""
        self._at_work, self._faults = set(range(len(work))), []

        def one(number: int) -> None:
            self._turn[number].acquire()
            try:
                if not self._faults:
                    work[number]()
            except _Stopped:
                pass
            except BaseException as fault:  # raised below, in the caller's thread
                self._faults.append(fault)
            self._at_work.discard(number)
            self._hand_on(number)

        threads = [threading.Thread(target=one, args=(number,)) for number in range(len(work))]
        for thread in threads:
            thread.start()
        self._turn[first].release()
        for thread in threads:
            thread.join()
        if self._faults:
            raise self._faults[0]

    def _hand_on(self, number: int) -> None:
        """To the next one who is still at work; where there is none, to oneself."""
        count = len(self._turn)
        order = [(number + step) % count for step in range(1, count + 1)]
        for other in order:
            if other in self._at_work:
                self._turn[other].release()
                return
