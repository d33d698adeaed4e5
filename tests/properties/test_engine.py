"""The engine as a state machine: random commands from several sessions, some inside transactions.

After every few steps the engine audits itself (``check_invariants``); what a call answers is
compared with what the rows said before it. In the end everything can be driven to an end.

What the database answers may differ from run to run (ids, clocks), so it never decides which rules
may be drawn: a rule that finds nothing to do does nothing.
"""

from __future__ import annotations

import json
import os
import random
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.races import kit, load
from tests.races.kit import Row, Session
from tests.support.database import TestDatabase

SESSIONS = 3
TYPES = (*load.EVERYTHING_TYPES, "step", "count", "after", "hope", "permit")
KEYS = ("k0", "k1", "k2")
AUDIT_EVERY = 1 if kit.NIGHTLY else 5

PROCESSES = [
    kit.process(
        "rounds",
        "start > merge > fork > l > join > count > again > end; fork > r > join; again > merge",
        {"again>merge": "${n &lt; 3}"},
        again=kit.choice("again>end"),
        **{name: kit.service(type="step", retries="2") for name in ("l", "r")},
    ),
    kit.process(
        "surplus",
        "start > fork > a1 > merge > join > after > end; fork > a2 > merge; fork > b > join",
        **{name: kit.service(type="step") for name in ("a1", "a2", "b")},
    ),
    kit.process(
        "letters",
        "start > fork > one > join > two > end; fork > other > join",
        one=kit.message("picked-up"),
        other=kit.message("other"),
        two=kit.message("picked-up"),
    ),
    # Whose timers and conditions come from variables that may be missing or wrong.
    kit.process(
        "fragile",
        "start > hope > ask > end; late > end2; ask > hope",
        {"ask>hope": "${amount &gt; 5000}"},
        hope=kit.service(retries="1"),
        late=kit.boundary_timer("hope", "${due}"),
        ask=kit.choice("ask>end"),
    ),
    # Whose rejection nobody catches.
    kit.process("gate", "start > permit > end", permit=kit.service(approval="required")),
]
# Several workflows in one process; one may be skipped, undecidable, or fail the others.
PARTY = [
    {"binding_key": "r", "workflow": "rounds"},
    {"binding_key": "g", "workflow": "gate"},
    {"binding_key": "f", "workflow": "fragile", "start_condition": "${amount > 100}"},
    {"binding_key": "l", "workflow": "letters", "depends_on": ["r", "f"]},
    {"binding_key": "a", "workflow": "gate", "depends_on": ["f"], "start_condition": "${n < 2}"},
]
VARIABLES = st.sampled_from(
    [
        {},
        {"amount": 10, "due": "PT1M", "n": 1},
        {"amount": 2000, "due": "PT1M"},
        {"amount": 6000, "due": "PT5S", "n": 2},
        {"amount": "much", "due": "soon", "n": "x"},
    ]
)
# What people do: the call, and the view, key and condition of what they do it with.
PERSONS = {
    "approve": (
        "select * from bpm.decide_approval(%s, 'Approved')",
        *("approval", "approval_id", "x.status = 'Pending'"),
    ),
    "reject": (
        "select * from bpm.decide_approval(%s, 'Rejected')",
        *("approval", "approval_id", "x.status = 'Pending'"),
    ),
    "look": (
        "select * from bpm.complete_user_task(%s, '{\"seen\": 1}')",
        *("task", "task_id", "x.task_type = 'bpm:user' and x.state = 'Ready'"),
    ),
    "resolve": (
        "select * from bpm.resolve_incident(%s)",
        *("incident", "incident_id", "x.state = 'Open'"),
    ),
    "requeue": (
        "select * from bpm.requeue_dead_letter(%s)",
        *("dead_letter", "dead_letter_id", "x.state = 'Open'"),
    ),
    "discard": (
        "select * from bpm.discard_dead_letter(%s)",
        *("dead_letter", "dead_letter_id", "x.state = 'Open'"),
    ),
    "mend": (
        "select bpm.set_variables(%s, %s)",
        *("instance", "process_instance_id", "x.status = 'Running'"),
    ),
    "cancel": (
        "select * from bpm.cancel_process(%s)",
        *("instance", "process_instance_id", "x.status = 'Running'"),
    ),
    "suspend": (
        "select * from bpm.suspend_process(%s)",
        *("instance", "process_instance_id", "x.status = 'Running'"),
    ),
    "resume": (
        "select * from bpm.resume_process(%s)",
        *("instance", "process_instance_id", "x.status = 'Suspended'"),
    ),
    "restart": (
        "select * from bpm.restart_process(%s)",
        *("instance", "process_instance_id", "x.status in ('Failed', 'Cancelled')"),
    ),
    "say it was sent": (
        "select * from bpm.reconcile_command(%s, 'Sent')",
        *("command", "command_id", "x.state = 'Unknown'"),
    ),
    "send it again": (
        "select * from bpm.reconcile_command(%s, 'Resend')",
        *("command", "command_id", "x.state = 'Unknown'"),
    ),
    "give it up": (
        "select * from bpm.reconcile_command(%s, 'Failed')",
        *("command", "command_id", "x.state = 'Unknown'"),
    ),
}
OUTCOMES = ("Sent", "NotSent", "Unknown", "Refused", "Throttled", "ReceiverError")
RULES = [
    "'go', 'go', 'StartProcess', '${payload.amount > 5}', p_process_code => 'rounds',"
    " p_business_key_path => 'payload.key'",
    "'tell', 'tell', 'Correlate', p_message_name => 'picked-up',"
    " p_correlation_path => 'payload.key'",
    "'note', 'note', 'Attach', p_business_key_path => 'payload.key', p_message_name => 'other'",
    "'drop', 'drop', 'Ignore'",
]
CODES = ("everything", "everything", "rounds", "surplus", "letters", "fragile", "party")
session = st.integers(0, SESSIONS - 1)
pick = st.integers(0, 2**16)


