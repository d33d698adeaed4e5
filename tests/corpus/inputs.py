"""Values that drive conditions both ways, guessed from the texts of the expressions.

No evaluation happens here: a path gets a handful of values worth trying, taken from the literals
it is compared with. Which of them open which way the play finds out.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.corpus.drawing import Drawing, Use

MISSING: Any = type("Missing", (), {"__repr__": lambda self: "missing"})()
"""The variable is not set at all."""

_TOKEN = re.compile(
    r"""\s*(?:(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    |(?P<number>\d+(?:\.\d+)?)
    |(?P<name>[^\W\d]\w*(?:\s*\.\s*[^\W\d]\w*)*)
    |(?P<sign>&&|\|\||[=!<>]=|\S))""",
    re.X,
)
_WORDS = {
    *("and", "or", "not", "empty", "eq", "ne", "lt", "le", "gt", "ge", "div", "mod", "if", "then"),
    *("else", "some", "every", "satisfies", "in", "between", "is", "defined", "null", "true"),
    *("false", "return", "for", "instance", "of"),
}
_EQUAL = {"=", "==", "!=", "eq", "ne"}
_ORDER = {"<", ">", "<=", ">=", "lt", "le", "gt", "ge"}
_LITERALS = {"true": True, "false": False, "null": None}
CALLED = "called"
"""The process that expressions for called elements name."""
_ROLES: dict[str, tuple[Any, ...]] = {
    "list": (["a", "b", "c"], [], ["a"]),
    "number": (2, 1, 3, 0),
    "time": ("PT1S",),
    "date": ("2030-01-31T12:00:00Z",),
    "key": ("key",),
    "process": (CALLED,),
    "text": ("somebody",),
}


class _Other(str):
    """A text that is none of the literals; one of them is enough for a path."""


@dataclass(slots=True)
class _Token:
    kind: str
    text: str

    @property
    def is_literal(self) -> bool:
        return self.kind in {"text", "number"} or self.text in _LITERALS

    @property
    def value(self) -> Any:
        if self.kind == "text":
            return re.sub(r"\\(.)", r"\1", self.text[1:-1])
        if self.kind == "number":
            return float(self.text) if "." in self.text else int(self.text)
        return _LITERALS[self.text]


@dataclass(slots=True)
class Candidates:
    """For every path some values worth trying, the likeliest first."""

    values: dict[str, list[Any]] = field(default_factory=dict)
    elements: dict[str, str] = field(default_factory=dict)
    """Path of a collection → the variable that holds one element of it."""

    def add(self, path: str, values: Iterable[Any]) -> None:
        """Values to try for a path."""
        known = self.values.setdefault(path, [])
        for value in values:
            if not any(
                value is k or (isinstance(value, bool) == isinstance(k, bool) and value == k)
                for k in known
            ):
                known.append(value)

    def paths(self, text: str | None) -> list[str]:
        """The paths of an expression, that have something to be varied."""
        found = [] if text is None else [p for p, _ in _linked(text, bare=True)]
        return [p for p in dict.fromkeys(found) if p in self.values]

    def draw(self, rng: random.Random, given: dict[str, Any] | None = None) -> dict[str, Any]:
        """One value for every path; those in ``given`` are fixed."""
        drawn = {p: self._one(rng, p, values) for p, values in self.values.items()}
        return drawn | (given or {})

    def _one(self, rng: random.Random, path: str, values: list[Any]) -> Any:
        if path in self.elements:
            inner = self._items(self.elements[path])
            if inner:
                count = rng.choice([len(inner), len(inner), 1, 2, 0])
                return [inner[i % len(inner)] for i in range(count)]
        return rng.choice(values)

    def _items(self, variable: str) -> list[Any]:
        """What elements of a collection may be, for conditions on one element: by its variable."""
        plain = [v for v in self.values.get(variable, ()) if v is not MISSING]
        below = {p: v for p, v in self.values.items() if p.startswith(f"{variable}.")}
        if plain or not below:
            return plain
        made = []
        for number in range(max(len(values) for values in below.values())):
            item: dict[str, Any] = {}
            for path, values in below.items():
                if values[number % len(values)] is not MISSING:
                    _put(item, path.split(".")[1:], values[number % len(values)])
            made.append(item)
        return made

    def combinations(self, paths: Sequence[str], rng: random.Random) -> list[dict[str, Any]]:
        """All combinations for some paths, at most 200, in a random order."""
        product = itertools.product(*(self.values[p] for p in paths))
        found = [dict(zip(paths, c, strict=True)) for c in itertools.islice(product, 2000)]
        rng.shuffle(found)
        return found[:200]

    def found_in(self, variables: dict[str, Any]) -> dict[str, Any]:
        """The values that variables have at the paths."""
        found = {}
        for path in self.values:
            value: Any = variables
            for step in path.split("."):
                value = value.get(step, MISSING) if isinstance(value, dict) else MISSING
            found[path] = value
        return found

    def variables(self, drawn: dict[str, Any]) -> dict[str, Any]:
        """Variables that have these values at these paths. No element of a collection is set."""
        inner = set(self.elements.values())
        made: dict[str, Any] = {}
        for path in sorted(drawn, key=lambda p: p.count(".")):
            head, *rest = path.split(".")
            if head not in inner and drawn[path] is not MISSING:
                _put(made, [head, *rest], drawn[path])
        return made


def _put(place: dict[str, Any], path: list[str], value: Any) -> None:
    """Set a value deep in nested objects."""
    for step in path[:-1]:
        if not isinstance(place.get(step), dict):
            place[step] = {}
        place = place[step]
    place[path[-1]] = value


def candidates(drawing: Drawing) -> Candidates:
    """What to try for the expressions of a file."""
    found = Candidates()
    for use in sorted(drawing.uses, key=lambda u: u.role != "condition"):
        for path, values in _of(use):
            found.add(path, values)
    for values in found.values.values():
        others = [v for v in values if isinstance(v, _Other)]
        if len([v for v in values if isinstance(v, str)]) > 2:
            values[:] = [v for v in values if v not in others[1:]]
    for variable, collection in drawing.elements.items():
        for path, _ in _linked(collection, bare=True):
            found.elements[path] = variable
    return found


def _of(use: Use) -> list[tuple[str, list[Any]]]:
    linked = _linked(use.text, use.bare)
    if use.role == "condition":
        return linked
    return [(path, list(_ROLES[use.role])) for path, _ in linked]


def _inner(text: str, bare: bool) -> list[str]:
    """The expressions in a text: what is in the marks, else all of it."""
    if text.lstrip().startswith("="):
        return [text.lstrip()[1:]]
    marked = re.findall(r"[$#]\{([^}]*)\}", text)
    return marked or ([text] if bare else [])


def _linked(text: str, bare: bool = False) -> list[tuple[str, list[Any]]]:
    """Every path of a text with the values its neighbours suggest."""
    return [pair for inner in _inner(text, bare) for pair in _expression(inner)]


def _expression(text: str) -> list[tuple[str, list[Any]]]:
    text = re.sub(r"\b(?:list|starts|ends|date and|string) (\w+)\s*\(", r"\1(", text)
    text = re.sub(r"execution\.getVariable\(\s*['\"](\w+)['\"]\s*\)", r"\1", text)
    tokens = [
        _Token(m.lastgroup or "sign", m.group(m.lastgroup or 0).strip())
        for m in _TOKEN.finditer(text)
        if m.lastgroup
    ]
    literals = [t.value for t in tokens if t.is_literal and t.text not in _LITERALS]
    found: list[tuple[str, list[Any]]] = []
    for at, token in enumerate(tokens):
        if token.kind != "name" or token.text in _WORDS:
            continue
        path = re.sub(r"\s", "", token.text)
        if at + 1 < len(tokens) and tokens[at + 1].text == "(":
            path, _, method = path.rpartition(".")
            if path:
                found.append((path, _by_function(method, literals)))
            continue
        found.append((path, _by_neighbours(tokens, at, literals)))
    return found


def _by_function(name: str, literals: list[Any]) -> list[Any]:
    if name in {"size", "length", "count"}:
        return _sizes(literals)
    if name in {"isEmpty", "empty"}:
        return [["a"], []]
    numbers = [n for v in literals for n in _around(v, ordered=False)]
    return [*numbers, *([v] for v in literals), []] if literals else [True, False]


def _sizes(literals: list[Any]) -> list[Any]:
    around = {n + d for n in literals if isinstance(n, int) for d in (-1, 0, 1)} or {0, 2}
    return [list(range(n)) for n in sorted(around) if 0 <= n <= 20]


def _by_neighbours(tokens: list[_Token], at: int, literals: list[Any]) -> list[Any]:
    before = [t.text for t in tokens[max(0, at - 2) : at]]
    if before[-1:] == ["("] and len(before) == 2 and before[0] in {"count", "size", "length"}:
        return _sizes(literals)
    for sign_at, other_at in ((at + 1, at + 2), (at - 1, at - 2)):
        if not (0 <= sign_at < len(tokens) and 0 <= other_at < len(tokens)):
            continue
        sign, other = tokens[sign_at].text, tokens[other_at]
        if sign == "-" and other.kind == "number":
            continue
        if sign in _EQUAL | _ORDER:
            if other.text == "-" and other_at + 1 < len(tokens) and other_at > at:
                return _around(-tokens[other_at + 1].value, ordered=True)
            if other.is_literal:
                return _around(other.value, ordered=sign in _ORDER)
            return [1, 2, 3]
    after = tokens[at + 1].text if at + 1 < len(tokens) else ""
    if after in {"in", "between", ",", "[", "+", "-", "*", "/"} or before[-1:] in (["("], [","]):
        around = [v for n in literals for v in _around(n, ordered=False)]
        if around and before[-1:] != ["("]:
            return around
        if around and after == ",":
            return [*around, *([v] for v in literals), []]
    if before[-1:] == ["empty"]:
        return [MISSING, "something"]
    return [True, False, MISSING]


def _around(value: Any, *, ordered: bool) -> list[Any]:
    """A literal and what lies beside it."""
    if isinstance(value, bool):
        return [value, not value]
    if isinstance(value, int | float):
        return [value, value + 1, value - 1]
    if value is None:
        return [MISSING, "something"]
    return [value, _Other(f"not {value}")] if not ordered else [value, f"{value}~", "!"]
