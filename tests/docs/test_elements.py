"""The table of elements in docs/writing-processes.md says what the compiler does, row by row."""

from __future__ import annotations

import re
from collections.abc import Callable

import psycopg
import pytest

from tests.docs.blocks import CHECKOUT

PAGE = CHECKOUT / "docs" / "writing-processes.md"
_ROW = re.compile(r"^\| (?P<element>[^|]+?) \| (?P<verdict>executed|kept|refused) \|")

_HEAD = """\
<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="urn:test">
<message id="m" name="m"/><error id="e" errorCode="E"/><signal id="s" name="s"/>
<escalation id="x" escalationCode="X"/>{beside}
<process id="p" isExecutable="true">{inside}</process></definitions>"""
_TRIGGERS = {
    "plain": "",
    "message": '<messageEventDefinition messageRef="m"/>',
    "timer": "<timerEventDefinition><timeDuration>PT1S</timeDuration></timerEventDefinition>",
    "signal": '<signalEventDefinition signalRef="s"/>',
    "error": '<errorEventDefinition errorRef="e"/>',
    "escalation": '<escalationEventDefinition escalationRef="x"/>',
    "conditional": "<conditionalEventDefinition><condition>${a}</condition>"
    "</conditionalEventDefinition>",
    "link": '<linkEventDefinition name="l"/>',
    "compensate": "<compensateEventDefinition/>",
    "cancel": "<cancelEventDefinition/>",
    "terminate": "<terminateEventDefinition/>",
}
_CONDITION = "<conditionExpression>${a}</conditionExpression>"


def _flow(number: int, source: str, target: str, inside: str = "") -> str:
    return (
        f'<sequenceFlow id="f{number}" sourceRef="{source}" targetRef="{target}">'
        f"{inside}</sequenceFlow>"
    )


def _line(node: str, more: str = "", beside: str = "") -> str:
    """Start, one node with the id n, end."""
    inside = (
        f'<startEvent id="a"/>{_flow(1, "a", "n")}{node}{_flow(2, "n", "z")}<endEvent id="z"/>'
        + more
    )
    return _HEAD.format(beside=beside, inside=inside)


def _start(trigger: str) -> str:
    inside = f'<startEvent id="a">{trigger}</startEvent>{_flow(1, "a", "z")}<endEvent id="z"/>'
    return _HEAD.format(beside="", inside=inside)


def _end(trigger: str) -> str:
    inside = f'<startEvent id="a"/>{_flow(1, "a", "z")}<endEvent id="z">{trigger}</endEvent>'
    return _HEAD.format(beside="", inside=inside)


def _attached(trigger: str) -> str:
    return (
        f'<boundaryEvent id="b" attachedToRef="n">{trigger}</boundaryEvent>'
        f'{_flow(3, "b", "y")}<endEvent id="y"/>'
    )


def _boundary(trigger: str, host: str = "serviceTask") -> str:
    return _line(f'<{host} id="n"/>', _attached(trigger))


def _event_gateway() -> str:
    """Start, the gateway, an event of every kind that may stand behind it."""
    events = "".join(
        f"{_flow(10 + n, 'n', f'c{n}')}{_flow(20 + n, f'c{n}', 'z')}"
        f'<intermediateCatchEvent id="c{n}">{_TRIGGERS[trigger]}</intermediateCatchEvent>'
        for n, trigger in enumerate(("message", "signal", "timer", "conditional"))
    )
    inside = (
        f'<startEvent id="a"/>{_flow(1, "a", "n")}<eventBasedGateway id="n"/>{events}'
        '<endEvent id="z"/>'
    )
    return _HEAD.format(beside="", inside=inside)


def _scope(tag: str) -> str:
    inner = f'<startEvent id="i"/>{_flow(8, "i", "j")}<endEvent id="j"/>'
    return _line(f'<{tag} id="n">{inner}</{tag}>')


def _event_sub(trigger: str, start: str = "i") -> str:
    inner = (
        f'<startEvent id="{start}">{_TRIGGERS[trigger]}</startEvent>'
        f'{_flow(9, start, start + "-end")}<endEvent id="{start}-end"/>'
    )
    return f'<subProcess id="es" triggeredByEvent="true">{inner}</subProcess>'


def _undone() -> str:
    """An activity, its compensation boundary event, its handler."""
    return _line(
        '<serviceTask id="n"/>',
        f'<boundaryEvent id="b" attachedToRef="n">{_TRIGGERS["compensate"]}</boundaryEvent>'
        '<serviceTask id="u" isForCompensation="true"/>'
        '<association id="as" sourceRef="b" targetRef="u"/>',
    )


