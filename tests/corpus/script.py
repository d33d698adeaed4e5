"""Runs a case of ``expected.toml``: what somebody read from a diagram, not from the engine.

A case says which inputs lead where::

    [[case]]
    file = "payment.bpmn"          # name of the file in the corpus
    process = "payment"            # only where the file has several
    name = "paid late"
    variables = { amount = 5 }     # to start with
    key = "A-1"                    # business key
    start = "asked"                # start event, only where it is not the plain one
    returns = { ask = { ok = 1 } } # what work or a message brings at a node; a list: by visit
    errors = { charge = "E1" }     # this task throws a BPMN error; a list: by visit, "" none
    first = ["reminder"]           # events that happen as soon as they can
    hold = ["wait"]                # nobody works here, no message comes here
    reject = ["release"]           # approvals that are refused
    status = "Completed"           # how the instance ends; Running: it stops at an incident
    ends = ["late", "paid"]        # end events reached, each as often as a token reached it
    passes = ["reminder"]          # nodes that must be among those visited
    never = ["cancel"]             # nodes that must not
    order = ["undo-b", "undo-a"]   # nodes that tokens come to in this order
    incidents = ["NoFlowTrue"]     # codes of all incidents, in order

Without a word everything that can be done is done, in the order of the ids; time passes when
nothing else is left.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.corpus.drawing import Drawing
from tests.corpus.engine import Row
from tests.corpus.play import Action, Run


@dataclass(slots=True)
class Case:
    """One case; see the module's text."""

    file: str
    name: str
    status: str
    ends: list[str]
    process: str | None = None
    variables: dict[str, Any] = field(default_factory=dict)
    key: str = "case"
    start: str | None = None
    returns: dict[str, Any] = field(default_factory=dict)
    errors: dict[str, Any] = field(default_factory=dict)
    first: list[str] = field(default_factory=list)
    hold: list[str] = field(default_factory=list)
    reject: list[str] = field(default_factory=list)
    passes: list[str] = field(default_factory=list)
    never: list[str] = field(default_factory=list)
    order: list[str] = field(default_factory=list)
    incidents: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.file}: {self.name}"

    @property
    def named(self) -> set[str]:
        """Every node the case names."""
        lists = [self.first, self.hold, self.reject, self.passes, self.never, self.ends, self.order]
        return {node for names in lists for node in names} | {*self.returns, *self.errors}


@dataclass(slots=True)
class Script:
    """The player of a case."""

    case: Case
    drawing: Drawing

    def begin(self, run: Run) -> tuple[dict[str, Any], str]:
        """As the case says."""
        return self.case.variables, self.case.key

    def choose(self, run: Run, actions: list[Action]) -> Action | None:
        """The first events, then errors, then ordinary work, then time."""
        able = [a for a in actions if a.node not in self.case.hold and self._is_meant(run, a)]
        for wanted in self.case.first:
            for action in able:
                if action.node == wanted and run.visits[wanted] == 0:
                    return action
        able = [a for a in able if a.kind == "timer" or not self._is_on_host(a)]
        work = sorted((a for a in able if a.kind != "timer"), key=lambda a: a.node)
        timers = sorted((a for a in able if a.kind == "timer"), key=lambda a: a.what["due_at"])
        return (work + timers)[0] if able else None

    def _is_on_host(self, action: Action) -> bool:
        node = self.drawing.nodes.get(action.node)
        return action.kind != "error" and node is not None and node.catches_on_host

    def _is_meant(self, run: Run, action: Action) -> bool:
        if action.kind in {"approve", "reject"}:
            return (action.kind == "reject") == (action.node in self.case.reject)
        if action.kind == "complete":
            return not self._error(run, action.host)
        if action.kind == "error":
            action.code = self._error(run, action.host)
            return bool(action.code)
        return True

    def _error(self, run: Run, node: str) -> str | None:
        found: str | None = _of_visit(self.case.errors.get(node), run.worked[node])
        return found

    def answer(self, run: Run, node: str) -> dict[str, Any]:
        """As the case says."""
        found: dict[str, Any] = _of_visit(self.case.returns.get(node), run.visits[node] - 1) or {}
        return found

    def mend(self, run: Run, incident: Row) -> dict[str, Any] | None:
        """Nobody mends anything."""
        return None


def _of_visit(given: Any, visit: int) -> Any:
    """The value for a visit, counted from 0; the last one of a list stays."""
    if isinstance(given, list):
        return given[min(visit, len(given) - 1)] if given else None
    return given
