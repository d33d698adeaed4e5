"""Pages and their fenced blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
RUN = frozenset({"console", "bash", "sh", "shell", "sql", "psql"})
"""Languages of blocks that are commands."""

_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)\s*$")
_MARK = re.compile(r"<!--\s*docs:\s*(?P<verb>\w+)\s*(?P<rest>.*?)\s*-->", re.S)
_VERBS = {"file", "exit", "skip", "run"}


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block; ``line`` is that of its first line of text, from 1."""

    page: Path
    line: int
    language: str
    text: str
    marks: dict[str, str] = field(default_factory=dict)

    @property
    def where(self) -> str:
        """Page and line, for messages."""
        return f"{self.page.name}:{self.line}"


def pages() -> list[Path]:
    """README, CHANGELOG and everything under ``docs/``."""
    return [
        CHECKOUT / "README.md",
        CHECKOUT / "CHANGELOG.md",
        *sorted((CHECKOUT / "docs").rglob("*.md")),
    ]


def blocks(page: Path) -> list[Block]:
    """The blocks of one page in order; a hidden command is a block of language ``run``."""
    return list(_blocks(page))


def _blocks(page: Path) -> Iterator[Block]:
    lines = page.read_text(encoding="utf-8").splitlines()
    marks: dict[str, str] = {}
    number = 0
    while number < len(lines):
        line = lines[number]
        fence = _FENCE.match(line)
        if fence:
            end = number + 1
            while lines[end].strip() != "```":
                end += 1
            indent = len(fence["indent"])
            text = "\n".join(inner[indent:] for inner in lines[number + 1 : end])
            yield Block(page, number + 2, fence["language"], text, marks)
            marks = {}
            number = end + 1
        elif line.lstrip().startswith("<!-- docs:"):
            end = number
            while "-->" not in lines[end]:
                end += 1
            mark = _MARK.search("\n".join(lines[number : end + 1]))
            if mark is None or mark["verb"] not in _VERBS:
                raise ValueError(f"{page}:{number + 1}: no mark that is known: {line}")
            if mark["verb"] == "run":
                yield Block(page, number + 1, "run", mark["rest"])
            else:
                marks[mark["verb"]] = mark["rest"]
            number = end + 1
        else:
            if line.strip() and marks:
                raise ValueError(f"{page}:{number + 1}: a mark stands before no block")
            number += 1


def prose(page: Path) -> str:
    """The text of a page without its blocks; lines keep their number."""
    kept: list[str] = []
    inside = False
    for line in page.read_text(encoding="utf-8").splitlines():
        fence = line.lstrip().startswith("```")
        kept.append("" if inside or fence else line)
        inside ^= fence
    return "\n".join(kept)
