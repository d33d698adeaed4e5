"""Backends and servers killed under load: what was answered stands, the rest is as if never asked.

A worker that lost its connection does not know whether its call was committed; it connects again
and repeats the call, as a runner does. At the end everything can be finished, every completion
that was answered is there, and the engine finds nothing wrong with itself.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from tests.races import kit, load
from tests.races.kit import Session
from tests.support import database as support
from tests.support.database import TestDatabase

from pgbpm.config import ServerConfig
from pgbpm.devtools import scratch
from pgbpm.server import ephemeral_server


def _killer(
    crowd: load.Crowd, kills: int, kill: Callable[[Session, int], Any]
) -> Callable[[Session, random.Random], None]:
    """A member of the crowd that kills a random busy backend of the others, again and again."""

    def worker(session: Session, chance: random.Random) -> None:
        done = 0
        while done < kills and not crowd.over:
            busy = crowd.call(
                session,
                "select a.pid from pg_stat_activity a where a.datname = current_database()"
                " and a.pid <> pg_backend_pid() and a.state = 'active' and a.query like '%%bpm.%%'",
            )
            if busy:
                kill(session, chance.choice(busy)["pid"])
                done += 1
                crowd.count("kills")
            crowd.finished.wait(0.03)

    return worker


def _run(database: TestDatabase, crowd: load.Crowd, rounds: int, *killers: Any) -> None:
    load.deploy_everything(database)
    crowd.run(*load.Everything(crowd, rounds).everybody(), *killers)
    print(f"kills: {dict(sorted(crowd.counts.items()))}")
    assert not crowd.over, (crowd.errors, crowd.wrong)
    assert crowd.counts["lost connections"] >= crowd.counts["kills"] / 2 > 0
    database.audit()
    load.finish(database, load.EVERYTHING_TYPES)
    database.audit()
    # What a worker was told to be completed is completed, with its variables.
    (row,) = database.rows(
        "select count(*) as known from bpm_core.task_instance t"
        "  join bpm_core.workflow_instance w"
        "    on w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id"
        " where t.id = any (%s::uuid[]) and t.state = 'Completed' and w.variables ? ('k' || t.id)",
        [list(crowd.completed)],
    )
    assert row["known"] == len(crowd.completed) > 50


@pytest.mark.slow
def test_backends_are_killed_in_the_middle_of_commands(fresh_database: TestDatabase) -> None:
    """pg_terminate_backend at random moments, while everybody works."""
    crowd = load.Crowd(fresh_database, 1, reconnects=True)

    def kill(session: Session, pid: int) -> None:
        crowd.call(session, "select pg_terminate_backend(%s)", pid)

    _run(
        fresh_database,
        crowd,
        kit.sized(150, 1500),
        _killer(crowd, kit.sized(40, 600), kill),
    )


@contextlib.contextmanager
def _own_server() -> Iterator[TestDatabase]:
    """A database on a server of its own, which may crash."""
    config = ServerConfig(bin_dir=str(scratch.test_binaries().bin_dir), durable=False)
    with ephemeral_server(config) as server:
        yield TestDatabase(support.make_template(server.url))


@pytest.mark.slow
def test_the_server_crashes_in_the_middle_of_commands() -> None:
    """A backend dies of SIGKILL: the server throws everybody out, recovers, and goes on."""
    with _own_server() as database:
        crowd = load.Crowd(database, 2, reconnects=True)

        def kill(session: Session, pid: int) -> None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            # Whoever is connected is thrown out, this session too.
            kit.until(lambda: _is_lost(session), "the server throws everybody out")
            session.reconnect()

        _run(database, crowd, kit.sized(150, 1000), _killer(crowd, kit.sized(3, 20), kill))


def _is_lost(session: Session) -> bool:
    try:
        session.do("select 1")
    except psycopg.OperationalError:
        return True
    return False


def test_what_a_killed_backend_held_is_free_at_once(database: TestDatabase) -> None:
    """C19: killed while it holds instance, task and key locks; the next call waits for nobody."""
    kit.deploy(
        database,
        kit.process("letters", "start > go > letter > end", letter=kit.message("letter")),
    )
    database.rows("select * from bpm.start_process('letters', '{}', 'held')")
    with Session(database) as victim, Session(database) as worker, Session(database) as sender:
        (task,) = kit.claim(worker, ["go"])
        victim.begin()
        victim.do(kit.COMPLETE, kit.answer([task], by="victim"))
        running = [
            worker.start(kit.COMPLETE, kit.answer([task], by="worker")),
            sender.start("select * from bpm.correlate_message('letter', 'held', '{}')"),
        ]
        with Session(database) as eye:
            kit.blocked(eye, [worker, sender])
            eye.do("select pg_terminate_backend(%s)", victim.pid)
        answers = kit.settled(running)
        assert answers[0][0]["outcome"] == "Completed"  # type: ignore[index]
        with pytest.raises(psycopg.OperationalError):
            victim.do("commit")
        worker.do("select bpm.run_until_idle()")
    assert database.rows("select i.status from bpm.instance i") == [{"status": "Completed"}]
    assert database.value("select w.variables from bpm_core.workflow_instance w") == {
        "by": "worker"
    }
