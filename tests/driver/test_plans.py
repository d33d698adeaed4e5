"""The plans of every picker and every hot statement, as sessions really use them.

One process visits every kind of node; a session drives it through every call that runners and
people make, while all its statements, those inside of functions and of foreign keys included, are
captured with what they read. Around it lie thousands of rows in every live and final state.

Generic plans live as long as their session, so it matters when they were made: while the tables
were empty, on fresh statistics, on statistics of empty tables, at different sizes of tables that
were never analysed (small indexes of different heights make the planner change its mind). Always
every scan must use an index with the columns that make it a look-up or a bounded pick, and read
few rows.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from benchmarks.history import multiply
from benchmarks.plans import Plan, Scan, Sources, captured, condition_columns
from psycopg.sql import SQL, Identifier
from tests.support.database import TestDatabase

from pgbpm.devtools import scratch

pytestmark = pytest.mark.smoke  # on every server version

N = 12

# What starts by itself.
SELF = """
<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="t">
  <message id="m" name="begin"/><signal id="s" name="begin-all"/>
  <process id="self" isExecutable="true">
    <startEvent id="told"><messageEventDefinition messageRef="m"/></startEvent>
    <sequenceFlow id="f1" sourceRef="told" targetRef="end"/>
    <startEvent id="called"><signalEventDefinition signalRef="s"/></startEvent>
    <sequenceFlow id="f2" sourceRef="called" targetRef="end"/>
    <startEvent id="timed">
      <timerEventDefinition><timeCycle>R/PT12H</timeCycle></timerEventDefinition>
    </startEvent>
    <sequenceFlow id="f3" sourceRef="timed" targetRef="end"/>
    <endEvent id="end"/>
  </process>
</definitions>
"""

PLAIN = """
<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="t">
  <process id="plain" isExecutable="true">
    <startEvent id="start"/><sequenceFlow id="f" sourceRef="start" targetRef="end"/>
    <endEvent id="end"/>
  </process>
