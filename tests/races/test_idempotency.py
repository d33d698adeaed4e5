"""Every call that creates: repeated in turn and at once, with the same and another payload (I-18).

``CREATE`` is the list of them, and how a repeat is known. ``OTHERS`` are the calls that create
nothing one could have twice. A public function that changes something stands in one of the two: a
new one is missing here until somebody has thought about its repeats.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from tests.races import kit
from tests.races.kit import Session
from tests.support.database import TestDatabase

CALLERS = 4


@dataclass(frozen=True)
class Call:
    """One creating call, ``{n}`` in it drawn anew by each test.

    ``known`` says how a repeat is known: by its "key" (another payload is BP409), by its
    "content" (another payload is another thing), or by the "name" of what it declares (another
    payload changes that). ``other`` is the call with another payload. ``first`` is done before.
    """

    known: str
    sql: str
    other: str
    first: tuple[str, ...] = ()


def _piece(name: str) -> str:
    sha256 = hashlib.sha256(name.encode()).hexdigest()
    return json.dumps([{"object_key": name + "-{n}", "sha256": sha256}]).replace("'", "''")


def _flow(task: str) -> str:
    return kit.process("idem{n}", f"start > {task} > end").replace("'", "''")


CREATE: dict[str, Call] = {
    "start_process": Call(
        "key",
        "select * from bpm.start_process('again', '{\"a\": 1}', p_idempotency_key => 'k{n}')",
        "select * from bpm.start_process('again', '{\"a\": 2}', p_idempotency_key => 'k{n}')",
    ),
    "start_processes": Call(
        "key",
        'select * from bpm.start_processes(\'[{"code": "again", "idempotency_key": "s{n}"}]\')',
        "select * from bpm.start_processes("
        '\'[{"code": "again", "idempotency_key": "s{n}", "business_key": "B"}]\')',
    ),
    "restart_process": Call(
        "key",
        "select * from bpm.restart_process((select i.process_instance_id from bpm.instance i"
        " where i.business_key = 'r{n}' and i.status = 'Cancelled'), p_idempotency_key => 'r{n}')",
        "select * from bpm.restart_process((select i.process_instance_id from bpm.instance i"
        " where i.business_key = 'r{n}' and i.status = 'Cancelled'), 'go',"
        " p_idempotency_key => 'r{n}')",
        (
            "select bpm.cancel_process(s.process_instance_id)"
            " from bpm.start_process('again', '{}', 'r{n}') s",
        ),
    ),
    "correlate_message": Call(
        "key",
        "select * from bpm.correlate_message('m', 'c', '{\"a\": 1}', p_message_id => 'm{n}')",
        "select * from bpm.correlate_message('m', 'c', '{\"a\": 2}', p_message_id => 'm{n}')",
    ),
    "broadcast_signal": Call(
        "key",
        "select * from bpm.broadcast_signal('s', '{\"a\": 1}', p_idempotency_key => 'g{n}')",
        "select * from bpm.broadcast_signal('s', '{\"a\": 2}', p_idempotency_key => 'g{n}')",
    ),
    "attach_evidence": Call(
        "content",
        f"select * from bpm.attach_evidence('{_piece('a')}')",
        f"select * from bpm.attach_evidence('{_piece('b')}')",
    ),
    "deploy_bpmn": Call(
        "content",
        f"select code, version, is_new from bpm.deploy_bpmn('{_flow('a')}')",
        f"select code, version, is_new from bpm.deploy_bpmn('{_flow('b')}')",
    ),
    "publish_role": Call(
        "content",
        "select * from bpm.publish_role('r{n}')",
        "select * from bpm.publish_role('r{n}', '{\"responsibilities\": [\"look\"]}')",
    ),
    "publish_task": Call(
        "content",
        "select * from bpm.publish_task('t{n}')",
        "select * from bpm.publish_task('t{n}', p_max_attempts => 7)",
    ),
    "publish_workflow": Call(
        "content",
        f"select * from bpm.publish_workflow('w{{n}}', '{_flow('a')}')",
        f"select * from bpm.publish_workflow('w{{n}}', '{_flow('b')}')",
    ),
    "publish_process": Call(
        "content",
        "select * from bpm.publish_process('p{n}',"
        ' \'[{"binding_key": "a", "workflow": "again"}]\')',
        "select * from bpm.publish_process('p{n}',"
        ' \'[{"binding_key": "b", "workflow": "again"}]\')',
    ),
    "accept_event": Call(
        "key",
        "select * from bpm.accept_event('chat', 'e{n}', 'said', '{\"a\": 1}')",
        "select * from bpm.accept_event('chat', 'e{n}', 'said', '{\"a\": 2}')",
    ),
    "accept_events": Call(
        "key",
        'select * from bpm.accept_events(\'[{"channel": "chat", "provider_event_id": "f{n}",'
        ' "type": "said"}]\')',
        'select * from bpm.accept_events(\'[{"channel": "chat", "provider_event_id": "f{n}",'
        ' "type": "sung"}]\')',
    ),
    "dispatch_event": Call(
        "key",
        "select * from bpm.dispatch_event((select event_id from bpm.event"
        " where provider_event_id = 'd{n}'), '{\"action\": \"Ignore\"}', 'spam')",
        "select * from bpm.dispatch_event((select event_id from bpm.event"
        " where provider_event_id = 'd{n}'),"
        ' \'{"action": "StartProcess", "process_code": "again"}\')',
        ("select * from bpm.accept_event('chat', 'd{n}', 'said')",),
    ),
    "send_again": Call(
        "key",
        "select * from bpm.send_again((select min(c.command_id::text)::uuid from bpm.command c"
        " where c.business_key = 'a{n}'), 'got lost', 'a{n}')",
        "select * from bpm.send_again((select min(c.command_id::text)::uuid from bpm.command c"
        " where c.business_key = 'a{n}'), 'was burnt', 'a{n}')",
        (
            "select * from bpm.start_process('telling', '{}', 'a{n}')",
            "select * from bpm.mark_commands((select jsonb_agg(jsonb_build_object("
            "  'command_id', c.command_id, 'fencing_token', c.fencing_token, 'outcome', 'Sent',"
            "  'receipt', '{}'::jsonb)) from bpm.claim_commands('w', 10) c))",
        ),
    ),
    "open_case": Call(
        "content",
        "select * from bpm.open_case('c{n}')",
        "select * from bpm.open_case('c{n}-other')",
    ),
    "set_routing_rule": Call(
        "name",
        "select * from bpm.set_routing_rule('r{n}', 'x.{n}', 'AskHuman')",
        "select * from bpm.set_routing_rule('r{n}', 'y.{n}', 'AskHuman')",
    ),
    "subscribe_events": Call(
        "name",
        "select * from bpm.subscribe_events('e{n}')",
        "select * from bpm.subscribe_events('e{n}', p_process_code => 'again')",
    ),
    "link_session": Call(
        "name",
        "select * from bpm.link_session('chat', 's{n}')",
        "select * from bpm.link_session('chat', 's{n}', 'g')",
    ),
    "create_tenant": Call(
        "name",
        "select * from bpm.create_tenant('One', 't{n}')",
        "select * from bpm.create_tenant('Two', 't{n}')",
    ),
    "grant_access": Call(
        "name",
        "select * from bpm.grant_access(session_user::text, 'g{n}', 'reader')",
        "select * from bpm.grant_access(session_user::text, 'g{n}', 'worker')",
    ),
    "register_destination": Call(
        "name",
        "select * from bpm.register_destination('d{n}', p_config => '{\"url\": \"http://a/\"}')",
        "select * from bpm.register_destination('d{n}', p_config => '{\"url\": \"http://b/\"}')",
    ),
    "set_setting": Call(
        "name",
        "select * from bpm.set_setting('engine.loop_budget', '5{n}')",
        "select * from bpm.set_setting('engine.loop_budget', '6{n}')",
    ),
}

OTHERS = {
    # the key of a comment is in tests/pgtap/50_work/delegate_user_task.sql
    *("assign_user_task", "comment_user_task", "delegate_user_task", "resolve_user_task"),
    *("decide_review", "set_user_task"),
    # work on what is there; its state, fence or version knows a repeat
    *("apply_approval_effects", "cancel_process", "claim_commands", "claim_commands_at"),
    *("archive_definition", "claim_probes", "close_case", "delete_definition"),
    *("claim_domain_events", "delete_routing_rule", "deprecate_process", "mark_probes"),
    *("mark_published", "turn_destination", "unsubscribe_events"),
    *("claim_approval", "claim_tasks", "claim_tasks_at", "claim_user_task", "complete_task"),
    *("complete_tasks", "unclaim_approval"),
    *("complete_user_task", "decide_approval", "discard_dead_letter", "extend_leases"),
    *("fail_task", "fail_tasks", "mark_commands", "migrate_process", "migrate_processes"),
    *("move_token", "purge_evidence", "reconcile_command", "release_tasks"),
    *("requeue_dead_letter", "resolve_incident", "resume_process", "resume_tenant"),
    *("set_task_quota", "set_tenant_quota", "set_tenant_weight"),
    *("revoke_access", "set_variables", "skip_node", "suspend_process", "suspend_tenant"),
    *("throw_error", "throw_user_task_error", "unclaim_user_task"),
    # keep time, upkeep
    *("maintain_domain_events", "maintain_history", "maintain_keys", "maintain_partitions"),
    *("maintain_tenant", "run_until_idle", "tick"),
    # change foreign keys; tests/pgtap/80_operation/attach_identity.sql
    *("attach_identity", "detach_identity", "validate_identity"),
}

_drawn = iter(range(1000))


@pytest.fixture(scope="module", autouse=True)
def _processes(database: TestDatabase) -> None:
    database.rows(
        "select bpm.register_destination('far', p_config => '{\"url\": \"http://far.test/\"}')"
    )
    kit.deploy(
        database,
        kit.process("again", "start > go > end"),
        kit.process("telling", "start > tell > end", tell=kit.send(destination="far")),
    )


@pytest.fixture
def n() -> int:
    """A number for names that no other test uses."""
    return next(_drawn)


def _rows(database: TestDatabase) -> int:
    """How many rows all tables of the engine have, but for the audit, which keeps repeats too."""
    return int(
        database.value(
            "select sum((xpath('/row/n/text()', query_to_xml("
            "         format('select count(*) as n from %s', c.oid::regclass), false, true, '')"
            "       ))[1]::text::bigint)"
            "  from pg_class c where c.relnamespace = 'bpm_core'::regnamespace"
            "   and c.relkind = 'r' and c.relname <> 'audit_event'"
        )
    )


def _of(sql: str, n: int) -> str:
    return sql.replace("{n}", str(n))


def _answer(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What must be the same in every answer."""
    return [{k: v for k, v in row.items() if k not in ("is_new", "moved")} for row in rows]


