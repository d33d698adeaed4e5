"""Events: accepted once, decided once, in order, and by the rules of the moment."""

from __future__ import annotations

import itertools
import json
from typing import Any

import psycopg
import pytest
from tests.races import kit
from tests.races.kit import Row, Session
from tests.support.database import TestDatabase

ACCEPT = "select * from bpm.accept_event('c', %s, %s, %s)"
DISPATCH = "select * from bpm.dispatch_event(%s, %s, %s)"
TICK = "select (done ->> 'events')::integer as events from bpm.tick()"
IGNORE = json.dumps({"action": "Ignore"})
START = json.dumps({"action": "StartProcess", "process_code": "jobs"})
_numbers = itertools.count()


@pytest.fixture(scope="module", autouse=True)
def _processes(database: TestDatabase) -> None:
    kit.deploy(database, kit.process("jobs", "start > job > end"))


def _key(prefix: str = "e") -> str:
    return f"{prefix}-{next(_numbers)}"


def _accepted(database: TestDatabase, kind: str, thread: str | None = None) -> str:
    """Accept an event; its id."""
    row = database.rows(
        "select event_id from bpm.accept_event('c', %s, %s, p_thread_id => %s)",
        [_key(), kind, thread],
    )[0]
    return str(row["event_id"])


def _event(database: TestDatabase, event: str) -> Row:
    return database.rows("select * from bpm.event where event_id = %s", [event])[0]


def _decisions(database: TestDatabase, event: str) -> list[Row]:
    return database.rows("select * from bpm.routing_decision where event_id = %s", [event])


def _code(outcome: list[Row] | psycopg.Error) -> str | None:
    """The SQLSTATE of a call; ``None``: it raised nothing."""
    return outcome.sqlstate if isinstance(outcome, psycopg.Error) else None


# -- accept x accept ----------------------------------------------------------------------------


@pytest.mark.parametrize("first_commits", [True, False])
@pytest.mark.parametrize("same", [True, False])
def test_one_key_at_once(database: TestDatabase, first_commits: bool, same: bool) -> None:
    """The second waits for the first, and gets its answer; if that rolls back, it is the first."""
    key = _key()
    with Session(database) as eye, Session(database) as first, Session(database) as second:
        first.begin()
        answer = first.one(ACCEPT, key, "t", '{"n": 1}')
        running = second.start(ACCEPT, key, "t", '{"n": 1}' if same else '{"n": 2}')
        kit.blocked(eye, [second])
        if first_commits:
            first.commit()
        else:
            first.rollback()
        (other,) = kit.settled([running])
    if first_commits and not same:
        assert _code(other) == "BP409"
    else:
        assert not isinstance(other, psycopg.Error)
        assert other[0]["is_new"] is not first_commits
        assert (other[0]["event_id"] == answer["event_id"]) is first_commits
    assert database.value("select count(*) from bpm.event where provider_event_id = %s", [key]) == 1


def test_batches_that_overlap(database: TestDatabase) -> None:
    """Callers with the same keys in another order wait for each other; none is a victim."""
    keys = [_key("batch") for _ in range(50)]
    items = [{"channel": "c", "provider_event_id": key, "type": "t"} for key in keys]
    with Session(database) as eye, kit.sessions(database, 4) as callers:
        with kit.tables_held(database, "event"):
            running = [
                caller.start(
                    "select is_new, outcome::text from bpm.accept_events(%s)",
                    json.dumps(items if n % 2 else items[::-1]),
                )
                for n, caller in enumerate(callers)
            ]
            kit.blocked(eye, callers)
        answers = kit.settled(running)
    rows = [row for got in answers if not isinstance(got, psycopg.Error) for row in got]
    assert len(rows) == 4 * len(keys)
    assert {row["outcome"] for row in rows} == {"Done"}
    assert sum(row["is_new"] for row in rows) == len(keys)


# -- dispatch x dispatch ------------------------------------------------------------------------


