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

PASSED = frozenset({"manual", "throw", "exclusive", "signal-throw"})

BEHIND = "!"
"""Added to a node that is passed already and whose way on is still open."""

FIRST = ("terminate", "error-end", "escalation", "escalation-end")
"""Within a hop these come first: they may end others."""


Path = tuple[tuple[str, int], ...]


class Disagreement(AssertionError):
    """The engine did what cannot be, or is not where it should be."""


@dataclass(frozen=True)
class Decision:
    """Something from outside. ``path`` are the scopes around the token it happened to, the
    outermost first: the node of each and its number among those of that node in the scope around.
    ``hosted`` is the same for the scope the token itself hosts. ``token`` is the engine's name of
    the token: it tells twins apart and means nothing else.

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
    path: Path = ()
    hosted: Path = ()
    variables: dict[str, Any] = field(default_factory=dict)
    code: str = ""

    def brief(self) -> str:
        """In a line."""
        return f"{self.kind} {self.node} {self.code} {self.variables} token {self.token[-6:]}"


@dataclass(eq=False)
class Scope:
    """The inside of a sub-process, or of the process itself. ``number``: the how manieth of its
    node in the scope around. ``closed``: no event sub-process begins in it any more. ``spent``:
    timers of event sub-processes that are used up. ``opened``: how many scopes were inside."""

    node: str
    host: Token | None
    number: int = 0
    opened: Counter[str] = field(default_factory=Counter)
    closed: bool = False
    spent: set[str] = field(default_factory=set)


@dataclass(eq=False)
class Token:
    """One token. ``via``: the flow it came over. ``state``: ``moving``, ``resting``, ``joining``,
    ``hosting`` (a sub-process runs inside) or ``stuck`` (an incident). ``spent``: boundary timers
    that are used up."""

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
        self._starved: list[Scope] = []
        self._run([self._born(self.root, graph.start_of(""))])

    # -- looking ----------------------------------------------------------------------------

    def standing(self) -> Counter[str]:
        """Where live tokens are."""
        return Counter(token.node for token in self.tokens)

    def offers(self) -> Counter[str]:
        """What is open: ``task``, ``timer`` or ``wait`` and the node it belongs to."""
        found = Counter(offer for token in self.tokens for offer in self._offers_of(token))
        for scope in self._scopes() if self.tokens else []:
            starts = [] if scope.closed else self._starts(scope)
            found.update(_wait(s) for s in starts if _waits(s) and s.id not in scope.spent)
        return found

    def _offers_of(self, token: Token) -> Iterable[str]:
        if token.node.endswith(BEHIND):
            return
        node = self.graph.nodes[token.node]
        if node.kind in ("service", "user"):
            yield f"task {node.id}"
        if node.kind == "event-gateway":
            for flow in self.graph.outgoing(node.id):
                yield _wait(self.graph.nodes[flow.target])
        elif _waits(node):
            yield _wait(node)
        for boundary in self.graph.boundaries(node.id):
            if _waits(boundary) and boundary.id not in token.spent:
                yield _wait(boundary)

    def _scopes(self) -> list[Scope]:
        """All scopes there are, the process first."""
        return [self.root, *dict.fromkeys(t.scope for t in self.tokens if t.scope is not self.root)]

    def _starts(self, scope: Scope, kind: str = "") -> list[Node]:
        """Start events of the event sub-processes in a scope; of all kinds or of one."""
        subs = [n.id for n in self.graph.inside(scope.node) if n.kind == "event-sub"]
        starts = [self.graph.nodes[self.graph.start_of(sub)] for sub in subs]
        return [start for start in starts if not kind or start.kind == f"{kind}-start"]

    @property
    def starved(self) -> int:
        """In how many scopes all that was left once waited at joins that nobody would complete."""
        return len(self._starved) if self.status == "Running" else 0

    def _note_starved(self) -> None:
        for scope in self._scopes():
            states = {token.state for token in self.tokens if token.scope is scope}
            if states == {"joining"} and scope not in self._starved:
                self._starved.append(scope)

    def stuck(self) -> Counter[str]:
        """Where tokens cannot go on without help."""
        return Counter(token.node for token in self.tokens if token.state == "stuck")

    def busy(self) -> bool:
        """Whether something has to happen yet. What may begin beside a join that starved need not,
        and an error end that nobody catches is for good."""
        stuck = [node for node in self.stuck() if not self._throws(node)]
        open_ = [o for o in self.offers() if self.graph.nodes[o.split()[1]].interrupting]
        return bool(open_ or stuck)

    def _throws(self, name: str) -> bool:
        node = self.graph.nodes.get(name)
        return node is not None and node.kind == "error-end"

    # -- being told -------------------------------------------------------------------------

    def apply(self, decisions: Sequence[Decision]) -> None:
        """What one command brought. All of it counts, also for a token that another part of the
        same command ended."""
        for decision in decisions:
            self.variables |= decision.variables
        found = [(decision, self._find(decision)) for decision in decisions if decision.node]
        leaving: Leaving = []
        for decision, token in found:
            if decision.kind in ("task", "event"):
                self.passed[decision.node] += 1
            if token is None or token.alive:
                leaving += self._begin(decision, token)
        self._run(leaving)

    def _begin(self, decision: Decision, token: Token | None) -> Leaving:
        node = self.graph.nodes[decision.node.removesuffix(BEHIND)]
        if node.kind.endswith("-start"):
            inside = [scope for scope in self._scopes() if scope.host is token]
            return self._start_beside(inside[0], node) if inside else []
        assert token is not None
        if decision.kind == "error":
            return self._throw(token, "error", decision.code)
        if decision.kind == "failed":
            token.state = "stuck"
            return []
        if decision.kind == "revived":
            return self._again(token)
        return self._by_event(token, node)

    def _again(self, token: Token) -> Leaving:
        """What was stuck tries again."""
        node = self.graph.nodes.get(token.node)
        if node is not None and node.kind in ACTIVITIES:
            token.state = "resting"
            return []
        if node is not None and node.kind == "error-end":
            return self._throw(token, "error", node.rule)
        return [(token, token.node)]

    def _by_event(self, token: Token, node: Node) -> Leaving:
        """What rests goes on, by itself or by a boundary event; the event is counted already."""
        if node.host and not node.interrupting:
            if node.kind == "timer-boundary":
                token.spent.add(node.id)
            return [self._born(token.scope, node.id + BEHIND)]
        self._kill_inside(token)
        token.state = "moving"
        return [(token, node.id + BEHIND)]

    def _start_beside(self, scope: Scope, start: Node) -> Leaving:
        """An event sub-process begins in a scope; an interrupting one ends everything else."""
        if start.interrupting:
            self._empty(scope)
            scope.closed = True
        elif start.kind == "timer-start":
            scope.spent.add(start.id)
        host, _ = self._born(scope, start.scope)
        host.state = "hosting"
        return [self._born(self._open(start.scope, host), start.id + BEHIND)]

    def _find(self, decision: Decision) -> Token | None:
        """The token it is about; ``None``: the process itself. Those the engine calls the same are
        the same; among twins that were never told apart any will do."""
        at = self._resting_place(decision.node)
        if "" in at:
            return None
        if decision.hosted:
            return self._at(decision.hosted).host
        scope = self._at(decision.path)
        return self._known([t for t in self.tokens if t.scope is scope and t.node in at], decision)

    def _at(self, path: Path) -> Scope:
        """The scope of a path."""
        found = self.root
        for node, number in path:
            inside = [s for s in self._scopes() if s.host is not None and s.host.scope is found]
            inside = [s for s in inside if (s.node, s.number) == (node, number)]
            if not inside:
                raise Disagreement(f"there is no scope {path}, tokens are at {self.standing()}")
            found = inside[0]
        return found

    def _open(self, node: str, host: Token) -> Scope:
        around = host.scope
        around.opened[node] += 1
        return Scope(node, host, around.opened[node])

    def _known(self, here: list[Token], decision: Decision) -> Token:
        resting = [token for token in here if token.state != "joining"]
        known = [token for token in resting if token.name == decision.token]
        fresh = [token for token in resting if not token.name]
        if not known and not fresh:
            raise Disagreement(f"{decision} came, but tokens are at {dict(self.standing())}")
        token = (known or fresh)[0]
        token.name = decision.token
        return token

    def _resting_place(self, name: str) -> set[str]:
        """Where a token rests for which this node's event comes."""
        if name.endswith(BEHIND):
            return {name}
        node = self.graph.nodes[name]
        if node.host:
            return {node.host}
        if node.kind.endswith("-start"):
            return {self.graph.nodes[node.scope].scope}
        gateways = {
            flow.source
            for flow in self.graph.incoming(node.id)
            if self.graph.nodes[flow.source].kind == "event-gateway"
        }
        return gateways or {node.id}

    def _throw(self, token: Token, kind: str, code: str) -> Leaving:
        """An error or escalation looks for who catches it: at its own activity, then outwards, in
        each scope the event sub-processes before the boundary events around. What comes out of an
        event sub-process is not for others of its own scope."""
        at: Token | None = token
        scope = token.scope
        while at is not None:
            guards = [b for b in self.graph.boundaries(at.node) if b.kind == f"{kind}-boundary"]
            guard = _of_code(guards, code)
            if guard is not None:
                self.passed[guard.id] += 1
                return self._by_event(at, guard)
            scope = at.scope
            beside = self.graph.nodes[at.node].kind == "event-sub"
            start = None if beside else _of_code(self._starts(scope, kind), code)
            if start is not None:
                self.passed[start.id] += 1
                return self._start_beside(scope, start)
            at = scope.host
        if kind == "error":
            token.state = "stuck"
        return []

    # -- moving -----------------------------------------------------------------------------

    def _born(self, scope: Scope, node: str) -> tuple[Token, str]:
        token = Token(scope, node)
        self.tokens.append(token)
        return token, node

    def _die(self, token: Token) -> None:
        if token.alive:
            token.alive = False
            self.tokens.remove(token)

    def _empty(self, scope: Scope) -> None:
        self._starved = [s for s in self._starved if s is not scope]
        for token in [t for t in self.tokens if t.scope is scope]:
            self._kill_inside(token)
            self._die(token)

    def _kill_inside(self, host: Token) -> None:
        for scope in [s for s in self._scopes() if s.host is host]:
            self._empty(scope)

    def _run(self, leaving: Leaving) -> None:
        while leaving:
            arriving = [
                a for token, node in leaving if token.alive for a in self._depart(token, node)
            ]
            arriving.sort(key=lambda a: self.graph.nodes[a[1].target].kind not in FIRST)
            leaving = self._terminate(arriving)
            for token, flow in arriving:
                if token.alive:
                    leaving += self._arrive(token, flow)
            leaving = [(t, n) for t, n in leaving if t.alive] + self._end_scopes()
            if not leaving:
                leaving = self._settle()
        self._note_starved()
        if not self.tokens:
            self.status = "Completed"

    def _terminate(self, arriving: Arriving) -> Leaving:
        """Those that reach terminate ends in one hop end together, and all others with them."""
        ending = [a for a in arriving if self.graph.nodes[a[1].target].kind == "terminate"]
        for token, flow in ending:
            self._arrive(token, flow)
        for token, _ in ending:
            self._empty(token.scope)
        return []

    def _depart(self, token: Token, node: str) -> Arriving:
        """Over which flows a token leaves."""
        token.name, token.spent, token.via, token.state = "", set(), "", "moving"
        done, node = node.endswith(BEHIND), node.removesuffix(BEHIND)
        if not done and not self._chooses(node):
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

    def _chooses(self, node: str) -> bool:
        """Whether passing it and choosing the way on is one; a join is passed first."""
        kind, several = self.graph.nodes[node].kind, len(self.graph.incoming(node)) > 1
        return kind == "exclusive" or (kind == "inclusive" and not several)

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
            return self._error_end(token, node)
        if node.kind.startswith("escalation"):
            return self._escalate(token, node)
        token.state = {"inclusive": "joining", "sub": "hosting"}.get(node.kind, "resting")
        if node.kind == "sub":
            return [self._born(self._open(node.id, token), self.graph.start_of(node.id))]
        return []

    def _error_end(self, token: Token, node: Node) -> Leaving:
        leaving = self._throw(token, "error", node.rule)
        if token.state != "stuck":
            self.passed[node.id] += 1
            self._die(token)
        return leaving

    def _escalate(self, token: Token, node: Node) -> Leaving:
        """Whoever catches it goes on; so does the thrower, unless it was interrupted."""
        self.passed[node.id] += 1
        leaving = self._throw(token, "escalation", node.rule)
        if node.kind == "escalation-end":
            self._die(token)
        return [*leaving, (token, node.id + BEHIND)]

    def _join(self, token: Token, flows: list[str]) -> Leaving:
        """One token of every flow goes on as one; what is left over waits."""
        token.state = "joining"
        here = self._beside(token)
        joined = [next((t for t in here if t.via == flow), None) for flow in flows]
        first, *others = [t for t in joined if t is not None]
        if None in joined:
            return []
        for other in others:
            self._die(other)
        first.state = "moving"
        return [(first, first.node)]

    def _end_scopes(self) -> Leaving:
        """A scope in which nobody is left ends; its host goes on. That of an event sub-process has
        no way to go and ends as well."""
        leaving: Leaving = []
        while True:
            full = {id(token.scope.host) for token in self.tokens}
            ended = [t for t in self.tokens if t.state == "hosting" and id(t) not in full]
            if not ended:
                return leaving
            for host in ended:
                host.state = "moving"
                if self.graph.nodes[host.node].kind == "event-sub":
                    self.passed[host.node] += 1
                    self._die(host)
                else:
                    leaving.append((host, host.node))

    def _settle(self) -> Leaving:
        """Nothing moves: every inclusive join that nobody can reach any more fires, once."""
        waiting = {
            (token.node, id(token.scope)): token
            for token in self.tokens
            if token.state == "joining" and self.graph.nodes[token.node].kind == "inclusive"
        }
        firing = [token for token in waiting.values() if not self._awaited(token)]
        leaving: Leaving = []
        for token in firing:
            flows = {t.via for t in self._beside(token)}
            leaving += self._join(token, sorted(flows))
        return leaving

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
            elsewhere = other.node != token.node or other.state != "joining"
            if other.scope is token.scope and elsewhere:
                reached = self._reach(other.node.removesuffix(BEHIND), token.node)
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


def _waits(node: Node) -> bool:
    """Whether something is open for it: a timer, or a wait for a message or signal."""
    return node.kind.split("-")[0] in ("timer", "message", "signal", "receive") and (
        not node.kind.endswith("-throw")
    )


def _wait(node: Node) -> str:
    return f"{'timer' if node.kind.startswith('timer') else 'wait'} {node.id}"


def _of_code(catching: Sequence[Node], code: str) -> Node | None:
    """Who catches a code: the one that names it before the one that names none."""
    found = [n for n in catching if n.rule == code] or [n for n in catching if not n.rule]
    return found[0] if found else None
