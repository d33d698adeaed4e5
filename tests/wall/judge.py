"""What came of a call, and whether it may."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from tests.wall.world import UUID, Tenant

DENIED = "42501"
OK = "00000"
_TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?([+-]\d\d(:\d\d)?|Z)?")
_NUMBER = re.compile(r"(?<![0-9a-f-])\d+(\.\d+)?(?![0-9a-f-])")
"""Costs, horizons, counters: they differ from call to call."""
_BEFORE_THE_DOOR = {"22P02", "22003", "22007", "22008", "22023", "22P05", "22021", "22030"}
"""PostgreSQL's own refusals of a value that is none of its type."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one call gave."""

    code: str
    message: str | None = None
    detail: str | None = None
    hint: str | None = None
    context: str | None = None
    answer: str | None = None
    touched: bool = False
    changed: bool = False
    micros: int = 0

    @property
    def said(self) -> str:
        """Everything the caller gets to read."""
        parts = (self.answer, self.message, self.detail, self.hint, self.context)
        return "\n".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class Call:
    """One call: by whom, of what, in which series."""

    series: str
    function: str
    role: str
    tenant: str | None
    text: str
    setting: str = ""

    def as_json(self) -> dict[str, Any]:
        """For the report."""
        return {
            "series": self.series, "function": self.function, "role": self.role,
            "tenant": self.tenant, "setting": self.setting, "call": self.text[:1000],
        }  # fmt: skip


@dataclass(slots=True)
class Findings:
    """What the report lists."""

    leaks: list[dict[str, Any]] = field(default_factory=list)
    unexpected: list[dict[str, Any]] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def leak(self, call: Call, what: str, said: str = "") -> None:
        """Something of another tenant was seen, changed or told apart."""
        self.leaks.append({**call.as_json(), "what": what, "said": said[:1000]})

    def odd(self, call: Call, outcome: Outcome, what: str) -> None:
        """A code, or an answer, that should not come."""
        self.unexpected.append(
            {**call.as_json(), "code": outcome.code, "what": what, "said": outcome.said[:1000]}
        )


class Secrets:
    """What belongs to others: their ids, and words with their marks."""

    def __init__(self, others: list[Tenant]) -> None:
        self._ids = set().union(*(t.ids for t in others)) if others else set()
        marks = "|".join(re.escape(t.mark) for t in others)
        self._words = re.compile(rf"(?:{marks})(?:[- ]\w+)?")

    def in_text(self, said: str, known: str) -> str | None:
        """The first thing in ``said`` that the caller did not bring himself (``known``)."""
        for found in set(UUID.findall(said)) & self._ids:
            if found not in known:
                return str(found)
        for match in self._words.finditer(said):
            if match.group(0) not in known:
                return match.group(0)
        return None


def code_is_expected(code: str) -> bool:
    """Of our class, done, or refused by PostgreSQL before the function was entered."""
    return code in (OK, DENIED) or code.startswith("BP") or code in _BEFORE_THE_DOOR


def comparable(outcome: Outcome, back: dict[str, str]) -> tuple[str | None, ...]:
    """An outcome without what differs from call to call; ``back``: ghost -> victim."""

    def plain(text: str | None) -> str | None:
        if text is None:
            return None
        for ghost, real in back.items():
            text = text.replace(ghost, real)
        known = set(back.values())
        text = UUID.sub(lambda m: m.group(0) if m.group(0) in known else "<id>", text)
        return _NUMBER.sub("#", _TIME.sub("<time>", text))

    return (
        outcome.code, plain(outcome.message), plain(outcome.detail), plain(outcome.hint),
        plain(outcome.answer),
    )  # fmt: skip