@pytest.mark.parametrize("first_commits", [True, False])
@pytest.mark.parametrize("same", [True, False])
def test_two_people_decide(database: TestDatabase, first_commits: bool, same: bool) -> None:
    """One decision: the second gets its answer if it meant the same, else BP409."""
    event = _accepted(database, "nobody")
    with Session(database) as eye, Session(database) as first, Session(database) as second:
        first.begin()
        answer = first.one(DISPATCH, event, START, "one")
        running = second.start(DISPATCH, event, START if same else IGNORE, "two")
        kit.blocked(eye, [second])
        if first_commits:
            first.commit()
        else:
            first.rollback()
        (other,) = kit.settled([running])
    if first_commits and not same:
        assert _code(other) == "BP409"
    else:
        assert not isinstance(other, psycopg.Error)
        assert other[0]["is_new"] is not first_commits
        if first_commits:
            assert other[0]["process_instance_ids"] == answer["process_instance_ids"]
    (decision,) = _decisions(database, event)
    assert decision["reason"] == ("one" if first_commits else "two")
    started = database.value(
        "select count(*) from bpm.event_link where event_id = %s and how = 'Started'", [event]
    )
    assert started == (0 if not first_commits and not same else 1)


@pytest.mark.parametrize("first_commits", [True, False])
def test_a_person_decides_while_tick_does(database: TestDatabase, first_commits: bool) -> None:
    """The person waits for the tick, and is told what the rules decided; or decides."""
    kind = _key("ruled")
    database.rows(
        "select * from bpm.set_routing_rule(%s, %s, 'StartProcess', p_process_code => 'jobs')",
        [kind, kind],
    )
    event = _accepted(database, kind)
    with Session(database) as eye, Session(database) as runner, Session(database) as person:
        runner.begin()
        assert runner.one(TICK)["events"] >= 1
        running = person.start(DISPATCH, event, IGNORE, "mine")
        kit.blocked(eye, [person])
        if first_commits:
            runner.commit()
        else:
            runner.rollback()
        (other,) = kit.settled([running])
    (decision,) = _decisions(database, event)
    assert _code(other) == ("BP409" if first_commits else None)
    assert decision["reason"] == (f"rule {kind}" if first_commits else "mine")


def test_tick_passes_over_what_a_person_decides(database: TestDatabase) -> None:
    """A tick never waits: what somebody decides just now is not its business."""
    kind = _key("ruled")
    database.rows("select * from bpm.set_routing_rule(%s, %s, 'Ignore')", [kind, kind])
    database.value("select bpm.run_until_idle()")
    event, beside = _accepted(database, kind), _accepted(database, kind)
    with Session(database) as runner, Session(database) as person:
        person.begin()
        person.do(DISPATCH, event, START, "mine")
        assert runner.one(TICK)["events"] == 1
        person.commit()
        runner.do(TICK)
    assert _event(database, beside)["dispatch_state"] == "Ignored"
    assert [row["reason"] for row in _decisions(database, event)] == ["mine"]


def test_many_runners(database: TestDatabase) -> None:
    """Runners that look at the same moment share the events: each is dispatched once."""
    kind = _key("many")
    database.rows(
        "select * from bpm.set_routing_rule(%s, %s, 'StartProcess', p_process_code => 'jobs')",
        [kind, kind],
    )
    events = [_accepted(database, kind) for _ in range(kit.sized(24, 400))]
    with Session(database) as eye, kit.sessions(database, 4) as runners:
        with kit.tables_held(database, "event"):
            running = [
                runner.start(
                    "select (done ->> 'events')::integer as events from bpm.tick(%s)",
                    len(events) // 3,
                )
                for runner in runners
            ]
            kit.blocked(eye, runners)
        kit.settled(running)
        kit.until(lambda: eye.one(TICK)["events"] == 0, "everything is dispatched")
    linked = database.rows(
        "select event_id, count(*) as instances from bpm.event_link where event_id = any (%s)"
        " group by 1",
        [events],
    )
    assert sorted(str(row["event_id"]) for row in linked) == sorted(events)
    assert {row["instances"] for row in linked} == {1}


