"""What a BPMN file draws, as far as somebody needs it who wants to try every way through it.

This is a reader of its own, on purpose not the engine's: it says which nodes there are, whatever
the engine made of them.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

MODEL = "http://www.omg.org/spec/BPMN/20100524/MODEL"
_MODEL = f"{{{MODEL}}}"

ACTIVITIES = {
    *("task", "serviceTask", "sendTask", "userTask", "receiveTask", "scriptTask", "manualTask"),
    *("businessRuleTask", "callActivity", "subProcess", "transaction", "adHocSubProcess"),
}
SCOPES = {"subProcess", "transaction", "adHocSubProcess"}
EVENTS = {
    *("startEvent", "endEvent", "intermediateCatchEvent", "intermediateThrowEvent"),
    *("boundaryEvent", "implicitThrowEvent"),
}
GATEWAYS = {
    *("exclusiveGateway", "parallelGateway", "inclusiveGateway", "eventBasedGateway"),
    "complexGateway",
}
CONDITIONS = {"conditionExpression", "condition", "completionCondition", "loopCondition"}


@dataclass(slots=True)
class Node:
    """A flow node of a process."""

    id: str
    tag: str
    process: str
    scope: str | None
    """The sub-process it is in."""
    events: tuple[str, ...] = ()
    """Kinds of its event definitions: message, timer, …"""
    host: str | None = None
    """What a boundary event is attached to; of a start event of an event sub-process its scope."""
    code: str | None = None
    """Of an error event: the code, None for all."""
    name: str | None = None
    """Of a message or signal event: the name."""
    by_event: bool = False
    """An event sub-process."""
    compensates: bool = False
    """A compensation handler."""
    calls: str | None = None
    """What a call activity calls."""
    conditions: tuple[str, ...] = ()
    default: str | None = None

    @property
    def catches_on_host(self) -> bool:
        """A boundary event, or the start of an event sub-process."""
        return self.host is not None


@dataclass(slots=True)
class Flow:
    """A sequence flow."""

    id: str
    source: str
    target: str
    condition: str | None


@dataclass(slots=True)
class Use:
    """An expression, and what its value is used for."""

    text: str
    role: str
    """condition, list, number, time, date, key, process or text."""
    bare: bool = False
    """The text is the name of a variable, without marks."""


@dataclass
class Drawing:
    """All processes of a file."""

    nodes: dict[str, Node] = field(default_factory=dict)
    flows: dict[str, Flow] = field(default_factory=dict)
    processes: list[str] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    handlers: dict[str, str] = field(default_factory=dict)
    """Compensation boundary event → its handler."""
    elements: dict[str, str] = field(default_factory=dict)
    """Element variable of a multi-instance activity → text of its collection."""

    def of(self, process: str) -> list[Node]:
        """The nodes of one process."""
        return [node for node in self.nodes.values() if node.process == process]

    def drawn(self, node: str) -> str:
        """The drawn node a compiled one stands for, like ``task:multi``; else the id itself."""
        head = node.rpartition(":")[0]
        return head if node not in self.nodes and head in self.nodes else node

    def starts(self, process: str) -> list[Node]:
        """The start events of a process itself."""
        return [n for n in self.of(process) if n.tag == "startEvent" and n.scope is None]

    def scopes_of(self, node: str | None) -> Iterator[str]:
        """A node and the sub-processes around it, from the inside."""
        while node is not None:
            yield node
            node = self.nodes[node].scope if node in self.nodes else None

    def catchers(self, node: str, event: str) -> list[Node]:
        """Boundary events and event sub-processes of that kind around a node."""
        around = list(self.scopes_of(node))
        if node in self.nodes:
            around.append(self.nodes[node].process)
        return [
            n
            for n in self.nodes.values()
            if n.host in around
            and event in n.events
            and n.id != node
            and (n.tag == "boundaryEvent" or n.scope not in around)
        ]

    @cached_property
    def ways(self) -> dict[str, list[tuple[str, Flow | None]]]:
        """What may come after a node: (node, the flow to it if it is one)."""
        after: dict[str, list[tuple[str, Flow | None]]] = {}
        for flow in self.flows.values():
            after.setdefault(flow.source, []).append((flow.target, flow))
        for node in self.nodes.values():
            if node.host is not None:
                after.setdefault(node.host, []).append((node.id, None))
            elif node.tag == "startEvent" and node.scope is not None:
                after.setdefault(node.scope, []).append((node.id, None))
            if node.by_event:
                after.setdefault(node.scope or node.process, []).append((node.id, None))
        for process in self.processes:
            for start in self.starts(process):
                after.setdefault(process, []).append((start.id, None))
        return after

    def way_to(self, process: str, goal: str) -> list[str]:
        """Ids of nodes and flows on a shortest way from the start of a process to a node or flow.

        Empty if there is none.
        """
        wanted = self.flows[goal].source if goal in self.flows else goal
        after = self.ways
        came: dict[str, tuple[str, Flow | None]] = {process: ("", None)}
        queue = deque([process])
        while queue:
            at = queue.popleft()
            if at == wanted:
                break
            for then, flow in after.get(at, []):
                if then not in came:
                    came[then] = (at, flow)
                    queue.append(then)
        if wanted not in came:
            return []
        way = [goal] if goal != wanted else []
        at = wanted
        while at and at != process:
            way.append(at)
            before, flow = came[at]
            if flow is not None:
                way.append(flow.id)
            at = before
        return way[::-1]


def is_bpmn(text: str) -> bool:
    """Whether an XML text is a BPMN file at all."""
    return MODEL in text


def read(text: str) -> Drawing:
    """Read a well-formed file. Raises ``xml.etree.ElementTree.ParseError``.

    One with a document type declaration is not parsed: what it defines would be expanded.
    """
    if re.match(r"\ufeff?\s*(?:<\?.*?\?>\s*|<!--.*?-->\s*)*<!DOCTYPE", text, re.S):
        raise ET.ParseError("a document type declaration")
    root = ET.fromstring(re.sub(r"^\ufeff?\s*<\?xml[^>]*\?>", "", text))
    return _Reader(root).read()


def _tag(element: ET.Element) -> str:
    return element.tag.removeprefix(_MODEL)


def _local(name: str) -> str:
    return name.rpartition("}")[2]


class _Reader:
    def __init__(self, root: ET.Element) -> None:
        self.root = root
        self.ids = {e.get("id", ""): e for e in root.iter() if e.get("id")}
        self.drawing = Drawing()

    def read(self) -> Drawing:
        for process in self.root.iter(f"{_MODEL}process"):
            code = process.get("id", "")
            self.drawing.processes.append(code)
            self._scope(process, code, None)
        self._expressions(self.root)
        nodes = self.drawing.nodes
        for association in self.root.iter(f"{_MODEL}association"):
            source, target = association.get("sourceRef", ""), association.get("targetRef", "")
            if source in nodes and target in nodes and nodes[target].compensates:
                self.drawing.handlers[source] = target
        return self.drawing

    def _scope(self, container: ET.Element, process: str, scope: str | None) -> None:
        by_event = container.get("triggeredByEvent") == "true"
        for element in container:
            tag, found = _tag(element), element.get("id", "")
            if tag == "sequenceFlow":
                condition = element.find(f"{_MODEL}conditionExpression")
                text = (condition.text or "").strip() if condition is not None else ""
                self.drawing.flows[found] = Flow(
                    found, element.get("sourceRef", ""), element.get("targetRef", ""), text or None
                )
            if tag not in ACTIVITIES | EVENTS | GATEWAYS:
                continue
            node = self._node(element, tag, process, scope)
            if by_event and tag == "startEvent":
                outer = self.drawing.nodes[scope or ""].scope
                node.host = outer or process
            self.drawing.nodes[found] = node
            if tag in SCOPES:
                self._scope(element, process, found)

    def _node(self, element: ET.Element, tag: str, process: str, scope: str | None) -> Node:
        node = Node(element.get("id", ""), tag, process, scope)
        node.host = element.get("attachedToRef")
        node.by_event = element.get("triggeredByEvent") == "true"
        node.compensates = element.get("isForCompensation") == "true"
        node.calls = element.get("calledElement") or next(
            (e.get("processId") for e in element.iter() if _local(e.tag) == "calledElement"), None
        )
        node.default = element.get("default")
        definitions = [e for e in element if _tag(e).endswith("EventDefinition")]
        definitions += [
            self.ids[e.text.strip()]
            for e in element
            if _tag(e) == "eventDefinitionRef" and e.text and e.text.strip() in self.ids
        ]
        node.events = tuple(_tag(e).removesuffix("EventDefinition") for e in definitions)
        for definition in definitions:
            self._event(node, definition)
        if tag == "receiveTask":
            node.name = self._named(element.get("messageRef"))
        return node

    def _event(self, node: Node, definition: ET.Element) -> None:
        for ref in ("messageRef", "signalRef"):
            node.name = self._named(definition.get(ref)) or node.name
        for ref in ("errorRef", "escalationRef"):
            found = self.ids.get(definition.get(ref, "").rpartition(":")[2])
            if found is not None:
                node.code = found.get("errorCode") or found.get("escalationCode")
        node.conditions += tuple(
            (e.text or "").strip() for e in definition if _tag(e) == "condition" and e.text
        )

    def _named(self, reference: str | None) -> str | None:
        found = self.ids.get((reference or "").rpartition(":")[2])
        return found.get("name") if found is not None else None

    def _expressions(self, root: ET.Element) -> None:
        uses = self.drawing.uses
        for element in root.iter():
            tag, text = _local(element.tag), (element.text or "").strip()
            if tag in {"script", "documentation", "text"}:
                continue
            if tag in CONDITIONS and text:
                uses.append(Use(text, "condition", bare=True))
            elif tag == "loopCardinality" and text:
                uses.append(Use(text, "number", bare=True))
            elif tag == "loopDataInputRef" and text:
                uses.append(Use(text, "list", bare=True))
            elif _marked(text):
                role = {"correlationKey": "key", "messagePath": "text"}.get(tag, "text")
                uses.append(Use(text, "time" if tag.startswith("time") else role))
            for name, value in element.attrib.items():
                self._attribute(element, _local(name), value.strip())

    def _attribute(self, element: ET.Element, name: str, value: str) -> None:
        if name in {"collection", "inputCollection"} and value:
            self.drawing.uses.append(Use(value, "list", bare=True))
            variable = next(
                (v for n, v in element.attrib.items() if _local(n) in _ELEMENT_NAMES), None
            )
            if variable:
                self.drawing.elements[variable] = value
        elif name == "correlationKey" and value:
            self.drawing.uses.append(Use(value, "key", bare=True))
        elif _marked(value):
            self.drawing.uses.append(Use(value, _ROLES.get(name, "text")))


_ELEMENT_NAMES = {"elementVariable", "inputElement"}
_ROLES = {
    **dict.fromkeys(("calledElement", "processId"), "process"),
    **dict.fromkeys(("dueDate", "followUpDate"), "date"),
    **dict.fromkeys(("loopCardinality", "priority"), "number"),
}


def _marked(text: str) -> bool:
    return bool(re.search(r"[$#]\{", text)) or (text.startswith("=") and len(text) > 1)
