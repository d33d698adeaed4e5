"""Random well-formed processes: blocks nested in blocks, and shapes that are no blocks at all.

Every kind of block that the engine executes is in ``LANDED``; what it does not execute yet waits
in ``BLOCKS`` until it is added there. The same seed draws the same graph.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Literal

from tests.model.graph import COLLECTION, ELEMENT, LOOP, OUTPUT, Condition, Flow, Graph, Node

GIVEN = ("a", "b", "c")
"""Variables every instance is started with; anybody may change them on the way."""

NAMES = ("m0", "m1", "m2")
"""Messages: few, so that several waits of one instance want the same."""

CODES = ("e0", "e1")
"""Errors workers throw."""

SIGNALS = ("s0", "s1")
ALARM = "alarm"
"""A signal nobody else waits for, or one that begins something would begin it for ever."""

MODES: tuple[Literal["parallel", "sequential", "loop"], ...] = (
    *("parallel", "parallel", "sequential", "sequential"),
    "loop",
)

DURATIONS = ("PT1M", "PT2M", "PT5M", "PT9M")


@dataclass(frozen=True)
class Ends:
    """Where a block is entered and left."""

    first: str
    last: str


class Drawing:
    """Draws one graph. A block is drawn in a scope and returns where it is entered and left."""

    def __init__(self, code: str, seed: str, size: int, kinds: frozenset[str]) -> None:
        self.chance = random.Random(seed)
        self.graph = Graph(code)
        self.scope = ""
        self.left = size
        self.blocks: dict[str, Callable[[], Ends]] = {
            kind: getattr(self, kind) for kind in sorted(kinds)
        }

    def whole(self) -> Graph:
        """The process around one block."""
        body = self.sequence(self.chance.randint(1, 3))
        self._frame(body)
        return self.graph

    def _frame(self, body: Ends) -> None:
        self.link(self.node("start").id, body.first)
        self.link(body.last, self.node("end").id)

    # -- drawing ----------------------------------------------------------------------------

    def node(self, kind: str, **more: object) -> Node:
        """A new node in the present scope."""
        name = f"{self.graph.code}_{kind}{len(self.graph.nodes)}"
        node = Node(name, kind, self.scope, **more)  # type: ignore[arg-type]
        self.graph.nodes[node.id] = node
        return node

    def link(self, source: str, target: str, condition: Condition | None = None) -> Flow:
        """A new flow."""
        name = f"{self.graph.code}_f{len(self.graph.flows)}"
        flow = Flow(name, source, target, condition)
        self.graph.flows.append(flow)
        return flow

    def block(self) -> Ends:
        """Any block; small ones when the graph is large enough."""
        self.left -= 1
        if self.left <= 0:
            return self.task()
        return self.chance.choice(list(self.blocks.values()))()

    def sequence(self, length: int = 2) -> Ends:
        """Blocks one behind the other."""
        blocks = [self.block() for _ in range(length)]
        for before, after in pairwise(blocks):
            self.link(before.last, after.first)
        return Ends(blocks[0].first, blocks[-1].last)

    def condition(self, variables: tuple[str, ...]) -> Condition:
        """A condition over some variables."""
        chance = self.chance

        def compare() -> Condition:
            operator = chance.choice(("==", "!=", "<", ">", "<", ">"))
            return Condition(operator, chance.choice(variables), chance.randint(1, 8))  # type: ignore[arg-type]

        match chance.randrange(5):
            case 0:
                return Condition("and", parts=(compare(), compare()))
            case 1:
                return Condition("or", parts=(compare(), compare()))
            case 2:
                return Condition("not", parts=(compare(),))
            case _:
                return compare()

    def _read(self) -> tuple[str, ...]:
        """What a choice looks at: often a variable everybody writes, now and then one alone."""
        return GIVEN if self.chance.random() < 0.6 else (self.chance.choice(GIVEN),)

    # -- tasks and waits --------------------------------------------------------------------

    def task(self) -> Ends:
        """A service task, now and then a user task."""
        kind = "user" if self.chance.random() < 0.2 else "service"
        writes = tuple(name for name in GIVEN if self.chance.random() < 0.4)
        node = self.node(kind, writes=writes)
        return Ends(node.id, node.id)

    def passed(self) -> Ends:
        """What holds nothing up."""
        node = self.node(self.chance.choice(("manual", "throw")))
        return Ends(node.id, node.id)

    def timer(self) -> Ends:
        """A timer catch event."""
        node = self.node("timer", rule=self.chance.choice(DURATIONS))
        return Ends(node.id, node.id)

    def message(self) -> Ends:
        """A message catch event or a receive task."""
        kind = self.chance.choice(("message", "receive"))
        node = self.node(kind, rule=self.chance.choice(NAMES))
        return Ends(node.id, node.id)

    def conditional(self) -> Ends:
        """A conditional catch event. Nobody can set the variables of a called process by hand."""
        if self._called():
            return self.passed()
        node = self.node("conditional", condition=self._until("conditional"))
        return Ends(node.id, node.id)

    def _called(self) -> bool:
        return "c" in self.graph.code

    def guarded(self) -> Ends:
        """An activity with boundary events. An interrupting one leads around it, one that does not
        interrupt to an end of its own, or into the way all others go."""
        host = self.activity()
        after = self.node("exclusive")
        self.link(host.last, after.id)
        for _ in range(self.chance.randint(1, 2)):
            self.guard(host.first, after.id)
        return Ends(host.first, after.id)

    def activity(self) -> Ends:
        """What may have boundary events."""
        kinds = [self.task, self.task, self._receive]
        if "sub" in self.blocks and self.left > 0:
            kinds += [self.sub, self.sub]
        if "call" in self.blocks and self.left > 0:
            kinds += [self.call]
        return self.chance.choice(kinds)()

    def _receive(self) -> Ends:
        node = self.node("receive", rule=self.chance.choice(NAMES))
        return Ends(node.id, node.id)

    def guard(self, host: str, after: str) -> None:
        """One boundary event and where it leads."""
        kinds = ["timer", "message", *self._more_kinds()]
        taken = {b.rule for b in self.graph.boundaries(host) if b.kind == "error-boundary"}
        codes = [code for code in ("", *CODES) if code not in taken]
        if self.graph.nodes[host].kind in ("service", "sub", "call"):
            kinds += ["error", "error"]
        if self.graph.nodes[host].kind in ("sub", "call"):
            kinds += ["escalation", "escalation"]
        kind = self.chance.choice(kinds)
        interrupting = kind == "error" or self.chance.random() < 0.6
        rule = self.chance.choice(codes) if kind == "error" else self._rule(kind, not interrupting)
        event = self.node(f"{kind}-boundary", host=host, interrupting=interrupting, rule=rule)
        event.condition = self._until(kind)
        body = self.block() if self.chance.random() < 0.5 else self.task()
        self.link(event.id, body.first)
        if interrupting or self.chance.random() < 0.2:
            self.link(body.last, after)
        else:
            self.link(body.last, self.node("end").id)

    def _more_kinds(self) -> list[str]:
        found = ["signal"] if "signal" in self.blocks else []
        if "conditional" in self.blocks and not self._called():
            found.append("conditional")
        return found

    def _until(self, kind: str) -> Condition | None:
        """A condition that can come true."""
        while kind == "conditional":
            found = self.condition(self._read())
            values = product(range(10), repeat=len(GIVEN))
            if any(found.holds(dict(zip(GIVEN, v, strict=True))) for v in values):
                return found
        return None

    def _rule(self, kind: str, beside: bool = False) -> str:
        """A duration, a name or a code. Signals reach every instance that waits, so each graph has
        its own."""
        if kind == "conditional":
            return ""
        if kind == "signal":
            return f"{self.graph.code}_{ALARM if beside else self.chance.choice(SIGNALS)}"
        rules = {"timer": DURATIONS, "message": NAMES, "receive": NAMES, "error": CODES}
        return self.chance.choice(rules.get(kind, CODES))

    def race(self) -> Ends:
        """An event-based gateway: the first event wins."""
        gateway, after = self.node("event-gateway"), self.node("exclusive")
        kinds = ["timer", "message", "message", "receive", *self._more_kinds()]
        for kind in self.chance.sample(kinds, 2):
            event = self.node(kind, rule=self._rule(kind), condition=self._until(kind))
            self.link(gateway.id, event.id)
            if self.chance.random() < 0.5:
                body = self.block()
                self.link(event.id, body.first)
                self.link(body.last, after.id)
            else:
                self.link(event.id, after.id)
        return Ends(gateway.id, after.id)

    def many(self) -> Ends:
        """An activity that is done many times, guarded or not."""
        body = self.guarded() if self.chance.random() < 0.4 else self.activity()
        node = self.graph.nodes[body.first]
        node.many = self.chance.choice(MODES)
        if node.many == "loop":
            node.times = self.chance.choice(("1", "2", "3"))
            if node.kind == "service" and self.chance.random() < 0.5:
                node.times, node.writes = "", (*node.writes, LOOP)
        else:
            node.times = self.chance.choice(("0", "1", "2", "3", COLLECTION, COLLECTION))
            node.until = self.chance.choice((0, 0, 0, 1, 2))
            if node.kind in ("service", "user"):
                node.writes = (*node.writes, OUTPUT, ELEMENT)
        return body

    # -- choices and forks ------------------------------------------------------------------

    def choice(self) -> Ends:
        """An exclusive choice by data, merged again."""
        decide, choose, after = self.task(), self.node("exclusive"), self.node("exclusive")
        self.link(decide.last, choose.id)
        for n in range(self.chance.randint(2, 3)):
            flow_to = after.id
            if self.chance.random() < 0.8:
                body = self.block()
                self.link(body.last, after.id)
                flow_to = body.first
            condition = None if n == 0 else self.condition(self._read())
            flow = self.link(choose.id, flow_to, condition)
            if n == 0:
                choose.default = flow.id
        return Ends(decide.first, after.id)

    def fork(self) -> Ends:
        """A parallel fork and its join. The fork may be implied: several flows out of a task."""
        kind = self.chance.choice(("parallel", "parallel", "service"))
        fork, join = self.node(kind), self.node("parallel")
        for _ in range(self.chance.randint(2, 3)):
            body = self.block()
            self.link(fork.id, body.first)
            self.link(body.last, join.id)
        return Ends(fork.id, join.id)

    def split(self) -> Ends:
        """An inclusive split whose branches end on their own, but for the last."""
        split = self.node("inclusive")
        if self.chance.random() < 0.3:
            split.kind = "service"
        last = self.block()
        flow = self.link(split.id, last.first, self._sometimes())
        for n in range(self.chance.randint(1, 3)):
            body = self.block()
            flow = self.link(split.id, body.first, self.condition(self._read()))
            self.link(body.last, self.node("end").id)
            if n == 0:
                split.default = flow.id
        first = self.task()
        self.link(first.last, split.id)
        return Ends(first.first, last.last)

    def either(self) -> Ends:
        """An inclusive split and its join; one branch may leave on its own, or be cut off."""
        split, join = self.node("inclusive"), self.node("inclusive")
        for n in range(self.chance.randint(2, 3)):
            body = self.block()
            flow = self.link(split.id, body.first, self.condition(self._read()) if n else None)
            self.link(body.last, join.id)
            if n == 0:
                split.default = flow.id
        return Ends(split.id, join.id)

    def _sometimes(self) -> Condition | None:
        return self.condition(self._read()) if self.chance.random() < 0.7 else None

    def loop(self) -> Ends:
        """Again and again, by an exclusive gateway behind a task that decides."""
        merge, again = self.node("exclusive"), self.node("exclusive")
        body = self.block()
        decide = self.node("service", writes=(LOOP,))
        self.link(merge.id, body.first)
        self.link(body.last, decide.id)
        self.link(decide.id, again.id)
        self.link(again.id, merge.id, Condition("<", LOOP, 4))
        after = self.task()
        again.default = self.link(again.id, after.first).id
        return Ends(merge.id, after.last)

    def stop(self) -> Ends:
        """Now and then everything ends here."""
        choose, after = self.node("exclusive"), self.task()
        choose.default = self.link(choose.id, after.first).id
        last = self.task()
        self.link(choose.id, last.first, self.condition(self._read()))
        self.link(last.last, self.node("terminate").id)
        return Ends(choose.id, after.last)

    # -- sub-processes and what is thrown in them -------------------------------------------

    def sub(self) -> Ends:
        """An embedded sub-process, now and then with an event sub-process inside."""
        node = self.node("sub")
        outside, self.scope = self.scope, node.id
        self._frame(self.sequence(self.chance.randint(1, 2)))
        if "event_sub" in self.blocks and self.chance.random() < 0.3:
            self._event_sub()
        self.scope = outside
        return Ends(node.id, node.id)

    def event_sub(self) -> Ends:
        """An event sub-process in whatever is around, at most two there; beside them a task."""
        if sum(node.kind == "event-sub" for node in self.graph.inside(self.scope)) < 2:
            self._event_sub()
        return self.task()

    def _event_sub(self) -> None:
        around = self.graph.nodes.get(self.scope)
        node = self.node("event-sub")
        outside, self.scope = self.scope, node.id
        kinds = ["error", "escalation"]
        # Inside of another one nothing would be waited for.
        if around is None or around.kind != "event-sub":
            kinds += ["timer", "message", *self._more_kinds()]
        kind = self.chance.choice(kinds)
        interrupting = kind == "error" or self.chance.random() < 0.5
        rule = self._rule(kind, beside=True)
        start = self.node(f"{kind}-start", rule=rule, interrupting=interrupting)
        start.condition = self._until(kind)
        body = self.block()
        self.link(start.id, body.first)
        self.link(body.last, self.node("end").id)
        self.scope = outside

    def call(self) -> Ends:
        """A call of another process: one of its own, or one that is called elsewhere already."""
        called = self.graph.called
        if not called or self.chance.random() < 0.6:
            # Calls go two deep.
            kinds = frozenset(self.blocks) - ({"call"} if self._called() else set())
            code, size = f"{self.graph.code}c{len(called)}", max(1, self.left // 2)
            called.append(draw(code, f"{self.chance.random()}", size, kinds))
        node = self.node("call", rule=self.chance.choice(called).code)
        return Ends(node.id, node.id)

    def undone(self) -> Ends:
        """A task with a compensation handler."""
        node = self.graph.nodes[self.task().first]
        handler = self.node("service", undoes=True, writes=(self.chance.choice(GIVEN),))
        node.undo = handler.id
        return Ends(node.id, node.id)

    def compensate(self) -> Ends:
        """Something is done, and undone again, now and then."""
        first, between, choose = self.undone(), self.block(), self.node("exclusive")
        self.link(first.last, between.first)
        self.link(between.last, choose.id)
        throw, after = self.node("compensate"), self.node("exclusive")
        choose.default = self.link(choose.id, throw.id).id
        self.link(choose.id, after.id, self.condition(self._read()))
        self.link(throw.id, after.id)
        return Ends(first.first, after.id)

    def fling(self) -> Ends:
        """Now and then an error is thrown by an end event: to whoever is around, or to nobody."""
        choose, after = self.node("exclusive"), self.task()
        choose.default = self.link(choose.id, after.first).id
        last = self.task()
        self.link(choose.id, last.first, self.condition(self._read()))
        self.link(last.last, self.node("error-end", rule=self._rule("error")).id)
        return Ends(choose.id, after.last)

    def escalate(self) -> Ends:
        """An escalation on the way, behind a task."""
        before = self.task()
        node = self.node("escalation", rule=self._rule("escalation"))
        self.link(before.last, node.id)
        return Ends(before.first, node.id)

    def signal(self) -> Ends:
        """A signal is thrown, or waited for."""
        node = self.node(self.chance.choice(("signal", "signal-throw")), rule=self._rule("signal"))
        return Ends(node.id, node.id)

    # -- no blocks --------------------------------------------------------------------------

    def crossing(self) -> Ends:
        """Forks whose branches cross on the way to two joins."""
        fork, join = self.node("parallel"), self.node("parallel")
        joins = [self.node("parallel") for _ in range(2)]
        for _ in range(2):
            body, split = self.block(), self.node("parallel")
            self.link(fork.id, body.first)
            self.link(body.last, split.id)
            for each in joins:
                way = self.block() if self.chance.random() < 0.4 else None
                self.link(split.id, way.first if way else each.id)
                if way:
                    self.link(way.last, each.id)
        for each in joins:
            self.link(each.id, join.id)
        return Ends(fork.id, join.id)

    def surplus(self) -> Ends:
        """Two tokens over one flow of a join: one is left over, or comes round again."""
        fork, merge, join = self.node("parallel"), self.node("exclusive"), self.node("parallel")
        for target in (merge, merge, join):
            body = self.block()
            self.link(fork.id, body.first)
            self.link(body.last, target.id)
        self.link(merge.id, join.id)
        return Ends(fork.id, join.id)

    def mesh(self) -> Ends:
        """Layers of tasks and gateways, linked at random. Joins may starve, tokens multiply."""
        chance = self.chance
        first, last = self.node("parallel"), self.node("exclusive")
        layers = [[first.id]]
        for _ in range(chance.randint(2, 3)):
            several = ("service", "parallel", "exclusive", "manual", "inclusive", "inclusive")
            kinds = chance.choices(several, k=chance.randint(2, 3))
            layers.append([self.node(kind).id for kind in kinds])
        layers.append([last.id])
        for above, below in pairwise(layers):
            pairs = {(source, chance.choice(below)) for source in above}
            bare = [target for target in below if target not in {t for _, t in pairs}]
            pairs |= {(chance.choice(above), target) for target in bare}
            for source, target in sorted(pairs):
                self._mesh_flow(self.graph.nodes[source], target)
        return Ends(first.id, last.id)

    def _mesh_flow(self, source: Node, target: str) -> None:
        chooses = source.kind.endswith("clusive")
        if not chooses or not source.default:
            flow = self.link(source.id, target)
            if chooses:
                source.default = flow.id
        else:
            self.link(source.id, target, self.condition(self._read()))


LANDED = frozenset(
    {
        *("task", "passed", "timer", "message", "guarded", "race", "conditional"),
        *("sub", "event_sub", "fling", "escalate", "signal", "call", "many"),
        *("undone", "compensate", "stop", "sequence", "choice", "fork", "split", "either"),
        *("loop", "crossing", "surplus", "mesh"),
    }
)


def draw(code: str, seed: str, size: int = 5, kinds: frozenset[str] = LANDED) -> Graph:
    """A random graph of about ``size`` blocks."""
    return Drawing(code, seed, size, kinds).whole()
