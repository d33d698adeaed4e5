"""Drives instances in the engine from several sessions at once; the reference follows.

Several threads claim, complete, fail, throw, tick and send messages at random. Between rounds all
of them stand still; then what the engine's history says came from outside is told to the reference
in the order the engine did it, and both must be in the same place: tokens, what is offered and
waited for, variables, nodes passed, status.

History is believed for the order only. What was answered is compared with what was sent, and what
the engine did with it is worked out anew.
"""

from __future__ import annotations

import json
import random
import re
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import psycopg
from tests.model import bpmn
from tests.model.generator import ALARM, CODES, GIVEN, NAMES
from tests.model.graph import COLLECTION, Graph
from tests.model.reference import BEHIND, ITEMS, Decision, Disagreement, Interpreter, Path
from tests.races.kit import Row, Session
from tests.support.database import TestDatabase

SESSIONS = 3
GRAPHS_PER_FILE = 10
ROUNDS = 100
CALM = 15
"""After how many rounds only what must be done is done."""

PATIENCE = 8
"""How often a task is done in one instance before loops are left."""

MANY = (0, 1, 2, 2, 3)
"""How long the collection of multi-instances is."""

KNOWN = 0.9
"""How often a variable that conditions read is there from the start."""

PASSED = {
    *("InstanceStarted", "TokenMoved", "FlowChosen", "TokenForked", "JoinFired", "TokenCompleted"),
    *("TaskCompleted", "TimerFired", "MessageReceived", "SignalReceived", "ErrorCaught"),
    *(
        "ConditionMet",
        "CallCompleted",
        "SignalThrown",
        "EscalationThrown",
        "EscalationCaught",
        "ScopeCompleted",
    ),
}
"""History of a token that goes on from a node, or ends there."""

HISTORY = """
select h.workflow_instance_id::text as instance, h.seq, h.xmin::text as writer, h.kind::text,
       h.token_id::text as token, h.node_id as node, h.detail, t.scope_id::text as scope
  from bpm_core.history_event h
  left join bpm_core.token t on t.tenant_id = h.tenant_id and t.id = h.token_id
 where h.seq > %s
 order by h.seq
"""
STANDING = """
select k.workflow_instance_id::text as instance, k.node_id as name, count(*)::int as times
  from bpm_core.token k
 where k.state not in ('Completed', 'Terminated')
 group by 1, 2
"""
OFFERS = """
select x.instance, x.name, count(*)::int as times
  from (select t.workflow_instance_id::text as instance, 'task ' || t.node_id as name
          from bpm_core.task_instance t where t.state not in ('Completed', 'Cancelled')
        union all
        select t.workflow_instance_id::text, 'timer ' || t.node_id
          from bpm_core.timer t where t.status = 'Scheduled'
        union all
        select s.workflow_instance_id::text, 'wait ' || s.node_id
          from bpm_core.subscription s where s.state = 'Open') x
 group by 1, 2
"""
INSTANCES = """
select w.id::text as instance, w.status::text as status,
       coalesce(w.inputs, p.variables) || w.variables as variables,
       (select count(*) from bpm.incident o where o.workflow_instance_id = w.id
           and o.state = 'Open' and o.code = 'JoinStarved')::int as starved
  from bpm_core.workflow_instance w
  join bpm_core.process_instance p on p.tenant_id = w.tenant_id and p.id = w.process_instance_id
"""
STUCK = """
select i.workflow_instance_id::text as instance, i.node_id as name, count(*)::int as times
  from bpm.incident i where i.state = 'Open' and i.code <> 'JoinStarved' group by 1, 2
"""
TO_MEND = """
select i.incident_id, i.process_instance_id, i.code, i.node_id from bpm.incident i
 where i.state = 'Open' and i.code <> 'JoinStarved' order by random() limit %s
"""


