"""How a receiver misbehaves, when the runner dies, how the receiver is described; what must follow.

The expectation is written from the table "what happened / goes to" and not from the engine's code:
it knows three things about a first attempt (whether the effect was stored, what came back, whether
the runner lived to report it) and what each kind of receiver allows after that.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any


@dataclass(frozen=True, slots=True)
class Mode:
    """What a receiver does with the first request of a command. Later ones it answers well."""

    stored: bool
    """Whether the command takes effect."""
    seen: str
    """What the sender is left with: ``ok``, ``silence``, ``refused``, ``busy``, ``error``,
    ``conflict``."""


MODES = {
    "ok": Mode(True, "ok"),
    "dropped": Mode(False, "silence"),  # accepted the connection, read, hung up
    "dropped-stored": Mode(True, "silence"),
    "late": Mode(True, "silence"),  # answers when nobody listens any more
    "twice": Mode(True, "ok"),  # two answers to one request
    "half": Mode(True, "silence"),  # half an answer
    "drip": Mode(True, "silence"),  # a byte now and then
    "conflict": Mode(True, "conflict"),  # 409
    "refused": Mode(False, "refused"),  # 422
    "busy": Mode(False, "busy"),  # 429 with Retry-After
    "error": Mode(False, "error"),  # 500, nothing stored
    "error-stored": Mode(True, "error"),  # 500 all the same
}

KILLS = ("never", "before", "during", "accepted", "answered")
"""When the runner dies: never, before the request leaves, when it has left, when the receiver has
taken it, when the answer came but is not marked."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A receiver: what it does with keys, and what the destination says of it."""

    honours_keys: bool
    arguments: dict[str, Any]
    """Of ``bpm.register_destination``."""

    @property
    def asked(self) -> bool:
        """Whether it can be asked for a command."""
        return "probe_url" in self.arguments

    @property
    def conflict_means(self) -> str:
        """What its 409 says."""
        return str(self.arguments.get("conflict_means", "Failed"))


PROFILES = {
    "plain": Profile(False, {}),
    "safe": Profile(False, {"server_error_safe": True}),
    "keyed": Profile(True, {"resend_allowed": True}),
    "done": Profile(True, {"resend_allowed": True, "conflict_means": "Sent"}),
    "running": Profile(True, {"resend_allowed": True, "conflict_means": "Pending"}),
    "asked": Profile(False, {"probe_url": "/of/{command_id}", "absent_means": "Pending"}),
    "curious": Profile(False, {"probe_url": "/of/{command_id}", "max_attempts": 4}),
}


@dataclass(frozen=True, slots=True)
class Case:
    """One command."""

    profile: str
    mode: str
    kill: str = "never"


def all_cases() -> list[Case]:
    """Each profile × each way to misbehave × each moment to die."""
    return [Case(*case) for case in product(PROFILES, MODES, KILLS)]


def expected(case: Case) -> tuple[str, int]:
    """The state the command ends in, and how many effects the receiver has then."""
    profile, mode = PROFILES[case.profile], MODES[case.mode]
    stored = mode.stored
    if case.kill == "before":  # the receiver has still to see its first request
        state, _ = _unknown(profile, stored=False)
        return expected(Case(case.profile, case.mode)) if state == "Sent" else (state, 0)
    if case.kill != "never" or mode.seen == "silence":
        return _unknown(profile, stored)
    if mode.seen == "error":
        return _again(profile, stored) if _is_safe(profile) else _unknown(profile, stored)
    if mode.seen == "busy":
        return _again(profile, stored)
    if mode.seen == "conflict":
        if profile.conflict_means == "Pending":
            return _again(profile, stored)
        return profile.conflict_means, int(stored)
    return ("Sent" if mode.seen == "ok" else "Failed"), int(stored)


def _is_safe(profile: Profile) -> bool:
    return bool(profile.arguments.get("server_error_safe"))


def _again(profile: Profile, stored: bool) -> tuple[str, int]:
    """A second request, which is answered well."""
    return "Sent", 1 if profile.honours_keys or not stored else 2


def _unknown(profile: Profile, stored: bool) -> tuple[str, int]:
    """Nobody knows whether it arrived."""
    if profile.asked:
        if stored:
            return "Sent", 1
        if profile.arguments.get("absent_means") == "Pending":
            return _again(profile, stored)
        return "Unknown", 0
    return _again(profile, stored) if profile.honours_keys else ("Unknown", int(stored))