</definitions>
"""
RULES = [
    "select from bpm.set_routing_rule('plain', 'plain', 'StartProcess', '${payload.n > 0}',"
    " p_process_code => 'plain', p_business_key_path => 'payload.key')",
    "select from bpm.set_routing_rule('told', 'told', 'Correlate', p_message_name => 'begin',"
    " p_correlation_path => 'payload.key')",
    "select from bpm.set_routing_rule('note', 'note', 'Attach',"
    " p_business_key_path => 'payload.of')",
]

COPIES = 150
READ_AT_MOST = 40 * N
PLENTY = 4 * READ_AT_MOST

PROCESS = """
<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:bpm="urn:pgbpm:bpmn:1" xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" targetNamespace="t">
  <message id="m" name="picked-up"/>
  <error id="no" errorCode="ApprovalRejected"/>
  <error id="broken" errorCode="broken"/>
  <process id="wide" isExecutable="true">
    <startEvent id="start"/>
    <sequenceFlow id="f-work" sourceRef="start" targetRef="work"/>
    <serviceTask id="work" bpm:retries="3">
      <extensionElements><zeebe:ioMapping>
        <zeebe:input source="= amount + 1" target="more"/><zeebe:output source="= amount" target="same"/>
      </zeebe:ioMapping></extensionElements>
    </serviceTask>
    <boundaryEvent id="late" attachedToRef="work"><timerEventDefinition><timeDuration>P30D</timeDuration></timerEventDefinition></boundaryEvent>
    <sequenceFlow id="f-late" sourceRef="late" targetRef="too-late"/>
    <endEvent id="too-late"/>
    <boundaryEvent id="bad" attachedToRef="work"><errorEventDefinition errorRef="broken"/></boundaryEvent>
    <sequenceFlow id="f-bad" sourceRef="bad" targetRef="stopped"/>
    <endEvent id="stopped"><terminateEventDefinition/></endEvent>
    <sequenceFlow id="f-choice" sourceRef="work" targetRef="choice"/>
    <exclusiveGateway id="choice" default="f-small"/>
    <sequenceFlow id="f-small" sourceRef="choice" targetRef="too-late"/>
    <sequenceFlow id="f-fork" sourceRef="choice" targetRef="fork"><conditionExpression>${amount &gt; 100}</conditionExpression></sequenceFlow>
    <parallelGateway id="fork"/>
    <sequenceFlow id="f-notify" sourceRef="fork" targetRef="notify"/>
    <sendTask id="notify" bpm:destination="partner"/>
    <sequenceFlow id="f-wait" sourceRef="notify" targetRef="wait"/>
    <intermediateCatchEvent id="wait"><messageEventDefinition messageRef="m"/></intermediateCatchEvent>
    <sequenceFlow id="f-waited" sourceRef="wait" targetRef="join"/>
    <sequenceFlow id="f-gated" sourceRef="fork" targetRef="gated"/>
    <serviceTask id="gated" bpm:approval="required"/>
    <boundaryEvent id="refused" attachedToRef="gated"><errorEventDefinition errorRef="no"/></boundaryEvent>
    <sequenceFlow id="f-refused" sourceRef="refused" targetRef="stopped"/>
    <sequenceFlow id="f-pause" sourceRef="gated" targetRef="pause"/>
    <intermediateCatchEvent id="pause"><timerEventDefinition><timeDuration>PT1M</timeDuration></timerEventDefinition></intermediateCatchEvent>
    <sequenceFlow id="f-paused" sourceRef="pause" targetRef="join"/>
    <parallelGateway id="join"/>
    <sequenceFlow id="f-some" sourceRef="join" targetRef="inside"/>
    <subProcess id="inside">
      <startEvent id="enter"/>
      <sequenceFlow id="f-enter" sourceRef="enter" targetRef="some"/>
      <inclusiveGateway id="some"/>
      <sequenceFlow id="f-one" sourceRef="some" targetRef="together"/>
      <sequenceFlow id="f-two" sourceRef="some" targetRef="settle"/>
      <serviceTask id="settle"/>
      <sequenceFlow id="f-settled" sourceRef="settle" targetRef="together"/>
      <inclusiveGateway id="together"/>
      <sequenceFlow id="f-leave" sourceRef="together" targetRef="leave"/>
      <endEvent id="leave"/>
    </subProcess>
    <sequenceFlow id="f-each" sourceRef="inside" targetRef="each"/>
    <serviceTask id="each">
      <multiInstanceLoopCharacteristics bpm:collection="${three}" bpm:elementVariable="one" bpm:outputCollection="oks" bpm:outputElement="ok">
        <completionCondition>${nrOfCompletedInstances &gt;= 2}</completionCondition>
      </multiInstanceLoopCharacteristics>
    </serviceTask>
    <sequenceFlow id="f-turn" sourceRef="each" targetRef="turns"/>
    <serviceTask id="turns">
      <multiInstanceLoopCharacteristics isSequential="true" bpm:collection="${three}" bpm:elementVariable="one"/>
    </serviceTask>
    <sequenceFlow id="f-check" sourceRef="turns" targetRef="check"/>
    <userTask id="check"/>
    <sequenceFlow id="f-close" sourceRef="check" targetRef="close"/>
    <serviceTask id="close"/>
    <boundaryEvent id="undo" attachedToRef="close"><compensateEventDefinition/></boundaryEvent>
    <task id="reopen" isForCompensation="true"/>
    <association id="undone" sourceRef="undo" targetRef="reopen"/>
    <sequenceFlow id="f-back" sourceRef="close" targetRef="back"/>
    <intermediateThrowEvent id="back"><compensateEventDefinition/></intermediateThrowEvent>
    <sequenceFlow id="f-end" sourceRef="back" targetRef="end"/>
    <endEvent id="end"/>
  </process>
  <process id="spin" isExecutable="true">
    <startEvent id="begin"/>
    <sequenceFlow id="s-turn" sourceRef="begin" targetRef="turn"/>
    <manualTask id="turn"/>
    <sequenceFlow id="s-again" sourceRef="turn" targetRef="again"/>
    <exclusiveGateway id="again" default="s-on"/>
    <sequenceFlow id="s-out" sourceRef="again" targetRef="out"><conditionExpression>${amount &lt; 0}</conditionExpression></sequenceFlow>
    <sequenceFlow id="s-on" sourceRef="again" targetRef="turn"/>
    <endEvent id="out"/>
  </process>
</definitions>
"""  # noqa: E501

# The workflow of a process of several, with a condition it waits for beside its task.
PART = """<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="plans">
  <process id="parts" isExecutable="true">
    <startEvent id="start"/>
    <serviceTask id="part"/>
    <boundaryEvent id="seen" attachedToRef="part" cancelActivity="false">
      <conditionalEventDefinition><condition>${never}</condition></conditionalEventDefinition>
    </boundaryEvent>
    <sequenceFlow id="p1" sourceRef="start" targetRef="part"/>
    <sequenceFlow id="p2" sourceRef="part" targetRef="end"/>
    <sequenceFlow id="p3" sourceRef="seen" targetRef="end2"/>
    <endEvent id="end"/><endEvent id="end2"/>
  </process>
</definitions>
"""
TRIO = json.dumps(
    [
        {"binding_key": "a", "workflow": "parts"},
        {"binding_key": "b", "workflow": "parts"},
        {"binding_key": "c", "workflow": "parts", "depends_on": ["a", "b"]},
        {
            "binding_key": "d",
            "workflow": "parts",
            "depends_on": ["c"],
            "start_condition": "${amount > 1000}",
        },
    ]
)

# Commands to receivers that are bounded, that want them in order, and that can be asked.
POSTS = """<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
  xmlns:bpm="urn:pgbpm:bpmn:1" targetNamespace="plans">
  <process id="posts" isExecutable="true">
    <startEvent id="start"/>
    <sequenceFlow id="p1" sourceRef="start" targetRef="narrow"/>
    <sendTask id="narrow" bpm:destination="narrow"/>
    <sequenceFlow id="p2" sourceRef="narrow" targetRef="queue"/>
    <sendTask id="queue" bpm:destination="queue"/>
    <sequenceFlow id="p3" sourceRef="queue" targetRef="asked"/>
    <sendTask id="asked" bpm:destination="asked"/>
    <sequenceFlow id="p4" sourceRef="asked" targetRef="end"/>
    <endEvent id="end"/>
  </process>
