"""Branches that end in the same instant: each commits, the join fires once, nothing is lost."""

from __future__ import annotations

import json
import random

import pytest
from tests.races import kit
from tests.races.kit import COMPLETE, Session, answer, claim
from tests.support.database import TestDatabase

BRANCHES = 8


def _fan(code: str, width: int) -> str:
    """Fork into ``width`` tasks of type ``step``, join, one more task, end."""
    names = [f"b{n}" for n in range(width)]
    branches = "".join(f"; fork > {name} > join" for name in names)
    return kit.process(
        code,
        f"start > fork; join > after > end{branches}",
        **{name: kit.service(type="step") for name in names},
    )


RACING_ENDS = kit.process(
    "racing-ends",
    "start > fork > x > end1; fork > y > end2; fork > z > stop",
    stop=kit.terminate(),
    **{name: kit.service(type="step") for name in ("x", "y", "z")},
)


@pytest.fixture(scope="module", autouse=True)
def _processes(database: TestDatabase) -> None:
    kit.deploy(
        database,
        _fan("two", 2),
        _fan("fan", BRANCHES),
        # Two tokens over one flow into the join, one over the other: the surplus stays.
        kit.process(
            "surplus",
            "start > fork > a1 > merge > join > after > end; fork > a2 > merge; fork > b > join",
            **{name: kit.service(type="step") for name in ("a1", "a2", "b")},
        ),
        # Three rounds of the same fork and join, decided by what the last round's task wrote.
        kit.process(
            "rounds",
            "start > merge > fork > l > join > count > again > end; fork > r > join; again > merge",
            {"again>merge": "${n &lt; 3}"},
            again=kit.choice("again>end"),
            **{name: kit.service(type="step") for name in ("l", "r")},
        ),
        RACING_ENDS,
    )


def _in_one_instant(database: TestDatabase, code: str, width: int) -> str:
    """Each branch is completed by a session of its own, all released at once; the process."""
    (process,) = kit.start(database, code, kept=True)
    with Session(database) as observer, kit.sessions(database, width) as workers:
        tasks = [claim(worker, ["step"])[0] for worker in workers]
        with kit.instances_held(database):
            running = [
                worker.start(COMPLETE, answer([task], **{task["node_id"]: n}))
                for n, (worker, task) in enumerate(zip(workers, tasks, strict=True))
            ]
            kit.blocked(observer, workers)
        answers = kit.settled(running)
        assert [rows[0]["outcome"] for rows in answers] == ["Completed"] * width  # type: ignore[index]
    variables = database.value("select bpm.get_variables(%s)", [process])
    assert variables == {"kept": True, **{t["node_id"]: n for n, t in enumerate(tasks)}}
    return process


@pytest.mark.parametrize(("code", "width"), [("two", 2), ("fan", BRANCHES)])
def test_branches_complete_in_the_same_instant(
    database: TestDatabase, code: str, width: int
) -> None:
    """A-13, C01: N branches end in N sessions; each commits, exactly one passes the join."""
    for _ in range(kit.sized(5, 200)):
        process = _in_one_instant(database, code, width)
        assert len(kit.history(database, process, "JoinReached")) == width
        assert len(kit.history(database, process, "JoinFired")) == 1
        assert kit.standing(database, process) == ["after Waiting"]
    kit.run_out(database, ["after"])
    assert not database.rows("select 1 as n from bpm.instance i where i.status <> 'Completed'")


def test_branches_complete_in_one_batch(database: TestDatabase) -> None:
    """A-27: patches and arrivals of one instance in one call; all are kept, the join fires once."""
    processes = kit.start(database, "fan", 5)
    with Session(database) as worker:
        tasks = claim(worker, ["step"], 1000)
        random.Random(7).shuffle(tasks)
        items = [
            {**kit.held(task), "variables": {task["node_id"]: n, "last": n}}
            for n, task in enumerate(tasks)
        ]
        rows = worker.do(COMPLETE, json.dumps(items))
    assert [row["outcome"] for row in rows] == ["Completed"] * (5 * BRANCHES)
    for process in processes:
        mine = {
            task["node_id"]: n
            for n, task in enumerate(tasks)
            if str(task["process_instance_id"]) == process
        }
        assert len(mine) == BRANCHES
        # Of two patches of one name the later item wins.
        assert database.value("select bpm.get_variables(%s)", [process]) == {
            **mine,
            "last": max(mine.values()),
        }
        assert len(kit.history(database, process, "JoinFired")) == 1
        assert kit.standing(database, process) == ["after Waiting"]
    kit.run_out(database, ["after"])


def test_one_flow_brings_two_tokens_in_the_same_instant(database: TestDatabase) -> None:
    """C02 with real concurrency: the second token over a flow waits for the next round, visibly."""
    process = _in_one_instant(database, "surplus", 3)
    assert len(kit.history(database, process, "JoinFired")) == 1
    assert kit.standing(database, process) == ["after Waiting", "join Waiting"]
    kit.run_out(database, ["after"])
    # Nobody can bring the missing token any more: an incident, not a silent stop.
    (incident,) = database.rows(
        "select i.code from bpm.incident i where i.process_instance_id = %s", [process]
    )
    assert incident["code"] == "JoinStarved"
    assert kit.standing(database, process) == ["join Waiting"]
    database.rows("select * from bpm.cancel_process(%s)", [process])


