"""One process instance as a person wants to see it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from pgbpm.cli.output import json_text
from pgbpm.cli.reasons import incident_reason, incident_steps

Row = Mapping[str, Any]
_WIDEST = 100


def draw_instance(state: Row, history: Sequence[Row]) -> str:
    """What ``get_process`` gave and the last history rows, as text."""
    return "\n".join(_lines(state, history))


def _lines(state: Row, history: Sequence[Row]) -> Iterator[str]:
    instance = state["instance"]
    key = f" · {instance['business_key']}" if instance.get("business_key") else ""
    yield f"{instance['process_code']} v{instance['process_version']}{key} · {instance['status']}"
    yield f"  id        {instance['process_instance_id']}"
    by = f" by {instance['started_by']}" if instance.get("started_by") else ""
    yield f"  started   {_when(instance['created_at'])}{by}"
    if instance.get("ended_at"):
        yield f"  ended     {_when(instance['ended_at'])}"
    yield from _workflows(state)
    yield from _variables(instance.get("variables") or {})
    for incident in state.get("incidents") or []:
        incident["instance_key"] = instance["process_instance_id"]
        incident["state_of_all"] = state
    yield from _tokens(state)
    shown = {token["token_id"] for token in state.get("tokens") or []}
    for title, name, line in _LISTS:
        rows = [row for row in state.get(name) or [] if row.get("token_id") not in shown]
        if rows:
            yield f"\n{title}"
            yield from (f"  {line(row)}" for row in rows)
    if state.get("more"):
        yield f"\n(cut off: {', '.join(state['more'])})"
    if history:
        yield "\nlast events"
        yield from (f"  {_event(row)}" for row in history)


def _workflows(state: Row) -> Iterator[str]:
    """The workflows of a process that has several, those too that have not begun."""
    workflows = [w for w in state.get("workflows") or [] if not w.get("parent_token_id")]
    if all(w["binding_key"] == "main" for w in workflows):
        return
    width = max(len(w["binding_key"]) for w in workflows)
    yield "\nworkflows"
    for workflow in workflows:
        after = workflow.get("depends_on") or []
        begins = ([f"after {', '.join(after)}"] if after else []) + (
            [f"if {workflow['start_condition']}"] if workflow.get("start_condition") else []
        )
        what = f"{workflow['workflow_code']} v{workflow['workflow_version']}"
        status = workflow["status"] or "not begun"
        line = f"  {workflow['binding_key'].ljust(width)}  {what} {status}"
        yield f"{line} ({' '.join(begins)})" if begins else line


def _variables(variables: Row) -> Iterator[str]:
    if variables:
        width = max(len(name) for name in variables)
        yield "\nvariables"
        for name, value in variables.items():
            yield f"  {name.ljust(width)}  {_cut(json_text(value))}"


def _tokens(state: Row) -> Iterator[str]:
    """Each live token at its node, with what it waits for right below it."""
    tokens = state.get("tokens") or []
    if not tokens:
        return
    yield "\nwhere it stands"
    for token in tokens:
        at = f"{_node(token)} [{token.get('element')}]"
        yield f"  ● {at} {token['state']} since {_when(token['since'])}"
        for name, line in _AT_TOKEN:
            for row in state.get(name) or []:
                if row.get("token_id") == token["token_id"]:
                    yield f"      └ {line(row)}"


def _task(row: Row) -> str:
    if row["task_type"] == "bpm:user":
        return _user_task(row)
    who = f" by {row['worker_id']}" if row.get("worker_id") else ""
    if who and row["state"] == "Executing":
        who += f" until {_when(row['lease_until'])}"
    tries = f"attempt {row['attempt']} of {row['max_attempts']}"
    return f"task {row['task_type']} {row['state']}{who}, {tries} · {row['task_id']}"


def _user_task(row: Row) -> str:
    groups = ", ".join(row.get("candidate_groups") or [])
    who = row.get("assignee") or (f"one of {groups}" if groups else "anybody")
    what = f"task for {who} {row['state']}"
    if row["state"] != "Ready":
        return f"{what} · {row['task_id']}"
    return f"{what} → pgbpm complete {row['task_id']} --var NAME=VALUE"


def _timer(row: Row) -> str:
    return f"timer {row['node_id']} {row['rule']} {row['status']}, due {_when(row['due_at'])}"


def _wait(row: Row) -> str:
    if row["kind"] == "Conditional":
        return f"{row['node_id']} waits until {row.get('condition') or 'its condition is true'}"
    what = f"waits for {str(row['kind']).lower()} {row['name']}"
    if row["kind"] == "Message":
        what += f" with key {row['correlation_key']}"
    if row["kind"] != "Message" or row.get("correlation_key") is None:
        return what
    typed = shlex.join(["pgbpm", "message", str(row["name"]), str(row["correlation_key"])])
    return f"{what} → {typed}"


def _incident(row: Row) -> str:
    at = f" at {_node(row)}" if row.get("node_id") else ""
    what = f"incident {row['code']}{at}: {incident_reason(row)}"
    return f"{what} → {incident_steps(row, row['instance_key'], row['state_of_all'])}"


def _approval(row: Row) -> str:
    what = f"approval of {row['task_type']} {row['status']}"
    return f"{what} → pgbpm approve|reject {row['approval_id']}"


def _command(row: Row) -> str:
    where = row.get("destination_code") or row.get("task_type")
    return f"command to {where} {row['state']}, attempt {row['attempt']} · {row['command_id']}"


def _letter(row: Row) -> str:
    what = f"dead letter ({row['kind']}): {_cut(_said(row['error']))}"
    return f"{what} → pgbpm dead-letters requeue {row['dead_letter_id']}"


_AT_TOKEN = (
    ("tasks", _task),
    ("timers", _timer),
    ("waits", _wait),
    ("approvals", _approval),
    ("incidents", _incident),
    ("dead_letters", _letter),
)
_LISTS = (
    ("incidents", "incidents", _incident),
    ("approvals", "approvals", _approval),
    ("dead letters", "dead_letters", _letter),
    ("commands", "commands", _command),
)


def _event(row: Row) -> str:
    before = f"{row['from_state']} " if row.get("from_state") else ""
    states = f" {before}→ {row['to_state']}" if row.get("to_state") else ""
    node = f" {row['node_id']}" if row.get("node_id") else ""
    actor = f" ({row['actor']})" if row.get("actor") else ""
    return f"{_when(row['at'])} {row['kind']}{node}{states}{actor}"


def _node(row: Row) -> str:
    name = row.get("node_name")
    return f"{row['node_id']} “{name}”" if name and name != row["node_id"] else str(row["node_id"])


def _said(error: Any) -> str:
    if isinstance(error, Mapping):
        parts = [str(error[name]) for name in ("type", "message") if error.get(name)]
        return ": ".join(parts) or json.dumps(error, ensure_ascii=False)
    return str(error)


def _when(value: Any) -> str:
    at = datetime.fromisoformat(value) if isinstance(value, str) else value
    return "–" if at is None else at.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _cut(text: str) -> str:
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"