class Engine(RuleBasedStateMachine):
    """Commands in any order. Class attributes are set by the test: the database to use."""

    database: TestDatabase
    steps = 0
    calls: dict[str, int] = {}  # noqa: RUF012 - counted over all runs

    def __init__(self) -> None:
        super().__init__()
        self.observer = Session(self.database)
        self.sessions = [Session(self.database) for _ in range(SESSIONS)]
        self.open: set[int] = set()
        self.started = 0
        self.claimed: list[Row] = []
        self.commands: list[Row] = []
        self.positions: dict[str, Any] = {}
        self.last: tuple[str, tuple[Any, ...]] | None = None

    @initialize(
        codes=st.lists(st.sampled_from(CODES), min_size=3, max_size=8),
        variables=VARIABLES,
        ready=st.booleans(),
    )
    def clean(self, codes: list[str], variables: Row, ready: bool) -> None:
        """Some processes have just been started; some of their tasks are claimed, some done."""
        self.observer.do(
            "truncate bpm_core.business_case, bpm_core.process_instance, bpm_core.message,"
            " bpm_core.inbox, bpm_core.idempotency_key, bpm_core.history_event, bpm_core.execution,"
            " bpm_core.result, bpm_core.parallel_join, bpm_core.parallel_join_arrival,"
            " bpm_core.task_instance, bpm_core.approval_record, bpm_core.timer,"
            " bpm_core.subscription, bpm_core.review,"
            " bpm_core.event cascade"
        )
        items = [
            {"code": code, "variables": variables, "business_key": KEYS[n % len(KEYS)]}
            for n, code in enumerate(codes)
        ]
        self.observer.do("select from bpm.start_processes(%s)", json.dumps(items))
        if ready:
            tasks = kit.claim(self.observer, TYPES, 8, lease="1 minute")
            self.claimed += tasks
            items = [load.completed(task) for task in tasks[::2]]
            self.observer.do(kit.COMPLETE, json.dumps(items))

    # -- calling ----------------------------------------------------------------------------

    def call(self, n: int, query: str, *params: Any) -> list[Row]:
        """A call in a session; refusals (BP…) and busy locks are answers: no rows."""
        caller = self.sessions[n]
        name = query.split("bpm.")[1].split("(")[0]
        self.calls[name] = self.calls.get(name, 0) + 1
        if n in self.open:
            caller.do("savepoint before")
        try:
            return caller.do(query, *params)
        except psycopg.DatabaseError as error:
            if n in self.open:
                caller.do("rollback to before")
            if (error.sqlstate or "").startswith("BP4") or error.sqlstate == "55P03":
                return []
            raise

    def some(self, query: str, at: int) -> Any:
        """One of what a query finds, as it stands now; None when there is none."""
        rows = self.observer.do(query)
        return rows[at % len(rows)]["id"] if rows else None

    # -- transactions -----------------------------------------------------------------------

    @rule(n=session)
    @precondition(lambda self: len(self.open) < SESSIONS - 1)
    def begin(self, n: int) -> None:
        """What the session does from here on is not committed yet."""
        if n not in self.open:
            self.sessions[n].begin()
            self.open.add(n)

    @rule(commits=st.sampled_from([True, True, False]))
    @precondition(lambda self: self.open)
    def end(self, commits: bool) -> None:
        """Commit what is open, or undo it."""
        for n in sorted(self.open):
            if commits:
                self.sessions[n].commit()
            else:
                self.sessions[n].rollback()
                self.positions.clear()
        self.open.clear()

    # -- commands ---------------------------------------------------------------------------

    @rule(
        n=session,
        code=st.sampled_from(CODES),
        variables=VARIABLES,
        key=st.sampled_from([*KEYS, None]),
        once=st.sampled_from([None, None, "same"]),
        count=st.integers(1, 3),
    )
    @precondition(lambda self: self.started < 8)
    def start(
        self, n: int, code: str, variables: Row, key: str | None, once: str | None, count: int
    ) -> None:
        """Start processes, with or without keys."""
        item = {"code": code, "variables": variables, "business_key": key, "idempotency_key": once}
        self.started += 1
        rows = self.call(n, "select * from bpm.start_processes(%s)", json.dumps([item] * count))
        for row in rows:
            assert row["outcome"] in ("Done", "Conflict")

    @rule(n=session, limit=st.integers(1, 6), with_positions=st.booleans())
    def claim(self, n: int, limit: int, with_positions: bool) -> None:
        """Claim tasks, with positions kept or from the beginning."""
        if with_positions:
            rows = self.call(
                n,
                "select c.tasks, c.positions::text from bpm.claim_tasks_at("
                "'w', %s, %s, '1 minute', null, %s) c",
                list(TYPES),
                limit,
                self.positions.get("tasks"),
            )
            for row in rows:
                self.positions["tasks"] = row["positions"]
                self.claimed += row["tasks"]
        else:
            query = "select * from bpm.claim_tasks('w', %s, %s, '1 minute')"
            self.claimed += self.call(n, query, list(TYPES), limit)

    @rule(
        n=session,
        at=pick,
        how=st.sampled_from(["right", "right", "stale", "other"]),
        size=st.integers(1, 4),
    )
    def complete(self, n: int, at: int, how: str, size: int) -> None:
        """Complete tasks claimed at some time; the rows say beforehand what must come of it."""
        if not self.claimed:
            return
        items = []
        for k in range(size):
            task = self.claimed[-1 - (at + k) % min(len(self.claimed), 12)]
            variables = load.completed(task)["variables"] | {"n": at % 5}
            if how == "other":
                variables["other"] = at
            fence = task["fencing_token"] - (how == "stale")
            items.append({**kit.held(task), "fencing_token": fence, "variables": variables})
        expected = None if self.open - {n} else self.expected(n, items)
        rows = self.call(n, kit.COMPLETE, json.dumps(items))
        self.last = (kit.COMPLETE, (json.dumps(items),))
        if rows and expected is not None:
            seen: set[str] = set()
            for item, row, hoped in zip(items, rows, expected, strict=True):
                if item["task_id"] not in seen:
                    assert row["outcome"] in hoped, (item, row, hoped)
                seen.add(item["task_id"])

    def expected(self, n: int, items: list[Row]) -> list[tuple[str, ...]]:
        """What the rows say must come of answers, as the caller sees them."""
        found: list[tuple[str, ...]] = []
        for item in items:
            row = self.sessions[n].one(
                "select t.state::text, t.fencing_token = %s as mine,"
                "       extract(epoch from t.lease_until - bpm_core.now()) as left,"
                "       r.content_hash = bpm_core.answer_hash(%s::jsonb, null) as same"
                "  from (select 1) x"
                "  left join bpm_core.task_instance t on t.id = %s"
                "  left join bpm_core.result r"
                "    on r.task_instance_id = t.id and r.attempt = t.attempt",
                item["fencing_token"],
                json.dumps(item["variables"]),
                item["task_id"],
            )
            if row["state"] is None:
                found.append(("NotFound",))
            elif row["state"] == "Cancelled":
                found.append(("Cancelled",))
            elif not row["mine"] or row["state"] in ("Ready", "Held"):
                found.append(("LeaseLost",))
            elif row["state"] == "Executing":
                # Time passes between this look and the call.
                fates = ("Completed",) * (row["left"] > -1) + ("LeaseLost",) * (row["left"] < 1)
                found.append(fates)
            elif row["state"] == "Completed":
                found.append(("Completed",) if row["same"] else ("Conflict",))
            else:
                found.append(("WrongState",))
        return found

    @rule(n=session, limit=st.integers(1, 20))
    def work(self, n: int, limit: int) -> None:
        """Claim and complete, as a worker does when all is well."""
        tasks = self.call(n, "select * from bpm.claim_tasks('w', %s, %s)", list(TYPES), limit)
        self.claimed += tasks
        items = json.dumps([load.completed(task) for task in tasks])
        rows = self.call(n, kit.COMPLETE, items)
        assert not rows or {row["outcome"] for row in rows} == {"Completed"}
        self.last = (kit.COMPLETE, (items,))

    @rule(n=session)
    def repeat(self, n: int) -> None:
        """The same completion again, unchanged: the answers of work done do not change."""
        if self.last is None or self.open:
            return
        query, params = self.last
        first = self.call(n, query, *params)
        assert self.call(n, query, *params) == first

    @rule(
        n=session,
        at=pick,
        size=st.integers(1, 3),
        verb=st.sampled_from(["fail", "fail for good", "release", "extend", "throw", "surprise"]),
    )
    def otherwise(self, n: int, at: int, size: int, verb: str) -> None:
        """Everything else a worker may say of a task."""
        if not self.claimed:
            return
        tasks = [self.claimed[-1 - (at + k) % min(len(self.claimed), 12)] for k in range(size)]
        held = [kit.held(task) for task in tasks]
        if verb.startswith("fail"):
            retryable = verb == "fail"
            items = [{**item, "error": "no", "retryable": retryable} for item in held]
            self.call(n, "select * from bpm.fail_tasks(%s)", json.dumps(items))
        elif verb == "release":
            self.call(n, "select * from bpm.release_tasks(%s)", json.dumps(held))
        elif verb == "extend":
            self.call(n, "select * from bpm.extend_leases(%s, '2 minutes')", json.dumps(held))
        else:
            code = "card-declined" if verb == "throw" else "surprise"
            query = "select * from bpm.throw_error(%s, %s, %s)"
            self.call(n, query, held[0]["task_id"], held[0]["fencing_token"], code)

    @rule(n=session, limit=st.sampled_from([1, 2, 100]), with_positions=st.booleans())
    def tick(self, n: int, limit: int, with_positions: bool) -> None:
        """Do what is due."""
        rows = self.call(
            n,
            "select k.done, k.positions::text from bpm.tick(%s, %s) k",
            limit,
            self.positions.get("tick") if with_positions else None,
        )
        for row in rows:
            self.positions["tick"] = row["positions"]

    @rule(seconds=st.sampled_from([1, 10, 70, 700]))
    def later(self, seconds: int) -> None:
        """Time passes."""
        self.observer.do("select bpm.advance_clock(make_interval(secs => %s))", seconds)

    @rule(
        n=session,
        name=st.sampled_from(["picked-up", "picked-up", "other", "nobody"]),
        key=st.sampled_from(KEYS),
        ttl=st.sampled_from(["1 hour", "0", "30 seconds"]),
        message=st.sampled_from([None, None, "m1"]),
    )
    def correlate(self, n: int, name: str, key: str, ttl: str, message: str | None) -> None:
        """Send a message."""
        query = "select * from bpm.correlate_message(%s, %s, %s, %s, %s)"
        rows = self.call(n, query, name, key, json.dumps({name: 1}), ttl, message)
        for row in rows:
            assert (row["process_instance_id"] is not None) == (row["state"] == "Correlated")

    @rule(
        n=session,
        kind=st.sampled_from(["go", "go", "tell", "note", "drop", "nobody"]),
        which=st.integers(0, 3),
        key=st.sampled_from(KEYS),
        thread=st.sampled_from([None, None, "t1", "t2"]),
        amount=st.sampled_from([10, 10, "much"]),
    )
    def accept(
        self, n: int, kind: str, which: int, key: str, thread: str | None, amount: Any
    ) -> None:
        """Accept events, some again, some with another content."""
        item = {
            "channel": "c",
            "provider_event_id": f"{kind}-{which}",
            "type": kind,
            "payload": {"key": key, "amount": amount, "due": "PT1M", "n": 9},
            "thread_id": thread,
        }
        rows = self.call(n, "select * from bpm.accept_events(%s)", json.dumps([item, item]))
        assert [row["is_new"] for row in rows[1:]] == [False] * len(rows[1:])
        assert len({row["event_id"] for row in rows}) <= 1

    @rule(n=session, at=pick, action=st.sampled_from(["StartProcess", "Attach", "Ignore", "rule"]))
    def route(self, n: int, at: int, action: str) -> None:
        """Decide about events by hand, mostly about pending ones; change the rules."""
        if action == "rule":
            choice = ("StartProcess", "Ignore", "AskHuman")[at % 3]
            code = "rounds" if choice == "StartProcess" else None
            query = "select from bpm.set_routing_rule('nobody', 'nobody', %s, p_process_code => %s)"
            self.call(n, query, choice, code)
            return
        where = "where x.dispatch_state in ('Pending', 'Failed')" if at % 4 else ""
        event = self.some(f"select x.event_id as id from bpm.event x {where} order by 1", at)
        choices: dict[str, Row] = {
            "StartProcess": {"process_code": "rounds", "variables": {"n": 9, "amount": 10}},
            "Attach": {"business_key": KEYS[at % len(KEYS)]},
            "Ignore": {},
        }
        if event:
            query = "select * from bpm.dispatch_event(%s, %s, 'tried')"
            rows = self.call(n, query, event, json.dumps({"action": action, **choices[action]}))
            for row in rows:
                assert (row["dispatch_state"] == "Ignored") == (action == "Ignore")

    @rule(n=session, at=pick, verb=st.sampled_from(list(PERSONS)), variables=VARIABLES)
    def person(self, n: int, at: int, verb: str, variables: Row) -> None:
        """What people do, mostly with what is open, sometimes with what is not any more."""
        query, view, name, is_open = PERSONS[verb]
        where = f"where {is_open}" if at % 4 else ""
        found = self.some(f"select x.{name} as id from bpm.{view} x {where} order by 1", at)
        if found:
            more = (json.dumps(variables),) if verb == "mend" else ()
            self.call(n, query, found, *more)

    @rule(n=session, at=pick, verb=st.sampled_from(["move", "skip", "migrate", "migrate"]))
    def repair(self, n: int, at: int, verb: str) -> None:
        """Tokens moved or let go on by hand, instances moved to the other version."""
        if verb == "migrate":
            process = self.some("select i.process_instance_id as id from bpm.instance i", at)
            query = "select * from bpm.migrate_process(%s, %s)"
            self.call(n, query, process, 1 + at % 2)
            return
        token = self.some(
            "select k.id from bpm_core.token k where k.state in ('Ready', 'Waiting', 'Failed')", at
        )
        if token is None:
            return
        source = (
            "select x.{0} as id from bpm_core.token k"
            "  join bpm_core.workflow_instance w on w.id = k.workflow_instance_id"
            "  join bpm_core.{1} x on x.workflow_version_id = w.workflow_version_id"
            f" where k.id = '{token}'"
        )
        if verb == "move":
            node = self.some(source.format("node_id", "workflow_node") + " order by 1", at)
            self.call(n, "select * from bpm.move_token(%s, %s)", token, node)
        else:
            flow = self.some(
                source.format("flow_id", "workflow_flow") + " and x.source_id = k.node_id", at
            )
            self.call(n, "select * from bpm.skip_node(%s, '{}', %s)", token, flow)

    @rule(n=session, at=pick, outcome=st.sampled_from([*OUTCOMES, "claim", "claim"]))
    def deliver(self, n: int, at: int, outcome: str) -> None:
        """Claim commands; say what became of one, perhaps again or too late."""
        if outcome == "claim":
            self.commands += self.call(n, "select * from bpm.claim_commands('d', 3)")
        elif self.commands:
            command = self.commands[-1 - at % len(self.commands)]
            item = {
                "command_id": str(command["command_id"]),
                "fencing_token": command["fencing_token"],
                "outcome": outcome,
            }
            self.call(n, "select * from bpm.mark_commands(%s)", json.dumps([item]))

    # -- looking ----------------------------------------------------------------------------

    @invariant()
    def audit(self) -> None:
        """The engine finds nothing wrong with itself."""
        type(self).steps += 1
        if self.steps % AUDIT_EVERY == 0:
            self.check()

    def check(self) -> None:
        """All invariants, of what is committed."""
        found = self.observer.do("select * from bpm.check_invariants()")
        assert not found, "\n".join(str(row) for row in found)

    def teardown(self) -> None:
        """Whatever was done: everything can be driven to an end."""
        try:
            for n in sorted(self.open):
                self.sessions[n].commit()
            self.check()
            for _ in range(3):  # what events start is there before the rest is mended
                self.observer.do("select from bpm.tick(1000)")
            mend(self.observer)
            load.finish(self.database, TYPES)
            self.check()
        finally:
            for one in (self.observer, *self.sessions):
                one.__exit__()


