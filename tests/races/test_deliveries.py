"""Races about commands: claims, marks, cancels, reconciliations, bounds, order."""

from __future__ import annotations

import itertools
import json
from typing import Any

import psycopg
import pytest
from tests.races import kit
from tests.races.kit import Session
from tests.support.database import TestDatabase

_numbers = itertools.count()
CLAIM = "select c.* from bpm.claim_commands('w', %s) c"
MARK = "select m.outcome::text as outcome, m.state from bpm.mark_commands(%s) m"
CANCEL = "select * from bpm.cancel_process(%s, 'no more')"
RECONCILE = "select r.state from bpm.reconcile_command(%s, %s) r"


def destination(database: TestDatabase, **profile: Any) -> str:
    """A destination of its own and a process that sends to it."""
    code = f"receiver-{next(_numbers)}"
    given = "".join(f", p_{name} => %({name})s" for name in profile)
    database.rows(
        f"select bpm.register_destination(%(code)s, 'http', '{{\"url\": \"http://r.test/\"}}'{given})",
        {"code": code, **profile},
    )
    kit.deploy(
        database,
        kit.process(f"to-{code}", "start > post > rest > end", post=kit.send(destination=code)),
    )
    return code


def order(database: TestDatabase, code: str, key: str | None = None) -> str:
    """One command; its process instance."""
    row = database.rows("select * from bpm.start_process(%s, '{}', %s)", [f"to-{code}", key])[0]
    return str(row["process_instance_id"])


def mark(command: dict[str, Any], outcome: str) -> str:
    item = {
        "command_id": str(command["command_id"]), "fencing_token": command["fencing_token"],
        "outcome": outcome,
    }  # fmt: skip
    return json.dumps([item])


def states(database: TestDatabase, code: str) -> list[str]:
    rows = database.rows(
        "select c.state from bpm.command c where c.destination_code = %s order by c.command_id",
        [code],
    )
    return [row["state"] for row in rows]


# -- deliver × cancel ----------------------------------------------------------------------------


def test_a_cancel_during_a_claim_leaves_the_command_to_its_attempt(database: TestDatabase) -> None:
    code = destination(database)
    process = order(database, code)
    with Session(database) as eye, Session(database) as runner, Session(database) as person:
        with runner.transaction():
            command = runner.one(CLAIM, 10)
            cancelling = person.start(CANCEL, process)
            kit.blocked(eye, [person])
        cancelling.result(kit.PATIENCE)
        assert states(database, code) == ["Sending"]
        assert runner.one(MARK, mark(command, "Sent")) == {"outcome": "Sent", "state": "Sent"}
    assert states(database, code) == ["Sent"]


def test_a_claim_during_a_cancel_finds_nothing(database: TestDatabase) -> None:
    code = destination(database)
    process = order(database, code)
    with Session(database) as runner, Session(database) as person:
        with person.transaction():
            person.do(CANCEL, process)
            assert runner.do(CLAIM, 10) == []
        assert runner.do(CLAIM, 10) == []
    assert states(database, code) == ["Cancelled"]


@pytest.mark.parametrize("cancel_first", [True, False])
@pytest.mark.parametrize(("outcome", "state"), [("Sent", "Sent"), ("NotSent", "Cancelled")])
def test_a_mark_beside_a_cancel(
    database: TestDatabase, cancel_first: bool, outcome: str, state: str
) -> None:
    code = destination(database, max_attempts=5)
    process = order(database, code)
    with Session(database) as eye, Session(database) as runner, Session(database) as person:
        command = runner.one(CLAIM, 10)
        with kit.instances_held(database):
            calls = [(person, (CANCEL, process)), (runner, (MARK, mark(command, outcome)))]
            waiting = []
            for session, call in calls if cancel_first else reversed(calls):
                waiting.append(session.start(*call))
                kit.blocked(eye, [session])
        kit.settled(waiting)
    # What was on its way when its instance was cancelled finishes its own life.
    expected = "Pending" if cancel_first and outcome == "NotSent" else state
    assert states(database, code) == [expected]
    database.rows("update bpm_core.outbox set available_at = '-infinity' where state = 'Pending'")
    with Session(database) as runner:
        for left in runner.do(CLAIM, 10):
            runner.do(MARK, mark(left, "Sent"))


