"""Turns in proportion to weights: simulated, without a clock."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import pytest

from pgbpm.pacing import Look, Rounds
from pgbpm.shares import Shares

Give = Callable[[random.Random], int]
GIVEN = {
    "full batches": lambda chance: 100,
    "one by one": lambda chance: 1,
    "what is free": lambda chance: chance.randint(1, 100),
}


def _simulate(weights: dict[str, int], rounds: int, give: Give) -> Counter[str]:
    chance = random.Random(7)
    shares = Shares()
    shares.weigh(weights)
    got: Counter[str] = Counter()
    for _ in range(rounds):
        shares.begin_round()
        for tenant in weights:
            if shares.in_turn(tenant):
                count = give(chance)
                got[tenant] += count
                shares.took(tenant, count)
    return got


@pytest.mark.parametrize("give", GIVEN.values(), ids=GIVEN.keys())
@pytest.mark.parametrize(
    "weights",
    [{"a": 1, "b": 2, "c": 5}, {"a": 1, "b": 100}, {f"t{n}": n % 7 + 1 for n in range(50)}],
    ids=["three", "one to a hundred", "fifty"],
)
def test_shares_follow_the_weights(weights: dict[str, int], give: Give) -> None:
    """Everybody has more to do than can be done: shares within 10 % of the weights."""
    got = _simulate(weights, 20_000 if 100 in weights.values() else 2_000, give)
    total, all_weights = sum(got.values()), sum(weights.values())
    for tenant, weight in weights.items():
        assert got[tenant] / total == pytest.approx(weight / all_weights, rel=0.1), got


def test_alone_a_light_one_has_everything() -> None:
    """Nobody keeps turns for those that have nothing to do."""
    shares = Shares()
    shares.weigh({"light": 1, "heavy": 1000})
    for _ in range(100):
        shares.begin_round()
        assert shares.in_turn("light")
        shares.took("light", 100)
        assert shares.in_turn("heavy")
        shares.took("heavy", 0)


def test_who_comes_back_waits_for_nobody() -> None:
    """After a pause: neither a reserve that was saved up, nor a debt."""
    shares = Shares()
    shares.weigh({"busy": 1, "back": 1, "new": 1})
    shares.begin_round()
    shares.took("back", 500)
    for _ in range(50):
        shares.begin_round()
        if shares.in_turn("busy"):
            shares.took("busy", 100)
    turns: Counter[str] = Counter()
    for _ in range(20):
        shares.begin_round()
        for tenant in ("busy", "back", "new"):
            if shares.in_turn(tenant):
                turns[tenant] += 1
                shares.took(tenant, 100)
    assert max(turns.values()) - min(turns.values()) <= 1, turns


def _run(
    weights: dict[str, int], ready: dict[str, int], until: int, arriving: dict[int, str]
) -> list[str]:
    """The order in which tasks are handed out; ``arriving``: after so many, one for a tenant."""
    order: list[str] = []
    rounds: Rounds

    async def look(tenant: str) -> Look:
        count = min(ready.get(tenant, 0), 100)
        if tenant in ready:
            ready[tenant] -= count
        before = len(order)
        order.extend([tenant] * count)
        for at in [at for at in arriving if before <= at < len(order)]:
            newcomer = arriving.pop(at)
            ready[newcomer] = ready.get(newcomer, 0) + 1
            rounds.wake(newcomer)
        if len(order) >= until or not (any(ready.values()) or arriving):
            rounds.stop()
        return Look(found=count > 0, taken=count)

    async def main() -> None:
        await rounds.run()

    rounds = Rounds("test", look, shortest=3600, longest=3600, activity=lambda: 0)
    rounds.serve(weights)
    asyncio.run(main())
    return order


def test_a_light_one_does_not_starve() -> None:
    """Weight 1 beside 100, both with more than can be done: its hundredth part, all the time."""
    order = _run({"light": 1, "heavy": 100}, {"light": 10**6, "heavy": 10**6}, 101_000, {})
    assert order.count("light") == pytest.approx(1000, rel=0.1)
    places = [n for n, who in enumerate(order) if who == "light"]
    assert max(b - a for a, b in pairwise(places)) <= 10_001 + 100


def test_a_noisy_one_delays_nobody() -> None:
    """20,000 ready tasks in one tenant; others that get one now and then: each is handed out
    after at most one batch of the noisy one, whatever the weights."""
    for weight in (1, 100):
        quiet = {f"q{n}": 1 for n in range(20)}
        arrivals = {n * 700 + 13: f"q{n % 20}" for n in range(28)}
        came = dict(arrivals)
        order = _run({"noisy": weight, **quiet}, {"noisy": 20_000}, 20_028, arrivals)
        assert len(order) == 20_028
        places = [n for n, who in enumerate(order) if who != "noisy"]
        waited = [place - at for place, at in zip(places, sorted(came), strict=True)]
        assert max(waited) <= 100, waited


def test_each_tenant_once_in_a_round_unless_it_had_its_share() -> None:
    """Pages: those whose turn does not come are passed over, and the round ends all the same."""
    looked: Counter[str] = Counter()

    async def look(tenant: str) -> Look:
        looked[tenant] += 1
        return Look(found=True, taken=100)

    async def main() -> None:
        rounds = Rounds("test", look, shortest=1, longest=1, activity=lambda: 0)
        running = asyncio.create_task(rounds.run())
        for _ in range(100):
            rounds.begin_round()
            for page in ({"a": 1, "b": 4}, {"c": 1, "d": 2}):
                rounds.serve(page, once=True)
                await rounds.passed()
        rounds.stop()
        await running

    asyncio.run(main())
    assert looked["b"] == pytest.approx(100, abs=2)
    assert looked["d"] == pytest.approx(50, abs=2)
    assert looked["a"] == pytest.approx(25, abs=2)
    assert looked["c"] == pytest.approx(25, abs=2)
