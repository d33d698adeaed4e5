"""Instances that are moved to another version while everybody else is at work."""

from __future__ import annotations

import pytest
from tests.races import kit
from tests.races.kit import COMPLETE, Session, answer, claim
from tests.support.database import TestDatabase

MIGRATE = 'select * from bpm.migrate_process(%s, 2, \'{"one": "uno"}\')'
MIGRATE_ALL = "select * from bpm.migrate_processes('short', 1, 2, '{\"one\": \"uno\"}', 1000)"


@pytest.fixture(scope="module", autouse=True)
def _processes(database: TestDatabase) -> None:
    kit.deploy(
        database,
        kit.process("short", "start > one > end"),
        kit.process("short", "start > uno > two > end"),
    )


def _start(database: TestDatabase, count: int = 1) -> list[str]:
    return [
        str(
            database.rows("select * from bpm.start_process('short', p_version => 1)")[0][
                "process_instance_id"
            ]
        )
        for _ in range(count)
    ]


@pytest.mark.parametrize("first", ["migrate", "complete"])
def test_migrate_while_a_task_completes(database: TestDatabase, first: str) -> None:
    """Whoever is second sees what the first has done: the answer goes on in one of the graphs."""
    for _ in range(kit.sized(3, 50)):
        (process,) = _start(database)
        with Session(database) as boss, Session(database) as worker, Session(database) as eye:
            (task,) = claim(worker, ["one"])
            calls = {boss: (MIGRATE, process), worker: (COMPLETE, answer([task]))}
            ahead, behind = (boss, worker) if first == "migrate" else (worker, boss)
            ahead.begin()
            ahead.do(*calls[ahead])
            running = behind.start(*calls[behind])
            kit.blocked(eye, [behind])
            ahead.commit()
            (done,) = kit.settled([running])
            if first == "migrate":
                assert isinstance(done, list), done
                assert done[0]["outcome"] == "Completed"
                assert kit.standing(database, process) == ["two Waiting"]
                kit.run_out(database, ["two"])
            else:
                assert not isinstance(done, list)
                assert done.sqlstate == "BP409"  # it has ended
            assert kit.status_of(database, process) == "Completed"


def test_migrate_while_its_task_is_claimed(database: TestDatabase) -> None:
    """The claim keeps its task; whatever it is called afterwards, it is completed once."""
    (process,) = _start(database)
    with Session(database) as boss, Session(database) as worker, Session(database) as eye:
        worker.begin()
        (task,) = claim(worker, ["one"])
        running = boss.start(MIGRATE, process)
        kit.blocked(eye, [boss])
        worker.commit()
        kit.settled([running])
        assert worker.one(COMPLETE, answer([task]))["outcome"] == "Completed"
    assert kit.run_out(database, ["two"]) == 1
    assert kit.status_of(database, process) == "Completed"


def test_two_migrations_of_many_at_once(database: TestDatabase) -> None:
    """Each is moved once; the second finds those the first has moved no more."""
    processes = _start(database, kit.sized(20, 200))
    with Session(database) as eye, kit.sessions(database, 3) as bosses:
        with kit.instances_held(database):
            running = [boss.start(MIGRATE_ALL) for boss in bosses]
            kit.blocked(eye, bosses)
        moved = [len(rows) for rows in kit.settled(running)]  # type: ignore[arg-type]
    assert sorted(moved) == [0, 0, len(processes)]
    for process in processes:
        assert len(kit.history(database, process, "InstanceMigrated")) == 2  # it, and its token
    assert kit.run_out(database, ["uno", "two"]) == 2 * len(processes)
