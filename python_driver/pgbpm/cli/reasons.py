"""Why something stopped, in one line, and what to type next."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from pgbpm.cli.output import masked

Row = Mapping[str, Any]
_LONGEST_VALUE = 40
_ONE_PATH = re.compile(r"(?:[$#]\{\s*([^\W\d]\w*(?:\.\w+)*)\s*\}|=\s*([^\W\d]\w*(?:\.\w+)*))")


def incident_reason(incident: Row) -> str:
    """The message of an incident, with the values seen or the type of the exception."""
    message = str(incident["message"])
    detail = incident.get("detail") or {}
    error = detail.get("error")
    if isinstance(error, Mapping) and error.get("type") and error.get("message"):
        kind, words = str(error["type"]), str(error["message"])
        if kind not in message and message.endswith(words):
            return f"{message.removesuffix(words)}{kind}: {words}"
    elif isinstance(error, Mapping) and "command" in detail and (answer := _answer(error)):
        return f"{message.rstrip('.')}: {answer.rstrip('.')}."
    seen = list(dict.fromkeys(_seen(detail)))
    return f"{message.rstrip('.')}: {', '.join(seen)}." if seen else message


def error_words(error: Any) -> Any:
    """What went wrong with a command, in words if it has some."""
    if isinstance(error, Mapping) and error.get("message"):
        kind = error.get("error") or error.get("type")
        return f"{kind}: {error['message']}" if kind else error["message"]
    return error


def _answer(error: Row) -> str:
    """What is known of a command that failed: words, or what the receiver answered."""
    words = error.get("message") or error.get("reason")
    return str(words or " ".join(str(error[k]) for k in ("outcome", "status") if k in error))


def incident_steps(incident: Row, key: str, state: Row | None = None) -> str:
    """What to type to go on after an incident; ``key`` names its instance.

    ``state``: what ``get_process`` says of that. If the step that stopped sees a variable of its
    sub-process, or those of a called process, they are set where it stands.
    """
    resolve = f"pgbpm incidents resolve {incident['incident_id']}"
    names = _paths(incident.get("detail") or {})
    if missing := _destination(incident):
        return f"pgbpm destination {shlex.quote(missing)} --url …, then {resolve}"
    if not names:
        return resolve
    at = ""
    if state is not None and incident.get("token_id") and _is_inside(incident, names, state):
        at = f" --token {incident['token_id']}"
    given = " ".join(f"--var {shlex.quote(name)}=…" for name in names)
    return f"pgbpm set {shlex.quote(key)}{at} {given}, then {resolve}"


def has_steps(incident: Row) -> bool:
    """Whether something comes before resolving: variables to set, a destination to register."""
    return bool(_paths(incident.get("detail") or {})) or _destination(incident) is not None


def _destination(incident: Row) -> str | None:
    if incident["code"] != "UnknownDestination":
        return None
    named = (incident.get("detail") or {}).get("destination")
    return None if named is None else str(named)


def _is_inside(incident: Row, names: list[str], state: Row) -> bool:
    workflow = incident.get("workflow_instance_id")
    if workflow is not None and workflow != state["instance"].get("workflow_instance_id"):
        return True
    return any(
        name in (scope.get("variables") or {})
        for scope in state.get("scopes") or []
        if scope["workflow_instance_id"] == workflow
        for name in names
    )


def _looks(detail: Row) -> Iterator[Row]:
    yield from detail.get("seen") or []
    for flow in detail.get("flows") or []:
        yield from flow.get("seen") or []
    if "timer" in detail and (found := _ONE_PATH.fullmatch(str(detail.get("rule")).strip())):
        value = detail.get("value")
        kind = "no text" if value is None else "encrypted" if masked(value) != value else "text"
        yield {"path": found[1] or found[2], "type": kind, "value": value}


def _seen(detail: Row) -> Iterator[str]:
    for look in _looks(detail):
        if look["type"] in {"missing", "null", "encrypted", "no text"}:
            yield f"{look['path']} is {look['type']}"
        else:
            text = json.dumps(look["value"], ensure_ascii=False)
            cut = text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"
            yield f"{look['path']} is {cut}"


def _paths(detail: Row) -> list[str]:
    """Variables to set: what was looked at, up to the first dot."""
    return list(dict.fromkeys(str(look["path"]).partition(".")[0] for look in _looks(detail)))