# -- reconcile × late answer ---------------------------------------------------------------------


@pytest.mark.parametrize("person_first", [True, False])
def test_a_late_answer_beside_a_reconciliation(database: TestDatabase, person_first: bool) -> None:
    """Whoever comes first decides; the other is told what stands. Sent is never taken back."""
    code = destination(database)
    order(database, code)
    with Session(database) as eye, Session(database) as runner, Session(database) as person:
        command = runner.one(CLAIM, 10)
        runner.do(MARK, mark(command, "Unknown"))
        with kit.instances_held(database):
            calls = [
                (person, (RECONCILE, command["command_id"], "Failed")),
                (runner, (MARK, mark(command, "Sent"))),
            ]
            waiting = []
            for session, call in calls if person_first else reversed(calls):
                waiting.append(session.start(*call))
                kit.blocked(eye, [session])
        first, second = kit.settled(waiting)
    if person_first:
        assert first == [{"state": "Failed"}]
        assert second == [{"outcome": "Conflict", "state": "Failed"}]
        assert states(database, code) == ["Failed"]
    else:
        assert first == [{"outcome": "Sent", "state": "Sent"}]
        assert isinstance(second, psycopg.Error)
        assert second.sqlstate == "BP409"
        assert states(database, code) == ["Sent"]


ABSENT = (
    "select m.outcome::text as outcome, m.state from bpm.mark_probes("
    "jsonb_build_array(jsonb_build_object('command_id', %s::uuid, 'fencing_token', %s::bigint,"
    " 'outcome', 'Absent'))) m"
)


@pytest.mark.parametrize("probe_first", [True, False])
def test_a_late_answer_beside_a_probe(database: TestDatabase, probe_first: bool) -> None:
    """The receiver says no while the answer of the attempt says yes: it is Sent, and only once."""
    code = destination(
        database, probe_url="http://r.test/{command_id}", absent_means="Pending", backoff="0"
    )
    order(database, code)
    with Session(database) as eye, Session(database) as runner, Session(database) as other:
        command = runner.one(CLAIM, 10)
        runner.do(MARK, mark(command, "Unknown"))
        probe = other.one("select p.* from bpm.claim_probes('w', 10) p")
        with kit.instances_held(database):
            calls = [
                (other, (ABSENT, probe["command_id"], probe["fencing_token"])),
                (runner, (MARK, mark(command, "Sent"))),
            ]
            waiting = []
            for session, call in calls if probe_first else reversed(calls):
                waiting.append(session.start(*call))
                kit.blocked(eye, [session])
        kit.settled(waiting)
        assert states(database, code) == ["Sent"]
        assert runner.do(CLAIM, 10) == []


def absent(database: TestDatabase) -> tuple[str, dict[str, Any]]:
    """A command of which its receiver said, wrongly, that it never came."""
    code = destination(
        database, probe_url="http://r.test/{command_id}", absent_means="Pending", backoff="0"
    )
    order(database, code)
    with Session(database) as runner:
        command = runner.one(CLAIM, 10)
        runner.do(MARK, mark(command, "Unknown"))
        probe = runner.one("select p.* from bpm.claim_probes('w', 10) p")
        runner.do(ABSENT, probe["command_id"], probe["fencing_token"])
    assert states(database, code) == ["Pending"]
    return code, command


def test_a_late_answer_beside_the_claim_that_would_send_it_again(
    fresh_database: TestDatabase,
) -> None:
    """The claim has it, and has not committed: the answer waits, and ends what goes out again."""
    database = fresh_database
    code, command = absent(database)
    with Session(database) as eye, Session(database) as late, Session(database) as other:
        with other.transaction():
            again = other.one(CLAIM, 10)
            assert again["attempt"] == 2
            marking = late.start(MARK, mark(command, "Sent"))
            kit.blocked(eye, [late])
        assert marking.result(kit.PATIENCE) == [{"outcome": "Sent", "state": "Sent"}]
        assert other.one(MARK, mark(again, "NotSent")) == {"outcome": "LeaseLost", "state": "Sent"}
    assert states(database, code) == ["Sent"]
    attempts = database.rows(
        "select a.attempt, a.late, coalesce(a.reported, a.detail ->> 'error') as said"
        " from bpm_core.delivery_attempt a order by a.attempt, a.late"
    )
    assert [tuple(a.values()) for a in attempts] == [
        (1, False, "Unknown"), (1, True, "Sent"), (2, False, "Overtaken"),
    ]  # fmt: skip
    assert database.rows("select * from bpm.check_invariants()") == []