@dataclass
class Case:
    """One instance: in the engine, and as the reference has it."""

    graph: Graph
    instance: str
    key: str
    variables: Row
    process: str | None = None
    caller: Callable[[str, str], bool] | None = None
    reference: Interpreter | None = None
    passed: Counter[str] = field(default_factory=Counter)
    told: list[list[Decision]] = field(default_factory=list)
    pending: list[Decision] = field(default_factory=list)
    writer: tuple[str, str] = ("", "")
    before: str = ""
    scopes: dict[str, tuple[str, str, int]] = field(default_factory=dict)
    hosted: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    around: dict[str, tuple[str, str, int]] = field(default_factory=dict)
    numbers: Counter[tuple[str, str]] = field(default_factory=Counter)

    def opened(self, row: Row) -> None:
        """A scope began: which one it is of its node, in the scope around. That of an item of a
        multi-instance begins with its token, after its host."""
        scope, host = row["detail"].get("scope"), row["token"]
        if row["kind"] == "ScopeOpened":
            around = row["scope"] if row["scope"] in self.scopes else ""
            self.numbers[around, row["node"]] += 1
            self.around[host] = (around, row["node"], self.numbers[around, row["node"]])
        else:
            host = row["detail"]["parent"]
        around, node, number = self.around[host]
        if scope is not None and not node.endswith(":body"):
            number = number * ITEMS + row["detail"].get("index", 0)
            self.scopes[scope] = (around, node, number)
            self.hosted[host].append(scope)

    def closed(self, row: Row) -> None:
        """A scope ended, or the last of a multi-instance."""
        scope, hosted = row["detail"].get("scope"), self.hosted[row["token"]]
        self.hosted[row["token"]] = [s for s in hosted if scope not in (None, s)]

    def path(self, scope: str | None) -> Path:
        """The scopes around what is in a scope, itself the last."""
        if scope is None or scope not in self.scopes:
            return ()
        around, node, number = self.scopes[scope]
        return (*self.path(around), (node, number))

    def report(self, wrong: dict[str, tuple[Any, Any]]) -> str:
        """What is different, in which graph, after what."""
        lines = [f"{self.instance} of {self.graph.code}, begun with {self.variables}"]
        for name, (engine, reference) in wrong.items():
            if isinstance(engine, Counter):
                engine, reference = engine - reference, reference - engine
            lines.append(f"{name}: engine {engine}, reference {reference}")
        lines += [f"  told {[d.brief() for d in decisions]}" for decisions in self.told]
        return "\n".join([*lines, *self.graph.lines()])


def drawn_name(node: str) -> str:
    """A node as the reference calls it: what is implied behind a node has no name of its own."""
    return re.sub(":(inclusive|choice|split)$", BEHIND, node)


def _to(wait: Row) -> tuple[str, str]:
    return wait["key"] or wait["process"], wait["kind"]


