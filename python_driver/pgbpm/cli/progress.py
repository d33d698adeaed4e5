"""A bar on standard error while something takes long, for people only."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TypeVar

import click

T = TypeVar("T")


def with_progress(items: Sequence[T], label: str, *, worth: int = 5) -> Iterator[T]:
    """The items one by one, with a bar if there are at least ``worth`` and somebody watches."""
    if len(items) < worth or not sys.stderr.isatty():
        yield from items
        return
    with click.progressbar(items, label=label, file=sys.stderr) as bar:
        yield from bar