def test_a_claim_beside_a_late_answer_finds_nothing(fresh_database: TestDatabase) -> None:
    database = fresh_database
    code, command = absent(database)
    with Session(database) as late, Session(database) as other:
        with late.transaction():
            assert late.one(MARK, mark(command, "Sent")) == {"outcome": "Sent", "state": "Sent"}
            assert other.do(CLAIM, 10) == []
        assert other.do(CLAIM, 10) == []
    assert states(database, code) == ["Sent"]
    assert database.rows("select * from bpm.check_invariants()") == []


# -- bounds --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bound", [{"max_concurrent": 3}, {"rate_limit": 3, "rate_period": "1 day"}]
)
def test_claims_at_once_keep_within_the_bounds(
    database: TestDatabase, bound: dict[str, Any]
) -> None:
    code = destination(database, **bound)
    for _ in range(12):
        order(database, code)
    with kit.sessions(database, 4) as runners, Session(database) as eye:
        with kit.tables_held(database, "destination_slot"):
            waiting = [runner.start(CLAIM, 2) for runner in runners]
            kit.blocked(eye, runners)
        claimed = [len(rows) for rows in kit.settled(waiting) if isinstance(rows, list)]
        assert sum(claimed) <= 3
        claimed += [len(runner.do(CLAIM, 10)) for runner in runners]
    assert sum(claimed) == 3
    database.rows(
        "update bpm_core.destination set max_concurrent = null, rate_limit = null where code = %s",
        [code],
    )
    with Session(database) as runner:
        for left in runner.do(CLAIM, 100):
            runner.do(MARK, mark(left, "Sent"))


def test_first_claims_of_bounded_destinations_do_not_wait_for_each_other(
    fresh_database: TestDatabase,
) -> None:
    """Each makes the slots of the destinations it comes to, in an order of its own."""
    database = fresh_database
    codes = [destination(database, max_concurrent=2, rate_limit=9) for _ in range(2)]
    for code in codes:
        for _ in range(2):
            order(database, code)
    claim = (
        "select c.commands as rows, c.positions from bpm.claim_commands_at("
        "'w', %s, p_positions => %s::jsonb) c"
    )
    with kit.sessions(database, 2) as (one, two):
        one.begin()
        two.begin()
        first = one.one(claim, 1, None)  # one destination for each of them
        lowest = database.value("select min(d.id::text) from bpm_core.destination d")
        second = two.one(claim, 1, json.dumps({"": {"reached_id": lowest}}))
        mine, others = (claimed["rows"][0]["destination_code"] for claimed in (first, second))
        assert {mine, others} == set(codes)
        # On to the other one, whose slots are being made: not for long enough to wait.
        for session, claimed, code in ((one, first, mine), (two, second, others)):
            more = session.one(claim, 9, json.dumps(claimed["positions"]))["rows"]
            assert [row["destination_code"] for row in more] == [code]
        one.commit()
        two.commit()
    slots = database.rows(
        "select s.kind, count(*) as n from bpm_core.destination_slot s group by s.kind order by 1"
    )
    assert [(row["kind"], row["n"]) for row in slots] == [("Concurrency", 4), ("Rate", 18)]