def test_none_is_forgotten(database: TestDatabase) -> None:
    changing = {
        row["name"]
        for row in database.rows(
            "select distinct p.proname::text as name from pg_proc p"
            " where p.pronamespace = 'bpm'::regnamespace and p.provolatile = 'v'"
            "   and p.proname !~ '_clock$'"
        )
    }
    assert changing - set(CREATE) - OTHERS == set(), "does a repeat create it twice?"
    assert set(CREATE) | OTHERS == changing
    assert not set(CREATE) & OTHERS


@pytest.mark.parametrize("function", CREATE)
def test_in_turn(database: TestDatabase, function: str, n: int) -> None:
    """A repeat has the same answer and no effect; another payload conflicts if a key knows it."""
    call = CREATE[function]
    with Session(database) as caller:
        for sql in call.first:
            caller.do(_of(sql, n))
        first = caller.do(_of(call.sql, n))
        rows = _rows(database)
        assert _answer(caller.do(_of(call.sql, n))) == _answer(first)
        assert _rows(database) == rows
        if call.known == "key":
            if function in ("start_processes", "accept_events"):
                assert [row["outcome"] for row in caller.do(_of(call.other, n))] == ["Conflict"]
            else:
                with pytest.raises(psycopg.DatabaseError) as conflict:
                    caller.do(_of(call.other, n))
                assert conflict.value.sqlstate == "BP409"
            assert _rows(database) == rows
        else:
            other = caller.do(_of(call.other, n))
            if call.known == "content":
                assert _answer(other) != _answer(first)
                assert _rows(database) > rows
        assert _answer(caller.do(_of(call.sql, n))) == _answer(first)


