"""What a process means, without an engine: a set of tokens and what each decision does to it.

The interpreter knows nothing of rows, rounds, counters or commands. It is told what happened from
outside, one command after the other (which task was completed with which variables, which timer,
message or signal came, which error a worker threw), and works out everything else: where tokens
go, what is offered and waited for, which scopes end, what is left.

Where the standard leaves the order open the engine's published one holds: the variables of a
command are set before its tokens move; its tokens move hop by hop; within a hop ends that end
others come first, and processes are called last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.model.graph import (
    ACTIVITIES,
    COLLECTION,
    ELEMENT,
    LOOP,
    OUTPUT,
    OUTPUTS,
    Flow,
    Graph,
    Node,
)

PASSED = frozenset({"manual", "throw", "exclusive", "signal-throw"})

BEHIND = "!"
"""Added to a node that is passed already and whose way on is still open."""

INTO = ">"
"""Put before a node that is entered over no flow of the drawing."""

FIRST = ("terminate", "error-end", "escalation", "escalation-end")
"""Within a hop these come first: they may end others."""


Path = tuple[tuple[str, int], ...]
ITEMS = 1000
"""The scopes of a host are numbered from its own number times this."""


class Disagreement(AssertionError):
    """The engine did what cannot be, or is not where it should be."""


@dataclass(frozen=True)
class Decision:
    """Something from outside. ``path`` are the scopes around the token it happened to, the
    outermost first: the node of each and its number among those of that node in the scope around.
    ``hosted`` is the same for the scopes the token itself hosts. ``token`` is the engine's name of
    the token: it tells twins apart and means nothing else.

    * ``task``: the task at ``node`` was completed with ``variables``, or what it called has ended.
    * ``event``: the timer, message or signal of ``node`` came, with ``variables``.
    * ``error``: the worker of the task at ``node`` threw ``code``, with ``variables``.
    * ``failed``: the last attempt of the task at ``node`` failed.
    * ``revived``: what stood still at ``node`` may try again.
    * ``variables``: somebody set ``variables``.
    * ``cancelled``: nobody wants it any more.
    """

    kind: Literal["task", "event", "error", "failed", "revived", "variables", "cancelled"]
    node: str = ""
    token: str = ""
    path: Path = ()
    hosted: tuple[Path, ...] = ()
    variables: dict[str, Any] = field(default_factory=dict)
    code: str = ""

    def brief(self) -> str:
        """In a line."""
        return f"{self.kind} {self.node} {self.code} {self.variables} token {self.token[-6:]}"


@dataclass(eq=False)
class Scope:
    """The inside of a sub-process, or of the process itself. ``number``: the how manieth of its
    node in the scope around. ``closed``: no event sub-process begins in it any more. ``spent``:
    timers of event sub-processes that are used up. ``opened``: how many scopes were inside.
    ``declared``: variables of its own. ``index``: which item of a multi-instance it is."""

    node: str
    host: Token | None
    number: int = 0
    opened: Counter[str] = field(default_factory=Counter)
    true: set[str] = field(default_factory=set)
    declared: dict[str, Any] = field(default_factory=dict)
    index: int = 0
    closed: bool = False
    spent: set[str] = field(default_factory=set)


@dataclass
class Many:
    """How far a multi-instance or a loop is: ``items`` are its elements, ``outputs`` what those
    that ended gave."""

    node: Node
    items: list[Any]
    number: int = 0
    begun: int = 0
    outputs: dict[int, Any] = field(default_factory=dict)


@dataclass(eq=False)
class Token:
    """One token. ``via``: the flow it came over. ``state``: ``moving``, ``resting``, ``joining``,
    ``hosting`` (a sub-process runs inside) or ``stuck`` (an incident). ``spent``: boundary timers
    that are used up. ``many``: what it hosts many times."""

    scope: Scope
    node: str
    via: str = ""
    state: str = "moving"
    alive: bool = True
    name: str = ""
    spent: set[str] = field(default_factory=set)
    true: set[str] = field(default_factory=set)
    many: Many | None = None
    undoing: Record | None = None
    inside: Scope | None = None


@dataclass(eq=False)
class Record:
    """Something that was completed and can be undone, by ``handler``; ``thrower``: who is at it."""

    scope: Scope
    handler: str
    undone: bool = False
    thrower: Token | None = None


@dataclass
class Call:
    """A process that was called: by the token that rests at a call activity, with what it saw."""

    token: Token
    node: str
    code: str
    variables: dict[str, Any]


Leaving = list[tuple[Token, str]]
Arriving = list[tuple[Token, Flow]]


class Interpreter:
    """One instance of a graph. ``caller`` says of an error or escalation that nobody in it catches
    whether the caller, or one further out, would."""

    def __init__(
        self,
        graph: Graph,
        variables: dict[str, Any],
        caller: Callable[[str, str], bool] | None = None,
    ) -> None:
        self.graph = graph
        self.given = dict(variables)
        self.written: dict[str, Any] = {}
        self.caller = caller
        self.calls: list[Call] = []
        self.turned: Counter[str] = Counter()
        self.ledger: list[Record] = []
        self.completed: list[Scope] = []
        self._items_over: list[Scope] = []
        self.status = "Running"
        self.root = Scope("", None)
        self.tokens: list[Token] = []
        self.passed: Counter[str] = Counter()
        self._starved: list[Scope] = []
        self._run([self._born(self.root, graph.start_of(""))])
        self._rest()

    @property
    def variables(self) -> dict[str, Any]:
        """What everybody in it sees."""
        return self.given | self.written

    def sees(self, scope: Scope) -> dict[str, Any]:
        """What is seen in a scope: the nearest of a name."""
        around = self.variables if scope.host is None else self.sees(scope.host.scope)
        return around | scope.declared

    def _write(self, scope: Scope, patch: dict[str, Any]) -> None:
        """Each name goes to the nearest scope that declares it."""
        own = {name: value for name, value in patch.items() if name in scope.declared}
        scope.declared |= own
        rest = {name: value for name, value in patch.items() if name not in own}
        if scope.host is None:
            self.written |= rest
        elif rest:
            self._write(scope.host.scope, rest)

    def path(self, token: Token) -> Path:
        """The scopes around a token, the outermost first."""
        host = token.scope.host
        return () if host is None else (*self.path(host), (token.scope.node, token.scope.number))

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
        node = token.many.node if token.many else self.graph.nodes[token.node]
        if token.many:
            pass
        elif node.kind in ("service", "user"):
            yield f"task {node.id}"
        elif node.kind == "event-gateway":
            for flow in self.graph.outgoing(node.id):
                yield _wait(self.graph.nodes[flow.target])
        elif _waits(node):
            yield _wait(node)
        for boundary in self._guards(token):
            if _waits(boundary) and boundary.id not in token.spent:
                yield _wait(boundary)

    def _guards(self, token: Token) -> list[Node]:
        """The boundary events of what a token rests at; of what is done many times they are around
        all of it."""
        if token.many:
            return self.graph.boundaries(token.many.node.id)
        node = self.graph.nodes.get(token.node)
        return [] if node is None or node.many else self.graph.boundaries(node.id)

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

    # -- conditions that are waited for -----------------------------------------------------

    def _conditions(self) -> Iterable[tuple[Token | Scope, Node, bool]]:
        """What waits for a condition: where, for which event, and whether it is true."""
        for token in self.tokens:
            if token.state == "stuck" or token.node.endswith(BEHIND):
                continue
            seen = self.sees(token.scope)
            for name in (offer.split()[1] for offer in self._offers_of(token)):
                node = self.graph.nodes[name]
                if node.condition is not None:
                    yield token, node, bool(node.condition.holds(seen))
        for scope in self._scopes() if self.tokens else []:
            for start in [] if scope.closed else self._starts(scope, "conditional"):
                assert start.condition is not None
                around = self.root if scope.host is None else scope.host.scope
                yield scope, start, bool(start.condition.holds(self.sees(around)))

    def _turn(self) -> None:
        """Conditions beside a host count each time they turn true; not if the same ends it."""
        true = [c for c in self._conditions() if c[2]]
        ends = {id(place) for place, node, _ in true if node.interrupting}
        for place, node, holds in self._conditions():
            if node.interrupting:
                continue
            if holds and node.id not in place.true and id(place) not in ends:
                self.turned[node.id] += 1
                place.true.add(node.id)
            if not holds:
                place.true.discard(node.id)

    def overdue(self) -> Counter[str]:
        """Conditions that are true and were not heard of."""
        true = Counter(n.id for _, n, holds in self._conditions() if holds and n.interrupting)
        return true + self.turned

    # -- being told -------------------------------------------------------------------------

    def apply(self, decisions: Sequence[Decision]) -> None:
        """What one command brought. All of it counts, also for a token that another part of the
        same command ended."""
        found = [(d, self._find(d) if d.node else None) for d in decisions]
        for decision, token in found:
            self._write(self.root if token is None else token.scope, decision.variables)
            if decision.kind == "cancelled":
                self._stop("Cancelled")
        leaving: Leaving = []
        for decision, token in found:
            if decision.kind in ("task", "event"):
                self.passed[decision.node] += 1
                self._heard(self.graph.nodes[decision.node])
            if decision.node and (token is None or token.alive):
                leaving += self._begin(decision, token)
        self._run(leaving)
        self._rest()

    def _rest(self) -> None:
        """Nothing moves. Conditions that have just turned true take effect in the same command:
        what they begin beside joins that wait is there before these are asked whether they starve.
        """
        self._turn()
        if not self.overdue():
            self._note_starved()

    def _heard(self, node: Node) -> None:
        if node.condition is not None and not node.interrupting:
            if not self.turned[node.id]:
                raise Disagreement(f"the condition of {node.id} has not turned true")
            self.turned[node.id] -= 1

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
        token.state, token.many = "moving", None
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
        for path in decision.hosted:
            hosted = self._at(path)
            if hosted is not None:
                return hosted.host
        scope = self._at(decision.path)
        if scope is None:
            raise Disagreement(f"no scope {decision.path}, tokens are at {dict(self.standing())}")
        return self._known([t for t in self.tokens if t.scope is scope and t.node in at], decision)

    def _at(self, path: Path) -> Scope | None:
        """The scope of a path, if there is one (any more)."""
        found = self.root
        for node, number in path:
            inside = [s for s in self._scopes() if s.host is not None and s.host.scope is found]
            inside = [s for s in inside if (s.node, s.number) == (node, number)]
            if not inside:
                return None
            found = inside[0]
        return found

    def _number(self, node: str, host: Token) -> int:
        """The first number of the scopes inside a host."""
        host.scope.opened[node] += 1
        return host.scope.opened[node] * ITEMS

    def _open(self, node: str, host: Token) -> Scope:
        host.inside = Scope(node, host, self._number(node, host))
        return host.inside

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
            return {self.graph.nodes[node.host].around or node.host}
        if node.kind.endswith("-start"):
            return {self.graph.nodes[node.scope].scope}
        gateways = {
            flow.source
            for flow in self.graph.incoming(node.id)
            if self.graph.nodes[flow.source].kind == "event-gateway"
        }
        return gateways or {node.id}

    def catches(self, token: Token, kind: str, code: str) -> tuple[Token, Node] | Scope | None:
        """Who catches an error or escalation: it looks at its own activity, then outwards, in each
        scope at the event sub-processes before the boundary events around. What comes out of an
        event sub-process is not for others of its own scope. A boundary event with its host, or
        the scope an event sub-process begins in."""
        at: Token | None = token
        while at is not None:
            guards = [b for b in self._guards(at) if b.kind == f"{kind}-boundary"]
            guard = _of_code(guards, code)
            if guard is not None:
                return at, guard
            beside = not at.many and self.graph.nodes[at.node].kind == "event-sub"
            if not beside and _of_code(self._starts(at.scope, kind), code) is not None:
                return at.scope
            at = at.scope.host
        return None

    def _throw(self, token: Token, kind: str, code: str) -> Leaving:
        found = self.catches(token, kind, code)
        if isinstance(found, Scope):
            start = _of_code(self._starts(found, kind), code)
            assert start is not None
            self.passed[start.id] += 1
            return self._start_beside(found, start)
        if found is not None:
            self.passed[found[1].id] += 1
            return self._by_event(*found)
        if kind == "error":
            token.state = "stuck"
            if self.caller is not None and self.caller(kind, code):
                self._stop("Failed")
        return []

    def _stop(self, status: str) -> None:
        """It ends as a whole, from within or by its caller."""
        for token in list(self.tokens):
            self._die(token)
        self.status = status

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
            arriving.sort(key=lambda a: _turn_of(self.graph.nodes[a[1].target]))
            leaving = self._terminate(arriving)
            for token, flow in arriving:
                if token.alive:
                    leaving += self._arrive(token, flow)
            leaving += self._end_items()
            leaving = [(t, n) for t, n in leaving if t.alive] + self._end_scopes()
            if not leaving:
                leaving = self._settle()
        if not self.tokens and self.status == "Running":
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
        token.true = set()
        if node.startswith(INTO):
            return [(token, Flow("", "", node.removeprefix(INTO)))]
        done, node = node.endswith(BEHIND), node.removesuffix(BEHIND)
        if self.graph.nodes[node].undo and token.node == node:
            self.ledger.append(Record(token.scope, self.graph.nodes[node].undo))
        if self.graph.nodes[node].undoes:
            self.passed[node] += not done
            self._die(token)
            return []
        if token.scope.node and token.scope.node == self.graph.nodes[node].around:
            self.completed.append(token.scope)
            self.passed[node] += not done
            self._die(token)
            self._items_over.append(token.scope)
            return []
        if not done and not self._chooses(node):
            self.passed[node] += 1
            done = True
        chosen = self._chosen(node, self.sees(token.scope))
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

    def _chosen(self, node: str, variables: dict[str, Any]) -> list[Flow] | None:
        """The flows taken; ``None``: it cannot be decided, or there is none."""
        flows = self.graph.outgoing(node)
        default = [flow for flow in flows if flow.id == self.graph.nodes[node].default]
        others = [flow for flow in flows if flow not in default]
        taken: list[Flow] = []
        for flow in others:
            verdict = flow.condition is None or flow.condition.holds(variables)
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
        if node.many and token.scope.node != node.around:
            return self._begin_many(token, node)
        return self._enter(token, node)

    def _enter(self, token: Token, node: Node) -> Leaving:
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
        if node.kind == "compensate":
            return self._compensate(token)
        if node.kind == "call":
            self.calls.append(Call(token, node.id, node.rule, self.sees(token.scope)))
        if node.kind == "sub":
            return [self._born(self._open(node.id, token), self.graph.start_of(node.id))]
        return []

    def _inside_of(self, host: Token) -> list[Scope]:
        """The scope a host had."""
        return [host.inside] if host.inside is not None else []

    def _begin_many(self, token: Token, node: Node) -> Leaving:
        """The token becomes the host of the items; how many there are is decided now."""
        items: list[Any] = [None] * int(node.times) if node.times.isdigit() else []
        if node.times == COLLECTION:
            items = list(self.sees(token.scope)[COLLECTION])
        elif node.many == "loop" and not node.times:
            items = [None]
        token.node, token.state, token.many = node.around, "hosting", Many(node, items)
        token.many.number = self._number(node.around, token)
        if not items:
            return self._finish_many(token)
        leaving: Leaving = []
        for _ in items if node.many == "parallel" else items[:1]:
            leaving += self._begin_item(token)
        return leaving

    def _begin_item(self, host: Token) -> Leaving:
        many = host.many
        assert many is not None
        scope = Scope(many.node.around, host, many.number + many.begun, index=many.begun)
        scope.declared = {"loopCounter": many.begun}
        if many.node.many != "loop":
            scope.declared[OUTPUT] = None
        if many.node.times == COLLECTION:
            scope.declared[ELEMENT] = many.items[many.begun]
        many.begun += 1
        return [self._born(scope, INTO + many.node.id)]

    def _end_items(self) -> Leaving:
        """Items that are over: the next begins, or it was enough."""
        leaving: Leaving = []
        over, self._items_over = self._items_over, []
        for scope in over:
            if scope.host is not None and scope.host.many is not None:
                scope.host.many.outputs[scope.index] = scope.declared.get(OUTPUT)
        # Those that end in one hop have all ended before it is asked whether they are enough.
        for scope in over:
            host, many = scope.host, scope.host.many if scope.host else None
            if host is None or not host.alive or many is None:
                continue
            if self._enough(many, scope):
                self._kill_inside(host)
                leaving += self._finish_many(host)
            elif many.node.many != "parallel":
                if many.begun == len(many.items):
                    many.items.append(None)
                leaving += self._begin_item(host)
        return leaving

    def _enough(self, many: Many, scope: Scope) -> bool:
        if many.node.many == "loop" and not many.node.times:
            return not self.sees(scope)[LOOP] < 4
        return len(many.outputs) >= (many.node.until or len(many.items)) or (
            len(many.outputs) == len(many.items)
        )

    def _finish_many(self, host: Token) -> Leaving:
        """The outputs are gathered in the order of the items; the host goes on."""
        many = host.many
        assert many is not None
        if many.node.many != "loop":
            gathered = [many.outputs.get(n) for n in range(len(many.items))]
            self._write(host.scope, {OUTPUTS: gathered})
        host.many, host.state = None, "moving"
        return [(host, many.node.id + BEHIND)]

    def _compensate(self, token: Token) -> Leaving:
        """What was completed here, and in what was completed inside, is undone: the last first,
        one after the other. What another one is at is left to that."""
        token.state = "hosting"
        scopes = [token.scope]
        at = token.scope
        while at.host is not None and self.graph.nodes[at.node.split(":")[0]].kind == "event-sub":
            at = at.host.scope
            scopes.append(at)
        for scope in scopes:
            scopes += [s for s in self.completed if s.host and s.host.scope is scope and _over(s)]
        for record in self.ledger:
            busy = record.thrower is not None and record.thrower.alive
            busy = busy and record.thrower is not None and record.thrower.undoing is not None
            if record.scope in scopes and not record.undone and not busy:
                record.thrower = token
        return self._undo_next(token)

    def _undo_next(self, token: Token) -> Leaving:
        if token.undoing is not None:
            token.undoing.undone = True
        left = [r for r in self.ledger if r.thrower is token and not r.undone]
        token.undoing = left[-1] if left else None
        if token.undoing is None:
            token.state = "moving"
            return [(token, token.node + BEHIND)]
        scope = self._open(token.node, token)
        return [self._born(scope, INTO + token.undoing.handler)]

    def _error_end(self, token: Token, node: Node) -> Leaving:
        leaving = self._throw(token, "error", node.rule)
        if token.state != "stuck" or self.status == "Failed":
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
            hosts = [t for t in self.tokens if t.state == "hosting" and not t.many]
            ended = [host for host in hosts if id(host) not in full]
            if not ended:
                return leaving
            for host in ended:
                host.state = "moving"
                if self.graph.nodes[host.node].kind == "compensate":
                    host.state = "hosting"
                    leaving += self._undo_next(host)
                    continue
                self.completed += [s for s in self._inside_of(host) if s not in self.completed]
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
                place = other.many.node.id if other.many else other.node.removesuffix(BEHIND)
                reached = self._reach(place, token.node)
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


def _turn_of(node: Node) -> int:
    """Within a hop: what may end others first, what is called last, with what all others wrote."""
    if node.kind in FIRST:
        return 0
    return 2 if node.kind == "call" and not node.many else 1


def _waits(node: Node) -> bool:
    """Whether something is open for it: a timer, or a wait for a message or signal."""
    kinds = ("timer", "message", "signal", "receive", "conditional")
    return node.kind.split("-")[0] in kinds and (not node.kind.endswith("-throw"))


def _wait(node: Node) -> str:
    return f"{'timer' if node.kind.startswith('timer') else 'wait'} {node.id}"


def _over(scope: Scope) -> bool:
    """Whether a scope is none of a multi-instance or loop that still goes on."""
    many = scope.host.many if scope.host is not None and scope.host.alive else None
    return many is None or scope.number // ITEMS != many.number // ITEMS


def _of_code(catching: Sequence[Node], code: str) -> Node | None:
    """Who catches a code: the one that names it before the one that names none."""
    found = [n for n in catching if n.rule == code] or [n for n in catching if not n.rule]
    return found[0] if found else None
