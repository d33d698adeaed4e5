"""A graph as the BPMN text the engine reads. Several graphs share a file."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

from tests.model.graph import (
    ELEMENT,
    LOOP,
    OUTPUT,
    OUTPUTS,
    Condition,
    Flow,
    Graph,
    Node,
)

HEAD = (
    '<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"'
    ' xmlns:bpm="urn:pgbpm:bpmn:1" targetNamespace="tests">'
)
TASK_TYPE = "model"
CODE = {"error": "errorCode", "escalation": "escalationCode"}
TAGS = {
    "start": "startEvent",
    "end": "endEvent",
    "terminate": "endEvent",
    "error-end": "endEvent",
    "service": "serviceTask",
    "user": "userTask",
    "manual": "manualTask",
    "throw": "intermediateThrowEvent",
    "compensate": "intermediateThrowEvent",
    "signal-throw": "intermediateThrowEvent",
    "escalation": "intermediateThrowEvent",
    "escalation-end": "endEvent",
    "exclusive": "exclusiveGateway",
    "parallel": "parallelGateway",
    "inclusive": "inclusiveGateway",
    "event-gateway": "eventBasedGateway",
    "timer": "intermediateCatchEvent",
    "message": "intermediateCatchEvent",
    "signal": "intermediateCatchEvent",
    "conditional": "intermediateCatchEvent",
    "receive": "receiveTask",
    "sub": "subProcess",
    "event-sub": "subProcess",
    "call": "callActivity",
}


def file(graphs: Iterable[Graph]) -> str:
    """One BPMN file with a process for each graph, and for those they call."""
    graphs = [member for graph in graphs for member in graph.family()]
    rules: dict[str, set[str]] = {"message": set(), "signal": set()}
    rules |= {"error": set(), "escalation": set()}
    for graph in graphs:
        for node in graph.nodes.values():
            definition = _definition_of(node)
            if definition in rules and node.rule:
                rules[definition].add(node.rule)
    shared = "".join(
        f'<{tag} id="{tag}-{name}" {CODE.get(tag, "name")}="{name}"/>'
        for tag, names in rules.items()
        for name in sorted(names)
    )
    return HEAD + shared + "".join(_process(graph) for graph in graphs) + "</definitions>"


def _process(graph: Graph) -> str:
    return f'<process id="{graph.code}" isExecutable="true">{_content(graph, "")}</process>'


def _content(graph: Graph, scope: str) -> str:
    nodes = "".join(_node(graph, node) for node in graph.inside(scope))
    flows = "".join(
        _flow(graph, flow) for flow in graph.flows if graph.nodes[flow.source].scope == scope
    )
    return nodes + flows


def _definition_of(node: Node) -> str:
    """The tag of the event definition a node has, without its suffix; empty: none."""
    kind = node.kind.split("-")[0]
    if kind == "receive":
        return "message"
    kinds = (
        "compensate",
        "conditional",
        "timer",
        "message",
        "signal",
        "error",
        "escalation",
        "terminate",
    )
    return kind if kind in kinds else ""


def _node(graph: Graph, node: Node) -> str:
    attributes, inner = "", ""
    definition = _definition_of(node)
    if node.kind in ("service", "user"):
        attributes = f' bpm:type="{TASK_TYPE}"' if node.kind == "service" else ""
        attributes += ' isForCompensation="true"' * node.undoes
    elif node.kind == "receive":
        attributes = f' messageRef="message-{node.rule}"'
    elif node.kind == "call":
        attributes = f' calledElement="{node.rule}"'
    elif node.kind in ("sub", "event-sub"):
        attributes = ' triggeredByEvent="true"' if node.kind == "event-sub" else ""
    elif definition == "timer":
        tag = "timeCycle" if node.rule.startswith("R") else "timeDuration"
        inner = f"<timerEventDefinition><{tag}>{node.rule}</{tag}></timerEventDefinition>"
    elif node.condition is not None:
        text = escape(_text(node.id, node.condition))
        inner = f"<condition>{text}</condition>"
        inner = f"<conditionalEventDefinition>{inner}</conditionalEventDefinition>"
    elif definition:
        ref = f' {definition}Ref="{definition}-{node.rule}"' if node.rule else ""
        inner = f"<{definition}EventDefinition{ref}/>"
    inner += _many(node) + (_content(graph, node.id) if node.kind in ("sub", "event-sub") else "")
    if node.default:
        attributes += f' default="{node.default}"'
    cancels = str(node.interrupting).lower()
    if node.kind.endswith("-start"):
        attributes += f' isInterrupting="{cancels}"'
    if node.host:
        attributes += f' attachedToRef="{node.host}" cancelActivity="{cancels}"'
    tag = "startEvent" if node.kind.endswith("-start") else TAGS.get(node.kind, "boundaryEvent")
    return f'<{tag} id="{node.id}"{attributes}>{inner}</{tag}>' + _undo(node)


def _undo(node: Node) -> str:
    """What ties an activity to its compensation handler."""
    if not node.undo:
        return ""
    event = f"{node.id}-undo"
    return (
        f'<boundaryEvent id="{event}" attachedToRef="{node.id}"><compensateEventDefinition/>'
        f'</boundaryEvent><association id="{event}-to" sourceRef="{event}"'
        f' targetRef="{node.undo}"/>'
    )


def _many(node: Node) -> str:
    """How an activity is repeated."""
    if node.many == "loop":
        # By a variable its steps write, or so many times.
        if node.times:
            return f'<standardLoopCharacteristics loopMaximum="{node.times}"/>'
        text = f"${{{LOOP} &lt; 4}}"
        inner = f"<loopCondition>{text}</loopCondition>"
        return f"<standardLoopCharacteristics>{inner}</standardLoopCharacteristics>"
    if not node.many:
        return ""
    of = f' bpm:collection="${{{node.times}}}" bpm:elementVariable="{ELEMENT}"'
    inner = ""
    if node.times.isdigit():
        of, inner = "", f"<loopCardinality>{node.times}</loopCardinality>"
    if node.until:
        text = f"${{nrOfCompletedInstances &gt;= {node.until}}}"
        inner += f"<completionCondition>{text}</completionCondition>"
    of += f' bpm:outputCollection="{OUTPUTS}" bpm:outputElement="${{{OUTPUT}}}"'
    in_turn = str(node.many == "sequential").lower()
    tag = "multiInstanceLoopCharacteristics"
    return f'<{tag} isSequential="{in_turn}"{of}>{inner}</{tag}>'


def _flow(graph: Graph, flow: Flow) -> str:
    inner = ""
    if flow.condition is not None:
        text = escape(_text(flow.id, flow.condition))
        inner = f"<conditionExpression>{text}</conditionExpression>"
    ends = f"sourceRef={quoteattr(flow.source)} targetRef={quoteattr(flow.target)}"
    return f'<sequenceFlow id="{flow.id}" {ends}>{inner}</sequenceFlow>'


def _text(owner: str, condition: Condition) -> str:
    """The language follows from whose it is, so that the same graph gives the same text."""
    feel = sum(map(ord, owner)) % 2 == 0
    return f"= {_feel(condition)}" if feel else f"${{{_juel(condition)}}}"


def _juel(condition: Condition) -> str:
    if condition.operator == "not":
        return f"!({_juel(condition.parts[0])})"
    if condition.parts:
        sign = " && " if condition.operator == "and" else " || "
        return sign.join(f"({_juel(part)})" for part in condition.parts)
    return f"{condition.variable} {condition.operator} {condition.value}"


def _feel(condition: Condition) -> str:
    if condition.operator == "not":
        return f"not({_feel(condition.parts[0])})"
    if condition.parts:
        return f" {condition.operator} ".join(f"({_feel(part)})" for part in condition.parts)
    operator = "=" if condition.operator == "==" else condition.operator
    return f"{condition.variable} {operator} {condition.value}"
