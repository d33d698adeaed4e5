"""Which test tries an element of the table in docs/writing-processes.md: its last column.

For what is executed it is a file of ``tests/bpmn`` that draws the element: ``tests/corpus`` plays
it until every node of it was reached, and holds it against the end states of ``expected.toml``.
For the rest it is the check of the row itself. ``python -m tests.docs.tried`` writes the column.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from pgbpm.cli.values import read_bpmn
from tests.corpus import drawing as drawings
from tests.corpus.drawing import ACTIVITIES, Drawing, Node
from tests.docs.blocks import CHECKOUT

PAGE = CHECKOUT / "docs" / "writing-processes.md"
FOLDER = CHECKOUT / "tests" / "bpmn"
ROW = re.compile(
    r"^\| (?P<element>[^|]+?) \| (?P<verdict>executed|kept|refused) \|"
    r"(?P<remarks>[^|]*)\|(?: (?P<test>[^|]*?) \|)?$"
)
OF_THE_ROW = "[row](../tests/docs/test_elements.py)"
_FIRST = ["starts", "ends", "waits", "boundaries", "tasks", "interruptions", "undo", "several"]


def draws(file: Path, element: str) -> bool:
    """Whether a file draws what a row of the table names."""
    text = read_bpmn(file)
    drawing = drawings.read(text)
    nodes = list(drawing.nodes.values())
    name = element.replace("`", "")
    tag, comma, trigger = name.partition(", ")
    if name in _SPECIAL:
        return any(_SPECIAL[name](drawing, node) for node in nodes)
    if not comma:
        return any(n.tag == tag for n in nodes) or re.search(rf"<(\w+:)?{tag}\b", text) is not None
    event = () if trigger == "plain" else (trigger,)
    return any(n.tag == tag and n.events == event and not _of_event(drawing, n) for n in nodes)


def _of_event(drawing: Drawing, node: Node) -> bool:
    """The start event of an event sub-process."""
    return node.tag == "startEvent" and drawing.nodes.get(node.scope or "", node).by_event


def _out(drawing: Drawing, node: Node) -> Counter[str]:
    flows = [f for f in drawing.flows.values() if f.source == node.id]
    kinds = ["conditional" if f.condition and f.id != node.default else "plain" for f in flows]
    return Counter(kinds if node.tag in ACTIVITIES else [])


_SPECIAL: dict[str, Callable[[Drawing, Node], bool]] = {
    "subProcess, begun by an event": lambda d, n: n.by_event,
    "isForCompensation": lambda d, n: n.compensates,
    "several event definitions on one event": lambda d, n: len(n.events) > 1,
    "several flows into an inclusive gateway": lambda d, n: (
        n.tag == "inclusiveGateway" and sum(f.target == n.id for f in d.flows.values()) > 1
    ),
    "several flows out of a task": lambda d, n: _out(d, n) == {"plain": 2},
    "one conditional flow out of a task": lambda d, n: (
        _out(d, n)["conditional"] == 1 and _out(d, n)["plain"] <= 1
    ),
    "several conditional flows out of a task": lambda d, n: _out(d, n)["conditional"] > 1,
}


def test_of(element: str, verdict: str) -> str:
    """What stands in the last column."""
    if verdict != "executed":
        return OF_THE_ROW
    files = sorted(
        FOLDER.glob("*.bpmn*"),
        key=lambda f: (_FIRST.index(f.stem) if f.stem in _FIRST else len(_FIRST), f.name),
    )
    file = next((f for f in files if draws(f, element)), None)
    return OF_THE_ROW if file is None else f"[{file.stem}](../tests/bpmn/{file.name})"


def with_column(text: str) -> str:
    """The page's text with the column as it should be."""

    def line(found: re.Match[str]) -> str:
        element, verdict, remarks, _ = found.groups()
        return f"| {element} | {verdict} |{remarks}| {test_of(element, verdict)} |"

    text = text.replace("| element | | remarks |\n|---|---|---|\n", _HEAD)
    return re.sub(ROW.pattern, line, text, flags=re.M)


_HEAD = "| element | | remarks | test |\n|---|---|---|---|\n"


if __name__ == "__main__":
    PAGE.write_text(with_column(PAGE.read_text("utf-8")), "utf-8")
