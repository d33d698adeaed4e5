"""One run of one process: who does what next, until it has ended or the bound is reached."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

import psycopg

from tests.corpus.drawing import Drawing, Node
from tests.corpus.engine import WORKER, Broken, Engine, Row

MAX_STEPS = 150
FAULTS_OF_THE_ENGINE = {"AdvanceFailed", "InboxPoisoned", "BP500"}
"""Incidents that no file may cause."""
_EXPECTED_ERRORS = {"BP409", "BP404", "BP410"}
"""Somebody else was faster: a boundary event, a timer that fell due."""
_MAX_REFUSED = 1
_NOT_A_VISIT = {
    *("TimerStarted", "TimerCancelled", "TimerHeld", "TimerReleased", "MessageAwaited"),
    *("SignalAwaited", "ConditionAwaited", "SubscriptionClosed"),
}


@dataclass(slots=True)
class Action:
    """Something that could be done next."""

    kind: str
    """complete, error, approve, reject, message, signal, condition, timer."""
    node: str
    """The node it is done at: of an error the event that would catch it."""
    host: str
    """The node where the token rests."""
    what: Row
    code: str | None = None


@dataclass(slots=True)
class Run:
    """What happened in one run."""

    process: str
    start: str | None
    instance: str = ""
    status: str = "Running"
    reason: str = ""
    """Why it did not end by itself."""
    steps: int = 0
    incidents: list[str] = field(default_factory=list)
    visited: set[str] = field(default_factory=set)
    flows: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Flows taken, with the variables there were when each was taken first."""
    trail: list[str] = field(default_factory=list)
    """The nodes of all rows of history, in order."""
    seen: list[tuple[str, str]] = field(default_factory=list)
    """(token, node) of every row of history of a token that came to a node."""
    visits: Counter[str] = field(default_factory=Counter)
    """How often something was done for a node."""
    worked: Counter[str] = field(default_factory=Counter)
    """How often it was done where the token rests."""
    last_seq: int = 0
    refused: int = 0
    """Calls refused in a row."""

    @property
    def completed(self) -> bool:
        """It came to its end."""
        return self.status == "Completed"

    def tokens_at(self, nodes: set[str]) -> list[str]:
        """Of these nodes each as often as a token was there, sorted."""
        return sorted(node for _, node in dict.fromkeys(self.seen) if node in nodes)

    def order_of(self, nodes: set[str]) -> list[str]:
        """Of these nodes those where tokens came to, in the order of the first visits."""
        return list(dict.fromkeys(node for node in self.trail if node in nodes))


class Player(Protocol):
    """Who decides."""

    def begin(self, run: Run) -> tuple[dict[str, Any], str]:
        """Variables and business key to start with."""

    def choose(self, run: Run, actions: list[Action]) -> Action | None:
        """What is done next; None: nothing of all this."""

    def answer(self, run: Run, node: str) -> dict[str, Any]:
        """The variables that the work at a node, or a message to it, brings."""

    def mend(self, run: Run, incident: Row) -> dict[str, Any] | None:
        """Variables to set before an incident is resolved; None: the instance is given up."""


