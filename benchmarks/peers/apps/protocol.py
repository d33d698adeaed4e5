"""What the programs have in common: how they are called, and what they are told."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

VARIABLES = {"amount": 50, "customer": {"country": "DE", "vip": False}}
PATCH = {"ok": True}
FEED = 100
"""Instances started per call, where a peer has a call that starts many."""


def call(commands: dict[str, Callable[..., Any]]) -> None:
    """Run the command that stands on the command line."""
    name, *arguments = sys.argv[1:]
    answer = commands[name](*arguments)
    if asyncio.iscoroutine(answer):
        asyncio.run(answer)


def ready() -> None:
    """Tell that work may come."""
    print("ready", flush=True)


def orders() -> Iterator[int]:
    """How many instances to start, as often as somebody asks."""
    ready()
    for line in sys.stdin:
        yield int(line)


async def orders_async(start: Callable[[int], Awaitable[None]]) -> None:
    """Start as many as somebody asks, where an event loop runs."""
    ready()
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        await start(int(line))


def shares(count: int) -> Iterator[int]:
    """``count`` in parts of at most ``FEED``."""
    for first in range(0, count, FEED):
        yield min(FEED, count - first)
