"""What has had its time is removed while others still work on it (decision 0036)."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import psycopg
import pytest
from tests.races import kit, load
from tests.races.kit import COMPLETE, Row, Session, claim
from tests.support.database import TestDatabase

REMOVE = "select * from bpm.maintain_tenant('instances', %s)"


@pytest.fixture(scope="module", autouse=True)
def _processes(database: TestDatabase) -> None:
    kit.deploy(
        database,
        kit.process("brief", "start > go > end"),
        kit.process("frail", "start > try > end", **{"try": kit.service(approval="required")}),
        kit.process(
            "caller", "start > call > end", call='<callActivity {id} calledElement="brief"/>'
        ),
    )
    database.rows("select bpm.set_setting('retention.instance_days', '0')")


def _ended(database: TestDatabase, code: str = "brief", key: str | None = None) -> Row:
    """A process instance that has ended: its ids, and those of its task."""
    (row,) = database.rows(
        "select * from bpm.start_process(%s, p_idempotency_key => %s)", [code, key]
    )
    with Session(database) as worker:
        (task,) = claim(worker, ["go"], 1)
        worker.do(COMPLETE, json.dumps([kit.held(task)]))
    return {**row, **kit.held(task)}


def _refused(database: TestDatabase) -> Row:
    """One that failed: an approval was refused, and its dead letter is open."""
    (row,) = database.rows("select * from bpm.start_process('frail')")
    (approval,) = database.rows(
        "select a.approval_id from bpm.approval a where a.workflow_instance_id = %s",
        [row["workflow_instance_id"]],
    )
    database.rows("select bpm.decide_approval(%s, 'Rejected')", [approval["approval_id"]])
    database.rows("select bpm.run_until_idle()")
    (letter,) = database.rows(
        "select d.dead_letter_id from bpm.dead_letter d where d.state = 'Open'"
        " and d.workflow_instance_id = %s",
        [row["workflow_instance_id"]],
    )
    return {**row, **letter}


def _left(database: TestDatabase, row: Row) -> bool:
    return bool(
        database.value(
            "select count(*) from bpm.instance i where i.process_instance_id = %s",
            [row["process_instance_id"]],
        )
    )


ITEM = '\'[{{"task_id": "{task_id}", "fencing_token": {fencing_token}{more}}}]\''
"""What a worker says of its task."""
LATE: dict[str, tuple[str, bool, set[str]]] = {
    # what somebody calls while its instance is being removed, whether it waits, the answers
    "complete": (
        "select outcome::text as said from bpm.complete_tasks({item})",
        True,
        {"NotFound"},
    ),
    "fail": ("select outcome::text as said from bpm.fail_tasks({item})", True, {"NotFound"}),
    "extend": ("select outcome::text as said from bpm.extend_leases({item})", True, {"NotFound"}),
    "cancel": ("select bpm.cancel_process('{process_instance_id}')", True, {"BP404"}),
    "set": ("select bpm.set_variables('{process_instance_id}', '{{}}')", True, {"BP404", "BP409"}),
    "start again": (
        "select s.status as said from bpm.start_process('brief', p_idempotency_key => '{key}') s",
        False,
        {"Completed"},
    ),
    "trail": (
        "select t.kind as said from bpm.get_trail('{process_instance_id}') t"
        " order by t.seq desc limit 1",
        False,
        {"InstanceCompleted"},
    ),
    "show": (
        "select 'seen' as said from bpm.get_process('{process_instance_id}')",
        False,
        {"seen"},
    ),
}


@pytest.mark.parametrize("name", LATE)
def test_late_callers(database: TestDatabase, name: str) -> None:
    """Whoever moves an instance waits for the one who removes it; who looks sees it whole."""
    call, waits, answers = LATE[name]
    row = {"key": f"late-{name}"} | _ended(database, key=f"late-{name}")
    more = ', \\"error\\": \\"x\\"' if name == "fail" else ""
    query = call.replace("{item}", ITEM).format(**row, more=more.replace("\\", ""))
    with Session(database) as eye, Session(database) as remover, Session(database) as late:
        remover.begin()
        assert remover.one(REMOVE, 100)["removed"] == 1
        running = late.start(query)
        if waits:
            kit.blocked(eye, [late])
        else:
            running.result(kit.PATIENCE)
        remover.commit()
        (answer,) = kit.settled([running])
    said = answer.sqlstate if isinstance(answer, psycopg.Error) else answer[0]["said"]
    assert said in answers
    assert not _left(database, row)
    again = query if name == "start again" else "select 'Completed' as said"
    assert database.value(again) == "Completed"


@pytest.mark.parametrize("attach", ["evidence", "answer", "approval", "letter"])
def test_in_use(database: TestDatabase, attach: str) -> None:
    """What somebody has in a transaction is passed over, without waiting, and goes later."""
    row = _ended(database) if attach in ("evidence", "answer") else _refused(database)
    piece = json.dumps([{"object_key": f"use-{attach}", "sha256": "ab" * 32}])
    with Session(database) as user, Session(database) as remover:
        user.begin()
        if attach == "evidence":
            user.do("select from bpm.attach_evidence(%s, %s)", piece, row["task_id"])
        elif attach == "answer":
            user.do(COMPLETE, json.dumps([kit.held(row)]))
        elif attach == "approval":
            user.do(
                "select from bpm_core.workflow_instance w where w.id = %s for no key update",
                row["workflow_instance_id"],
            )
        else:
            user.do("select bpm.discard_dead_letter(%s)", row["dead_letter_id"])
        page = remover.one(REMOVE, 100)
        assert (page["outcome"], page["removed"], page["kept"]) == ("Done", 0, 1)
        # Nobody's lock is asked for by who only closes a letter: it is still open, then.
        assert page["reasons"] == {"dead_letter" if attach == "letter" else "busy": 1}
        user.commit()
        if attach == "approval":
            assert remover.one(REMOVE, 100)["reasons"] == {"dead_letter": 1}
            remover.do("select bpm.discard_dead_letter(%s)", row["dead_letter_id"])
        assert remover.one(REMOVE, 100)["removed"] == 1
    assert not _left(database, row)


def test_two_removers(database: TestDatabase) -> None:
    """One is at it, the other is told so; a call that was undone is made again."""
    row = _ended(database)
    with Session(database) as one, Session(database) as other:
        one.begin()
        assert one.one(REMOVE, 1)["removed"] == 1
        assert other.one(REMOVE, 1)["outcome"] == "Busy"
        one.rollback()
        assert _left(database, row)
        assert other.one(REMOVE, 1)["removed"] == 1


def test_a_call_that_ends(database: TestDatabase) -> None:
    """A child that has ended stays while its caller has not heard of it, or not ended."""
    (row,) = database.rows("select * from bpm.start_process('caller')")
    database.rows("select bpm.run_until_idle()")
    with Session(database) as worker, Session(database) as remover:
        (task,) = claim(worker, ["go"], 1)
        worker.do(COMPLETE, json.dumps([kit.held(task)]))
        assert remover.one(REMOVE, 100)["removed"] == 0
        worker.begin()
        worker.do("select bpm.run_until_idle()")
        assert remover.one(REMOVE, 100)["removed"] == 0
        worker.commit()
        assert remover.one(REMOVE, 100)["rows"]["workflow_instance"] == 2
    assert not _left(database, row)


def test_history_in_use(fresh_database: TestDatabase) -> None:
    """A month is detached only when nobody reads history; nobody waits for it longer than that."""
    fresh_database.rows("select bpm.set_setting('retention.history_months', '1')")
    fresh_database.rows("select bpm.advance_clock('62 days')")
    with Session(fresh_database) as reader, Session(fresh_database) as remover:
        reader.begin()
        reader.do("select count(*) from bpm.history")
        with pytest.raises(psycopg.Error) as refused:
            remover.do("select * from bpm.maintain_history()")
        assert refused.value.sqlstate == "BP503"
        reader.commit()
        assert remover.one("select * from bpm.maintain_history()")["action"] == "Detached"
        assert remover.one("select * from bpm.maintain_history()")["action"] == "Dropped"


class Removing(load.Everything):
    """Everybody, and somebody who removes whatever has ended, of which he makes more."""

    def remover(self, session: Session, chance: random.Random) -> None:
        """Page after page, while all the others go on."""
        for _ in range(self.rounds):
            self.crowd.call(session, "select from bpm.start_process('brief')")
            for task in claim(session, ["go"], 10):
                self.crowd.call(session, COMPLETE, json.dumps([kit.held(task)]))
            rows = self.crowd.call(session, REMOVE, chance.choice([1, 3, 50]))
            for row in rows or []:
                self.crowd.count("removed", row["removed"])
                for reason, times in row["reasons"].items():
                    self.crowd.count(f"kept: {reason}", times)

    def everybody(self) -> list[Callable[[Session, random.Random], None]]:
        """All of them, the remover twice."""
        return [*super().everybody(), self.remover, self.remover]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(kit.sized(1, 20)))
def test_removing_in_the_middle_of_it(
    fresh_database: TestDatabase, seed: int, record_property: Callable[[str, object], None]
) -> None:
    """Nobody is disturbed, what lives ends as before, and then everything can go."""
    load.deploy_everything(fresh_database)
    kit.deploy(fresh_database, kit.process("brief", "start > go > end"))
    fresh_database.rows("select bpm.set_setting('retention.instance_days', '0')")
    crowd = load.Crowd(fresh_database, seed)
    crowd.run(*Removing(crowd, kit.sized(120, 400)).everybody())
    print(f"removing, seed {seed}: {dict(sorted(crowd.counts.items()))}")
    record_property("removing", dict(crowd.counts))
    assert not crowd.over, (crowd.errors, crowd.wrong)
    assert crowd.counts["deadlocks"] == crowd.counts["lock timeouts"] == 0, crowd.counts
    assert crowd.counts["removed"] > 50, crowd.counts
    fresh_database.audit()
    load.finish(fresh_database, load.EVERYTHING_TYPES)
    settle(fresh_database)
    fresh_database.rows(REMOVE, [10000])  # the end of the pass that was under way
    page = fresh_database.rows(REMOVE, [10000])[0]
    assert (page["outcome"], page["reasons"]) == ("Done", {}), page
    for table in ("process_instance", "workflow_instance", "token", "task_instance", "outbox"):
        assert fresh_database.value(f"select count(*) from bpm_core.{table}") == 0, table


def settle(database: TestDatabase) -> None:
    """Close what only people close, and let time pass for the rest."""
    with Session(database) as session:
        for _ in range(50):
            session.do("select bpm.advance_clock('1 hour')")
            session.do("select bpm.run_until_idle()")
            for row in session.do("select c.* from bpm.claim_commands('w', 100) c"):
                session.do(
                    "select from bpm.mark_commands(%s)",
                    json.dumps(
                        [
                            {
                                "command_id": str(row["command_id"]),
                                "fencing_token": row["fencing_token"],
                                "outcome": "Sent",
                                "receipt": {"id": 1},
                            }
                        ]
                    ),
                )
            for row in session.do(
                "select c.command_id from bpm.command c where c.state in ('Unknown', 'Manual')"
            ):
                session.do("select bpm.reconcile_command(%s, 'Sent')", row["command_id"])
            for row in session.do("select d.* from bpm.dead_letter d where d.state = 'Open'"):
                session.do("select bpm.discard_dead_letter(%s)", row["dead_letter_id"])
            if not session.do(
                "select from bpm.command c where c.state not in ('Sent', 'Failed', 'Cancelled')"
                " union all select from bpm.dead_letter d where d.state = 'Open'"
            ):
                break
        session.do("select bpm.advance_clock('100 days')")  # message ids are forgotten
