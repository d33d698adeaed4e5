"""What a way to send commands is: the command, how far it got, what was seen.

Kinds of destinations of your own: a package names a factory in the entry point group
``pgbpm.delivery``, under the kind that ``register_destination`` is given. It is called with the
:class:`~pgbpm.config.DeliveryConfig` and returns a :class:`Sender`.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from pgbpm.jsontext import NotJson, storable, write

GROUP = "pgbpm.delivery"
PROBES = 8
"""Receivers asked at the same time, beside what is sent."""
EVENTS = 4
"""Subscriptions told at the same time."""


@dataclass(frozen=True, slots=True)
class Report:
    """What was seen of one attempt, as ``mark_commands`` (or ``mark_probes``) takes it.

    ``outcome``: see :mod:`pgbpm.delivery`; of a probe ``Found``, ``Absent`` or ``Unclear``.
    ``retry_after`` in seconds. ``detail["local"]``: the fault is this command's, not its
    receiver's.
    """

    outcome: str
    detail: dict[str, Any] = field(default_factory=dict)
    receipt: dict[str, Any] | None = None
    retry_after: float | None = None

    def item(self, command_id: str, fencing_token: int) -> str:
        """The JSON text of the item for the call."""
        item: dict[str, Any] = {
            "command_id": command_id,
            "fencing_token": fencing_token,
            "outcome": self.outcome,
            "detail": self.detail,
        }
        if self.receipt is not None:
            item["receipt"] = self.receipt
        if self.retry_after is not None:
            item["retry_after_seconds"] = self.retry_after
        try:
            return write(item)
        except NotJson as fault:
            # What became of the command must not be lost with what cannot be stored of it.
            told = {"omitted": str(fault)[:500]}
            item.update({"detail": told} | ({"receipt": told} if self.receipt is not None else {}))
            return write(item)


class Unsendable(Exception):
    """Nothing can leave: the destination or the payload is not right."""


class Abandoned(Exception):
    """Somebody reported that nothing had left, so nothing may leave any more."""


class Progress:
    """How far a sending got. May be used from a thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._written = False
        self._abandoned = False

    @property
    def written(self) -> bool:
        """Whether the receiver may have the command."""
        return self._written

    def leaves(self) -> None:
        """Called just before the first byte after which the receiver may have the command.

        Raises :class:`Abandoned` if it must not leave any more.
        """
        with self._lock:
            if self._abandoned:
                raise Abandoned("given up before anything left")
            self._written = True

    def abandon(self) -> bool:
        """Nothing more may leave; whether something had."""
        with self._lock:
            self._abandoned = True
            return self._written


@dataclass(frozen=True, slots=True)
class Command:
    """One claimed command, its payload checked and, where this receiver may have it, in clear."""

    id: str
    destination: Mapping[str, Any]
    payload: Any
    body: bytes
    """The payload as it was hashed, or with places in clear."""
    sent_at: float
    """Now, by the clock of the database: seconds since 1970."""
    time_left: float
    """Seconds until the lease is no longer ours."""

    @property
    def config(self) -> Mapping[str, Any]:
        """The configuration the destination was registered with."""
        return self.destination.get("config") or {}

    def seconds(self, name: str, default: float) -> float:
        """A time of the configuration, within the lease."""
        value = self.config.get(name)
        try:
            return min(float(value) if value is not None else default, self.time_left)
        except (TypeError, ValueError):
            raise Unsendable(f"the destination is malformed: {name}") from None


class Sender(Protocol):
    """A way to send. What :meth:`send` raises is reported: as ``NotSent`` before
    ``progress.leaves()``, as ``Unknown`` after it. It may be cancelled at any time."""

    async def send(self, command: Command, progress: Progress) -> Report:
        """Send it once; what was seen."""

    async def close(self) -> None:
        """Close what is open."""


class Prober(Sender, Protocol):
    """A way to send that can also ask whether a command arrived."""

    async def probe(self, command: Command) -> Report:
        """Ask; ``Found``, ``Absent`` or ``Unclear``. What it raises is ``Unclear``."""


def broken(progress: Progress, error: str, message: str) -> Report:
    """Nothing came back: had anything left this machine?"""
    written = progress.abandon()
    detail = {"error": error, "message": storable(message)[:500], "written": written}
    return Report("Unknown" if written else "NotSent", detail)
