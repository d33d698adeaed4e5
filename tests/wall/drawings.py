"""The processes of a tenant of the wall: every element that rests somewhere, all words marked."""

from __future__ import annotations

_HEAD = (
    '<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"'
    ' xmlns:bpm="urn:pgbpm:bpmn:1" xmlns:camunda="http://camunda.org/schema/1.0/bpmn"'
    ' targetNamespace="{m}">'
    '<message id="{m}-m1" name="{m}-paid"/><message id="{m}-m2" name="{m}-answer"/>'
    '<message id="{m}-m3" name="{m}-call"/><signal id="{m}-s1" name="{m}-alarm"/>'
    '<error id="{m}-e1" errorCode="{m}-oops"/>'
)

_BRANCHES = """
<serviceTask id="{m}-work" name="{m} work" bpm:type="{m}-work" bpm:retries="3"/>
<boundaryEvent id="{m}-slow" attachedToRef="{m}-work" cancelActivity="false">
  <timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition></boundaryEvent>
<endEvent id="{m}-slowly"/>
<serviceTask id="{m}-other" bpm:type="{m}-other"/>
<parallelGateway id="{m}-join"/><endEvent id="{m}-joined"/>
<userTask id="{m}-look" name="{m} look" bpm:candidateGroups="{m}-people"/><endEvent id="{m}-seen"/>
<serviceTask id="{m}-gated" bpm:type="{m}-gated" bpm:approval="required"/><endEvent id="{m}-let"/>
<sendTask id="{m}-send" bpm:type="{m}-courier"/>
<intermediateCatchEvent id="{m}-wait" bpm:correlationKey="${{key}}">
  <messageEventDefinition messageRef="{m}-m1"/></intermediateCatchEvent><endEvent id="{m}-sent"/>
<intermediateCatchEvent id="{m}-pause">
  <timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition>
</intermediateCatchEvent><endEvent id="{m}-paused"/>
<intermediateCatchEvent id="{m}-cond"><conditionalEventDefinition>
  <condition>${{go == true}}</condition></conditionalEventDefinition></intermediateCatchEvent>
<endEvent id="{m}-met"/>
<intermediateCatchEvent id="{m}-sig"><signalEventDefinition signalRef="{m}-s1"/>
</intermediateCatchEvent><endEvent id="{m}-heard"/>
<subProcess id="{m}-sub"><startEvent id="{m}-in"/><serviceTask id="{m}-inner" bpm:type="{m}-inner"/>
  <endEvent id="{m}-out"/>
  <sequenceFlow id="{m}-sf1" sourceRef="{m}-in" targetRef="{m}-inner"/>
  <sequenceFlow id="{m}-sf2" sourceRef="{m}-inner" targetRef="{m}-out"/></subProcess>
<endEvent id="{m}-subbed"/>
<serviceTask id="{m}-each" bpm:type="{m}-each"><multiInstanceLoopCharacteristics
  camunda:collection="items" camunda:elementVariable="item"/></serviceTask>
<endEvent id="{m}-eached"/>
<callActivity id="{m}-phone" calledElement="{m}-child"/><endEvent id="{m}-phoned"/>
<eventBasedGateway id="{m}-race"/>
<intermediateCatchEvent id="{m}-race1" bpm:correlationKey="${{key}}">
  <messageEventDefinition messageRef="{m}-m2"/></intermediateCatchEvent>
<intermediateCatchEvent id="{m}-race2">
  <timerEventDefinition><timeDuration>PT2H</timeDuration></timerEventDefinition>
</intermediateCatchEvent><endEvent id="{m}-raced"/>
<inclusiveGateway id="{m}-split"/>
<serviceTask id="{m}-i1" bpm:type="{m}-i1"/><serviceTask id="{m}-i2" bpm:type="{m}-i2"/>
<inclusiveGateway id="{m}-meet"/><endEvent id="{m}-metup"/>
<serviceTask id="{m}-book" bpm:type="{m}-book"/>
<boundaryEvent id="{m}-undo" attachedToRef="{m}-book"><compensateEventDefinition/></boundaryEvent>
<serviceTask id="{m}-unbook" bpm:type="{m}-unbook" isForCompensation="true"/>
<association id="{m}-as" sourceRef="{m}-undo" targetRef="{m}-unbook" associationDirection="One"/>
<userTask id="{m}-after"/><endEvent id="{m}-afterwards"/>
"""