class Play:
    """Plays runs of the processes of one file."""

    def __init__(self, engine: Engine, drawing: Drawing, *, doubtful: bool = False) -> None:
        self.engine = engine
        self.drawing = drawing
        self.doubtful = doubtful

    def run(self, process: str, start: Node | None, player: Player) -> Run:
        """One instance from its start to its end. Raises :class:`Broken` and psycopg's errors."""
        run = Run(process, start.id if start else None)
        variables, key = player.begin(run)
        run.instance = self._start(run, start, variables, key)
        while not run.reason:
            self.engine.settle()
            state = self.engine.state(run.instance)
            self._look(run, state)
            run.status = state["instance"]["status"]
            if run.status not in {"Running", "Created"}:
                break
            if run.steps >= MAX_STEPS:
                run.reason = f"stopped after {MAX_STEPS} steps"
                break
            run.steps += 1
            self._step(run, state, player)
        return run

    def clear(self, reason: str) -> None:
        """Cancel what has not ended: the run, and what timers and signals started beside it."""
        for code in self.drawing.processes:
            for instance in self.engine.instances(code, running=True):
                self.engine.call("cancel_process", process_instance_id=instance, reason=reason,
                                 actor=WORKER)  # fmt: skip
        self.engine.settle()

    # -- starting ------------------------------------------------------------------------------

    def _start(self, run: Run, start: Node | None, variables: dict[str, Any], key: str) -> str:
        events = start.events if start is not None else ()
        if not events:
            row = self.engine.call("start_process", code=run.process, variables=variables,
                                   business_key=key)[0]  # fmt: skip
            return str(row["process_instance_id"])
        assert start is not None
        known = set(self.engine.instances(run.process))
        if "message" in events:
            self.engine.call("correlate_message", name=start.name, correlation_key=key,
                             payload=variables)  # fmt: skip
        elif "signal" in events:
            self.engine.call("broadcast_signal", name=start.name, payload=variables)
        elif "timer" in events:
            due = self.engine.start_timer(run.process, start.id)
            if due is not None:
                self.engine.advance_to(due)
        self.engine.settle()
        fresh = [i for i in self.engine.instances(run.process) if i not in known]
        if fresh:
            return fresh[0]
        if "message" in events or "signal" in events:
            raise Broken(f"start event {start.id} ({events[0]} {start.name}) started nothing")
        row = self.engine.call("start_process", code=run.process, variables=variables,
                               business_key=key)[0]  # fmt: skip
        return str(row["process_instance_id"])

    # -- looking -------------------------------------------------------------------------------

    def _look(self, run: Run, state: Row) -> None:
        """Note where tokens have been since the last look."""
        for row in self.engine.history(run.instance, run.last_seq):
            run.last_seq = row["seq"]
            node = self.drawing.drawn(row["node_id"] or "")
            detail = row["detail"] or {}
            if row["kind"] == "IncidentOpened":
                run.incidents.append(detail.get("code", "?"))
                if detail.get("code") in FAULTS_OF_THE_ENGINE:
                    raise Broken(
                        f"incident {detail.get('code')} at {node}: {detail.get('message')}"
                    )
            if isinstance(detail.get("flow"), str):
                run.flows.setdefault(detail["flow"], state["instance"]["variables"])
            if node and row["kind"] not in _NOT_A_VISIT:
                run.visited.add(node)
                run.trail.append(node)
                if row["kind"] != "TokenBorn" and node == row["node_id"]:
                    run.seen.append((str(row["token_id"]), node))
        for token in state["tokens"]:
            run.visited.add(self.drawing.drawn(token["node_id"]))

    # -- acting --------------------------------------------------------------------------------

    def _step(self, run: Run, state: Row, player: Player) -> None:
        if state["incidents"]:
            stopping = [i for i in state["incidents"] if i["token_id"] is not None]
            if stopping:
                self._mend(run, stopping[0], player)
                return
        self.engine.deliver(doubtful=self.doubtful)
        actions = self.actions(state)
        chosen = player.choose(run, actions) if actions else None
        if chosen is None:
            self._idle(run, state, actions)
            return
        run.visits[chosen.node] += 1
        run.worked[chosen.host] += 1
        try:
            self._do(run, chosen, player)
        except psycopg.Error as error:
            run.refused += 1
            if error.sqlstate not in _EXPECTED_ERRORS or run.refused > _MAX_REFUSED:
                error.add_note(f"while doing {chosen.kind} at {chosen.node}")
                raise
        else:
            run.refused = 0

    def _idle(self, run: Run, state: Row, actions: list[Action]) -> None:
        """Nothing can be done: time may help, else the run stands still."""
        due = [t["available_at"] for t in state["tasks"] if t["state"] == "Ready"]
        if not actions and due:
            self.engine.advance_to(min(due))
            return
        if state["incidents"]:  # one that stops no single token: a join that waits in vain
            found = state["incidents"][0]
            run.reason = f"given up after incident {found['code']} at {found['node_id']}"
            return
        waiting = ", ".join(sorted({t["node_id"] for t in state["tokens"]}))
        run.reason = f"nothing left to do; tokens at {waiting}"

    def _mend(self, run: Run, incident: Row, player: Player) -> None:
        patch = player.mend(run, incident)
        if patch is None:
            run.reason = f"given up after incident {incident['code']} at {incident['node_id']}"
            return
        if patch:
            self.engine.call("set_variables", process_instance_id=run.instance, variables=patch,
                             actor=WORKER)  # fmt: skip
        try:
            self.engine.call("resolve_incident", incident_id=incident["incident_id"], attempts=1,
                             actor=WORKER)  # fmt: skip
        except psycopg.Error as error:
            if error.sqlstate not in _EXPECTED_ERRORS:
                raise
            run.reason = f"incident {incident['code']} cannot be resolved: {error}"

    def actions(self, state: Row) -> list[Action]:
        """All that could be done in a state."""
        found: list[Action] = []
        now = self.engine.rows("select bpm_core.now() as now")[0]["now"]
        for task in state["tasks"]:
            if task["state"] not in {"Ready", "Executing"}:
                continue
            node = self.drawing.drawn(task["node_id"])
            if task["available_at"] and _later(task["available_at"], now):
                continue
            found.append(Action("complete", node, node, task))
            for catcher in self.drawing.catchers(node, "error"):
                code = catcher.code or "corpus-error"
                found.append(Action("error", catcher.id, node, task, code))
        for approval in state["approvals"]:
            if approval["status"] == "Pending":
                node = self.drawing.drawn(approval["node_id"])
                found.append(Action("approve", node, node, approval))
                found.append(Action("reject", node, node, approval))
        for wait in state["waits"]:
            node = self.drawing.drawn(wait["node_id"])
            kind = str(wait["kind"]).lower().removeprefix("conditional") or "condition"
            found.append(Action(kind, node, node, wait))
        for timer in state["timers"]:
            if timer["status"] == "Scheduled":
                node = self.drawing.drawn(timer["node_id"])
                found.append(Action("timer", node, node, timer))
        return found

    def _do(self, run: Run, action: Action, player: Player) -> None:
        call, what = self.engine.call, action.what
        match action.kind:
            case "complete" if what["task_type"] == "bpm:user":
                call("complete_user_task", task_id=what["task_id"],
                     actor=what["assignee"] or WORKER,
                     variables=player.answer(run, action.node))  # fmt: skip
            case "complete":
                call("complete_task", task_id=what["task_id"],
                     fencing_token=self.engine.lease(what),
                     variables=player.answer(run, action.node))  # fmt: skip
            case "error" if what["task_type"] == "bpm:user":
                call("throw_user_task_error", task_id=what["task_id"], error_code=action.code,
                     message="thrown by a stub", actor=what["assignee"] or WORKER)  # fmt: skip
            case "error":
                call("throw_error", task_id=what["task_id"], fencing_token=self.engine.lease(what),
                     error_code=action.code, message="thrown by a stub")  # fmt: skip
            case "approve" | "reject":
                decision = "Approved" if action.kind == "approve" else "Rejected"
                call("decide_approval", approval_id=what["approval_id"], decision=decision,
                     actor=WORKER)  # fmt: skip
            case "message":
                call("correlate_message", name=what["name"], ttl="0",
                     correlation_key=what["correlation_key"],
                     payload=player.answer(run, action.node))  # fmt: skip
            case "signal":
                call("broadcast_signal", name=what["name"],
                     payload=player.answer(run, action.node))  # fmt: skip
            case "timer":
                self.engine.advance_to(what["due_at"])
            case _:
                call("set_variables", process_instance_id=run.instance, actor=WORKER,
                     variables=player.answer(run, action.node) or {"corpus": 1})  # fmt: skip


def _later(stamp: str, now: datetime) -> bool:
    return bool(datetime.fromisoformat(stamp) > now)
