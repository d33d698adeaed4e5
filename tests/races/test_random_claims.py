"""Claims that follow closely upon another one, at random, while everything around them is rough.

Workers with positions of their own claim, answer, pause and let leases run out; starts commit
late, timers fire, somebody sets quotas and suspends, cases are closed, and backends are killed.
Between two rounds it is quiet: whatever is ready then must be found with the positions the workers
have by now. The bound: a mark lasts half a second, and a claim without one that does not fill
its limit leaves nothing behind. Where others on the server hold the horizon, a second more.

``PGBPM_CLAIMS_SEED`` repeats what a failing run printed; what threads do to each other may differ.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from tests.races import kit, load
from tests.races.kit import COMPLETE, Row, Session
from tests.support.database import TestDatabase

SEED = int(os.environ.get("PGBPM_CLAIMS_SEED", "45"))
SEEDS = range(SEED, SEED + kit.sized(1, 10))
ROUNDS = kit.sized(5, 40)
SECONDS = 1.0
"""How long a round lasts."""
MARK = 0.5
"""How long a mark is good for (mark_quick)."""
HELD = 2.0
"""How long positions may not look back while somebody holds the horizon, with some room."""
WORKERS = 5
ENOUGH = 300
"""How many tasks may be ready before nothing more is started."""

TYPES = ("qa", "qb", "qc", "qd", "qe")
# qd has two levels, so that claims of it leave no mark; qe has one, but another than the rest.
PROCESSES = [
    kit.process("line", "start > a > b > end", a=kit.service(type="qa"), b=kit.service(type="qb")),
    kit.process(
        "fan",
        "start > fork > a > join > end; fork > a2 > join; fork > e > join; fork > d > join",
        a=kit.service(type="qa"),
        a2=kit.service(type="qa", retries="2"),
        d=kit.service(type="qd"),
        e=kit.service(type="qe", priority="90"),
    ),
    kit.process(
        "timed",
        "start > fork > pause > c > join > end; fork > b > join",
        pause=kit.timer("PT0.1S"),
        c=kit.service(type="qc"),
        b=kit.service(type="qb"),
    ),
    kit.process(
        "urgent",
        "start > d > c > end",
        d=kit.service(type="qd", priority="90"),
        c=kit.service(type="qc"),
    ),
]
CODES = ("line", "fan", "timed", "urgent")
KEYS = (None, None, *(f"case-{n}" for n in range(60)))
CLAIM = (
    "select c.tasks, c.positions::text from bpm.claim_tasks_at(p_worker => %s, p_types => %s,"
    " p_limit => %s, p_lease => %s::interval, p_request_id => %s, p_positions => %s) c"
)
RUNNING_IN_CLOSED_CASES = (
    "select c.business_key from bpm.business_case c join bpm.instance i using (business_key)"
    " where c.state = 'Closed' and i.status in ('Running', 'Suspended')"
)
READY = (
    "select t.task_id::text as id from bpm.task t"
    " where t.state = 'Ready' and t.task_type = any (%s) and t.available_at <= bpm_core.now()"
)
# Only what has an id can hold others' horizon; it may be in another database of the server.
ELSEWHERE = (
    "select from pg_stat_activity a where a.backend_xid is not null and a.pid <> pg_backend_pid()"
)


def has_mark(positions: str | None) -> bool:
    """Whether a claim may go on from a mark (mark_quick)."""
    return '"": {' in (positions or "")


class Rough:
    """Everybody, round after round, and what was handed out to whom."""

    def __init__(self, database: TestDatabase, seed: int, rounds: int) -> None:
        self.database = database
        self.seed = seed
        self.rounds = rounds
        self.chance = random.Random(f"rough-{seed}")
        self.crowd = load.Crowd(database, seed, reconnects=True)
        self.workers = [Worker(self, n) for n in range(WORKERS)]
        self.handed: dict[tuple[str, int], str] = {}
        self.completed: dict[str, tuple[str, int]] = {}
        self.suspended: dict[str, object] = {}
        self.end = 0.0
        self.waiting = 0
        self.spared = 0
        self.quiets = 0

    def run(self) -> None:
        """All rounds, each with a quiet end, until something is wrong."""
        kit.deploy(self.database, *PROCESSES)
        for number in range(self.rounds):
            self.crowd.seed = self.seed * 1000 + number
            self.round(with_admin=number % 3 == 1)
            if self.crowd.over:
                return

    @property
    def goes_on(self) -> bool:
        """Whether this round is not over yet."""
        return time.monotonic() < self.end and not self.crowd.over

    def round(self, *, with_admin: bool) -> None:
        """A round: members of the crowd until its end, then stragglers, then quiet."""
        members: list[Callable[[Session, random.Random], None]] = [
            *self.workers,
            self.starter,
            self.late_starter,
            self.late_starter,
            self.ticker,
            self.closer,
            self.killer,
        ]
        if with_admin:
            members.append(self.admin)
        with Session(self.database) as last:
            self.end = time.monotonic() + SECONDS
            self.spared = last.pid
            last.begin()  # becomes a straggler behind every position
            # Under no key: who closes its case would wait for it.
            last.do("select from bpm.start_processes(%s)", self.items(self.chance, (None,)))
            self.crowd.finished.clear()
            self.crowd.run(*members)
            last.commit()
            if with_admin:
                self.calm(last)
            if not self.crowd.over:
                self.quiet(last)

    def items(self, chance: random.Random, keys: tuple[str | None, ...] = KEYS) -> str:
        """What a start is called with."""
        codes = chance.choices(CODES, k=chance.randint(1, 8))
        return json.dumps([{"code": code, "business_key": chance.choice(keys)} for code in codes])

    # -- the members ----------------------------------------------------------------------------

    def starter(self, session: Session, chance: random.Random) -> None:
        """Starts, sometimes more, sometimes less than the workers do meanwhile."""
        while self.goes_on:
            if self.waiting < ENOUGH:
                self.crowd.call(session, "select from bpm.start_processes(%s)", self.items(chance))
            self.crowd.finished.wait(chance.choice([0.0, 0.005, 0.03]))

    def late_starter(self, session: Session, chance: random.Random) -> None:
        """Starts in transactions that last: their tasks become ready in the past."""
        while self.goes_on:
            try:
                session.begin()
                session.do("select from bpm.start_processes(%s)", self.items(chance))
                time.sleep(chance.choice([0.01, 0.05, 0.25]))  # what makes them late
                session.do(chance.choice(["commit", "commit", "commit", "rollback"]))
                self.crowd.count("late starts")
            except psycopg.OperationalError:
                self.crowd.count("lost connections")
                session.reconnect()

    def ticker(self, session: Session, chance: random.Random) -> None:
        """Fires timers and ends leases, with positions."""
        positions: Any = None
        while self.goes_on:
            rows = self.crowd.call(
                session,
                "select k.done, k.positions::text from bpm.tick(%s, %s) k",
                chance.choice([1, 5, 100]),
                positions,
            )
            if rows:
                positions = rows[0]["positions"]
                ready = self.crowd.call(session, READY, list(TYPES))
                self.waiting = len(ready or [])
                for kind, done in rows[0]["done"].items():
                    self.crowd.count(f"tick {kind}", done)
            self.crowd.finished.wait(0.01)

    def closer(self, session: Session, chance: random.Random) -> None:
        """Closes cases in which nothing runs."""
        while self.goes_on:
            key = chance.choice(KEYS[2:])
            for row in self.crowd.call(session, "select * from bpm.close_case(%s)", key) or []:
                self.crowd.count("closed", row["is_new"])
            self.crowd.finished.wait(0.02)

    def admin(self, session: Session, chance: random.Random) -> None:
        """Sets quotas and takes them away, suspends and resumes."""
        call = self.crowd.call
        while self.goes_on:
            if chance.random() < 0.3:
                bound = chance.choice([None, 1, 3])
                call(session, "select bpm.set_task_quota(%s, %s)", chance.choice(TYPES), bound)
            elif self.suspended and chance.random() < 0.6:
                self.resume(session, chance.choice(sorted(self.suspended)))
            else:
                for row in call(
                    session,
                    "select i.process_instance_id::text as id from bpm.instance i"
                    " where i.status = 'Running' order by md5(i.process_instance_id::text) limit 3",
                ) or []:  # fmt: skip
                    if call(session, "select from bpm.suspend_process(%s)", row["id"]) is not None:
                        self.suspended[row["id"]] = object()
                        self.crowd.count("suspended")
            self.crowd.finished.wait(0.01)

    def resume(self, session: Session, process: str) -> None:
        del self.suspended[process]
        self.crowd.call(session, "select from bpm.resume_process(%s)", process)

    def killer(self, session: Session, chance: random.Random) -> None:
        """Kills one of those who are at something."""
        while self.goes_on:
            self.crowd.finished.wait(chance.choice([0.02, 0.1, 0.3]))
            busy = self.crowd.call(
                session,
                "select a.pid from pg_stat_activity a where a.datname = current_database()"
                " and a.pid <> pg_backend_pid() and a.pid <> %s"
                " and a.state <> 'idle' and a.query like '%%bpm.%%'",
                self.spared,
            )
            if busy:
                pid = chance.choice(busy)["pid"]
                self.crowd.call(session, "select pg_terminate_backend(%s)", pid)
                self.crowd.count("kills")

    # -- quiet ----------------------------------------------------------------------------------

    def calm(self, session: Session) -> None:
        """Nothing is held back any more, by quotas or suspensions."""
        for task_type in TYPES:
            session.do("select bpm.set_task_quota(%s, null)", task_type)
        for row in session.do("select i.* from bpm.instance i where i.status = 'Suspended'"):
            session.do("select from bpm.resume_process(%s)", row["process_instance_id"])
        self.suspended.clear()
        session.do("select bpm.run_until_idle()")

    def quiet(self, session: Session) -> None:
        """Whatever is ready is found from where the workers stand, within the bound. Nothing runs
        in a case that was closed."""
        self.crowd.wrong += [str(row) for row in session.do(RUNNING_IN_CLOSED_CASES)]
        workers = self.chance.sample(self.workers, len(self.workers))
        self.quiets += 1
        if self.quiets % 2:  # with the mark it has
            workers[0].sweep(session, self.chance)
            return
        time.sleep(MARK)  # all marks have run out
        for worker in workers:
            worker.look(session)


class Worker:
    """A worker with positions of its own, and types it works for."""

    def __init__(self, rough: Rough, number: int) -> None:
        self.rough = rough
        self.name = f"worker-{number}"
        # The first three work for one to three types of one level: their claims leave marks.
        chosen = TYPES[:3] if number < 3 else TYPES
        self.types = rough.chance.sample(chosen, rough.chance.randint(1, min(4, len(chosen))))
        self.positions: Any = None
        self.earlier: list[Any] = [None]
        self.kept: list[Row] = []
        self.claims = 0

    def __call__(self, session: Session, chance: random.Random) -> None:
        while self.rough.goes_on:
            if chance.random() < 0.05:
                time.sleep(chance.choice([0.05, 0.2, 0.52]))  # its mark runs out, or nearly
            self.claim(session, chance)
            chance.shuffle(self.kept)
            size = chance.randint(0, len(self.kept))
            part, self.kept = self.kept[:size], self.kept[size:]
            self.answer(session, chance, part)

    def claim(self, session: Session, chance: random.Random) -> None:
        """A claim, mostly from where it stands."""
        rough, draw = self.rough, chance.random()
        positions = self.positions
        if draw < 0.04:
            positions = chance.choice(self.earlier)
        elif draw < 0.08:
            positions = chance.choice(rough.workers).positions
        elif draw < 0.1:
            positions = None
        types = self.types
        if chance.random() < 0.1:
            types = chance.sample(types, chance.randint(1, len(types)))
        limit = 1 if chance.random() < 0.5 else chance.randint(1, 20)
        lease = chance.choice([None, None, "1 second", "10 minutes"])
        self.claims += 1
        request = f"{rough.seed}-{self.claims}" if chance.random() < 0.3 else None
        held_back, quick = dict(rough.suspended), has_mark(positions)
        rows = rough.crowd.call(
            session, CLAIM, self.name, types, limit, lease, request, positions
        )  # fmt: skip
        if rows is None:
            if not rough.crowd.over:
                rough.crowd.wrong.append("a claim was refused")
            return
        self.positions, tasks = rows[0]["positions"], rows[0]["tasks"]
        self.earlier = [*self.earlier[-5:], self.positions]
        rough.crowd.count("quick claims" if quick else "claims")
        self.check(tasks, types, limit)
        if request is None:
            self.check_suspended(tasks, held_back)
        self.kept += tasks

    def check(self, tasks: list[Row], types: list[str], limit: int) -> None:
        """What was handed out was asked for, and to nobody else."""
        wrong = self.rough.crowd.wrong
        if len(tasks) > limit:
            wrong.append(f"{len(tasks)} tasks instead of {limit}")
        for task in tasks:
            if task["task_type"] not in types:
                wrong.append(f"{task['task_type']} is none of {types}")
            key = (task["task_id"], task["fencing_token"])
            holder = self.rough.handed.setdefault(key, self.name)
            if holder != self.name:
                wrong.append(f"{key} was handed out to {holder} and to {self.name}")

    def check_suspended(self, tasks: list[Row], before: dict[str, object]) -> None:
        """What was suspended before the claim, and still is after it, is not handed out."""
        for task in tasks:
            process = task["process_instance_id"]
            since = before.get(process)
            if since is not None and self.rough.suspended.get(process) is since:
                self.rough.crowd.wrong.append(f"a task of {process}, which is suspended")

    def answer(self, session: Session, chance: random.Random, tasks: list[Row]) -> None:
        """Answers somehow, some of it too late; some never."""
        held = [kit.held(task) for task in tasks]
        draw = chance.random()
        if not held or draw > 0.93:
            return
        if draw < 0.6:
            items = [load.completed(task) for task in tasks]
            rows = self.rough.crowd.call(session, COMPLETE, json.dumps(items))
            for task, row in zip(tasks, rows or [], strict=rows is not None):
                self.told(task, row)
            return
        if draw < 0.75:
            items = [{**item, "error": "bad luck", "retry_in_seconds": 0} for item in held]
            query = "select * from bpm.fail_tasks(%s)"
        elif draw < 0.88:
            items, query = held, "select * from bpm.release_tasks(%s)"
        else:
            items, query = held, "select * from bpm.extend_leases(%s, '1 second')"
            self.kept += tasks
        for row in self.rough.crowd.call(session, query, json.dumps(items)) or []:
            self.rough.crowd.count(f"{query.split('.')[1].split('(')[0]} {row['outcome']}")

    def told(self, task: Row, row: Row) -> None:
        """A task is completed once, by one who holds it."""
        self.rough.crowd.count(f"complete {row['outcome']}")
        if row["outcome"] == "Completed":
            who = (self.name, task["fencing_token"])
            by = self.rough.completed.setdefault(task["task_id"], who)
            if by != who or str(row["task_id"]) != task["task_id"]:
                self.rough.crowd.wrong.append(f"{row} completed by {by} and by {who}")

    # -- quiet ----------------------------------------------------------------------------------

    def sweep(self, session: Session, chance: random.Random) -> None:
        """Claims on from where it stands until there is no more; keeps what it got."""
        wanted = {row["id"] for row in session.do(READY, self.types)}
        began, bound = time.monotonic(), MARK
        while True:
            if session.do(ELSEWHERE):
                bound = HELD
            limit, now = chance.randint(1, 20), time.monotonic()
            marked = has_mark(self.positions)
            (row,) = session.do(CLAIM, self.name, self.types, limit, None, None, self.positions)
            self.positions = row["positions"]
            self.check(row["tasks"], self.types, limit)
            self.kept += row["tasks"]
            if len(row["tasks"]) < limit and now > began + bound and not marked:
                break
        left = wanted & {row["id"] for row in session.do(READY, self.types)}
        self.rough.crowd.count("swept", len(wanted))
        if left:
            self.rough.crowd.wrong.append(
                f"{self.name} does not find {len(left)} of {len(wanted)} tasks of {self.types}"
                f" within {bound} s, from {row['positions']}"
            )

    def look(self, session: Session) -> None:
        """One claim that would find everything, and is undone."""
        wanted = {row["id"] for row in session.do(READY, self.types)}
        end = time.monotonic() + HELD
        while True:
            held = session.do(ELSEWHERE)
            session.begin()
            (row,) = session.do(CLAIM, self.name, self.types, 1000, None, None, self.positions)
            session.rollback()
            missing = wanted - {task["task_id"] for task in row["tasks"]}
            if not missing or not held or time.monotonic() > end:
                break
        self.rough.crowd.count("looked for", len(wanted))
        if missing:
            self.rough.crowd.wrong.append(
                f"{self.name} does not see {len(missing)} of {len(wanted)} tasks of {self.types}"
                f" from {self.positions}"
            )


def _all_was_done(rough: Rough) -> None:
    """Everything can be driven to its end, and nothing was passed over or done twice."""
    load.finish(rough.database, TYPES)
    (row,) = rough.database.rows(
        "select count(*) filter (where t.state <> 'Completed') as not_done,"
        " count(*) filter (where t.fencing_token = 0) as never_handed_out,"
        " count(*) filter (where t.state = 'Completed' and not w.variables ? ('k' || t.id)) as lost"
        "  from bpm_core.task_instance t"
        "  join bpm_core.workflow_instance w"
        "    on w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id"
    )
    assert not any(row.values()), row
    states = rough.database.rows(
        "select from bpm_core.task_instance t where t.id = any (%s::uuid[])"
        " and t.state = 'Completed'",
        [list(rough.completed)],
    )
    assert len(states) == len(rough.completed)


@pytest.mark.slow
@pytest.mark.timeout(kit.sized(120, 600))
@pytest.mark.parametrize("seed", SEEDS)
def test_claims_in_the_middle_of_everything(
    fresh_database: TestDatabase, seed: int, record_property: Callable[[str, object], None]
) -> None:
    """Nothing to two workers under one fence, nothing of what is suspended, nothing left behind."""
    rough = Rough(fresh_database, seed, ROUNDS)
    rough.run()
    counts = dict(sorted(rough.crowd.counts.items()))
    print(f"rough claims, seed {seed}: {counts}")
    record_property("rough_claims", counts)
    assert not rough.crowd.over, (rough.crowd.errors, rough.crowd.wrong)
    assert min(counts[what] for what in ("quick claims", "claims", "swept", "looked for")) > 5
    assert counts["lost connections"] >= counts["kills"] / 2 > 0
    fresh_database.audit()
    _all_was_done(rough)


MUTANTS = {
    "marks never run out": (
        "bpm_core.quick_slots(text[],jsonb,timestamptz)",
        r"and p_now between [^\n]* and v_until\)",
        ")",
    ),
    "nobody looks back": (
        "bpm_core.pick_start(bpm_core.pick_position,timestamptz)",
        r"w\.whole or w\.settled or [^\n]* as look_back",
        "w.whole as look_back",
    ),
    "fences do not grow": (
        "bpm_core.claim_ready_tasks(text,text,bpm_core.claim_slot[],integer,interval,text,"
        "timestamptz,integer[],integer[])",
        r"fencing_token = t\.fencing_token \+ 1",
        "fencing_token = 1",
    ),
}


@pytest.mark.slow
@pytest.mark.breaks_invariants
@pytest.mark.parametrize("name", MUTANTS)
def test_broken_claims_are_noticed(fresh_database: TestDatabase, name: str) -> None:
    """The test above can fail: each of these faults makes it do so."""
    kit.mutate(fresh_database, *MUTANTS[name])
    rough = Rough(fresh_database, 7, 20)
    rough.run()
    print(f"{name}: {rough.crowd.wrong[:1]} {rough.crowd.errors[:1]}")
    assert not rough.crowd.errors
    assert rough.crowd.wrong, dict(rough.crowd.counts)
