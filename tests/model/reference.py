"""What a process means, without an engine: a set of tokens and what each decision does to it.

The interpreter knows nothing of rows, rounds, counters or commands. It is told what happened from
outside, one command after the other (which task was completed with which variables, which timer,
message or signal came, which error a worker threw), and works out everything else: where tokens
go, what is offered and waited for, which scopes end, what is left.

Where the standard leaves the order open the engine's published one holds: the variables of a
command are set before its tokens move; its tokens move hop by hop; within a hop ends that end
others come first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.model.graph import ACTIVITIES, Flow, Graph, Node

PASSED = frozenset({"manual", "throw", "exclusive", "start"})
BEHIND = "!"
"""Added to a node that was passed and whose way on cannot be decided."""

FIRST = ("terminate", "error-end")


class Disagreement(AssertionError):
    """The engine did what cannot be, or is not where it should be."""


@dataclass(frozen=True)
class Decision:
    """Something from outside. ``token`` and ``scope`` are the engine's names of where it happened:
    they tell twins apart and mean nothing else.

    * ``task``: the task at ``node`` was completed with ``variables``.
    * ``event``: the timer, message or signal of ``node`` came, with ``variables``.
    * ``error``: the worker of the task at ``node`` threw ``code``, with ``variables``.
    * ``failed``: the last attempt of the task at ``node`` failed.
    * ``revived``: what stood still at ``node`` may try again.
    * ``variables``: somebody set ``variables``.
    """

    kind: Literal["task", "event", "error", "failed", "revived", "variables"]
    node: str = ""
    token: str = ""
    scope: str = ""
    variables: dict[str, Any] = field(default_factory=dict)
    code: str = ""


@dataclass(eq=False)
class Scope:
    """The inside of a sub-process, or of the process itself."""

    node: str
    host: Token | None
    name: str = ""
    alive: bool = True


@dataclass(eq=False)
class Token:
    """One token. ``via``: the flow it came over. ``state``: ``moving``, ``resting``, ``joining``,
    ``hosting`` (a sub-process runs inside) or ``stuck`` (an incident)."""

    scope: Scope
    node: str
    via: str = ""
    state: str = "moving"
    alive: bool = True
    name: str = ""
    spent: set[str] = field(default_factory=set)


Leaving = list[tuple[Token, str]]
Arriving = list[tuple[Token, Flow]]


class Interpreter:
    """One instance of a graph."""

    def __init__(self, graph: Graph, variables: dict[str, Any]) -> None:
        self.graph = graph
        self.variables = dict(variables)
        self.status = "Running"
        self.root = Scope("", None)
        self.tokens: list[Token] = []
        self.passed: Counter[str] = Counter()
        self._run([self._born(self.root, graph.start_of(""))])

    # -- looking ----------------------------------------------------------------------------

    def standing(self) -> Counter[str]:
        """Where live tokens are."""
        return Counter(token.node for token in self.tokens)

    def offers(self) -> Counter[str]:
        """What is open: ``task``, ``timer`` or ``wait`` and the node it belongs to."""
        return Counter(offer for token in self.tokens for offer in self._offers_of(token))

    def _offers_of(self, token: Token) -> Iterable[str]:
        if token.node.endswith(BEHIND):
            return
        node = self.graph.nodes[token.node]
        if node.kind in ("service", "user"):
            yield f"task {node.id}"
        if node.kind == "event-gateway":
            for flow in self.graph.outgoing(node.id):
                yield _wait(self.graph.nodes[flow.target])
        elif node.kind in ("timer", "message", "signal", "receive"):
            yield _wait(node)
        for boundary in self.graph.boundaries(node.id):
            if boundary.kind != "error-boundary" and boundary.id not in token.spent:
                yield _wait(boundary)

    def starved(self) -> bool:
        """Whether all that is left waits at joins that nobody will complete."""
        return bool(self.tokens) and all(token.state == "joining" for token in self.tokens)

    def stuck(self) -> Counter[str]:
        """Where tokens cannot go on without help."""
        return Counter(token.node for token in self.tokens if token.state == "stuck")

    # -- being told -------------------------------------------------------------------------

    def apply(self, decisions: Sequence[Decision]) -> None:
        """What one command brought."""
        for decision in decisions:
            self.variables |= decision.variables
        found = [(decision, self._find(decision)) for decision in decisions if decision.node]
        leaving: Leaving = []
        for decision, token in found:
            if token.alive:
                leaving += self._begin(decision, token)
        self._run(leaving)

    def _begin(self, decision: Decision, token: Token) -> Leaving:
        if decision.node.endswith(BEHIND):
            return [(token, decision.node)]
        node = self.graph.nodes[decision.node]
        if decision.kind == "error":
            return self._throw(token, decision.code)
        if decision.kind == "failed":
            token.state = "stuck"
            return []
        if decision.kind == "revived":
            token.state = "resting" if node.kind in ACTIVITIES else "moving"
            return [] if node.kind in ACTIVITIES else [(token, node.id)]
        if node.host and not node.interrupting:
            if node.kind == "timer-boundary":
                token.spent.add(node.id)
            return [self._born(token.scope, node.id)]
        self._kill_inside(token)
        return [(token, node.id)]

    def _find(self, decision: Decision) -> Token:
        """The token it is about. Those the engine calls the same are the same; among twins that
        were never told apart any will do."""
        at = self._resting_place(decision.node)
        here = [token for token in self.tokens if token.node in at and token.state != "joining"]
        known = [token for token in here if token.name == decision.token]
        fresh = [token for token in here if not token.name]
        fresh.sort(key=lambda token: token.scope.name != decision.scope)
        fresh = [t for t in fresh if t.scope.name in ("", decision.scope) or not decision.scope]
        if not known and not fresh:
            raise Disagreement(f"{decision} came, but tokens are at {dict(self.standing())}")
        token = (known or fresh)[0]
        token.name = decision.token
        token.scope.name = decision.scope
        return token

    def _resting_place(self, name: str) -> set[str]:
        """Where a token rests for which this node's event comes."""
        if name.endswith(BEHIND):
            return {name}
        node = self.graph.nodes[name]
        if node.host:
            return {node.host}
        gateways = {
            flow.source
            for flow in self.graph.incoming(node.id)
            if self.graph.nodes[flow.source].kind == "event-gateway"
        }
        return gateways or {node.id}

    def _throw(self, token: Token, code: str) -> Leaving:
        """An error looks for who catches it: at the activity, then outwards."""
        at: Token | None = token
        while at is not None:
            catching = [b for b in self.graph.boundaries(at.node) if b.kind == "error-boundary"]
            exact = [b for b in catching if b.rule == code] or [b for b in catching if not b.rule]
            if exact:
                self._kill_inside(at)
                return [(at, exact[0].id)]
            at = at.scope.host
        token.state = "stuck"
        return []

    # -- moving -----------------------------------------------------------------------------

    def _born(self, scope: Scope, node: str) -> tuple[Token, str]:
        token = Token(scope, node)
        self.tokens.append(token)
        return token, node

    def _die(self, token: Token) -> None:
        token.alive = False
        self.tokens.remove(token)

    def _kill_inside(self, host: Token) -> None:
        for token in [t for t in self.tokens if t.scope.host is host]:
            self._kill_inside(token)
            token.scope.alive = False
            self._die(token)

    def _run(self, leaving: Leaving) -> None:
        while leaving:
            arriving = [
                a for token, node in leaving if token.alive for a in self._depart(token, node)
            ]
            arriving.sort(key=lambda a: self.graph.nodes[a[1].target].kind not in FIRST)
            leaving = []
            self._terminate(arriving)
            for token, flow in arriving:
                if token.alive:
                    leaving += self._arrive(token, flow)
            if not leaving:
                leaving = self._settle()
        if not self.tokens:
            self.status = "Completed"

    def _terminate(self, arriving: Arriving) -> None:
        """Those that reach terminate ends in one hop end together, and all others with them."""
        ending = [a for a in arriving if self.graph.nodes[a[1].target].kind == "terminate"]
        for token, flow in ending:
            self._arrive(token, flow)
        for scope in [token.scope for token, _ in ending]:
            for other in [t for t in self.tokens if t.scope is scope]:
                self._kill_inside(other)
                self._die(other)

    def _depart(self, token: Token, node: str) -> Arriving:
        """Over which flows a token leaves."""
        token.name, token.spent, token.via = "", set(), ""
        done, node = node.endswith(BEHIND), node.removesuffix(BEHIND)
        if not done and not self.graph.nodes[node].kind.endswith("clusive"):
            self.passed[node] += 1
            done = True
        chosen = self._chosen(node)
        if chosen is None:
            token.node, token.state = node + BEHIND * done, "stuck"
            return []
        if not done:
            self.passed[node] += 1
        if len(chosen) == 1:
            return [(token, chosen[0])]
        self._die(token)
        return [(self._born(token.scope, node)[0], flow) for flow in chosen]

    def _chosen(self, node: str) -> list[Flow] | None:
        """The flows taken; ``None``: it cannot be decided, or there is none."""
        flows = self.graph.outgoing(node)
        default = [flow for flow in flows if flow.id == self.graph.nodes[node].default]
        others = [flow for flow in flows if flow not in default]
        taken: list[Flow] = []
        for flow in others:
            verdict = flow.condition is None or flow.condition.holds(self.variables)
            if verdict is None:
                return None
            if verdict:
                taken.append(flow)
                if self.graph.nodes[node].kind == "exclusive":
                    break
        return taken or default or None

    def _arrive(self, token: Token, flow: Flow) -> Leaving:
        node = self.graph.nodes[flow.target]
        token.node, token.via = node.id, flow.id
        several = len(self.graph.incoming(node.id)) > 1
        if node.kind in PASSED or (node.kind in ("parallel", "inclusive") and not several):
            return [(token, node.id)]
        if node.kind == "parallel":
            return self._join(token, [flow.id for flow in self.graph.incoming(node.id)])
        if node.kind in ("end", "terminate"):
            self.passed[node.id] += 1
            self._die(token)
            return []
        if node.kind == "error-end":
            return self._throw(token, node.rule)
        token.state = {"inclusive": "joining", "sub": "hosting"}.get(node.kind, "resting")
        if node.kind == "sub":
            return [self._born(Scope(node.id, token), self.graph.start_of(node.id))]
        return []

    def _join(self, token: Token, flows: list[str]) -> Leaving:
        """One token of every flow goes on as one; what is left over waits."""
        token.state = "joining"
        here = self._beside(token)
        joined = [next((t for t in here if t.via == flow), None) for flow in flows]
        if None in joined:
            return []
        for other in joined:
            if other is not None and other is not token:
                self._die(other)
        token.state = "moving"
        return [(token, token.node)]

    def _settle(self) -> Leaving:
        """Nothing moves: an inclusive join that nobody can reach any more fires, a scope in which
        nobody is left ends."""
        for token in self.tokens:
            waits = token.state == "joining" and self.graph.nodes[token.node].kind == "inclusive"
            if waits and not self._awaited(token):
                filled = {t.via for t in self._beside(token)}
                return self._join(token, sorted(filled))
        for host in self.tokens:
            if host.state == "hosting" and not any(t.scope.host is host for t in self.tokens):
                host.state = "moving"
                return [(host, host.node)]
        return []

    def _beside(self, token: Token) -> list[Token]:
        """Tokens that wait at the same join."""
        return [
            t
            for t in self.tokens
            if t.state == "joining" and t.node == token.node and t.scope is token.scope
        ]

    def _awaited(self, token: Token) -> bool:
        """Whether another token of the scope can still reach an empty flow of the join, and no
        filled one, without passing the join."""
        filled = {t.via for t in self._beside(token)}
        for other in self.tokens:
            if other.scope is token.scope and other.node != token.node:
                reached = self._reach(other.node, token.node)
                if reached and not reached & filled:
                    return True
        return False

    def _reach(self, source: str, join: str) -> set[str]:
        """The flows of a join that paths from a node arrive by."""
        seen, ahead, found = {source}, [source], set[str]()
        while ahead:
            node = ahead.pop()
            doors = [node, *(boundary.id for boundary in self.graph.boundaries(node))]
            for flow in [flow for door in doors for flow in self.graph.outgoing(door)]:
                if flow.target == join:
                    found.add(flow.id)
                elif flow.target not in seen:
                    seen.add(flow.target)
                    ahead.append(flow.target)
        return found


def _wait(node: Node) -> str:
    return f"{'timer' if node.kind.startswith('timer') else 'wait'} {node.id}"