# -- rules x dispatch ---------------------------------------------------------------------------


def _set_rule(session: Session, kind: str) -> None:
    session.do("select * from bpm.set_routing_rule(%s, %s, 'Ignore')", kind, kind)


@pytest.mark.parametrize("order", ["rule commits last", "tick commits last"])
def test_a_rule_is_set_while_tick_looks(database: TestDatabase, order: str) -> None:
    """An event that found no rule is looked at again, whoever commits last; none is forgotten."""
    kind = _key("rule")
    event = _accepted(database, kind)
    with Session(database) as admin, Session(database) as runner:
        admin.begin()
        runner.begin()
        _set_rule(admin, kind)
        runner.do(TICK)
        if order == "rule commits last":
            runner.commit()
            assert _event(database, event)["reason"] == "NoRule"
            admin.commit()
        else:
            admin.commit()
            runner.commit()
            assert _event(database, event)["reason"] == "NoRule"
        runner.do(TICK)
    assert _event(database, event)["dispatch_state"] == "Ignored"


def test_a_test_that_can_fail(fresh_database: TestDatabase) -> None:
    """Without the version of the rules the event would wait for ever."""
    kit.mutate(
        fresh_database,
        "bpm_core.touch_rules(text)",
        r"do update set rules_version = s.rules_version \+ 1",
        "do update set rules_version = s.rules_version",
    )
    fresh_database.rows("select * from bpm.set_routing_rule('first', 'first', 'Ignore')")
    event = _accepted(fresh_database, "second")
    with Session(fresh_database) as runner:
        runner.do(TICK)
        _set_rule(runner, "second")
        runner.do(TICK)
    assert _event(fresh_database, event)["reason"] == "NoRule"


@pytest.mark.parametrize("first_commits", [True, False])
def test_two_admins(database: TestDatabase, first_commits: bool) -> None:
    """Changes of rules come one after the other."""
    code = _key("admins")
    query = "select is_new from bpm.set_routing_rule(%s, %s, %s)"
    with Session(database) as eye, Session(database) as first, Session(database) as second:
        first.begin()
        assert first.one(query, code, code, "Ignore")["is_new"]
        running = second.start(query, code, code, "AskHuman")
        kit.blocked(eye, [second])
        if first_commits:
            first.commit()
        else:
            first.rollback()
        assert running.result()[0]["is_new"] is not first_commits
    rules = database.rows("select action from bpm.routing_rule where code = %s", [code])
    assert [row["action"] for row in rules] == ["AskHuman"]


# -- threads ------------------------------------------------------------------------------------


@pytest.mark.parametrize("first_commits", [True, False])
def test_a_thread_over_two_runners(database: TestDatabase, first_commits: bool) -> None:
    """While one runner dispatches an event nobody dispatches the next of its thread."""
    kind, thread = _key("thread"), _key("thread")
    with Session(database) as admin:
        _set_rule(admin, kind)
    with Session(database) as one, Session(database) as two:
        first = _accepted(database, kind, thread)
        one.begin()
        assert one.one(TICK)["events"] >= 1
        second = _accepted(database, kind, thread)
        two.do(TICK)
        state = _event(database, second)
        assert (state["dispatch_state"], state["reason"]) == ("Pending", "Thread")
        if first_commits:
            one.commit()
        else:
            one.rollback()
        kit.until(
            lambda: (
                two.one("select bpm.advance_clock('1 second') is not null as moved")
                and two.one(TICK)
                and _event(database, second)["dispatch_state"] == "Ignored"
            ),
            "the second is dispatched",
        )
        two.do("select bpm.reset_clock()")
    order: list[Any] = database.rows(
        "select event_id from bpm.event where thread_id = %s order by decided_at, occurred_at",
        [thread],
    )
    assert [str(row["event_id"]) for row in order] == [first, second]