def _cancelled() -> str:
    """A transaction that one of its branches cancels."""
    branches = (
        f'<parallelGateway id="g"/>{_flow(9, "g", "c")}'
        f'<endEvent id="c">{_TRIGGERS["cancel"]}</endEvent>'
        f"{_flow(8, 'i', 'g')}{_flow(10, 'g', 'j')}"
    )
    scope = _scope("transaction").replace(_flow(8, "i", "j"), branches)
    return scope.replace("</process>", _attached(_TRIGGERS["cancel"]) + "</process>")


def _looped(tag: str, loop: str) -> str:
    """An activity with loop characteristics."""
    inner = f'<startEvent id="i"/>{_flow(8, "i", "j")}<endEvent id="j"/>'
    message = {"receiveTask": ' messageRef="m"', "callActivity": ' calledElement="p"'}.get(tag, "")
    inside = inner if tag in {"subProcess", "transaction"} else ""
    return _line(f'<{tag} id="n"{message}>{loop}{inside}</{tag}>')


def _out_of_task(first: str, second: str | None, default: bool = False) -> str:
    attribute = ' default="f3"' if default else ""
    more = "" if second is None else f'{_flow(3, "n", "y", second)}<endEvent id="y"/>'
    inside = (
        f'<startEvent id="a"/>{_flow(1, "a", "n")}<task id="n"{attribute}/>'
        f'{_flow(2, "n", "z", first)}<endEvent id="z"/>{more}'
    )
    return _HEAD.format(beside="", inside=inside)


def _links() -> str:
    """Start, a throwing link; a catching one, end."""
    inside = (
        f'<startEvent id="a"/>{_flow(1, "a", "n")}'
        f'<intermediateThrowEvent id="n">{_TRIGGERS["link"]}</intermediateThrowEvent>'
        f'<intermediateCatchEvent id="c">{_TRIGGERS["link"]}</intermediateCatchEvent>'
        f'{_flow(2, "c", "z")}<endEvent id="z"/>'
    )
    return _HEAD.format(beside="", inside=inside)


_MESSAGE = _TRIGGERS["message"]
_SENDS = 'xmlns:bpm="urn:pgbpm:bpmn:1" bpm:type="courier"'
_EVENTS: dict[str, Callable[[str], str]] = {
    "startEvent": _start,
    "endEvent": _end,
    "intermediateCatchEvent": lambda trigger: _line(
        f'<intermediateCatchEvent id="n">{trigger}</intermediateCatchEvent>'
    ),
    "intermediateThrowEvent": lambda trigger: _line(
        f'<intermediateThrowEvent id="n">{trigger}</intermediateThrowEvent>'
    ),
    "boundaryEvent": _boundary,
}
_NUMBER = "<loopCardinality>3</loopCardinality>"
_ACTIVITIES = (
    "serviceTask",
    "sendTask",
    "userTask",
    "task",
    "manualTask",
    "receiveTask",
    "subProcess",
    "transaction",
    "callActivity",
)
_OTHERS = {
    "endEvent, message": [_end(_MESSAGE).replace('endEvent id="z"', f'endEvent id="z" {_SENDS}')],
    "intermediateThrowEvent, message": [
        _line(f'<intermediateThrowEvent id="n" {_SENDS}>{_MESSAGE}</intermediateThrowEvent>')
    ],
    "intermediateThrowEvent, link": [_links()],
    "intermediateCatchEvent, link": [_links()],
    "receiveTask": [
        _line('<receiveTask id="n" messageRef="m"/>'),
        *(
            _line('<receiveTask id="n" messageRef="m"/>', _attached(_TRIGGERS[trigger]))
            for trigger in ("timer", "message", "signal")
        ),
    ],
    "scriptTask": [_line(f'<scriptTask id="n" {_SENDS}><script>x</script></scriptTask>')],
    "eventBasedGateway": [_event_gateway()],
    "subProcess": [
        _scope("subProcess"),
        *(
            _scope("subProcess").replace("</process>", _attached(_TRIGGERS[trigger]) + "</process>")
            for trigger in ("timer", "message", "signal", "conditional", "error", "escalation")
        ),
    ],
    "subProcess, begun by an event": [
        _line('<task id="n"/>', _event_sub(trigger))
        for trigger in ("message", "timer", "signal", "conditional", "error", "escalation")
    ]
    + [
        _scope("subProcess").replace(
            '<endEvent id="j"/>', f'<endEvent id="j"/>{_event_sub("compensate", "k")}'
        )
    ],
    "boundaryEvent, escalation": [
        _scope("subProcess").replace(
            "</process>", _attached(_TRIGGERS["escalation"]) + "</process>"
        )
    ],
    "transaction": [_scope("transaction")],
    "callActivity": [
        _line('<callActivity id="n" calledElement="p"/>'),
        *(
            _line('<callActivity id="n" calledElement="p"/>', _attached(_TRIGGERS[trigger]))
            for trigger in ("timer", "message", "signal", "conditional", "error", "escalation")
        ),
    ],
    "adHocSubProcess": [_scope("adHocSubProcess")],
    "multiInstanceLoopCharacteristics": [
        _looped(
            tag,
            f"<multiInstanceLoopCharacteristics{mode}>{_NUMBER}</multiInstanceLoopCharacteristics>",
        )
        for tag in _ACTIVITIES
        for mode in ("", ' isSequential="true"')
    ],
    "standardLoopCharacteristics": [
        _looped(
            tag,
            "<standardLoopCharacteristics><loopCondition>${a}</loopCondition></standardLoopCharacteristics>",
        )
        for tag in _ACTIVITIES
    ],
    "isForCompensation": [_undone()],
    "boundaryEvent, compensate": [_undone()],
    "boundaryEvent, cancel": [_cancelled()],
    "endEvent, cancel": [_cancelled()],
    "several event definitions on one event": [
        _EVENTS["intermediateCatchEvent"](_TRIGGERS["timer"] + _TRIGGERS["message"])
    ],
    "several flows out of a task": [_out_of_task("", "")],
    "one conditional flow out of a task": [
        _out_of_task(_CONDITION, None),
        _out_of_task(_CONDITION, "", default=True),
    ],
    "several conditional flows out of a task": [
        _out_of_task(_CONDITION, _CONDITION),
        _out_of_task(_CONDITION, ""),
        _out_of_task("", "", default=True),
    ],
    "several flows into an inclusive gateway": [
        _line(
            '<inclusiveGateway id="n"/>', f'<task id="t"/>{_flow(3, "a", "t")}{_flow(4, "t", "n")}'
        )
    ],
    "lane": [
        _line(
            '<userTask id="n"/>',
            '<laneSet id="ls"><lane id="l" name="clerks"><flowNodeRef>n</flowNodeRef></lane>'
            "</laneSet>",
        )
    ],
    "participant": [
        _line(
            '<task id="n"/>',
            beside='<collaboration id="c"><participant id="us" processRef="p"/>'
            '<participant id="them" name="them"/>'
            '<messageFlow id="mf" sourceRef="us" targetRef="them"/></collaboration>',
        )
    ],
    "dataObject": [
        _line(
            '<task id="n"/>',
            '<dataObject id="d"/><dataObjectReference id="r" dataObjectRef="d"/>'
            '<dataStoreReference id="st"/><association id="as" sourceRef="d" targetRef="n"/>',
        )
    ],
    "textAnnotation": [
        _line(
            '<task id="n"><documentation>why</documentation></task>',
            '<textAnnotation id="t"><text>note</text></textAnnotation><group id="g"/>',
        )
    ],
}


