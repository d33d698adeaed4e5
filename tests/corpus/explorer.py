"""Tries every way through a process: each run goes for something no run has reached yet."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tests.corpus.drawing import Drawing, Node
from tests.corpus.engine import Row
from tests.corpus.inputs import Candidates, candidates
from tests.corpus.play import MAX_STEPS, Action, Run

_MAX_MENDS = 6
_PATIENCE = 6
"""Runs that go for one thing in vain."""
_EVENTFUL = {"error", "message", "signal", "timer", "condition", "approve", "reject"}


@dataclass(slots=True)
class _Aim:
    """What a run goes for."""

    goal: str
    way: list[str]
    hosts: set[str]
    """Nodes that must stay where they are until the event on them has happened."""
    focus: dict[str, Any]
    """Values of paths that should open the way."""


@dataclass(slots=True)
class Explorer:
    """Decides for the runs of one process, and remembers what was reached by all of them."""

    drawing: Drawing
    process: str
    seed: int = 1
    reached: set[str] = field(default_factory=set)
    """Nodes and flows."""
    done: Counter[str] = field(default_factory=Counter)
    """How often something was done, by kind and node, over all runs."""
    tries: Counter[str] = field(default_factory=Counter)
    """How many runs went for something."""
    witness: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Flow → values that opened it."""
    number: int = 0
    values: Candidates = field(init=False)
    _rng: random.Random = field(init=False)
    _aim: _Aim | None = None
    _drawn: dict[str, Any] = field(default_factory=dict)
    _mends: Counter[str] = field(default_factory=Counter)
    _combinations: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.values = candidates(self.drawing)
        self._rng = random.Random(self.seed)

    # -- between runs --------------------------------------------------------------------------

    def goals(self) -> list[str]:
        """What no run has reached: nodes, and flows with a condition or beside one."""
        nodes = [n.id for n in self.drawing.of(self.process) if not self._is_reached(n)]
        choosing = {f.source for f in self.drawing.flows.values() if f.condition}
        flows = [
            f.id
            for f in self.drawing.flows.values()
            if f.source in choosing
            and self._process_of(f.source) == self.process
            and f.id not in self.reached
        ]
        return [*flows, *nodes]

    def is_hopeful(self) -> bool:
        """Whether something is left that was not yet tried often enough to be given up."""
        return any(self.tries[goal] < self._patience(goal) for goal in self.goals())

    def _patience(self, goal: str) -> int:
        flow = self.drawing.flows.get(goal)
        if flow is None:
            return _PATIENCE
        size = math.prod(len(self.values.values[p]) for p in self._paths(flow.source))
        return min(max(size, _PATIENCE), 4 * _PATIENCE)

    def uncovered(self) -> list[str]:
        """The nodes no run has reached."""
        return [n.id for n in self.drawing.of(self.process) if not self._is_reached(n)]

    def _is_reached(self, node: Node) -> bool:
        if node.id in self.reached or self.drawing.handlers.get(node.id) in self.reached:
            return True
        inside = {n.id for n in self.drawing.of(self.process) if n.scope == node.id}
        return bool(inside & self.reached)

    def _process_of(self, node: str) -> str | None:
        found = self.drawing.nodes.get(node)
        return found.process if found else None

    def learn(self, run: Run) -> None:
        """Note what a run has reached."""
        for taken, variables in run.flows.items():
            if taken not in self.witness:
                self.witness[taken] = self.values.found_in(variables)
        for flow in self.drawing.flows.values():  # passing through shows the nodes, not the flow
            if flow.source in run.visited and flow.target in run.visited:
                beside = [f for f in self.drawing.flows.values() if f.source == flow.source]
                if len(beside) == 1:
                    self.reached.add(flow.id)
        self.reached |= run.visited | run.flows.keys()

    def start_event(self) -> Node | None:
        """Where the next run starts: the plain start event, else each of the others in turn."""
        starts = self.drawing.starts(self.process)
        fresh = [s for s in starts if s.id not in self.reached]
        plain = [s for s in starts if not s.events]
        if fresh and self.number > 0:
            return fresh[0]
        if plain and (self.number % 3 or len(starts) == 1):
            return plain[0]
        return starts[self.number % len(starts)] if starts else None

    def _take_aim(self) -> _Aim | None:
        goals = sorted(self.goals(), key=lambda g: (self.tries[g], self._distance(g)))
        if not goals:
            return None
        goal = goals[0]
        self.tries[goal] += 1
        way = self.drawing.way_to(self.process, goal)
        focus: dict[str, Any] = {}
        for step in way:
            flow = self.drawing.flows.get(step)
            if flow is None:
                continue
            paths = self._paths(flow.source)
            if flow.id in self.witness:
                focus |= {p: v for p, v in self.witness[flow.id].items() if p in paths}
            elif paths:
                focus |= self._next_combination(flow.id, paths)
        node = self.drawing.nodes.get(goal)
        if node is not None and node.conditions:
            paths = [p for text in node.conditions for p in self.values.paths(text)]
            focus |= self._next_combination(goal, paths)
        on_host = [self.drawing.nodes[n].host for n in way if n in self.drawing.nodes]
        return _Aim(goal, way, {host for host in on_host if host is not None}, focus)

    def _distance(self, goal: str) -> int:
        """How much of the way to a goal is unknown."""
        way = self.drawing.way_to(self.process, goal)
        return len(set(way) - self.reached) if way else 1000

    def _paths(self, source: str) -> list[str]:
        """The paths in the conditions of all flows of a node."""
        texts = [f.condition for f in self.drawing.flows.values() if f.source == source]
        return list(dict.fromkeys(p for text in texts for p in self.values.paths(text)))

    def _next_combination(self, goal: str, paths: list[str]) -> dict[str, Any]:
        if not self._combinations.get(goal):
            self._combinations[goal] = self.values.combinations(paths, self._rng)
        return self._combinations[goal].pop() if self._combinations[goal] else {}

    # -- in a run ------------------------------------------------------------------------------

    def begin(self, run: Run) -> tuple[dict[str, Any], str]:
        """The first run gets no variables and its tasks bring none: an operator must mend."""
        self.number += 1
        self._mends.clear()
        self._aim = self._take_aim() if self.number > 1 else None
        self._drawn = self.values.draw(self._rng, self._aim.focus if self._aim else None)
        variables = {} if self.number == 1 else self.values.variables(self._drawn)
        return variables, f"run-{self.number}"

    def choose(self, run: Run, actions: list[Action]) -> Action | None:
        """What leads to the goal; else what was done least; time passes last."""
        aim = self._aim if run.steps < MAX_STEPS * 0.6 else None
        on_way = [
            a
            for a in actions
            if aim and a.node in aim.way and a.kind in _EVENTFUL and run.visits[a.node] < 3
        ]
        if aim and on_way:
            chosen: Action | None = max(on_way, key=lambda a: aim.way.index(a.node))
        else:
            chosen = self._usual(run, actions, aim.hosts if aim else set())
        if chosen is not None:
            self.done[f"{chosen.kind} {chosen.node}"] += 1
        return chosen

    def _usual(self, run: Run, actions: list[Action], hosts: set[str]) -> Action | None:
        """Ordinary work. What interrupts it comes only when nothing else is left."""
        ordinary = [a for a in actions if self._is_ordinary(a)]
        if ordinary:
            return min(
                ordinary,
                key=lambda a: (a.node in hosts, run.visits[a.node], self._often(a), a.node),
            )
        rest = [a for a in actions if a.kind != "error"]
        timers = sorted((a for a in rest if a.kind == "timer"), key=lambda a: a.what["due_at"])
        others = [a for a in rest if a.kind != "timer"]
        if others:
            return min(others, key=lambda a: (run.visits[a.node], self._often(a)))
        return timers[0] if timers else None

    def _often(self, action: Action) -> int:
        return self.done[f"{action.kind} {action.node}"]

    def _is_ordinary(self, action: Action) -> bool:
        node = self.drawing.nodes.get(action.node)
        if action.kind in {"error", "timer", "condition"}:
            return False
        return node is None or not node.catches_on_host

    def answer(self, run: Run, node: str) -> dict[str, Any]:
        """The values of the run; other ones when somebody comes a second time."""
        if self.number == 1 and run.visits[node] < 2:
            return {}
        if run.visits[node] > 1:
            late = run.steps > MAX_STEPS * 0.6 or run.visits[node] > 4
            keep = self._aim is not None and not late and self._rng.random() < 0.5
            fixed = self._aim.focus if self._aim is not None and keep else None
            self._drawn = self.values.draw(self._rng, fixed)
        return self.values.variables(self._drawn)

    def mend(self, run: Run, incident: Row) -> dict[str, Any] | None:
        """Other values, a few times."""
        self._mends[f"{incident['node_id']} {incident['code']}"] += 1
        if sum(self._mends.values()) > _MAX_MENDS * 2:
            return None
        count = self._mends[f"{incident['node_id']} {incident['code']}"]
        if incident["code"] in {"AttemptsExhausted"}:
            return {}
        if incident["code"] in {"UncaughtError", "JoinStarved"} or count > _MAX_MENDS:
            return None
        paths = self._paths(self.drawing.drawn(str(incident["node_id"])))
        given = self._next_combination(f"mend {incident['node_id']}", paths) if paths else None
        self._drawn = self.values.draw(self._rng, given)
        return self.values.variables(self._drawn)