# -- message keys -------------------------------------------------------------------------------


def test_a_key_that_somebody_holds(database: TestDatabase) -> None:
    """A tick leaves such an event for later; who decides by hand waits for the key."""
    kind, key = _key("keyed"), _key("key")
    database.rows(
        "select * from bpm.set_routing_rule(%s, %s, 'Correlate', p_message_name => 'm',"
        " p_correlation_path => 'payload.key')",
        [kind, kind],
    )
    events = [
        str(
            database.value(
                "select event_id from bpm.accept_event('c', %s, %s, %s)",
                [_key(), kind, json.dumps({"key": key})],
            )
        )
        for _ in range(2)
    ]
    decision = json.dumps({"action": "Correlate", "message_name": "m", "correlation_key": key})
    with Session(database) as eye, Session(database) as sender, Session(database) as person:
        sender.begin()
        sender.do("select from bpm.correlate_message('m', %s)", key)
        running = person.start(DISPATCH, events[1], decision, "mine")
        kit.blocked(eye, [person])
        eye.do(TICK)
        assert _event(database, events[0])["reason"] == "Busy"
        sender.commit()
        assert running.result()[0]["dispatch_state"] == "Dispatched"
        eye.do("select bpm.advance_clock('2 seconds')")
        eye.do(TICK)
        eye.do("select bpm.reset_clock()")
    assert _event(database, events[0])["dispatch_state"] == "Dispatched"
    names = [f"event:{event}:1" for event in events]
    count = "select count(*) from bpm.message where message_id = any (%s)"
    assert database.value(count, [names]) == 2


@pytest.mark.parametrize(
    ("made", "closed"),
    [
        ("select * from bpm.start_process('routed', p_business_key => 'held')", False),
        ("select * from bpm.open_case('held')", False),
        ("select * from bpm.open_case('held')", True),
        ("select * from bpm.open_case('held'); select * from bpm.close_case('held')", True),
        ("select * from bpm.close_case('held')", False),
    ],
)
def test_a_case_that_somebody_is_making_stops_only_its_events(
    fresh_database: TestDatabase, made: str, closed: bool
) -> None:
    """A host may start under a key in a transaction that lasts: a tick does not wait for it."""
    kit.deploy(fresh_database, kit.process("routed", "start > go > end"))
    fresh_database.rows(
        "select * from bpm.set_routing_rule('r', 't', 'StartProcess', p_process_code => 'routed',"
        " p_business_key_path => 'payload.k')"
    )
    if closed or "close_case" in made:
        fresh_database.rows("select * from bpm.open_case('held')")
    if closed:
        fresh_database.rows("select * from bpm.close_case('held')")
    states = "select provider_event_id as e, dispatch_state || coalesce(reason, '') as s"
    states += " from bpm.event order by 1"
    with Session(fresh_database) as ticker:
        with kit.holding(fresh_database, made):
            ticker.do(
                "select * from bpm.accept_events(%s)",
                json.dumps(
                    [
                        {
                            "channel": "c",
                            "provider_event_id": key,
                            "type": "t",
                            "payload": {"k": key},
                        }
                        for key in ("free", "held", "more")
                    ]
                ),
            )
            ticker.do("select * from bpm.tick()")
            assert [tuple(row.values()) for row in ticker.do(states)] == [
                ("free", "Dispatched"),
                ("held", "PendingBusy"),
                ("more", "Dispatched"),
            ]
        ticker.do("update bpm_core.event set available_at = now() where reason = 'Busy'")
        ticker.do("select * from bpm.tick()")
        assert {row["s"] for row in ticker.do(states)} == {"Dispatched"}
    assert not fresh_database.rows("select * from bpm.check_invariants()")


START_UNDER = "select * from bpm.start_process('jobs', p_business_key => %s)"
CLOSE = "select * from bpm.close_case(%s)"
CASE = "select c.state from bpm.business_case c where c.business_key = %s"