def test_an_open_breaker_is_tried_by_one(database: TestDatabase) -> None:
    code = destination(database, breaker_threshold=1)
    for _ in range(4):
        order(database, code)
    with kit.sessions(database, 3) as runners:
        (command, *_) = runners[0].do(CLAIM, 1)
        runners[0].do(MARK, mark(command, "NotSent"))
        database.rows("select bpm.advance_clock('20 seconds')")
        runners[0].begin()
        probe = runners[0].do(CLAIM, 10)
        assert len(probe) == 1
        assert runners[1].do(CLAIM, 10) == []  # it is being tried, though nobody sees that yet
        runners[0].commit()
        assert runners[2].do(CLAIM, 10) == []
        runners[0].do(MARK, mark(probe[0], "Sent"))
        rest = runners[1].do(CLAIM, 10)
        assert len(rest) == 3
        for left in rest:
            runners[1].do(MARK, mark(left, "Sent"))


# -- order ---------------------------------------------------------------------------------------


def test_one_that_is_put_to_sleep_is_woken_by_an_end_in_the_same_instant(
    database: TestDatabase,
) -> None:
    """The claim has seen the first under way; the first ends before the claim commits."""
    code = destination(database, ordered=True)
    order(database, code, "K")
    with Session(database) as eye, Session(database) as claimer, Session(database) as marker:
        (first,) = marker.do(CLAIM, 1)
        order(database, code, "K")
        with claimer.transaction():
            assert claimer.do(CLAIM, 10) == []  # the second is put to sleep
            marking = marker.start(MARK, mark(first, "Sent"))
            kit.blocked(eye, [marker])
        assert marking.result(kit.PATIENCE)[0]["state"] == "Sent"
        (second,) = claimer.do(CLAIM, 10)
        claimer.do(MARK, mark(second, "Sent"))
    assert states(database, code) == ["Sent", "Sent"]


def test_claims_at_once_never_hand_out_two_of_a_sequence(database: TestDatabase) -> None:
    code = destination(database, ordered=True)
    for n in range(20):
        order(database, code, f"key-{n % 2}")
    seen = 0
    with kit.sessions(database, 4) as runners, Session(database) as eye:
        for _ in range(10):
            with kit.tables_held(database, "outbox"):
                waiting = [runner.start(CLAIM, 5) for runner in runners]
                kit.blocked(eye, runners)
            rows = [row for rows in kit.settled(waiting) if isinstance(rows, list) for row in rows]
            assert len(rows) == len({row["business_key"] for row in rows}) <= 2
            seen += len(rows)
            for row in rows:
                runners[0].do(MARK, mark(row, "Sent"))
        while rows := runners[0].do(CLAIM, 5):
            seen += len(rows)
            for row in rows:
                runners[0].do(MARK, mark(row, "Sent"))
    assert seen == 20
    sent = database.rows(
        "select c.business_key, c.command_id from bpm.command c where c.destination_code = %s"
        " order by c.ended_at",
        [code],
    )
    for key in ("key-0", "key-1"):
        ids = [str(row["command_id"]) for row in sent if row["business_key"] == key]
        assert ids == sorted(ids)


def test_a_cancellation_that_lasts_keeps_no_tick_waiting(fresh_database: TestDatabase) -> None:
    """The command before the cancelled one is left alone: its lease can run out meanwhile."""
    database = fresh_database  # other tests leave commands behind that are due as well
    database.rows(
        "select from bpm.register_destination('queue', p_config => %s, p_ordered => true)",
        ['{"url": "http://receiver.test/"}'],
    )
    kit.deploy(
        database,
        kit.process(
            "queued", "start > tell > rest > end", tell=kit.send(type="queue"), rest=kit.service()
        ),
    )
    first, second = (
        database.rows("select * from bpm.start_process('queued', '{}', 'K')")[0] for _ in range(2)
    )
    assert len(database.rows("select * from bpm.claim_commands('w', 10)")) == 1
    database.rows("select bpm.advance_clock('1 day')")
    cancel = "select from bpm.cancel_process(%s)"
    with kit.holding(database, cancel, second["process_instance_id"]):
        assert database.rows("select * from bpm.tick(100)")[0]["done"]["commands"] == 1
    state = "select c.state from bpm.command c where c.process_instance_id = %s"
    assert database.value(state, [first["process_instance_id"]]) == "Unknown"
    assert database.value(state, [second["process_instance_id"]]) == "Cancelled"
