"""Takes values that were encrypted out of texts that are stored or logged: messages, receipts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from functools import cached_property
from typing import Any
from urllib.parse import quote, quote_plus

REDACTED = "(redacted)"
_SHORT = 3
_LONG_NAME = 12
_MOST = 10_000


class Redactor:
    """Knows some clear values; ``Redactor()`` knows none and changes nothing.

    Found is a value as it is, in any letter case, and as Python, JSON or a URL writes it. Values
    of one or two characters are taken out where they stand alone. ``true``, ``false`` and the names
    inside an encrypted object are no secrets.
    """

    def __init__(self, values: Iterable[Any] = ()) -> None:
        self._values = list(values)

    def with_values(self, values: Iterable[Any]) -> Redactor:
        """One that knows more."""
        more = [*self._values, *values]
        return Redactor(more) if more else self

    def text(self, text: str) -> str:
        """The text without the values."""
        if not self._values:
            return text
        if self._words is None:
            return REDACTED
        return self._words.sub(REDACTED, text)

    def data(self, value: Any) -> Any:
        """JSON data without the values, in texts, numbers and names."""
        if not self._values:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self._name(str(name)): self.data(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self.data(item) for item in value]
        if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
            found = self.text(str(value))
            return value if found == str(value) else found
        return value

    def _name(self, name: str) -> str:
        """Names are mostly no secrets: only what can hardly be one by chance is taken out."""
        return self.text(name) if len(name) >= _LONG_NAME else name

    @cached_property
    def _words(self) -> re.Pattern[str] | None:
        """None if there are too many to look for."""
        words: set[str] = set()
        for scalar in _scalars(self._values):
            words.update(_writings(scalar))
            if len(words) > _MOST:
                return None
        words -= {"", " "}
        if not words:
            return re.compile(r"(?!)")
        return re.compile("|".join(map(_pattern, sorted(words, key=len, reverse=True))), re.I)


def _scalars(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _scalars(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _scalars(item)
    elif value is not None and not isinstance(value, bool):
        yield value


def _writings(value: Any) -> Iterator[str]:
    if not isinstance(value, str):
        yield str(value)
        if isinstance(value, float) and value.is_integer():
            yield str(int(value))
        return
    stripped = value.strip()
    for text in (value, stripped, *stripped.splitlines()):
        yield text
        yield repr(text)[1:-1]
        yield repr(text.encode(errors="replace"))[2:-1]
        yield json.dumps(text)[1:-1]
        yield json.dumps(text, ensure_ascii=False)[1:-1]
        yield quote(text, safe="", errors="replace")
        yield quote_plus(text, errors="replace")


def _pattern(word: str) -> str:
    escaped = re.escape(word)
    if len(word) < _SHORT:
        return rf"(?<!\w){escaped}(?!\w)"
    return escaped