def _files(element: str) -> list[str]:
    """Files that have the element of one row of the table."""
    name = element.replace("`", "")
    if name in _OTHERS:
        return _OTHERS[name]
    tag, comma, trigger = name.partition(", ")
    if comma:
        files = [_EVENTS[tag](_TRIGGERS[trigger])]
        if tag == "boundaryEvent" and trigger in {
            "timer",
            "message",
            "signal",
            "conditional",
            "error",
        }:
            files.append(_boundary(_TRIGGERS[trigger], "userTask"))
        return files
    return [_line(f'<{tag} id="n"/>')]


ROWS = [
    (row["element"], row["verdict"])
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if (row := _ROW.match(line))
]


@pytest.mark.parametrize(("element", "verdict"), ROWS, ids=[element for element, _ in ROWS])
def test_row(conn: psycopg.Connection[dict[str, object]], element: str, verdict: str) -> None:
    for file in _files(element):
        found = conn.execute(
            "select c.severity, c.code, c.message from bpm.check_bpmn(%s) c"
            " where c.code not in ('UnknownDestination', 'CalledProcessMissing')",
            [file],
        ).fetchall()
        if verdict == "refused":
            assert "UnsupportedElement" in {row["code"] for row in found}, found
        else:
            assert not found


def test_the_table_is_complete(conn: psycopg.Connection[dict[str, object]]) -> None:
    tags = conn.execute("select unnest(bpm_core.bpmn_flow_node_tags()) as tag").fetchall()
    named = {element.replace("`", "").partition(",")[0] for element, _ in ROWS}
    missing = {str(row["tag"]) for row in tags} - named
    # Of choreographies, which are no processes, and an abstract one that no file has.
    assert missing == {
        "implicitThrowEvent", "choreographyTask", "subChoreography", "callChoreography",
    }  # fmt: skip


def test_no_event_is_executed_that_the_table_does_not_name(
    conn: psycopg.Connection[dict[str, object]],
) -> None:
    named = {element.replace("`", "") for element, _ in ROWS}
    for tag, file in _EVENTS.items():
        for name, trigger in _TRIGGERS.items():
            if f"{tag}, {name}" in named:
                continue
            found = conn.execute("select c.code from bpm.check_bpmn(%s) c", [file(trigger)])
            assert "UnsupportedElement" in {row["code"] for row in found}, f"{tag}, {name}"
