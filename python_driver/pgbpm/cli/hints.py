"""Errors of the database in the words of the command line."""

from __future__ import annotations

import re

import psycopg

from pgbpm.db import Connection
from pgbpm.errors import PgbpmError

DENIED = "42501"

_COMMANDS = {
    "broadcast_signal": "pgbpm signal",
    "cancel_process": "pgbpm cancel",
    "check_bpmn": "pgbpm check",
    "claim_approval": "pgbpm approval claim",
    "command": "pgbpm outbox",
    "complete_task": "pgbpm complete --fencing-token",
    "complete_user_task": "pgbpm complete",
    "correlate_message": "pgbpm message",
    "dead_letter": "pgbpm dead-letters",
    "decide_approval": "pgbpm approve or reject",
    "definition": "pgbpm definitions",
    "deploy_bpmn": "pgbpm deploy",
    "destination": "pgbpm destinations",
    "detach_identity": "pgbpm identity detach",
    "discard_dead_letter": "pgbpm dead-letters discard",
    "get_process": "pgbpm show",
    "history": "pgbpm show",
    "identity_report": "pgbpm identity",
    "incident": "pgbpm incidents",
    "instance": "pgbpm ps",
    "list_reviews": "pgbpm reviews --for",
    "maintain_domain_events": "pgbpm maintain",
    "maintain_history": "pgbpm maintain",
    "maintain_keys": "pgbpm maintain",
    "maintain_tenant": "pgbpm maintain",
    "migrate_process": "pgbpm transfer",
    "move_token": "pgbpm move",
    "plan_migration": "pgbpm transfer --check",
    "reconcile_command": "pgbpm outbox reconcile",
    "register_destination": "pgbpm destination",
    "requeue_dead_letter": "pgbpm dead-letters requeue",
    "resolve_incident": "pgbpm incidents resolve",
    "restart_process": "pgbpm restart",
    "resume_process": "pgbpm resume",
    "set_variables": "pgbpm set",
    "send_again": "pgbpm outbox again",
    "skip_node": "pgbpm skip",
    "set_task_quota": "pgbpm quotas set",
    "set_tenant_quota": "pgbpm tenant quota",
    "set_tenant_weight": "pgbpm tenant weight",
    "start_event": "pgbpm starts",
    "start_process": "pgbpm start",
    "subscribe_events": "pgbpm events subscribe",
    "suspend_process": "pgbpm suspend",
    "task": "pgbpm tasks",
    "task_quota": "pgbpm quotas",
    "turn_destination": "pgbpm turn",
    "unknown_command": "pgbpm outbox unknown",
    "unsubscribe_events": "pgbpm events unsubscribe",
}
_OPTIONS = {"p_content_hash": "--hash", "p_groups": "--group"}
_ARGUMENT = re.compile(r"\bp_\w+")
_NAMED = re.compile(r"(?:the view )?\bbpm\.(\w+)(?:\(\))?")

_ROLES_OF = """
    select r.rolname
      from pg_proc p
     cross join lateral aclexplode(p.proacl) a
      join pg_roles r on r.oid = a.grantee
     where p.pronamespace = to_regnamespace('bpm') and p.proname = %s
       and a.privilege_type = 'EXECUTE' and r.rolname = any (%s::text[])
     order by array_position(%s::text[], r.rolname::text) limit 1
"""
_ROLES = ["bpm_reader", "bpm_worker", "bpm_operator", "bpm_admin"]


def in_commands(hint: str | None) -> str | None:
    """A hint of the engine with the commands for the functions and views it names."""
    if hint is None:
        return None
    named = _NAMED.sub(lambda m: _COMMANDS.get(m.group(1), m.group(0)), hint)
    return _ARGUMENT.sub(lambda m: _OPTIONS.get(m.group(0), m.group(0)), named)


def hint_of(error: psycopg.Error, command: str | None) -> str | None:
    """What to do about an error that ended ``command``."""
    if error.sqlstate == DENIED:
        role = "bpm_worker" if command == "run" else "bpm_reader"
        return _grant(role, "this login")
    return in_commands(error.diag.message_hint)


def denied(conn: Connection, function: str, error: psycopg.Error) -> PgbpmError:
    """The error of a login that may not call ``bpm.<function>``, with the least role that may."""
    row = conn.execute(_ROLES_OF, [function, _ROLES, _ROLES]).fetchone()
    login = conn.execute("select session_user::text as login").fetchone()
    assert login is not None
    told = PgbpmError(
        error.diag.message_primary or str(error),
        hint=_grant(row["rolname"] if row else "bpm_admin", login["login"]),
    )
    told.code = DENIED
    return told


def _grant(role: str, login: str) -> str:
    return f"grant {role} to {login}, and a tenant with bpm.grant_access"