def test_a_loop_re_enters_its_join(database: TestDatabase) -> None:
    """Three rounds, each with both branches in the same instant."""
    (process,) = kit.start(database, "rounds")
    with Session(database) as observer, kit.sessions(database, 2) as workers:
        for n in (1, 2, 3):
            tasks = [claim(worker, ["step"])[0] for worker in workers]
            with kit.instances_held(database):
                running = [
                    worker.start(COMPLETE, answer([task]))
                    for worker, task in zip(workers, tasks, strict=True)
                ]
                kit.blocked(observer, workers)
            kit.settled(running)
            (count,) = claim(observer, ["count"])
            observer.do(COMPLETE, answer([count], n=n))
    fired = [row["detail"]["round"] for row in kit.history(database, process, "JoinFired")]
    assert fired == [1, 2, 3]
    assert kit.status_of(database, process) == "Completed"


def test_a_terminate_end_takes_the_tokens_of_its_own_hop_with_it(database: TestDatabase) -> None:
    """In one batch a token terminates while others come to nodes of all kinds: none is left."""
    branches = {
        "service": kit.service(),
        "user": kit.user(),
        "send": kit.send(type="courier"),
        "timer": kit.timer("PT1M"),
        "message": kit.message("never"),
        "gated": kit.service(approval="required"),
        "choice": "<exclusiveGateway {id}/>",
        "plain": "<task {id}/>",
    }
    flows = "".join(f"; fork > to_{kind} > {kind} > merge_{kind} > end_{kind}" for kind in branches)
    work = {f"to_{kind}": kit.service(type="step") for kind in branches}
    database.rows(
        "select bpm.register_destination('courier', 'http', '{\"url\": \"http://courier.test/\"}')"
    )
    kit.deploy(
        database,
        kit.process(
            "all-kinds",
            "start > fork > to_stop > stop; fork > j1 > join > end_j; fork > j2 > join" + flows,
            stop=kit.terminate(),
            **branches,
            **work,
            **{name: kit.service(type="step") for name in ("to_stop", "j1", "j2")},
        ),
    )
    for _ in range(3):
        (process,) = kit.start(database, "all-kinds")
        with Session(database) as worker:
            tasks = claim(worker, ["step"], 1000)
            random.shuffle(tasks)
            rows = worker.do(COMPLETE, answer(tasks))
        assert {row["outcome"] for row in rows} == {"Completed"}
        assert kit.status_of(database, process) == "Completed"
        assert not database.rows(
            "select t.task_id from bpm.task t"
            " where t.process_instance_id = %s and t.state in ('Ready', 'Executing')",
            [process],
        )
        database.audit()


def _race_ends(database: TestDatabase) -> tuple[str, list[str], list[object]]:
    """Three branches end at once, one of them terminates; queued in an order by chance.

    Gives the process, the nodes in that order, and what each call answered."""
    (process,) = kit.start(database, "racing-ends")
    with Session(database) as observer, kit.sessions(database, 3) as workers:
        pairs = [(worker, claim(worker, ["step"])[0]) for worker in workers]
        random.shuffle(pairs)
        with kit.instances_held(database):
            running = []
            for worker, task in pairs:
                running.append(worker.start(COMPLETE, answer([task])))
                kit.blocked(observer, [worker])
        answers = kit.settled(running)
    outcomes = [rows[0]["outcome"] if isinstance(rows, list) else rows for rows in answers]
    return process, [task["node_id"] for _, task in pairs], outcomes


def test_branches_end_in_the_same_instant_as_the_instance_is_terminated(
    database: TestDatabase,
) -> None:
    """Ends and a terminate end at once: every call gets an answer, the instance ends once."""
    for _ in range(kit.sized(8, 200)):
        process, nodes, outcomes = _race_ends(database)
        # They were queued in this order: what comes after the terminating one is too late.
        cut = nodes.index("z") + 1
        assert outcomes == ["Completed"] * cut + ["Cancelled"] * (3 - cut), nodes
        assert kit.status_of(database, process) == "Completed"
        assert len(kit.history(database, process, "InstanceCompleted")) == 1


@pytest.mark.breaks_invariants
def test_without_the_instance_lock_the_ends_are_told_wrong(fresh_database: TestDatabase) -> None:
    """The test above can fail: with a lock that locks nothing, work ends in a dead instance."""
    kit.deploy(fresh_database, RACING_ENDS)
    kit.mutate(
        fresh_database,
        "bpm_core.lock_instances_of_tasks(text,uuid[])",
        r"begin.*end",
        "begin return array[]::uuid[]; end",
    )
    kit.mutate(
        fresh_database,
        "bpm_core.take_direct_steps(text,jsonb)",
        r"k\.workflow_instance_id for no key update",
        "k.workflow_instance_id offset 0",
    )
    for _ in range(20):
        _, nodes, outcomes = _race_ends(fresh_database)
        cut = nodes.index("z") + 1
        if outcomes != ["Completed"] * cut + ["Cancelled"] * (3 - cut):
            break
    else:
        pytest.fail("nothing tells the lock from none")
