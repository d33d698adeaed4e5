"""``make reference``: write ``docs/reference/functions.md`` from the contracts in the SQL files.

A contract is the only place where a public function is described; the page says nothing else.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pgbpm.resources import sql_dir

ROOMS = {
    "00_foundation": "Foundation: settings, tenants, grants",
    "10_record": "Record: what happened",
    "20_catalog": "Catalog: what may run",
    "40_flow": "Flow: how it moves",
    "50_work": "Work: who does it",
    "60_decision": "Decision: who allows it",
    "70_delivery": "Delivery: what leaves",
    "75_intake": "Intake: what came in",
    "80_operation": "Operation: keeping it healthy",
    "90_access": "Access: who may",
}
_FUNCTION = re.compile(
    r"create or replace function bpm\.(?P<name>\w+)\s*\((?P<arguments>.*?)\)"
    r"\s*returns (?P<result>.*?)\s+language",
    re.S,
)
_HEAD = """\
# Functions

Written from the contracts in `sql/` by `make reference`; a test keeps it so. All are in schema
`bpm`. Call them with named arguments; columns and parameters are only ever added. What the BP codes
mean stands in [errors.md](errors.md).
"""


@dataclass(frozen=True)
class Function:
    """One public function: where it stands, how it is called, what it promises."""

    room: str
    name: str
    signature: str
    contract: str


def _contract(text: str) -> str:
    lines = []
    for line in text.splitlines():
        if not line.startswith("--"):
            break
        lines.append(line[2:].removeprefix(" ").rstrip())
    return "\n".join(lines)


def functions(root: Path) -> Iterator[Function]:
    """The public functions of a tree ``sql/``, in room order and then by name."""
    for room in ROOMS:
        for file in sorted((root / room).glob("*.sql")):
            text = file.read_text(encoding="utf-8")
            for found in _FUNCTION.finditer(text):
                arguments = re.sub(r"\s+", " ", found["arguments"]).strip()
                result = re.sub(r"\s+", " ", found["result"]).strip()
                yield Function(
                    room,
                    found["name"],
                    f"bpm.{found['name']}({arguments})\n  → {result}",
                    _contract(text),
                )


def page(root: Path) -> str:
    """The whole page, in Markdown."""
    parts = [_HEAD]
    room = ""
    for function in functions(root):
        if function.room != room:
            room = function.room
            parts.append(f"\n## {ROOMS[room]}\n")
        parts.append(
            f"\n### {function.name}\n\n"
            f"```\n{function.signature}\n```\n\n```text\n{function.contract}\n```\n"
        )
    return "".join(parts)


def target(root: Path) -> Path:
    """The file the page belongs in."""
    return root.parent / "docs" / "reference" / "functions.md"


def main() -> int:
    """Write the page."""
    root = sql_dir()
    target(root).write_text(page(root), encoding="utf-8")
    print(f"wrote {target(root).relative_to(root.parent)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
