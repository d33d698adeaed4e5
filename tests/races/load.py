"""Random processes and the crowd of workers that drives them, counting what goes wrong."""

from __future__ import annotations

import json
import random
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import psycopg
from tests.races import kit
from tests.races.kit import COMPLETE, Row, Session, claim
from tests.support.database import TestDatabase

TYPES = ("work", "count")
ROUNDS = 3


class _Drawing:
    """Draws one random process out of tasks, forks with joins, choices and loops, nested."""

    def __init__(self, code: str, chance: random.Random) -> None:
        self.code = code
        self.chance = chance
        self.flows: list[str] = []
        self.conditions: dict[str, str] = {}
        self.elements: dict[str, str] = {}
        self.drawn = 0

    def name(self, prefix: str) -> str:
        self.drawn += 1
        return f"{prefix}{self.drawn}"

    def block(self, depth: int) -> tuple[str, str]:
        """One block; the nodes it is entered and left by."""
        draw: list[Callable[[int], tuple[str, str]]] = [
            self.task,
            self.sequence,
            self.fork,
            self.fork,
            self.choice,
            self.loop,
        ]
        return self.chance.choice(draw if depth > 0 else draw[:1])(depth - 1)

    def task(self, _depth: int = 0, kind: str = "work") -> tuple[str, str]:
        node = self.name(kind)
        self.elements[node] = kit.service(type=kind)
        return node, node

    def sequence(self, depth: int) -> tuple[str, str]:
        (first, middle), (next_, last) = self.block(depth), self.block(depth)
        self.flows.append(f"{middle} > {next_}")
        return first, last

    def fork(self, depth: int) -> tuple[str, str]:
        fork, join = self.name("fork"), self.name("join")
        for _ in range(self.chance.randint(2, 3)):
            first, last = self.block(depth)
            self.flows += [f"{fork} > {first}", f"{last} > {join}"]
        return fork, join

    def choice(self, depth: int) -> tuple[str, str]:
        node, merge = self.name("choose"), self.name("merge")
        sides = [self.block(depth), self.block(depth)]
        for first, last in sides:
            self.flows += [f"{node} > {first}", f"{last} > {merge}"]
        self.conditions[f"{node}>{sides[1][0]}"] = "${lucky == true}"
        self.elements[node] = kit.choice(f"{node}>{sides[0][0]}")
        return node, merge

    def loop(self, depth: int) -> tuple[str, str]:
        merge, again = self.name("merge"), self.name("again")
        first, last = self.block(depth)
        count, _ = self.task(kind="count")
        leave, _ = self.task()
        self.flows += [
            f"{merge} > {first}",
            f"{last} > {count} > {again} > {leave}",
            f"{again} > {merge}",
        ]
        self.conditions[f"{again}>{merge}"] = f"${{{count} &lt; {self.chance.randint(1, ROUNDS)}}}"
        self.elements[again] = kit.choice(f"{again}>{leave}")
        return merge, leave

    def file(self, depth: int) -> str:
        first, last = self.block(depth)
        self.flows.append(f"start > {first}")
        self.flows.append(f"{last} > end")
        return kit.process(self.code, "; ".join(self.flows), self.conditions, **self.elements)


def random_process(code: str, seed: int, depth: int = 3) -> str:
    """A random process of tasks of the types ``work`` and ``count``; it ends at one end event.

    A task of type ``count`` must add one to the variable named after its node.
    """
    return _Drawing(code, random.Random(seed)).file(depth)