@pytest.mark.parametrize("function", CREATE)
def test_at_once(database: TestDatabase, function: str, n: int) -> None:
    """Callers at once wait for the first, and get its answer; there is one effect."""
    call = CREATE[function]
    with (
        Session(database) as eye,
        Session(database) as first,
        kit.sessions(database, CALLERS) as others,
    ):
        for sql in call.first:
            first.do(_of(sql, n))
        first.begin()
        answer = first.do(_of(call.sql, n))
        running = [other.start(_of(call.sql, n)) for other in others]
        kit.blocked(eye, others)
        first.commit()
        rows = _rows(database)
        for answered in kit.settled(running):
            assert isinstance(answered, list), answered
            assert _answer(answered) == _answer(answer)
            assert not any(row.get("is_new", False) for row in answered)
        assert _rows(database) == rows


def test_expired_keys(database: TestDatabase) -> None:
    """A key counts until it is forgotten; two who forget at once share the work."""
    sql = "select * from bpm.broadcast_signal('s', p_idempotency_key => 'old')"
    with Session(database) as caller, Session(database) as other:
        first = caller.one(sql)
        caller.do(
            "update bpm_core.idempotency_key set expires_at = now() - interval '1 day'"
            " where key = 'old'"
        )
        assert caller.one(sql) == {**first, "is_new": False}
        caller.begin()
        assert caller.one("select * from bpm.maintain_keys()")["deleted"] == 1
        assert other.one("select * from bpm.maintain_keys()")["deleted"] == 0
        caller.commit()
        assert caller.one("select deleted, done from bpm.maintain_keys()") == {
            "deleted": 0,
            "done": True,
        }
        assert caller.one(sql)["signal_id"] != first["signal_id"]


