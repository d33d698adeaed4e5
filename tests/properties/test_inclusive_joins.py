"""Random graphs of inclusive, exclusive and parallel gateways, loops and error boundaries, driven
step by step: after each command tokens stand where a small interpreter says, and joins fired as
often.

The interpreter moves everything that can move, then fires all inclusive joins that may fire by
:func:`tests.support.inclusive.may_fire`, and goes on so until nothing changes.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.races import kit
from tests.races.kit import Row, Session, claim, held
from tests.support.database import TestDatabase
from tests.support.inclusive import Flow, may_fire

STEPS = 24
CROWD = 24
"""More live tokens than this end a run: a fork in a loop multiplies."""
VALUES = 3
GATEWAYS = {"x": "exclusiveGateway", "i": "inclusiveGateway", "p": "parallelGateway"}


@dataclass
class Graph:
    """Nodes are known by their first letter: t task, b boundary event of a task, x, i, p gateways,
    s start, e end. A gateway's flow is taken if the variable of the gateway has the flow's number;
    the first flow of x and i is the default."""

    flows: list[Flow] = field(default_factory=list)
    hosts: dict[str, str] = field(default_factory=dict)

    def out(self, node: str) -> list[Flow]:
        return [flow for flow in self.flows if flow[1] == node]

    def into(self, node: str) -> list[Flow]:
        return [flow for flow in self.flows if flow[2] == node]

    def nodes(self) -> list[str]:
        return list(dict.fromkeys(node for flow in self.flows for node in flow[1:]))

    def paths(self) -> list[Flow]:
        """Flows, and steps from hosts to their boundary events."""
        return [*self.flows, *((f"-{b}", host, b) for b, host in self.hosts.items())]

    def chosen(self, node: str, variables: dict[str, int]) -> list[Flow]:
        """The flows a token takes out of a node."""
        flows = self.out(node)
        if node[0] not in "xi" or len(flows) == 1:
            return flows
        value = variables[node]
        others = [flow for n, flow in enumerate(flows) if n and _taken(node, n, value)]
        return others or flows[:1]

    def file(self, code: str) -> str:
        """As a BPMN file."""
        conditions: dict[str, str] = {}
        body = ""
        for node in self.nodes():
            flows = self.out(node)
            if node[0] in "xi" and len(flows) > 1:
                for n, flow in enumerate(flows[1:], 1):
                    values = [v for v in range(VALUES) if _taken(node, n, v)]
                    test = " || ".join(f"{node} == {v}" for v in values)
                    conditions[flow[0]] = f"${{{test or '1 == 2'}}}"
            body += _element(node, flows, self.hosts.get(node))
        for name, source, target in self.flows:
            inner = conditions.get(name)
            inner = f"<conditionExpression>{inner}</conditionExpression>" if inner else ""
            body += (
                f'<sequenceFlow id="{name}" sourceRef="{source}" targetRef="{target}">{inner}'
                "</sequenceFlow>"
            )
        return (
            f'{kit.HEAD}<error id="err" errorCode="E"/>'
            f'<process id="{code}" isExecutable="true">{body}</process></definitions>'
        )


def _taken(node: str, number: int, value: int) -> bool:
    """Exclusive: its own value; inclusive: its own and all above, so that several may be true."""
    return value == number if node[0] == "x" else value >= number


def _element(node: str, flows: list[Flow], host: str | None) -> str:
    kind = node[0]
    if kind in GATEWAYS:
        default = f' default="{flows[0][0]}"' if kind in "xi" and len(flows) > 1 else ""
        return f'<{GATEWAYS[kind]} id="{node}"{default}/>'
    if kind == "b":
        return (
            f'<boundaryEvent id="{node}" attachedToRef="{host}">'
            '<errorEventDefinition errorRef="err"/></boundaryEvent>'
        )
    if kind == "t":
        return f'<serviceTask id="{node}" bpm:type="step"/>'
    return f'<{"startEvent" if kind == "s" else "endEvent"} id="{node}"/>'


def draw(rng: random.Random) -> Graph:
    """A connected graph: every node on a way from the start, none a dead end, every circle through
    a task."""
    kinds = rng.choices("tixp", (40, 36, 14, 10), k=rng.randint(6, 14))
    names = ["s", "p0", *(f"{kind}{n}" for n, kind in enumerate(kinds, 1)), "e"]
    flows: list[Flow] = []
    hosts: dict[str, str] = {}

    def connect(source: str, at: int, count: int) -> None:
        for _ in range(count):
            ahead = names[at + 1 : at + 7]
            joins = [name for name in ahead if name[0] == "i"]
            back = [name for name in names[2:at] if name[0] == "t"]
            if back and rng.random() < 0.12:
                target = rng.choice(back)
            else:
                target = rng.choice(joins if joins and rng.random() < 0.5 else ahead)
            flows.append((f"f{len(flows)}", source, target))

    for at, name in enumerate(names[:-1]):
        count = 1
        if name == "p0":
            count = rng.randint(2, 4)
        elif name[0] in "ixp":
            count = rng.choice((1, 1, 1, 2, 3))
        connect(name, at, count)
        if name[0] == "t" and rng.random() < 0.3:
            boundary = f"b{at}"
            hosts[boundary] = name
            connect(boundary, at, 1)
    graph = _pruned(Graph(flows, hosts))
    return graph if "e" in graph.nodes() else draw(rng)


def _pruned(graph: Graph) -> Graph:
    """Without what nothing leads to."""
    seen, ahead = {"s"}, ["s"]
    while ahead:
        here = ahead.pop()
        for _, source, target in graph.paths():
            if source == here and target not in seen:
                seen.add(target)
                ahead.append(target)
    return Graph(
        [flow for flow in graph.flows if flow[1] in seen],
        {boundary: host for boundary, host in graph.hosts.items() if host in seen},
    )


class Interpreter:
    """One instance: how many tokens stand at each task, and wait over each flow into a join."""

    def __init__(self, graph: Graph, variables: dict[str, int]) -> None:
        self.graph = graph
        self.variables = dict(variables)
        self.tasks: Counter[str] = Counter()
        self.waiting: Counter[tuple[str, str]] = Counter()
        self.fired: Counter[str] = Counter()
        self._run(["s"])

    def standing(self) -> Counter[str]:
        """Live tokens by node."""
        found = Counter(self.tasks)
        for (node, _), count in self.waiting.items():
            found[node] += count
        return +found

    def leave(self, steps: list[tuple[str, str]], variables: dict[str, int]) -> None:
        """Tokens at tasks go on, each from the task or from its boundary event."""
        self.variables |= variables
        for task, _ in steps:
            self.tasks[task] -= 1
        self._run([by for _, by in steps])

    def _run(self, leaving: list[str]) -> None:
        while leaving:
            leaving = [
                node
                for origin in leaving
                for flow in self.graph.chosen(origin, self.variables)
                for node in self._arrive(flow)
            ]
            if not leaving:
                leaving = self._fire()

    def _arrive(self, flow: Flow) -> list[str]:
        name, _, node = flow
        if node[0] == "t":
            self.tasks[node] += 1
            return []
        if node[0] == "e":
            return []
        several = len(self.graph.into(node)) > 1
        if node[0] == "x" or not several:
            return [node]
        self.waiting[node, name] += 1
        if node[0] == "p" and all(self.waiting[node, f[0]] for f in self.graph.into(node)):
            return self._take(node)
        return []

    def _fire(self) -> list[str]:
        """All inclusive joins that may fire where everything stands now, each once."""
        standing = self.standing()
        due = []
        for node in {join for join, _ in self.waiting if join[0] == "i"}:
            filled = [
                flow for (join, flow), count in self.waiting.items() if join == node and count
            ]
            elsewhere = [other for other, count in standing.items() if count and other != node]
            if may_fire(self.graph.paths(), node, filled, elsewhere):
                due.append(node)
        return [node for join in due for node in self._take(join)]

    def _take(self, node: str) -> list[str]:
        for name, _, _ in self.graph.into(node):
            self.waiting[node, name] -= bool(self.waiting[node, name])
        self.fired[node] += 1
        return [node]


class Run:
    """The same instance in the engine and in the interpreter."""

    def __init__(self, worker: Session, seed: int) -> None:
        self.rng = random.Random(seed)
        self.worker = worker
        self.graph = draw(self.rng)
        self.code = f"g{seed}"
        variables = self._values()
        self.worker.do("select * from bpm.deploy_bpmn(%s)", self.graph.file(self.code))
        row = self.worker.one(
            "select * from bpm.start_process(%s, %s)", self.code, json.dumps(variables)
        )
        self.process, self.workflow = row["process_instance_id"], row["workflow_instance_id"]
        self.model = Interpreter(self.graph, variables)
        self.tasks: list[Row] = []

    def _values(self) -> dict[str, int]:
        gateways = [node for node in self.graph.nodes() if node[0] in "xi"]
        return {node: self.rng.randrange(VALUES) for node in gateways}

    def drive(self) -> None:
        """To the end, or as far as the bounds go."""
        self._compare()
        for _ in range(STEPS):
            if not +self.model.tasks or sum(self.model.standing().values()) > CROWD:
                break
            self._step()
            self._compare()

    def _step(self) -> None:
        self.tasks += claim(self.worker, ["step"], 1000, lease="1 hour")
        self.rng.shuffle(self.tasks)
        count = self.rng.choice((1, 1, 2, 3))
        some, self.tasks = self.tasks[:count], self.tasks[count:]
        values = self._values()
        by = {host: boundary for boundary, host in self.graph.hosts.items()}
        if some[0]["node_id"] in by and self.rng.random() < 0.4:
            task = some[0]
            self.worker.do(
                "select * from bpm.throw_error(%s, %s, 'E', null, %s)",
                *(task["task_id"], task["fencing_token"], json.dumps(values)),
            )
            self.tasks += some[1:]
            steps = [(task["node_id"], by[task["node_id"]])]
        else:
            items = [{**held(task), "variables": values} for task in some]
            self.worker.do("select * from bpm.complete_tasks(%s)", json.dumps(items))
            steps = [(task["node_id"], task["node_id"]) for task in some]
        self.model.leave(steps, values)

    def _compare(self) -> None:
        rows = self.worker.do(
            "select 'at ' || t.node_id as what, count(*) as n from bpm_core.token t"
            " where t.workflow_instance_id = %s and t.state not in ('Completed', 'Terminated')"
            " group by 1 union all"
            " select 'fired ' || h.node_id, count(*) from bpm_core.history_event h"
            " where h.workflow_instance_id = %s and h.kind = 'JoinFired' group by 1 union all"
            " select i.code, count(*) from bpm_core.incident i"
            " where i.workflow_instance_id = %s and i.state = 'Open' group by 1",
            *[self.workflow] * 3,
        )
        standing = self.model.standing()
        expected = Counter({f"at {node}": n for node, n in standing.items()})
        expected.update({f"fired {node}": n for node, n in self.model.fired.items()})
        expected["JoinStarved"] = bool(standing) and not +self.model.tasks
        assert Counter({row["what"]: row["n"] for row in rows}) == +expected

    def describe(self) -> dict[str, Any]:
        """What a failure shows."""
        graph = {"flows": self.graph.flows, "hosts": self.graph.hosts}
        return {**graph, "model": self.model.standing()}


def drive(worker: Session, seed: int) -> Counter[str]:
    """Draw a graph and run it against the interpreter; how often which kind of join fired."""
    run = Run(worker, seed)
    try:
        run.drive()
    except AssertionError as error:
        raise AssertionError(f"{run.code}: {run.describe()}") from error
    worker.do("select * from bpm.cancel_process(%s)", run.process)
    return Counter(node[0] for node in run.model.fired.elements())


def _drive_many(worker: Session, seed: int, count: int) -> Counter[str]:
    return sum((drive(worker, seed + n) for n in range(count)), Counter())


@pytest.mark.parametrize("block", [0, 1])
def test_joins_fire_when_the_drawing_says(database: TestDatabase, block: int) -> None:
    """Random graphs, each driven by random choices."""
    with Session(database) as worker:
        seen = _drive_many(worker, block * 1_000_000, kit.sized(40, 1000))
    assert seen["i"] >= 40, f"inclusive joins hardly ever fired: {seen}"


@pytest.mark.breaks_invariants
@pytest.mark.parametrize(
    "rule",
    # Without the second clause; and at the first token, whoever is still on the way.
    ["p_bits & ~p_filled <> p_bits # p_bits", "false"],
)
def test_another_rule_is_noticed(fresh_database: TestDatabase, rule: str) -> None:
    """The test above can fail."""
    kit.mutate(
        fresh_database,
        "bpm_core.blocks_join(bit varying,bit varying)",
        r"select p_bits.*(?=\$function\$)",
        f"select {rule}",
    )
    with Session(fresh_database) as worker, pytest.raises(AssertionError, match="flows"):
        _drive_many(worker, 1_000_030, 200)