# One of everything the engine knows, around one fork, so that calls of all kinds meet.
EVERYTHING = kit.process(
    "everything",
    "start > reserve > big > release > merge > fork; rejected > refuse > end1; big > merge;"
    " fork > book > picked > join; fork > charge > pause > join; declined > stop;"
    " slow > remind > end2; fork > pack > merge2 > join; late > hurry > merge2;"
    " join > look > close > end",
    {"big>release": "${amount > 1000}"},
    big=kit.choice("big>merge"),
    release=kit.service(approval="required"),
    rejected=kit.boundary_error("release", "ApprovalRejected"),
    book=kit.send(type="courier"),
    picked=kit.message("picked-up"),
    charge=kit.service(retries="3"),
    declined=kit.boundary_error("charge", "card-declined"),
    stop=kit.terminate(),
    slow=kit.boundary_timer("charge", "R2/PT30S", interrupting=False),
    pack=kit.service(retries="2"),
    late=kit.boundary_timer("pack", "PT1M"),
    pause=kit.timer("PT10S"),
    look=kit.user(),
)
EVERYTHING_TYPES = ("reserve", "release", "refuse", "charge", "remind", "pack", "hurry", "close")


def _work(*names: str) -> dict[str, str]:
    return {name: kit.service(type="work") for name in names}


# Shapes that hurt: arrivals of one hop, two tokens over one flow, a surplus that stays.
SHAPES = {
    "instant": kit.process(
        "instant",
        "start > fork > p1 > join > z > end; fork > p2 > join; fork > p3 > join",
        **dict.fromkeys(("p1", "p2", "p3"), "<task {id}/>"),
        **_work("z"),
    ),
    "twice": kit.process(
        "twice",
        "start > fork > a1 > merge1 > join > z > end; fork > a2 > merge1;"
        " fork > b1 > merge2 > join; fork > b2 > merge2",
        **_work("a1", "a2", "b1", "b2", "z"),
    ),
    "surplus": kit.process(
        "surplus",
        "start > fork > a1 > merge1 > join > z > end; fork > a2 > merge1; fork > b1 > join",
        **_work("a1", "a2", "b1", "z"),
    ),
}