def mend(observer: Session) -> None:
    """Give what lacks a variable what it needs; what nobody can help is cancelled."""
    variables = json.dumps({"amount": 10, "due": "PT1S", "n": 9})
    for row in observer.do("select i.* from bpm.instance i where i.status = 'Suspended'"):
        observer.do("select from bpm.resume_process(%s)", row["process_instance_id"])
    for row in observer.do(
        # Where tokens were taken out of their order, joins may wait for ever.
        "select distinct h.process_instance_id as id from bpm.history h"
        " where h.kind in ('TokenPlaced', 'NodeSkipped')"
    ):
        observer.do("select from bpm.cancel_process(%s)", row["id"])
    for row in observer.do(
        "select i.process_instance_id as id from bpm.instance i where i.status = 'Running'"
    ):
        observer.do("select bpm.set_variables(%s, %s)", row["id"], variables)
    for row in observer.do(
        # What a workflow of several has of its own hides what its process has.
        "select distinct on (w.id) w.process_instance_id as id, k.id as token"
        "  from bpm_core.workflow_instance w join bpm_core.token k on k.workflow_instance_id = w.id"
        " where not w.ends_process and w.status = 'Running'"
        "   and k.state not in ('Completed', 'Terminated')"
    ):
        query = "select bpm.set_variables(%s, %s, p_token_id => %s)"
        observer.do(query, row["id"], variables, row["token"])
    for row in observer.do(
        "select i.process_instance_id as id from bpm.instance i"
        " where i.status = 'Running' and (i.process_code = 'surplus' or i.business_key is null"
        "       and i.process_code in ('letters', 'everything', 'party'))"
    ):
        observer.do("select from bpm.cancel_process(%s)", row["id"])