class Crowd:
    """The sessions and what they did."""

    def __init__(self, database: TestDatabase, graphs: Sequence[Graph], seed: str) -> None:
        self.database = database
        self.graphs = {member.code: member for graph in graphs for member in graph.family()}
        self.mains = graphs
        self.ordered = {
            g.code for g in self.graphs.values() if any(n.undo or n.many for n in g.nodes.values())
        }
        self.nodes = {n.id: n for graph in self.graphs.values() for n in graph.nodes.values()}
        self.seed = seed
        self.chance = random.Random(seed)
        self.observer = Session(database)
        self.sessions = [Session(database) for _ in range(SESSIONS)]
        self.cases: dict[str, Case] = {}
        self.families: dict[str, list[Case]] = defaultdict(list)
        self.sent: dict[str, list[Row]] = defaultdict(list)
        self.accepted: dict[str, Row] = {}
        self.late: list[Row] = []
        self.done: Counter[tuple[str, str]] = Counter()
        self.calls: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.seen = 0
        self.calm = False
        self.lock = threading.Lock()

    def close(self) -> None:
        """End all sessions."""
        for session in [*self.sessions, self.observer]:
            session.__exit__()

    # -- beginning --------------------------------------------------------------------------

    def clean(self) -> None:
        """Forget all instances of before."""
        self.observer.do(
            "truncate bpm_core.business_case, bpm_core.process_instance, bpm_core.message,"
            " bpm_core.inbox, bpm_core.idempotency_key, bpm_core.history_event, bpm_core.execution,"
            " bpm_core.result, bpm_core.parallel_join, bpm_core.parallel_join_arrival,"
            " bpm_core.task_instance, bpm_core.approval_record, bpm_core.timer,"
            " bpm_core.subscription, bpm_core.review,"
            " bpm_core.multi_instance, bpm_core.multi_instance_part cascade"
        )

    def deploy(self) -> None:
        """Deploy the graphs, several per file."""
        for n in range(0, len(self.mains), GRAPHS_PER_FILE):
            text = bpmn.file(self.mains[n : n + GRAPHS_PER_FILE])
            self.observer.do("select from bpm.deploy_bpmn(%s)", text)

    def start(self, times: int) -> None:
        """Start instances of each graph, all in one call."""
        items: list[Row] = [
            {
                "code": graph.code,
                "business_key": f"{graph.code}/{n}",
                "variables": {
                    name: self.chance.randint(0, 9)
                    for name in GIVEN
                    if graph.called or self.chance.random() < KNOWN
                }
                | {
                    COLLECTION: [self.chance.randint(0, 9) for _ in range(self.chance.choice(MANY))]
                },
            }
            for graph in self.mains
            for n in range(times)
        ]
        self.seen = self.observer.one(
            "select coalesce(max(h.seq), 0) as seq from bpm_core.history_event h"
        )["seq"]
        rows = self.observer.do("select * from bpm.start_processes(%s)", json.dumps(items))
        for item, row in zip(items, rows, strict=True):
            assert row["outcome"] == "Done", (item, row)
            instance = str(row["workflow_instance_id"])
            case = Case(
                self.graphs[item["code"]], instance, item["business_key"], item["variables"]
            )
            self.cases[instance] = case
            self.families[case.key].append(case)

    # -- what sessions do -------------------------------------------------------------------

    def round(self, calls: int, *, kills: bool = False) -> None:
        """Every session does something at random, all at once; then all stand still."""
        wrong: list[BaseException] = []

        def work(session: Session, chance: random.Random) -> None:
            acts: list[Callable[[Session, random.Random], None]] = [
                *(self.work, self.work, self.work, self.persons, self.tick, self.post, self.mend),
                self.hold,
            ]
            try:
                for _ in range(calls):
                    try:
                        chance.choice(acts)(session, chance)
                    except psycopg.OperationalError:
                        if not session.conn.closed:
                            raise
                        self.killed(session)
            except BaseException as error:
                wrong.append(error)

        threads = [
            threading.Thread(target=work, args=(s, random.Random(self.chance.random())))
            for s in self.sessions
        ]
        for thread in threads:
            thread.start()
        while kills and any(thread.is_alive() for thread in threads):
            self.observer.do(
                "select pg_terminate_backend(a.pid) from pg_stat_activity a"
                " where a.pid = %s and a.state = 'active'",
                self.chance.choice(self.sessions).pid,
            )
        for thread in threads:
            thread.join()
        if wrong:
            raise wrong[0]

    def call(self, session: Session, query: str, *params: Any) -> list[Row]:
        """A call; busy locks and refusals are answers: no rows."""
        name = query.split("bpm.")[1].split("(")[0].split(" ")[0]
        with self.lock:
            self.calls[name] += 1
        try:
            return session.do(query, *params)
        except psycopg.DatabaseError as error:
            if session.conn.closed:
                self.killed(session)
                return []
            if (error.sqlstate or "").startswith("BP4") or error.sqlstate in ("55P03", "40P01"):
                return []
            raise

    def killed(self, session: Session) -> None:
        """Its backend was terminated: a session begins anew."""
        with self.lock:
            self.calls["killed"] += 1
        session.reconnect()

    def answer(self, task: Row, chance: random.Random) -> Row:
        """What a worker says of a task; kept, since nobody may learn whether it arrived."""
        node = self.nodes[task["node_id"]]
        variables: Row = {name: chance.randint(0, 9) for name in node.writes}
        with self.lock:
            self.done[str(task["workflow_instance_id"]), node.id] += 1
            if self.done[str(task["workflow_instance_id"]), node.id] > PATIENCE:
                variables = dict.fromkeys(variables, 9)
            self.sent[str(task["task_id"])].append(variables)
        return variables

    def work(self, session: Session, chance: random.Random) -> None:
        """Claim some tasks; complete most of them, in one call; the rest goes another way."""
        tasks = self.call(
            session,
            "select * from bpm.claim_tasks('w', %s, %s, '6 minutes')",
            [bpmn.TASK_TYPE],
            chance.choice((1, 3, 10, 30)),
        )
        items, met = [], set[str]()
        for task in tasks:
            held = {"task_id": str(task["task_id"]), "fencing_token": task["fencing_token"]}
            # Where the order of ends counts, they must not come at once.
            instance = str(task["workflow_instance_id"])
            if task["node_id"].split("_")[0] in self.ordered and instance in met:
                self.call(session, "select * from bpm.release_tasks(%s)", json.dumps([held]))
                continue
            met.add(instance)
            codes = [b.rule for b in self._catchers(task["node_id"])]
            if chance.random() < (0.4 if codes else 0.03):
                code = (chance.choice(codes) if codes else "") or chance.choice(CODES)
                variables = self.answer(task, chance)
                args = (*held.values(), code, json.dumps(variables))
                self.call(session, "select * from bpm.throw_error(%s, %s, %s, null, %s)", *args)
            elif chance.random() < 0.05:
                failed = json.dumps(
                    [
                        {
                            **held,
                            "error": "no",
                            "retryable": chance.random() < 0.7,
                            "retry_in_seconds": 0,
                        }
                    ]
                )
                self.call(session, "select * from bpm.fail_tasks(%s)", failed)
            elif chance.random() < 0.05:
                self.call(session, "select * from bpm.release_tasks(%s)", json.dumps([held]))
            else:
                items.append({**held, "variables": self.answer(task, chance)})
        chance.shuffle(items)
        # Some answers come later: in time, too late for their lease, or for their task.
        with self.lock:
            self.late += items[: len(items) // 10]
            del items[: len(items) // 10]
            late = []
            if self.late and chance.random() < 0.2:
                late.append(self.late.pop(chance.randrange(len(self.late))))
        self._complete(session, items)
        if late:
            self._complete(session, late)

    def _complete(self, session: Session, items: list[Row]) -> None:
        for row in self.call(session, "select * from bpm.complete_tasks(%s)", json.dumps(items)):
            if row["outcome"] == "Completed":
                with self.lock:
                    self.accepted[str(row["task_id"])] = row

    def _catchers(self, node: str) -> list[Any]:
        graph = self.graphs[node.split("_")[0]]
        return [b for b in graph.boundaries(node) if b.kind == "error-boundary"]

    def persons(self, session: Session, chance: random.Random) -> None:
        """People answer some of their tasks."""
        for task in self.call(
            session,
            "select t.task_id, t.node_id, t.workflow_instance_id from bpm.task t"
            " where t.task_type = 'bpm:user' and t.state = 'Ready' limit %s",
            chance.choice((1, 5, 20)),
        ):
            variables = json.dumps(self.answer(task, chance))
            self.call(
                session,
                "select * from bpm.complete_user_task(%s, %s)",
                *(str(task["task_id"]), variables),
            )

    def tick(self, session: Session, chance: random.Random) -> None:
        """Do what is due."""
        self.call(session, "select * from bpm.tick(%s)", chance.choice((1, 5, 100)))

    def post(self, session: Session, chance: random.Random) -> None:
        """Send messages: to waits that are there, and at random, kept for a while or not."""
        waits = self.call(
            session,
            "select s.name, s.kind, s.correlation_key as key, s.node_id as node,"
            " w.process_instance_id::text as process"
            " from bpm_core.subscription s, bpm_core.workflow_instance w, bpm.api_version() v"
            " where s.state = 'Open' and w.id = s.workflow_instance_id order by random() limit 100",
        )
        # What begins something beside others is left alone in the end: it could go on for ever.
        wanted = [w for w in waits if not self.calm or self.nodes[w["node"]].interrupting]
        keys = [(w["node"] if w["kind"] == "Conditional" else w["name"], *_to(w)) for w in wanted]
        keys = keys[: chance.choice((1, 5, 20))]
        if not self.calm:
            some = chance.choices(list(self.cases.values()), k=2)
            keys += [(chance.choice(NAMES), case.key, "Message") for case in some]
        for name, key, kind in keys:
            payload = {chance.choice(GIVEN): chance.randint(0, 9)}
            if kind == "Conditional":
                # Whoever waits for a condition may wait for somebody to set a variable.
                self._set(session, key, self._what_makes_true(name, chance))
                continue
            if kind == "Signal":
                if name.endswith(ALARM) and chance.random() < 0.7:
                    continue
                query = "select bpm.broadcast_signal(%s, %s)"
                self.call(session, query, name, json.dumps(payload))
                continue
            self.call(
                session,
                "select * from bpm.correlate_message(%s, %s, %s, %s::interval)",
                *(name, key, json.dumps(payload), chance.choice(("0", "0", "1 hour"))),
            )

    def _set(self, session: Session, process: str, values: Row) -> None:
        self.call(session, "select bpm.set_variables(%s, %s)", process, json.dumps(values))

    def _what_makes_true(self, node: str, chance: random.Random) -> Row:
        condition = self.nodes[node].condition
        assert condition is not None
        while True:
            values = {name: chance.randint(0, 9) for name in GIVEN}
            if condition.holds(values) or chance.random() < 0.002:
                return values

    def hold(self, session: Session, chance: random.Random) -> None:
        """Hold an instance while messages for it come: they go through its inbox."""
        case = chance.choice(list(self.cases.values()))
        if self.calm or case.process is None:
            return
        session.begin()
        values = json.dumps({chance.choice(GIVEN): chance.randint(0, 9)})
        if self.call(session, "select bpm.set_variables(%s, %s)", case.process, values):
            for name in NAMES:
                payload = json.dumps({chance.choice(GIVEN): chance.randint(0, 9)})
                query = "select * from bpm.correlate_message(%s, %s, %s, '0')"
                with self.lock:
                    self.observer.do(query, name, case.key, payload)
            session.commit()
        else:
            session.rollback()

    def mend(self, session: Session, chance: random.Random) -> None:
        """Somebody looks after incidents; not always is anything mended first."""
        for row in self.call(session, TO_MEND, chance.choice((1, 5, 20))):
            # Thrown again it would not be caught either.
            if "error-end" in row["node_id"] and chance.random() < 0.9:
                continue
            if row["code"] == "ConditionUndecidable" and chance.random() < 0.8:
                values = {name: chance.randint(0, 9) for name in GIVEN}
                self._set(session, str(row["process_instance_id"]), values)
            self.call(session, "select * from bpm.resolve_incident(%s)", str(row["incident_id"]))

    # -- comparing --------------------------------------------------------------------------

    def follow(self) -> None:
        """Tell the reference what came from outside since the last time, in order."""
        rows = self.observer.do(HISTORY, self.seen)
        if rows:
            self.seen = rows[-1]["seq"]
        for row in rows:
            if row["instance"] in self.cases:
                self._follow(self.cases[row["instance"]], row)
        for case in list(self.cases.values()):
            self._tell(case)
            if case.reference is not None and case.reference.calls:
                raise Disagreement(case.report({"calls": ([], case.reference.calls)}))

    def _follow(self, case: Case, row: Row) -> None:
        self.kinds[row["kind"]] += 1
        if self._passes(case.graph, row):
            case.passed[row["node"]] += 1
        if case.reference is None:
            case.reference = Interpreter(case.graph, case.variables, case.caller)
        decision = self.decision(case, row)
        if decision is not None:
            # Callers and called are told in the order it came to them.
            for other in self.families[case.key]:
                if other is not case and other.writer[0] != row["writer"]:
                    self._tell(other)
            # What one statement wrote came at once.
            if (row["writer"], row["kind"]) != case.writer or case.before != row["kind"]:
                self._tell(case)
            case.writer = (row["writer"], row["kind"])
            case.pending.append(decision)
        if row["kind"] == "CallStarted":
            self._tell(case)
            self._called(case, row)
        case.before = row["kind"]

    def _tell(self, case: Case) -> None:
        """Tell the reference what one command brought."""
        if not case.pending or case.reference is None:
            return
        decisions, case.pending = case.pending, []
        case.told.append(decisions)
        try:
            case.reference.apply(decisions)
        except Disagreement as error:
            raise Disagreement(case.report({str(error): (None, None)})) from error

    def _called(self, case: Case, row: Row) -> None:
        """A process was called; the reference must have called it as well, with the same."""
        reference = case.reference
        assert reference is not None
        place = (row["node"], case.path(row["scope"]))
        calls = [c for c in reference.calls if (c.node, reference.path(c.token)) == place]
        if not calls:
            raise Disagreement(case.report({f"{row} was not called": (None, None)}))
        call = calls[0]
        reference.calls.remove(call)
        call.token.name = row["token"]
        child = row["detail"]["child"]

        def caught(kind: str, code: str) -> bool:
            if not call.token.alive:
                return False
            further = case.caller is not None and case.caller(kind, code)
            return reference.catches(call.token, kind, code) is not None or further

        called = Case(self.graphs[call.code], child, case.key, call.variables, caller=caught)
        self.cases[child] = called
        self.families[case.key].append(called)

    def _passes(self, graph: Graph, row: Row) -> bool:
        """Whether a row says that a token went on from a node or ended there."""
        node = graph.nodes.get(row["node"])
        if node is None:
            return False
        if node.kind == "compensate":
            return False
        if row["kind"] == "TokenBorn":
            return node.kind == "start" and "scope" in row["detail"]
        if row["kind"] == "TokenCompleted":
            return node.kind in ("end", "terminate", "error-end")
        return row["kind"] in PASSED

    def decision(self, case: Case, row: Row) -> Decision | None:
        """What a row of history says came from outside; ``None``: it follows from the rest."""
        detail = row["detail"] or {}
        kinds = {
            "TaskCompleted": "task",
            "ErrorThrown": "error",
            "TimerFired": "event",
            "MessageReceived": "event",
            "SignalReceived": "event",
            "VariablesSet": "variables",
            "TaskFailed": "failed",
            "TaskRequeued": "revived",
            "TokenResumed": "revived",
            "ConditionMet": "event",
            "CallCompleted": "task",
            "CallFailed": "error",
        }
        if case.caller is not None:
            kinds["InstanceCancelled"] = "cancelled"
        if case.before != "EscalationThrown":
            kinds["EscalationCaught"] = "event"
        if row["kind"] == "ScopeOpened" or (row["kind"] == "TokenBorn" and "index" in detail):
            case.opened(row)
        if row["kind"] in ("ScopeCompleted", "ScopeCancelled"):
            case.closed(row)
        if row["kind"] not in kinds:
            return None
        variables = detail.get("variables") or {}
        task = str(detail.get("task"))
        answers = row["kind"] in ("TaskCompleted", "ErrorThrown")
        if answers and variables not in self.sent[task]:
            raise Disagreement(f"{row} was never sent, only {self.sent[task]}")
        if answers:
            self.accepted.pop(task, None)
        if row["kind"] == "CallCompleted":
            self._check_return(detail["child"], variables)
        code = detail if row["kind"] == "CallFailed" else detail.get("error")
        return Decision(
            kinds[row["kind"]],  # type: ignore[arg-type]
            drawn_name(row["node"] or ""),
            row["token"] or "",
            case.path(row["scope"]),
            tuple(case.path(scope) for scope in case.hosted.get(row["token"], [])),
            variables,
            str(code.get("code") or "") if isinstance(code, dict) else "",
        )

    def _check_return(self, child: str, variables: Row) -> None:
        """A called process gives back what its steps wrote, when it has ended."""
        called = self.cases[child]
        self._tell(called)
        assert called.reference is not None
        wrong = {
            "returned": (variables, called.reference.written),
            "status": ("Completed", called.reference.status),
        }
        if any(engine != reference for engine, reference in wrong.values()):
            raise Disagreement(called.report(wrong))

    def compare(self) -> None:
        """Engine and reference are in the same place, everywhere."""
        standing, offers = self._counted(STANDING), self._counted(OFFERS)
        stuck = self._counted(STUCK)
        for row in self.observer.do(INSTANCES):
            case = self.cases.get(str(row["instance"]))
            if case is None or case.reference is None:
                continue
            reference = case.reference
            here = standing[case.instance]
            pairs = {
                "status": (row["status"], reference.status),
                "tokens": (
                    Counter({n: c for n, c in here.items() if not n.endswith(":body")}),
                    reference.standing(),
                ),
                "offers": (offers[case.instance], reference.offers()),
                "stuck": (stuck[case.instance], reference.stuck()),
                "variables": (row["variables"], reference.variables),
                "passed": (case.passed, reference.passed),
                "overdue": (Counter(), reference.overdue()),
                "starved": (row["starved"], reference.starved),
            }
            wrong = {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
            if wrong:
                raise Disagreement(case.report(wrong))
        if self.accepted:
            raise Disagreement(f"accepted, but not in the history: {self.accepted}")

    def _counted(self, query: str) -> dict[str, Counter[str]]:
        found: dict[str, Counter[str]] = defaultdict(Counter)
        for row in self.observer.do(query):
            found[row["instance"]][drawn_name(row["name"])] = row["times"]
        return found

    # -- all of it --------------------------------------------------------------------------

    def run(self, times: int, *, kills: bool = False) -> None:
        """From deploying to the end of every instance, comparing after every round. ``kills``: in
        some rounds backends are terminated in the middle of what they do."""
        self.clean()
        self.deploy()
        self.start(times)
        rounds = ROUNDS * (4 if kills else 1)
        for n in range(rounds):
            self.calm = n > CALM
            self.round(6, kills=kills and n % 3 == 0)
            self.observer.do("select bpm.run_until_idle()")
            self.follow()
            self.compare()
            if self.idle():
                return
            if n % 2:
                self.observer.do("select bpm.advance_clock(%s)", f"{self.chance.randint(1, 3)} min")
        left = {
            case.instance: dict(case.reference.offers())
            for case in self.cases.values()
            if case.reference is not None and case.reference.offers()
        }
        raise Disagreement(f"still running after {rounds} rounds: {left}")

    def outcomes(self) -> Counter[str]:
        """How the instances ended: a status each, and ``starved``."""
        references = [case.reference for case in self.cases.values() if case.reference is not None]
        ended = Counter(reference.status for reference in references)
        ended["starved"] = sum(bool(reference.starved) for reference in references)
        return ended

    def idle(self) -> bool:
        """Whether nothing is left to do anywhere but what nobody can do."""
        return not any(
            case.reference is None or case.reference.busy() for case in self.cases.values()
        )