class Crowd:
    """Workers in threads with connections of their own, until they say there is nothing to do.

    ``counts`` holds what each did; ``errors`` what no worker may see, ``wrong`` answers that are
    not the right ones: after either all stop. A deadlock is counted and the call repeated.
    """

    def __init__(self, database: TestDatabase, seed: int, *, reconnects: bool = False) -> None:
        self.database = database
        self.seed = seed
        self.reconnects = reconnects
        self.finished = threading.Event()
        self.completed: set[str] = set()
        self.counts: Counter[str] = Counter()
        self.errors: list[str] = []
        self.wrong: list[str] = []
        self._lock = threading.Lock()

    def run(self, *workers: Callable[[Session, random.Random], None]) -> None:
        """Run every worker to its end, all at the same time."""
        threads = [
            threading.Thread(target=self._one, args=(worker, n)) for n, worker in enumerate(workers)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.finished.set()

    def _one(self, worker: Callable[[Session, random.Random], None], number: int) -> None:
        try:
            with Session(self.database, deadlock_timeout="300ms") as session:
                worker(session, random.Random(f"{self.seed}-{number}"))
        except Exception as error:
            self.errors.append(f"{type(error).__name__}: {error}"[:1000])

    @property
    def over(self) -> bool:
        """Whether something went wrong, so that nobody need go on."""
        return bool(self.errors or self.wrong)

    def count(self, what: str, times: int = 1) -> None:
        with self._lock:
            self.counts[what] += times

    def call(self, session: Session, query: str, *params: Any) -> list[Row] | None:
        """A call as a runner makes it: repeated after a deadlock, and after a lost connection if
        that may happen here; None when it was refused.
        """
        while not self.over:
            try:
                return session.do(query, *params)
            except psycopg.errors.DeadlockDetected:
                self.count("deadlocks")
            except psycopg.errors.LockNotAvailable:
                self.count("lock timeouts")
            except psycopg.OperationalError:
                # A lost connection: nobody knows whether the call was committed.
                if not self.reconnects:
                    raise
                self.count("lost connections")
                session.reconnect()
            except psycopg.DatabaseError as error:
                if not (error.sqlstate or "").startswith("BP"):
                    raise
                self.count(f"refused {error.sqlstate}")
                return None
        return None


def completed(task: Row) -> Row:
    """What a worker answers: a variable of its own, and one more where it counts."""
    variables: Row = {f"k{task['task_id']}": 1}
    if task["task_type"] == "count":
        variables[task["node_id"]] = (task["variables"].get(task["node_id"]) or 0) + 1
    return {**kit.held(task), "variables": variables}


def complete_in_random_batches(crowd: Crowd) -> Callable[[Session, random.Random], None]:
    """A worker: random claims, random batches, in random order, one forged fence in each."""

    def worker(session: Session, chance: random.Random) -> None:
        idle = 0
        while idle < 30 and not crowd.over:
            tasks: list[Row] = []
            for kind in chance.sample(TYPES, 2):
                tasks += claim(session, [kind], chance.randint(1, 50))
            if not tasks:
                idle += 1
                threading.Event().wait(0.01)
                continue
            idle = 0
            chance.shuffle(tasks)
            while tasks and not crowd.over:
                size = chance.randint(1, 50)
                part, tasks = tasks[:size], tasks[size:]
                _complete(crowd, session, part, chance)

    return worker


def _complete(crowd: Crowd, session: Session, part: Sequence[Row], chance: random.Random) -> None:
    forged = {
        **kit.held(part[0]),
        "fencing_token": part[0]["fencing_token"] - 1,
        "variables": {"forged": 1},
    }
    items = [completed(task) for task in part]
    place = chance.randint(0, len(items))
    items.insert(place, forged)
    rows = crowd.call(session, COMPLETE, json.dumps(items)) or []
    for n, row in enumerate(rows):
        expected = "LeaseLost" if n == place else "Completed"
        crowd.count(row["outcome"])
        if row["outcome"] != expected:
            crowd.wrong.append(f"{row['outcome']} instead of {expected}")


def deploy_everything(database: TestDatabase) -> None:
    """Deploy ``everything`` with the destination its commands go to."""
    database.rows(
        "select bpm.register_destination('courier', 'http', '{\"url\": \"http://courier.test/\"}',"
        " p_resend_allowed => true, p_backoff => '1 second', p_lease => '20 seconds',"
        " p_max_attempts => 50)"
    )
    kit.deploy(database, EVERYTHING)
    # Suspending and resuming in the smallest steps, so that others come in between.
    database.rows("select bpm.set_setting('engine.sweep_batch_size', '1')")


class Everything:
    """The calls of everybody who works on ``everything``: starters, workers, people, machines.

    Each method is one worker for a :class:`Crowd`; it goes on until ``rounds`` are over.
    """

    def __init__(self, crowd: Crowd, rounds: int) -> None:
        self.crowd = crowd
        self.rounds = rounds
        self.keys: list[str] = []

    def starter(self, session: Session, chance: random.Random) -> None:
        """Starts, some keys twice."""
        for n in range(self.rounds):
            key = f"{session.pid}-{n if chance.random() < 0.9 else n - 1}"
            self.keys.append(key)
            item = {
                "code": "everything",
                "business_key": key,
                "idempotency_key": key,
                "variables": {"amount": 2000 if n % 2 else 10},
            }
            self.crowd.call(session, "select * from bpm.start_processes(%s)", json.dumps([item]))

    def worker(self, session: Session, chance: random.Random) -> None:
        """Claims with positions, then answers in every way there is, some of it too late."""
        positions: Any = None
        kept: list[Row] = []
        for _ in range(self.rounds):
            rows = self.crowd.call(
                session,
                "select c.tasks, c.positions::text from bpm.claim_tasks_at("
                "p_worker => %s, p_types => %s, p_limit => %s, p_lease => '40 seconds',"
                " p_positions => %s) c",
                f"w{session.pid}",
                list(EVERYTHING_TYPES),
                chance.randint(1, 20),
                positions,
            )
            if rows is None:
                return
            positions = rows[0]["positions"]
            kept += rows[0]["tasks"]
            chance.shuffle(kept)
            size = chance.randint(0, len(kept))
            part, kept = kept[:size], kept[size:]
            kept += self.answer(session, chance, part)

    def answer(self, session: Session, chance: random.Random, tasks: list[Row]) -> list[Row]:
        """Answer claimed tasks somehow; those that are still held."""
        if not tasks:
            return []
        held = [kit.held(task) for task in tasks]
        draw = chance.random()
        if draw < 0.55:
            items = [{**item, "variables": {f"k{item['task_id']}": 1}} for item in held]
            query = COMPLETE
        elif draw < 0.7:
            items = [{**item, "error": "bad luck", "retry_in_seconds": 0} for item in held]
            query = "select * from bpm.fail_tasks(%s)"
        elif draw < 0.8:
            items = held
            query = "select * from bpm.release_tasks(%s)"
        elif draw < 0.92:
            items = held
            query = "select * from bpm.extend_leases(%s, '40 seconds')"
        else:
            for item in held:
                self.crowd.call(
                    session,
                    "select * from bpm.throw_error(%s, %s, %s)",
                    item["task_id"],
                    item["fencing_token"],
                    chance.choice(["card-declined", "surprise"]),
                )
            return []
        for row in self.crowd.call(session, query, json.dumps(items)) or []:
            self.crowd.count(f"{query.split('.')[1].split('(')[0]} {row['outcome']}")
            if query == COMPLETE and row["outcome"] == "Completed":
                self.crowd.completed.add(str(row["task_id"]))
        return tasks if "extend" in query else []

    def ticker(self, session: Session, chance: random.Random) -> None:
        """Ticks with positions."""
        positions: Any = None
        for _ in range(self.rounds):
            rows = self.crowd.call(
                session,
                "select k.done, k.positions::text from bpm.tick(%s, %s) k",
                chance.choice([1, 5, 100]),
                positions,
            )
            if rows is None:
                return
            positions = rows[0]["positions"]
            for kind, done in rows[0]["done"].items():
                self.crowd.count(f"tick {kind}", done)

    def clock(self, session: Session, _chance: random.Random) -> None:
        """Time passes faster here. Only one may move it."""
        for _ in range(self.rounds):
            self.crowd.call(session, "select bpm.advance_clock('3 seconds')")

    def sender(self, session: Session, chance: random.Random) -> None:
        """Sends messages to processes that wait, do not wait yet, or never will."""
        for n in range(self.rounds):
            if self.keys:
                self.crowd.call(
                    session,
                    "select * from bpm.correlate_message('picked-up', %s, %s, '1 hour', %s)",
                    chance.choice(self.keys),
                    json.dumps({f"m{n}": 1}),
                    f"{session.pid}-{n if chance.random() < 0.9 else n - 1}",
                )

    def deliverer(self, session: Session, chance: random.Random) -> None:
        """Claims commands and says what became of them, sometimes twice, sometimes late."""
        outcomes = ["Sent", "Sent", "Sent", "NotSent", "Unknown", "ReceiverError", "Throttled"]
        kept: list[Row] = []
        for _ in range(self.rounds):
            rows = self.crowd.call(
                session, "select * from bpm.claim_commands('d', %s)", chance.randint(1, 10)
            )
            kept += rows or []
            size = chance.randint(0, len(kept))
            items = [
                {
                    "command_id": str(row["command_id"]),
                    "fencing_token": row["fencing_token"],
                    "outcome": chance.choice(outcomes),
                }
                for row in kept[:size]
            ]
            if items:
                self.crowd.call(session, "select * from bpm.mark_commands(%s)", json.dumps(items))
            if chance.random() < 0.8:
                kept = kept[size:]

    def person(self, session: Session, chance: random.Random) -> None:
        """Decides, completes user tasks, resolves, requeues, suspends, resumes, cancels."""
        looks = {
            "select * from bpm.decide_approval(%s, 'Approved')": "select a.approval_id as id"
            " from bpm.approval a where a.status = 'Pending' limit 5",
            "select * from bpm.decide_approval(%s, 'Rejected')": "select a.approval_id as id"
            " from bpm.approval a where a.status = 'Pending' limit 1",
            "select * from bpm.complete_user_task(%s, '{\"seen\": 1}')": "select t.task_id as id"
            " from bpm.task t where t.task_type = 'bpm:user' and t.state = 'Ready' limit 5",
            "select * from bpm.resolve_incident(%s)": "select i.incident_id as id"
            " from bpm.incident i where i.state = 'Open' limit 3",
            "select * from bpm.requeue_dead_letter(%s)": "select d.dead_letter_id as id"
            " from bpm.dead_letter d where d.state = 'Open' and d.kind = 'Task' limit 3",
            "select * from bpm.cancel_process(%s)": "select i.process_instance_id as id"
            " from bpm.instance i where i.status = 'Running' order by md5(i::text) limit 1",
            "select * from bpm.reconcile_command(%s, 'Sent')": "select c.command_id as id"
            " from bpm.command c where c.state = 'Unknown' limit 1",
            "select * from bpm.suspend_process(%s)": "select i.process_instance_id as id"
            " from bpm.instance i where i.status = 'Running' order by md5(i::text) limit 2",
            "select * from bpm.resume_process(%s)": "select i.process_instance_id as id"
            " from bpm.instance i where i.status = 'Suspended' order by md5(i::text) limit 3",
        }
        calls = list(looks)
        for _ in range(self.rounds):
            call = chance.choices(calls, [5, 2, 5, 3, 2, 1, 1, 3, 4])[0]
            for row in self.crowd.call(session, looks[call]) or []:
                if self.crowd.call(session, call, row["id"]):
                    self.crowd.count(call.split(".")[1].split("(")[0])

    def auditor(self, session: Session, _chance: random.Random) -> None:
        """The engine's audit in the middle of it all: what is committed is right at any moment."""
        for _ in range(max(3, self.rounds // 40)):
            found = self.crowd.call(session, "select * from bpm.check_invariants()") or []
            self.crowd.wrong += [str(row) for row in found]
            self.crowd.count("audits")

    def everybody(self) -> list[Callable[[Session, random.Random], None]]:
        """All of them, workers and tickers twice."""
        return [
            self.starter,
            self.worker,
            self.worker,
            self.ticker,
            self.ticker,
            self.clock,
            self.sender,
            self.deliverer,
            self.person,
            self.auditor,
        ]


def finish(database: TestDatabase, types: Sequence[str]) -> None:
    """Bring everything there is to an end: nothing may be stuck for good."""
    with Session(database) as session:
        for row in session.do("select i.* from bpm.instance i where i.status = 'Suspended'"):
            session.do("select from bpm.resume_process(%s)", row["process_instance_id"])
        for _ in range(200):
            session.do("select bpm.advance_clock('10 minutes')")
            session.do("select bpm.run_until_idle()")
            tasks = claim(session, types, 1000)
            session.do(COMPLETE, json.dumps([completed(task) for task in tasks]))
            for row in session.do(
                "select t.task_id from bpm.task t"
                " where t.task_type = 'bpm:user' and t.state = 'Ready'"
            ):
                session.do("select from bpm.complete_user_task(%s)", row["task_id"])
            for row in session.do("select a.* from bpm.approval a where a.status = 'Pending'"):
                session.do("select from bpm.decide_approval(%s, 'Approved')", row["approval_id"])
            for row in session.do("select i.* from bpm.incident i where i.state = 'Open'"):
                session.do("select from bpm.resolve_incident(%s, 5)", row["incident_id"])
            for row in session.do(
                "select distinct s.name, s.correlation_key from bpm_core.subscription s"
                " where s.state = 'Open'"
            ):
                session.do(
                    "select from bpm.correlate_message(%s, %s, '{}', '0')",
                    row["name"],
                    row["correlation_key"],
                )
            left = session.do("select i.* from bpm.instance i where i.status = 'Running' limit 3")
            if not left:
                return
        raise AssertionError(f"still running: {left}")