def _shorten_waits(database: TestDatabase) -> None:
    """One thread drives all sessions, so nobody can wait for another: locks are given up."""
    database.rows(
        "do $$ declare r record; begin"
        " for r in select p.oid::regprocedure::text as name from pg_proc p"
        "           where p.proconfig && '{lock_timeout=10s,lock_timeout=200ms}'"
        " loop execute format('alter function %s set lock_timeout = ''5ms''', r.name); end loop;"
        " end $$"
    )


@pytest.mark.slow
@pytest.mark.timeout(3600 if kit.NIGHTLY else 300)
def test_random_commands(fresh_database: TestDatabase) -> None:
    """See the module's text."""
    load.deploy_everything(fresh_database)
    kit.deploy(fresh_database, *PROCESSES)
    # The same once more, as a second version of each.
    again = [file.replace("<process id", "<!-- again --><process id") for file in PROCESSES]
    kit.deploy(fresh_database, *again)
    for one in RULES:
        fresh_database.rows(f"select from bpm.set_routing_rule({one})")
    fresh_database.rows("select * from bpm.publish_process('party', %s)", [json.dumps(PARTY)])
    _shorten_waits(fresh_database)
    Engine.database = fresh_database
    Engine.calls = {}
    machine = Engine.TestCase
    machine.settings = settings(
        max_examples=kit.sized(16, 150),
        stateful_step_count=kit.sized(60, 100),
        deadline=None,
        database=None,
        derandomize="PGBPM_TEST_SEED" not in os.environ,
        print_blob=True,
        phases=[Phase.explicit, Phase.generate, *([Phase.shrink] if kit.NIGHTLY else [])],
        suppress_health_check=list(HealthCheck),
    )
    random.seed(os.environ.get("PGBPM_TEST_SEED"))
    machine("runTest").runTest()
    print(f"random commands: {dict(sorted(Engine.calls.items()))}")
    assert sum(Engine.calls.values()) > 100