</definitions>
"""
RECEIVERS = {
    "narrow": {"max_concurrent": N, "rate_limit": 10 * N, "backoff": "0"},
    "queue": {"ordered": True, "backoff": "0"},
    "asked": {
        "probe_url": "http://asked.test/{command_id}",
        "absent_means": "Pending",
        "backoff": "0",
        "max_attempts": 5,
    },
}

# Tables of a few rows, which are read as the planner likes.
SMALL = {
    "setting", "tenant", "tenant_grant", "test_clock", "schema_migrations", "destination",
    "routing_rule", "routing_state", "event_subscription", "event_stream", "destination_gate",
    "task_quota",
}  # fmt: skip
# Indexes whose first columns are enough: all rows with that prefix are wanted, or the first few.
PREFIX = {
    "history_event_pkey": 1,
    "execution_pkey": 1,
    "result_pkey": 1,
    "rejected_result_pkey": 2,
    "fact_current": 1,
    "fact_of_subject": 1,
    "delivery_attempt_pkey": 2,
    "parallel_join_pkey": 2,
    "parallel_join_arrival_pkey": 2,
    "inclusive_join_pkey": 3,
    "inclusive_flow_pkey": 2,
    "workflow_flow_pkey": 3,
    "process_workflow_binding_pkey": 2,
    "process_workflow_binding_process_version_id_position_tenant_key": 1,
    "process_version_definition_id_version_tenant_id_key": 1,
    "workflow_node_pkey": 2,
    "workflow_node_boundary": 2,
    "business_case_business_key_tenant_id_key": 1,
    "workflow_instance_process_instance_id_binding_key_trigger_k_key": 1,
    "approval_record_workflow_instance_id_node_id_token_id_visit_key": 1,
    "approval_pending_effect": 2,
    "approval_vote_pkey": 2,
    "approval_due": 2,
    "token_of_instance": 1,
    "token_of_scope": 1,
    "scope_of_host": 1,
    "scope_of_parent": 1,
    "scope_of_instance": 1,
    "compensation_record_workflow_instance_id_position_tenant_id_key": 1,
    "compensation_of_thrower": 1,
    "compensation_of_inner": 1,
    "compensation_of_handler": 1,
    "multi_instance_part_pkey": 2,
    "task_of_token": 1,
    "timer_of_token": 1,
    "subscription_of_token": 1,
    "message_of_subscription": 1,
    "subscription_open": 2,
    "subscription_signal": 2,
    "subscription_start": 1,
    "signal_last": 1,
    "message_buffered": 2,
    "message_expiry": 2,
    "task_ready": 4,
    "task_lease": 2,
    "task_level_pkey": 2,
    "token_ready": 2,
    "timer_due": 2,
    "inbox_due": 2,
    "outbox_pending": 3,
    "outbox_sequence": 2,
    "destination_slot_pkey": 3,
    "outbox_lease": 2,
    "outbox_unknown": 2,
    "outbox_review": 2,
    "outbox_probe": 2,
    "inbox_of_target": 1,
    "event_due": 2,
    "event_outbox_pending": 2,
    "event_outbox_published": 2,
    "event_waiting": 2,
    "event_open_in_thread": 1,
    "event_process_instance_pkey": 2,
    "process_instance_of_key": 1,
    "routing_decision_event_id_tenant_id_key": 1,
    "dead_letter_of_event": 1,
}
# Rows leave these when they have done their work.
EMPTIED = (
    "inbox", "parallel_join", "parallel_join_arrival", "inclusive_join", "multi_instance",
    "multi_instance_part",
)  # fmt: skip
# What the pickers walk: each must have been seen.
PICKED = {
    "task_ready", "task_lease", "token_ready", "timer_due", "inbox_due", "message_expiry",
    "outbox_pending", "outbox_lease", "subscription_open", "message_buffered",
    "approval_pending_effect", "approval_due", "event_due", "event_waiting",
    "event_open_in_thread", "event_outbox_pending", "event_outbox_published", "outbox_review",
    "outbox_probe", "outbox_sequence", "destination_slot_pkey",
}  # fmt: skip


class Drive:
    """One session that makes every call."""

    def __init__(self, database: TestDatabase) -> None:
        self.conn = psycopg.connect(database.url, autocommit=True)
        self.look = database.rows  # what only the test asks: on another connection
        self.positions: dict[str, Any] = {}
        self.spinning: uuid.UUID | None = None

    def rows(self, query: Any, *params: Any) -> list[tuple[Any, ...]]:
        """All rows of one statement."""
        cursor = self.conn.execute(query, params or None)
        return cursor.fetchall() if cursor.description else []

    def once(self, n: int, *, people: bool = True) -> None:
        """Every call, on sets of about ``n``; without ``people`` user tasks stay open."""
        keys = new_keys(n)
        self.start(keys)
        self.correlate(keys[: n // 3])  # early: buffered
        self.correlate([uuid.uuid4().hex], ttl="1 minute")  # for nobody: will expire
        self.work(n)
        self.deliver(n)
        self.post(n)
        self.decide(n)
        self.complete(self.claim(["gated"], n))
        self.correlate(keys[n // 3 :])
        self.tick()
        if self.spinning is not None:
            self.rows("select * from bpm.cancel_process(%s)", self.spinning)
            self.spinning = None
        self.rows("select bpm.advance_clock('1 day')")  # timers, leases, messages and commands
        for _ in range(3):
            self.tick()
        self.record(self.claim(["settle"], n))
        for kind in ("each", "each", "turns", "turns", "turns"):
            self.complete(self.claim([kind], n))
        if people:
            self.people(n)
        self.complete(self.claim(["close"], n))
        self.begin(keys)
        self.intake(keys)
        self.several(n)
        self.repair()
        self.tell()
        self.rows("select * from bpm.claim_probes('w', %s)", n)
        self.rows("select bpm.next_due(array['work', 'close'])")
        self.rows("select bpm.apply_approval_effects(%s)", n)

    def start(self, keys: list[str]) -> None:
        items = [
            {
                "code": "wide",
                "variables": {"amount": 500, "three": [1, 2, 3]},
                "business_key": k,
                "idempotency_key": k,
            }
            for k in keys
        ]
        for _ in range(2):  # the second time every key is known
            outcomes = self.rows(
                "select outcome from bpm.start_processes(p_items => %s)", json.dumps(items)
            )
            assert {o for (o,) in outcomes} == {"Done"}

    def begin(self, keys: list[str]) -> None:
        """What starts by itself: messages, a signal; its timer fires with the ticks."""
        for key in keys:
            self.rows("select from bpm.correlate_message('begin', %s)", key)
        self.rows("select from bpm.broadcast_signal('begin-all')")
        self.tick()

    def several(self, n: int) -> None:
        """Processes of several workflows: two at once, one after both, one that is skipped."""
        items = json.dumps([{"code": "trio", "variables": {"amount": 1}}] * n)
        for _ in range(2):
            started = self.rows("select process_instance_id from bpm.start_processes(%s)", items)
            self.complete(self.claim(["part"], 2 * n))
            self.tick()
            self.complete(self.claim(["part"], n))
            self.tick()
        for call in ("suspend_process", "resume_process", "cancel_process"):
            process = self.rows("select process_instance_id from bpm.start_process('trio')")[0][0]
            self.complete(self.claim(["part"], 1))
            self.rows(SQL("select from bpm.{}(%s)").format(Identifier(call)), process)
            self.rows("select from bpm.cancel_process(%s)", process)
        assert started

    def spin(self) -> None:
        """A token that hops until it is parked; the next tick goes on with it."""
        ((self.spinning,),) = self.rows(
            "select process_instance_id from bpm.start_process('spin', '{\"amount\": 1}')"
        )

    def correlate(self, keys: list[str], ttl: str = "1 day") -> None:
        for key in keys:
            self.rows(
                "select from bpm.correlate_message('picked-up', %s, '{\"at\": 1}', %s)", key, ttl
            )

    def claim(self, types: list[str], limit: int) -> list[dict[str, Any]]:
        name = ",".join(types)
        ((tasks, self.positions[name]),) = self.rows(
            "select tasks, positions::text from bpm.claim_tasks_at("
            "'w', %s, %s, p_positions => %s::jsonb)",
            types, limit, self.positions.get(name),
        )  # fmt: skip
        return list(tasks)

    def complete(self, tasks: list[dict[str, Any]]) -> None:
        items = _items(tasks, variables={"ok": True})
        for _ in range(2):  # the second time it is a repeat
            self.rows("select * from bpm.complete_tasks(p_items => %s)", items)

    def record(self, tasks: list[dict[str, Any]]) -> None:
        """Complete tasks with facts and evidence: of something new, and of what is known."""
        piece = {"object_key": uuid.uuid4().hex, "sha256": "0" * 64}
        fact = {"subject_type": "parcel", "name": "place", "evidence": [0]}
        for task in tasks:
            for key in (task["task_id"], "known"):
                fact |= {"subject_key": key, "value": task["fencing_token"]}
                [task_item] = json.loads(_items([task]))
                items = json.dumps([{**task_item, "evidence": [piece], "facts": [fact]}])
                self.rows("select * from bpm.complete_tasks(p_items => %s)", items)
        facts = [
            {**fact, "subject_key": key, "name": task["task_id"], "expected_version": 0}
            for task in tasks[:2]
            for key in ("known", uuid.uuid4().hex)
        ]
        items = _items(tasks, evidence=[piece, {**piece, "object_key": "known"}], facts=facts)
        self.rows("select * from bpm.complete_tasks(p_items => %s)", items)
        self.rows("select * from bpm.attach_evidence(%s)", json.dumps([piece]))
        self.rows("select * from bpm.get_facts('parcel', 'known')")
        for _ in range(2):
            key = f"k-{piece['object_key']}"
            self.rows("select * from bpm.broadcast_signal('nobody', p_idempotency_key => %s)", key)
        self.rows("select * from bpm.maintain_keys(10)")

    def work(self, n: int) -> None:
        tasks = self.claim(["work", "close"], n)
        assert len(tasks) >= 8
        self.rows("select * from bpm.extend_leases(p_items => %s)", _items(tasks))
        released, failed, given_up, thrown, caught, kept, *done = tasks
        for _ in range(2):  # it does not meet the result schema; the second time it is a repeat
            rejected = self.rows(
                "select outcome::text from bpm.complete_tasks(p_items => %s)",
                _items(done, variables={"wrong": True}),
            )
            assert set(rejected) == {("Rejected",)}
        self.complete(done)
        self.rows("select * from bpm.release_tasks(p_items => %s)", _items([released]))
        items = json.dumps(
            [
                json.loads(_items([failed], error={"m": 1}))[0],
                json.loads(_items([given_up], error={"m": 1}, retryable=False))[0],
            ]
        )
        self.rows("select * from bpm.fail_tasks(p_items => %s)", items)
        for task, code in ((thrown, "unknown"), (caught, "broken")):
            self.rows(
                "select * from bpm.throw_error(%s, %s, %s)",
                task["task_id"], task["fencing_token"], code,
            )  # fmt: skip
        assert kept  # its lease will run out
        rest = self.rows("select task_id, fencing_token from bpm.claim_tasks('w', '{work}', 2)")
        self.complete([{"task_id": str(t), "fencing_token": f} for t, f in rest])

    def deliver(self, n: int) -> None:
        ((commands, self.positions["commands"]),) = self.rows(
            "select commands, positions::text from bpm.claim_commands_at("
            "'w', %s, p_positions => %s::jsonb)",
            n, self.positions.get("commands"),
        )  # fmt: skip
        assert len(commands) >= 5
        outcomes = ["NotSent", "Unknown", "Refused", None, *["Sent"] * len(commands)]
        items = [
            {
                "command_id": c["command_id"],
                "fencing_token": c["fencing_token"],
                "outcome": outcome,
                "receipt": {"status": 200},
            }
            for c, outcome in zip(commands, outcomes, strict=False)
            if outcome is not None  # one stays Sending: its lease will run out
        ]
        for _ in range(2):
            self.rows("select * from bpm.mark_commands(p_items => %s)", json.dumps(items))

    def post(self, n: int) -> None:
        """Bounded, ordered and asked: sent, unknown, asked for, answered late."""
        items = [{"code": "posts", "business_key": f"order {i % 3}"} for i in range(n)]
        self.rows("select count(*) from bpm.start_processes(%s)", json.dumps(items))
        lost: list[dict[str, Any]] = []
        for _ in range(4):
            ((commands, self.positions["commands"]),) = self.rows(
                "select commands, positions::text from bpm.claim_commands_at("
                "'w', %s, p_positions => %s::jsonb)",
                3 * n, self.positions.get("commands"),
            )  # fmt: skip
            asked = [c for c in commands if c["destination_code"] == "asked"]
            lost += asked[:4]
            said = [
                (c, "Unknown" if c in asked[:4] else "NotSent" if i % 5 == 1 else "Sent")
                for i, c in enumerate(commands)
            ]
            self.mark(said)
        self.rows("select * from bpm.claim_commands('w', %s)", 1)
        probes = self.rows(
            "select p.command_id::text, p.fencing_token from bpm.claim_probes('w', %s) p", n
        )
        assert len(probes) >= 3
        items = [
            {"command_id": probe, "fencing_token": fence, "outcome": outcome}
            for (probe, fence), outcome in zip(
                probes, ["Found", "Unclear", *["Absent"] * n], strict=False
            )
        ]
        for _ in range(2):
            self.rows("select * from bpm.mark_probes(%s)", json.dumps(items))
        self.mark([(c, "Sent") for c in lost])  # late: of some the receiver had said no
        for _ in range(3):
            self.told(n)
        self.rows("select * from bpm.maintain_domain_events(%s)", n)

    def mark(self, said: list[tuple[dict[str, Any], str]]) -> None:
        items = [
            {
                "command_id": c["command_id"],
                "fencing_token": c["fencing_token"],
                "outcome": outcome,
            }
            for c, outcome in said
        ]
        self.rows("select * from bpm.mark_commands(%s)", json.dumps(items))

    def told(self, n: int) -> None:
        """Events are numbered, and whoever subscribed is told."""
        self.tick()
        for subscription in (None, "asks"):
            for row in self.rows(
                "select c.subscription, c.fencing_token, c.published_to"
                "  from bpm.claim_domain_events('w', %s, p_subscription => %s) c",
                n, subscription,
            ):  # fmt: skip
                self.rows("select bpm.mark_published(%s, %s, %s)", *row)

    def decide(self, n: int) -> None:
        waiting = self.look(
            "select id from bpm_core.approval_record where status = 'Pending'"
            " order by created_at desc limit %s",
            [n],
        )
        assert len(waiting) >= 3
        for number, row in enumerate(waiting):
            decision = "Rejected" if number == 1 else "Approved"
            for _ in range(2):
                self.rows(
                    "select * from bpm.decide_approval(p_approval_id => %s, p_decision => %s)",
                    row["id"], decision,
                )  # fmt: skip

    def tick(self) -> None:
        ((_, self.positions["tick"]),) = self.rows(
            "select done, positions::text from bpm.tick(%s, %s::jsonb)",
            N, self.positions.get("tick"),
        )  # fmt: skip

    def intake(self, keys: list[str]) -> None:
        """Events: by rules, behind each other, for nobody, and decided by hand."""
        kinds = ["plain", "told", "note", "odd", "plain"]
        items = [
            {
                "channel": "c",
                "provider_event_id": uuid.uuid4().hex,
                "type": kinds[i % 5],
                "payload": {"n": 1, "key": uuid.uuid4().hex, "of": keys[0]},
                "thread_id": key if i % 3 == 0 else None,
            }
            for i, key in enumerate([*keys, *keys[:4]])
        ]
        for _ in range(2):  # the second time they are known
            self.rows("select * from bpm.accept_events(p_items => %s)", json.dumps(items))
        self.tick()
        self.look("select from bpm.set_routing_rule('other', 'other', 'Ignore')")
        self.tick()  # those that wait are looked at with the newer rules
        odd = self.look(
            "select event_id from bpm.event where dispatch_state = 'Pending' and reason = 'NoRule'"
            " order by event_id desc limit 2"
        )
        decision = json.dumps({"action": "StartProcess", "process_code": "plain"})
        for event in [*odd, *odd]:
            self.rows("select * from bpm.dispatch_event(%s, %s)", event["event_id"], decision)

    def tell(self) -> None:
        """Domain events: published by the ticks, told to who asks."""
        self.tick()
        ((fence, to),) = self.rows(
            "select fencing_token, published_to"
            "  from bpm.claim_domain_events('w', %s, p_subscription => 'listener')",
            N,
        )
        marked = self.rows("select bpm.mark_published('listener', %s, %s)", fence, to)
        assert marked == [("Done",)]

    def people(self, n: int) -> None:
        open_tasks = self.look(
            "select id from bpm_core.task_instance where state = 'Ready' and task_type = 'bpm:user'"
            " order by id desc limit %s",
            [n],
        )
        assert open_tasks
        for row in open_tasks:
            self.rows("select * from bpm.claim_user_task(%s)", row["id"])
            self.rows("select * from bpm.complete_user_task(%s, '{\"fine\": true}')", row["id"])

    def repair(self) -> None:
        (running,) = self.look(
            "select process_instance_id as id from bpm_core.workflow_instance"
            " where status = 'Running' order by id desc limit 1"
        )
        process = running["id"]
        self.rows("select bpm.set_variables(%s, '{\"seen\": 1}')", process)
        self.rows("select bpm.get_variables(%s)", process)
        self.rows("select * from bpm.cancel_process(%s)", process)
        letters = self.look(
            "select id, incident_id from bpm_core.dead_letter"
            " where state = 'Open' and kind = 'Task' order by id desc limit 2"
        )
        assert letters
        self.rows("select * from bpm.requeue_dead_letter(%s)", letters[0]["id"])
        self.rows("select * from bpm.resolve_incident(%s)", letters[-1]["incident_id"])


def _items(tasks: list[dict[str, Any]], **more: Any) -> str:
    return json.dumps(
        [{"task_id": t["task_id"], "fencing_token": t["fencing_token"], **more} for t in tasks]
    )


# -- the sessions --------------------------------------------------------------------------------


def prepare(database: TestDatabase) -> None:
    """The process, its destination, and no autovacuum that would mend what a test is about."""
    with database.connect() as conn:
        for (table,) in conn.cursor(row_factory=psycopg.rows.tuple_row).execute(
            "select c.oid::regclass::text from pg_class c"
            " where c.relnamespace = 'bpm_core'::regnamespace and c.relkind = 'r'"
        ):
            conn.execute(f"alter table {table} set (autovacuum_enabled = off)")
        conn.execute(
            "select bpm.register_destination('partner', p_config => %s)",
            ['{"url": "http://partner.test/", "method": "POST"}'],
        )
        for code, profile in RECEIVERS.items():
            given = "".join(f", p_{name} => %({name})s" for name in profile)
            conn.execute(
                f"select bpm.register_destination(%(code)s, p_config => %(config)s{given})",
                {"code": code, "config": f'{{"url": "http://{code}.test/"}}', **profile},
            )
        conn.execute("select * from bpm.deploy_bpmn(%s)", [POSTS])
        conn.execute("select bpm.subscribe_events('heard', p_notify_channel => 'heard')")
        conn.execute("select bpm.subscribe_events('asks')")
        conn.execute("select bpm.set_setting('engine.domain_event_days', '1')")
        for task in ("work", "close"):
            conn.execute(
                "select * from bpm.publish_task(%s, p_input_schema => %s, p_result_schema => %s)",
                [task, '{"type": "object"}', '{"not": {"required": ["wrong"]}}'],
            )
        conn.execute("select * from bpm.deploy_bpmn(%s)", [PROCESS])
        conn.execute("select * from bpm.deploy_bpmn(%s)", [SELF])
        conn.execute("select * from bpm.deploy_bpmn(%s)", [PLAIN])
        for rule in RULES:
            conn.execute(rule)
        conn.execute("select bpm.subscribe_events('listener', 'wide')")
        conn.execute("select * from bpm.deploy_bpmn(%s)", [PART])
        conn.execute("select * from bpm.publish_process('trio', %s)", [TRIO])


def surround(database: TestDatabase) -> None:
    """Thousands of rows in every state that the calls leave."""
    drive = Drive(database)
    drive.once(N, people=False)
    drive.once(N, people=False)
    drive.start(new_keys(N))
    drive.work(N)
    drive.conn.close()
    multiply_all(database, COPIES)
    for table in ("task_instance", "token", "timer", "outbox", "subscription", "message", "event"):
        assert database.value(f"select count(*) from bpm_core.{table}") > PLENTY


def multiply_all(database: TestDatabase, copies: int, spacing: int = 1) -> None:
    """Everything, domain events with numbers that go on."""
    multiply(database.url, copies, spacing)
    with database.connect() as conn:
        conn.execute(
            "insert into bpm_core.event_outbox (tenant_id, id, event_type, aggregate_id,"
            " process_code, payload, state, published_no, created_at, published_at)"
            " select e.tenant_id, gen_random_uuid(), e.event_type, e.aggregate_id, e.process_code,"
            "        e.payload, e.state, case when e.state = 'Published' then t.last_no"
            "          + row_number() over (partition by e.state order by n, e.seq) end,"
            "        e.created_at, e.published_at"
            "   from bpm_core.event_stream t cross join bpm_core.event_outbox e"
            "  cross join generate_series(1, %s) n",
            [copies],
        )
        conn.execute(
            "update bpm_core.event_stream t set last_no = (select max(e.published_no)"
            " from bpm_core.event_outbox e where e.tenant_id = t.tenant_id)"
        )


def new_keys(count: int) -> list[str]:
    return [uuid.uuid4().hex for _ in range(count)]


def one_round(drive: Drive) -> list[Plan]:
    """The plans of every statement of every call."""
    drive.spin()
    with captured(drive.conn) as plans:
        drive.once(N)
    drive.conn.close()
    return plans


def planned_on_nothing(database: TestDatabase) -> list[Plan]:
    """A session that planned everything while nothing was there."""
    drive = Drive(database)
    drive.once(N)
    surround(database)
    return one_round(drive)


def planned_on_statistics(database: TestDatabase) -> list[Plan]:
    """Full tables, fresh statistics."""
    database.rows("vacuum (analyze)")
    return one_round(Drive(database))


def planned_on_empty_statistics(database: TestDatabase) -> list[Plan]:
    """The statistics know of empty tables."""
    database.rows("vacuum (analyze)")
    surround(database)
    return one_round(Drive(database))


def planned_on_statistics_of_the_dead(database: TestDatabase) -> list[Plan]:
    """Of tables whose rows are deleted the statistics know pages without a living row, as
    ``analyze`` leaves them when they ran empty under a snapshot held open."""
    with database.connect() as conn:
        conn.execute(
            "update pg_class c set reltuples = 0, relpages = greatest(c.relpages, 1)"
            "  from pg_index i"
            " where i.indrelid = any (%s::regclass[]) and c.oid in (i.indrelid, i.indexrelid)",
            [[f"bpm_core.{table}" for table in EMPTIED]],
        )
    return one_round(Drive(database))


def planned_while_growing(database: TestDatabase) -> list[Plan]:
    """Sessions that plan at different sizes of tables without statistics."""
    found = one_round(Drive(database))
    for size in range(6):
        drive = Drive(database)
        with captured(drive.conn) as plans:
            drive.once(N, people=False)
        drive.conn.close()
        found.extend(plans)
        multiply_all(database, 1, 1 << size)  # twice as much
    return found


@pytest.fixture(scope="module")
def prepared(server_url: str, template: str) -> Iterator[str]:
    """Name of a database with the processes, and nothing started."""
    with scratch.scratch_database(server_url, template) as url:
        prepare(TestDatabase(url))
        yield scratch.database_name(url)


@pytest.fixture(scope="module")
def surrounded(server_url: str, prepared: str) -> Iterator[str]:
    """Name of a database with full tables, and without statistics."""
    with scratch.scratch_database(server_url, prepared) as url:
        surround(TestDatabase(url))
        yield scratch.database_name(url)


FULL = (planned_on_statistics, planned_on_statistics_of_the_dead)
"""What begins with full tables; the others fill them themselves."""


@pytest.fixture(
    scope="module",
    params=[
        planned_on_nothing,
        planned_on_statistics,
        planned_on_empty_statistics,
        planned_on_statistics_of_the_dead,
        planned_while_growing,
    ],
)
def plans(request: pytest.FixtureRequest, server_url: str, prepared: str) -> list[Plan]:
    """The plans of every statement of one round of each session."""
    begin = request.getfixturevalue("surrounded") if request.param in FULL else prepared
    with scratch.scratch_database(server_url, begin) as url:
        found: list[Plan] = request.param(TestDatabase(url))
        return found


def growing(plans: list[Plan]) -> Iterator[tuple[Scan, Plan]]:
    """All scans of tables that grow."""
    for plan in plans:
        for scan in plan.scans:
            if scan.table not in SMALL and not scan.table.startswith("pg_"):
                yield scan, plan


def fits(scan: Scan, keys: dict[str, list[str]]) -> bool:
    """Whether a scan goes by an index, with the columns that make it a look-up or a pick."""
    if scan.index is None:
        return False
    columns = keys[scan.index]
    return scan.columns >= set(columns[: PREFIX.get(scan.index, len(columns))])


Place = tuple[str, str | None, str | None]


def describe(found: list[tuple[Scan, Plan]], database: TestDatabase) -> str:
    """One line per function, index and condition, with the most rows read at once."""
    most: dict[Place, int] = {}
    with database.connect() as conn:
        sources = Sources(conn)
    for scan, plan in found:
        place = (
            f"{sources.function(plan.statement)}: {scan.kind} {scan.table}",
            scan.index,
            scan.condition,
        )
        most[place] = max(most.get(place, 0), scan.read)
    lines = [f"{place} {index} {on}: {read} rows" for (place, index, on), read in most.items()]
    return "\n".join(sorted(lines))


@pytest.fixture(scope="module")
def keys(database: TestDatabase) -> dict[str, list[str]]:
    """Index → its key columns."""
    return {
        row["name"]: row["columns"]
        for row in database.rows(
            "select i.indexrelid::regclass::text as full_name, c.relname::text as name,"
            # Of an expression the name of its function.
            "       array(select coalesce(a.attname::text, substring("
            "                      pg_get_indexdef(i.indexrelid, k.o::integer, true), '^\\w+'))"
            "               from unnest(i.indkey) with ordinality k(n, o)"
            "               left join pg_attribute a"
            "                 on a.attrelid = i.indrelid and a.attnum = k.n and k.n > 0"
            "              order by o) as columns"
            "  from pg_index i join pg_class c on c.oid = i.indexrelid"
            " where c.relnamespace = 'bpm_core'::regnamespace"
        )
    }


def test_every_scan_is_a_look_up_or_a_pick(
    plans: list[Plan], keys: dict[str, list[str]], database: TestDatabase
) -> None:
    faults = [(s, p) for s, p in growing(plans) if not fits(s, keys)]
    assert not faults, describe(faults, database)


def test_no_scan_reads_much_more_than_it_gives(plans: list[Plan], database: TestDatabase) -> None:
    faults = [(s, p) for s, p in growing(plans) if s.read > READ_AT_MOST]
    assert not faults, describe(faults, database)


def test_no_join_multiplies(plans: list[Plan], database: TestDatabase) -> None:
    with database.connect() as conn:
        sources = Sources(conn)
    faults = {
        f"{sources.function(p.statement)}: {p.joined_away} rows made and thrown away"
        for p in plans
        if p.joined_away > 2 * N * N
    }
    assert not faults, "\n".join(sorted(faults))


def test_every_picker_was_seen(plans: list[Plan]) -> None:
    assert {s.index for s, _ in growing(plans)} >= PICKED


def test_claims_are_planned_alike_however_many_tasks_wait(
    server_url: str, prepared: str, keys: dict[str, list[str]]
) -> None:
    with scratch.scratch_database(server_url, prepared) as url:
        database = TestDatabase(url)
        feeder = Drive(database)
        for waiting in range(0, 300, N):
            drive = Drive(database)
            with captured(drive.conn) as plans:
                drive.complete(drive.claim(["work"], 1))
                drive.tick()
            drive.conn.close()
            faults = [(s, p) for s, p in growing(plans) if not fits(s, keys)]
            assert not faults, f"{waiting} tasks waiting:\n{describe(faults, database)}"
            feeder.start(new_keys(N))
        feeder.conn.close()


def test_the_rules_see_a_bad_plan(database: TestDatabase, keys: dict[str, list[str]]) -> None:
    with psycopg.connect(database.url, autocommit=True) as conn, captured(conn) as found:
        conn.execute("select from bpm_core.task_instance t where t.worker_id = 'w'")
        conn.execute("set enable_seqscan = off")
        conn.execute("set enable_bitmapscan = off")
        conn.execute("select from bpm_core.task_instance t where t.tenant_id = ''")
        conn.execute("select from bpm_core.task_instance t where t.tenant_id = '' and t.id = %s",
                     [uuid.uuid4()])  # fmt: skip
    scans = [scan for scan, _ in growing(found)]
    assert [fits(scan, keys) for scan in scans] == [False, False, True], scans


def test_columns_of_conditions() -> None:
    text = "((a = $1) AND (ROW(b, c) > ROW($2, d)) AND (e = x.f))"
    assert condition_columns(text) == {"a", "b", "c", "e"}