_FLOWS = (
    "start>fork fork>work fork>other work>join other>join join>joined slow>slowly fork>look "
    "look>seen fork>gated gated>let fork>send send>wait wait>sent fork>pause pause>paused "
    "fork>cond cond>met fork>sig sig>heard fork>sub sub>subbed fork>each each>eached fork>phone "
    "phone>phoned fork>race race>race1 race>race2 race1>raced race2>raced fork>split "
    "i1>meet i2>meet meet>metup fork>book book>after after>afterwards"
)


def _flows(pairs: str) -> str:
    return "".join(
        f'<sequenceFlow id="{{m}}-{a}-{b}" sourceRef="{{m}}-{a}" targetRef="{{m}}-{b}"/>'
        for a, b in (pair.split(">") for pair in pairs.split())
    )


def everything(mark: str, version: int) -> str:
    """``<mark>-all``: one token rests in every kind of wait at once."""
    conditional = "".join(
        f'<sequenceFlow id="{{m}}-split-{to}" sourceRef="{{m}}-split" targetRef="{{m}}-{to}">'
        "<conditionExpression>${{amount &gt; 0}}</conditionExpression></sequenceFlow>"
        for to in ("i1", "i2")
    )
    text = (
        _HEAD + '<process id="{m}-all" name="{m} all {n}" isExecutable="true">'
        '<startEvent id="{m}-start"/>'
        + '<parallelGateway id="{m}-fork"/>'
        + _BRANCHES
        + _flows(_FLOWS)
        + conditional
        + "</process></definitions>"
    )
    return text.format(m=mark, n=version)


def line(mark: str, version: int = 1, code: str = "line") -> str:
    """``<mark>-line``: one task, one person."""
    text = (
        _HEAD + '<process id="{m}-{c}" name="{m} line {n}" isExecutable="true">'
        '<startEvent id="{m}-start"/>'
        '<serviceTask id="{m}-one" bpm:type="{m}-one" bpm:retries="1"/><userTask id="{m}-two"/>'
        '<endEvent id="{m}-end"/>'
        + _flows("start>one one>two two>end")
        + "</process></definitions>"
    )
    return text.format(m=mark, n=version, c=code)


def checked(mark: str) -> str:
    """``<mark>-checked``: one task, whose results are reviewed."""
    text = (
        _HEAD + '<process id="{m}-checked" name="{m} checked" isExecutable="true">'
        '<startEvent id="{m}-start"/>'
        '<serviceTask id="{m}-check" bpm:type="{m}-checked"/><endEvent id="{m}-end"/>'
        + _flows("start>check check>end")
        + "</process></definitions>"
    )
    return text.format(m=mark)


def child(mark: str) -> str:
    """``<mark>-child``: what is called."""
    text = (
        _HEAD + '<process id="{m}-child" name="{m} child" isExecutable="true">'
        '<startEvent id="{m}-start"/>'
        '<serviceTask id="{m}-low" bpm:type="{m}-low"/><endEvent id="{m}-end"/>'
        + _flows("start>low low>end")
        + "</process></definitions>"
    )
    return text.format(m=mark)


def starts(mark: str) -> str:
    """``<mark>-starts``: begun by a message, a signal, a timer or by hand."""
    text = (
        _HEAD + '<process id="{m}-starts" name="{m} starts" isExecutable="true">'
        '<startEvent id="{m}-hand"/>'
        '<startEvent id="{m}-bym"><messageEventDefinition messageRef="{m}-m3"/></startEvent>'
        '<startEvent id="{m}-bys"><signalEventDefinition signalRef="{m}-s1"/></startEvent>'
        '<startEvent id="{m}-byt"><timerEventDefinition><timeCycle>R/P1D</timeCycle>'
        '</timerEventDefinition></startEvent><userTask id="{m}-see"/><endEvent id="{m}-end"/>'
        + _flows("hand>see bym>see bys>see byt>see see>end")
        + "</process></definitions>"
    )
    return text.format(m=mark)