@pytest.mark.parametrize(
    ("sql", "signature", "pause"),
    [
        (
            "select process_instance_id as id, is_new"
            " from bpm.start_process('again', p_idempotency_key => 'old')",
            "bpm_core.settle_start_keys(text, bpm_core.start[], timestamptz)",
            "-- Those met",
        ),
        (
            "select signal_id as id, is_new"
            " from bpm.broadcast_signal('s', p_idempotency_key => 'old')",
            "bpm_core.claim_key(text, text, text, bytea, timestamptz)",
            "select k.\\* into r_key",
        ),
    ],
)
def test_forgotten_while_it_is_met(
    fresh_database: TestDatabase, sql: str, signature: str, pause: str
) -> None:
    """A key expired and forgotten between the look that meets it and the one that reads it: the
    call is the first again, and its own repeat is known."""
    kit.deploy(fresh_database, kit.process("again", "start > go > end"))
    kit.mutate(
        fresh_database,
        signature,
        pause,
        "perform pg_advisory_xact_lock(7526);\n" + pause.replace("\\", ""),
    )
    with Session(fresh_database) as caller, Session(fresh_database) as other:
        first = caller.one(sql)
        caller.do("update bpm_core.idempotency_key set expires_at = now() - interval '1 day'")
        with kit.holding(fresh_database, "select pg_advisory_xact_lock(7526)"):
            running = caller.start(sql)
            kit.blocked(other, [caller])
            assert other.one("select * from bpm.maintain_keys()")["deleted"] == 1
        second = running.result()[0]
        assert second["is_new"]
        assert second["id"] != first["id"]
        assert caller.one(sql) == {"id": second["id"], "is_new": False}
    assert not fresh_database.rows("select * from bpm.check_invariants()")