@pytest.mark.parametrize("first_commits", [True, False])
@pytest.mark.parametrize("closed_before", [False, True])
def test_a_start_whose_case_is_being_closed(
    database: TestDatabase, first_commits: bool, closed_before: bool
) -> None:
    """Who closes a case waits for starts under its key that are under way, and sees them."""
    key = _key("case")
    database.rows("select * from bpm.open_case(%s)", [key])
    if closed_before:
        database.rows(CLOSE, [key])
    with Session(database) as starter, Session(database) as closer, Session(database) as eye:
        starter.begin()
        starter.do(START_UNDER, key)
        running = closer.start(CLOSE, key)
        kit.blocked(eye, [closer])
        (starter.commit if first_commits else starter.rollback)()
        (answer,) = kit.settled([running])
        assert _code(answer) == ("BP409" if first_commits else None)
        assert eye.one(CASE, key)["state"] == ("Open" if first_commits else "Closed")
    kit.run_out(database, ["job"])


@pytest.mark.parametrize("first_commits", [True, False])
def test_a_case_that_is_closed_while_something_starts(
    database: TestDatabase, first_commits: bool
) -> None:
    """A start under the key of a case that is being closed waits, and opens it again."""
    key = _key("case")
    database.rows("select * from bpm.open_case(%s)", [key])
    with Session(database) as closer, Session(database) as starter, Session(database) as eye:
        closer.begin()
        closer.do(CLOSE, key)
        running = starter.start(START_UNDER, key)
        kit.blocked(eye, [starter])
        (closer.commit if first_commits else closer.rollback)()
        (rows,) = kit.settled([running])
        assert isinstance(rows, list), rows
        assert eye.one(CASE, key)["state"] == "Open"
        opened = "select count(*) as n from bpm_core.audit_event a where a.action = 'OpenCase'"
        opened += " and a.reason = 'something started under its key' and a.aggregate_id ="
        opened += " (select c.id::text from bpm_core.business_case c where c.business_key = %s)"
        assert eye.one(opened, key)["n"] == first_commits
    kit.run_out(database, ["job"])


def test_starts_under_one_case_do_not_wait_for_each_other(database: TestDatabase) -> None:
    """What keeps a case from being closed keeps nobody from starting under it."""
    key = _key("case")
    with Session(database) as one, Session(database, lock_timeout="2s") as other:
        database.rows("select * from bpm.open_case(%s)", [key])
        one.begin()
        one.do(START_UNDER, key)
        assert other.do(START_UNDER, key)
        one.commit()
    kit.run_out(database, ["job"])


def test_two_decisions_about_the_same_new_cases(database: TestDatabase) -> None:
    """Each starts under one new key and attaches to the other's: they take turns."""
    kit.deploy(database, kit.process("crossed", "start > go > end"))
    ids = [
        row["event_id"]
        for n in range(2)
        for row in database.rows("select * from bpm.accept_event('x', %s, 'crossed')", [str(n)])
    ]
    keys = ["crossed-a", "crossed-b"]
    decide = "select * from bpm.dispatch_event(%s, %s)"
    with Session(database) as observer, kit.sessions(database, 2) as people:
        with kit.holding(database, "lock table bpm_core.business_case in share mode"):
            running = [
                person.start(
                    decide,
                    event,
                    json.dumps(
                        {
                            "actions": [
                                {
                                    "action": "StartProcess",
                                    "process_code": "crossed",
                                    "business_key": first,
                                },
                                {
                                    "action": "Correlate",
                                    "message_name": first,
                                    "business_key": second,
                                },
                            ]
                        }
                    ),
                )
                for person, event, (first, second) in zip(
                    people, ids, (keys, keys[::-1]), strict=True
                )
            ]
            kit.blocked(observer, people)
        assert [rows[0]["dispatch_state"] for rows in kit.settled(running)] == [  # type: ignore[index]
            "Dispatched"
        ] * 2
