"""A process as a graph: what the generator draws, the interpreter walks and the engine is given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Variables = Mapping[str, Any]

LOOP = "again"
"""What loops look at, written by those who decide in them."""

COLLECTION, ELEMENT, OUTPUT, OUTPUTS = "list", "item", "out", "outs"
"""Of multi-instances: over what, what each sees, what each gives, and where it is gathered."""

ACTIVITIES = frozenset({"service", "user", "receive", "sub", "call"})


@dataclass(frozen=True)
class Condition:
    """``variable operator value``, or two of them with ``and``/``or``, or one with ``not``."""

    operator: Literal["==", "!=", "<", ">", "and", "or", "not"]
    variable: str = ""
    value: int = 0
    parts: tuple[Condition, ...] = ()

    def __str__(self) -> str:
        if self.parts:
            return f"({f' {self.operator} '.join(map(str, self.parts))})"
        return f"({self.variable} {self.operator} {self.value})"

    def holds(self, variables: Variables) -> bool | None:
        """Whether it is true; ``None``: it cannot be decided (ordering a value that is missing)."""
        if self.parts:
            return self._combined([part.holds(variables) for part in self.parts])
        found = variables.get(self.variable)
        if self.operator in ("==", "!="):
            return (found == self.value) == (self.operator == "==")
        if not isinstance(found, int):
            return None
        return found < self.value if self.operator == "<" else found > self.value

    def _combined(self, verdicts: list[bool | None]) -> bool | None:
        if self.operator == "not":
            return None if verdicts[0] is None else not verdicts[0]
        decides = self.operator == "or"
        if decides in verdicts:
            return decides
        return None if None in verdicts else not decides


@dataclass
class Node:
    """One node. ``kind`` is ours, see :mod:`tests.model.bpmn`; ``scope`` is the sub-process it is
    in (``""``: the process), ``host`` what a boundary event is attached to.

    ``rule`` is the duration of a timer, the name of a message or signal, the code of an error, the
    process a call activity starts. ``writes`` are variables whoever completes the task sets.
    ``many``: how it is repeated; ``times``: how often, or the variable that holds the collection;
    ``until``: how many are enough. ``condition``: what a conditional event waits for.
    ``undo``: the node that compensates it, which ``undoes`` and has no flows.
    """

    id: str
    kind: str
    scope: str = ""
    host: str = ""
    interrupting: bool = True
    rule: str = ""
    writes: tuple[str, ...] = ()
    default: str = ""
    many: Literal["", "parallel", "sequential", "loop"] = ""
    times: str = ""
    until: int = 0
    condition: Condition | None = None
    undo: str = ""
    undoes: bool = False

    @property
    def around(self) -> str:
        """Where a token rests while an activity is done many times."""
        return f"{self.id}:{'loop' if self.many == 'loop' else 'multi'}" if self.many else ""


@dataclass(frozen=True)
class Flow:
    """A sequence flow; the order of the list is the order of the file."""

    id: str
    source: str
    target: str
    condition: Condition | None = None


@dataclass
class Graph:
    """A process; ``called`` are those its call activities start."""

    code: str
    nodes: dict[str, Node] = field(default_factory=dict)
    flows: list[Flow] = field(default_factory=list)
    called: list[Graph] = field(default_factory=list)

    def family(self) -> list[Graph]:
        """Itself and what it calls, directly or not."""
        return [self, *(graph for called in self.called for graph in called.family())]

    def outgoing(self, node: str) -> list[Flow]:
        """Flows out of a node, in the order of the file."""
        return [flow for flow in self.flows if flow.source == node]

    def incoming(self, node: str) -> list[Flow]:
        """Flows into a node."""
        return [flow for flow in self.flows if flow.target == node]

    def boundaries(self, host: str) -> list[Node]:
        """Boundary events of an activity."""
        return [node for node in self.nodes.values() if node.host == host]

    def inside(self, scope: str) -> Iterator[Node]:
        """Nodes directly in a sub-process."""
        return (node for node in self.nodes.values() if node.scope == scope)

    def start_of(self, scope: str) -> str:
        """The start event of a sub-process or (``""``) of the process."""
        return next(node.id for node in self.inside(scope) if node.kind.endswith("start"))

    def lines(self) -> list[str]:
        """The graph as text, a line per node."""
        found = []
        for node in self.nodes.values():
            words = [node.id, node.rule, f"in {node.scope}" * bool(node.scope)]
            words += [str(node.condition or ""), f"undone by {node.undo}" * bool(node.undo)]
            words += [f"{node.many} {node.times} {node.until or ''}" * bool(node.many)]
            words += [f"on {node.host}" * bool(node.host), "beside" * (not node.interrupting)]
            ways = [f"{flow.target} {flow.condition or ''}" for flow in self.outgoing(node.id)]
            found.append(f"{' '.join(filter(None, words))} > {'; '.join(ways)}")
        return found
