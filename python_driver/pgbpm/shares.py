"""Whose turn it is: tenants share what a runner can do in proportion to their weights."""

from __future__ import annotations

from collections.abc import Mapping


class Shares:
    """Turns in rounds, by weight (start-time fair queueing).

    Each tenant has a clock of its own, which goes on by what it was given, divided by its weight.
    In a round those have a turn whose clock is not ahead of the slowest one that has work. Who
    comes back, or is new, starts with the slowest: nobody saves up turns, and nobody waits for
    those who had theirs. While no other has work, a tenant has every turn, whatever its weight.
    """

    def __init__(self) -> None:
        self._weights: Mapping[str, int] = {}
        self._clocks: dict[str, float] = {}
        self._slowest = 0.0
        self._slack = 0.0
        self._steps: dict[str, float] = {}
        """What those who were given something in this round went on by."""
        self._passed_over: set[str] = set()

    def weigh(self, weights: Mapping[str, int]) -> None:
        """The weights from now on; who is not among them weighs 1."""
        self._weights = weights

    def begin_round(self) -> None:
        """A round ends, and the next one begins."""
        waiting = [self._clock(tenant) for tenant in (*self._steps, *self._passed_over)]
        self._slowest = min(waiting, default=self._slowest)
        # Those that go on in different steps would else have their turns one by one.
        self._slack = min(self._steps.values(), default=0.0)
        self._clocks = {t: at for t, at in self._clocks.items() if at > self._slowest}
        self._steps = {}
        self._passed_over = set()

    def in_turn(self, tenant: str) -> bool:
        """Whether the tenant has a turn in this round."""
        if self._clock(tenant) <= self._slowest + self._slack:
            return True
        self._passed_over.add(tenant)
        return False

    def took(self, tenant: str, count: int) -> None:
        """It had its turn, and was given so much."""
        if count:
            step = count / max(self._weights.get(tenant, 1), 1)
            self._clocks[tenant] = self._clock(tenant) + step
            self._steps[tenant] = step

    def _clock(self, tenant: str) -> float:
        return max(self._clocks.get(tenant, 0.0), self._slowest)
