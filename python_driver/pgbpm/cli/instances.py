"""``pgbpm start|ps|show|trail|set|message|signal|cancel``: process instances."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import psycopg

from pgbpm.cli.app import App, decrypt_option, json_option, pass_app
from pgbpm.cli.drawing import draw_instance
from pgbpm.cli.lookup import INSTANCE, RUNNING
from pgbpm.cli.output import emit, emit_json, json_text, table
from pgbpm.cli.progress import with_progress
from pgbpm.cli.tokens import find_token, token_options
from pgbpm.cli.values import variables_of, variables_options
from pgbpm.cli.waking import wake_runners
from pgbpm.db import Connection
from pgbpm.errors import ConfigError, PgbpmError

Row = dict[str, Any]
_BATCH = 100


@click.command()
@click.argument("code")
@variables_options
@click.option("--key", metavar="KEY", help="Business key.")
@click.option("--idempotency-key", metavar="KEY", help="Same key, same instance: safe to repeat.")
@click.option("--version", type=int, metavar="N", help="Version (default: the published one).")
@click.option("--actor", help="On whose behalf (default: the database role).")
@click.option(
    "--from", "source", type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="JSON lines, one instance each: {variables, business_key, idempotency_key}.",
)  # fmt: skip
@json_option
@pass_app
def start(
    app: App,
    code: str,
    variables: str | None,
    pairs: tuple[str, ...],
    key: str | None,
    idempotency_key: str | None,
    version: int | None,
    actor: str | None,
    source: Path | None,
    as_json: bool,
) -> None:
    """Start the process CODE; with --from many at once.

    With --from exit code 1 says that some were not started; the others were.
    """
    if source is not None:
        if variables or pairs or key or idempotency_key:
            raise click.UsageError("--from takes variables and keys from the file")
        _start_many(app, code, version, actor, source, as_json)
        return
    given = app.seal(variables_of(variables, pairs), idempotency_key)
    with app.connect() as conn:
        row = app.call(
            conn, "start_process", p_code=code, p_variables=given,
            p_business_key=key, p_idempotency_key=idempotency_key, p_version=version, p_actor=actor,
        )[0]  # fmt: skip
        wake_runners(conn)
    emit(row, as_json)


def _start_many(
    app: App, code: str, version: int | None, actor: str | None, source: Path, as_json: bool
) -> None:
    items = [_sealed(app, item) for item in _items(source, code, version)]
    batches = [items[first : first + _BATCH] for first in range(0, len(items), _BATCH)]
    done: list[Row] = []
    with app.connect() as conn:
        for batch in with_progress(batches, "starting"):
            rows = app.call(conn, "start_processes", p_items=batch, p_actor=actor)
            first = len(done)
            done += [{**row, "item": first + n} for n, row in enumerate(rows, start=1)]
            wake_runners(conn)
    refused = [row for row in done if row["outcome"] != "Done"]
    if as_json:
        emit_json(done)
    else:
        new = sum(bool(row["is_new"]) for row in done)
        click.echo(f"{new} started, {len(done) - new - len(refused)} known, {len(refused)} refused")
        if refused:
            click.echo(
                table([{k: row[k] for k in ("item", "outcome", "message")} for row in refused])
            )
    if refused:
        click.get_current_context().exit(PgbpmError.exit_code)


def _sealed(app: App, item: Row) -> Row:
    given = item.get("variables")
    if not isinstance(given, dict):
        return item
    key = item.get("idempotency_key")
    return {**item, "variables": app.seal(given, key if isinstance(key, str) else None)}


def _items(source: Path, code: str, version: int | None) -> Iterator[Row]:
    known = {"variables", "business_key", "idempotency_key"}
    for number, line in enumerate(source.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            item = json.loads(line)
        except ValueError as error:
            raise ConfigError(f"{source}, line {number}: not JSON: {error}") from None
        if not isinstance(item, dict) or not item.keys() <= known:
            raise ConfigError(
                f"{source}, line {number}: not an object with only {', '.join(sorted(known))}"
            )
        yield {"code": code, **item} | ({} if version is None else {"version": version})


@click.command()
@click.option("--status", help="Only with this status: Running, Completed, Failed, …")
@click.option("--code", help="Only of this process.")
@click.option("--key", help="Only with this business key.")
@click.option(
    "--limit", default=50, show_default=True, type=click.IntRange(1), help="Newest first."
)
@json_option
@pass_app
def ps(
    app: App, status: str | None, code: str | None, key: str | None, limit: int, as_json: bool
) -> None:
    """List process instances, the newest first."""
    with app.connect() as conn:
        rows = conn.execute(
            """
            select i.process_instance_id, i.process_code, i.process_version, i.business_key,
                   i.status, i.live_tokens, i.open_incidents, i.created_at, i.ended_at
              from bpm.instance i
             where i.tenant_id = %(tenant)s
               and (%(status)s::text is null or i.status = %(status)s)
               and (%(code)s::text is null or i.process_code = %(code)s)
               and (%(key)s::text is null or i.business_key = %(key)s)
             order by i.process_instance_id desc limit %(limit)s
            """,
            {"tenant": app.tenant, "status": status, "code": code, "key": key, "limit": limit},
        ).fetchall()
        if not rows:
            app.warn_if_not_granted(conn)
    if as_json:
        emit_json(rows)
    else:
        emit([_short(row) for row in rows], False, empty="no process instances")
        if len(rows) == limit:
            click.echo(f"(the newest {limit}; more with --limit)")


def _short(row: Row) -> Row:
    return {
        "id": row["process_instance_id"],
        "process": f"{row['process_code']} v{row['process_version']}",
        "key": row["business_key"],
        "status": row["status"],
        "tokens": row["live_tokens"],
        "incidents": row["open_incidents"] or None,
        "started": row["created_at"],
        "ended": row["ended_at"],
    }


@click.command()
@click.argument("instance", metavar="ID|KEY")
@click.option("--history", "last", default=10, show_default=True, type=click.IntRange(0),
              help="How many of the last events; 0 for none.")  # fmt: skip
@decrypt_option
@json_option
@pass_app
def show(app: App, instance: str, last: int, decrypt: bool, as_json: bool) -> None:
    """Show one process instance: where it stands, what it waits for, what happened last.

    ID may be the beginning of the id; KEY is its business key. --decrypt is for the variables.
    """
    with app.connect() as conn:
        found = INSTANCE.find(conn, app.tenant, instance)
        state: Row = app.call(conn, "get_process", p_process_instance_id=found)[0]["get_process"]
        history = conn.execute(
            """
            select h.seq, h.at, h.category, h.kind, h.node_id, h.from_state, h.to_state, h.actor,
                   h.detail
              from bpm.history h
             where h.tenant_id = %s and h.process_instance_id = %s
             order by h.seq desc limit %s
            """,
            [app.tenant, found, last],
        ).fetchall()
    history.reverse()
    if decrypt:
        for place in (state["instance"], *state["scopes"]):
            place["variables"] = app.unseal(place["variables"] or {})
    if as_json:
        emit_json({**state, "history": history})
    else:
        click.echo(draw_instance(state, history))


@click.command("set")
@click.argument("instance", metavar="ID|KEY")
@variables_options
@token_options
@click.option("--actor", help="On whose behalf (default: the database role).")
@decrypt_option
@json_option
@pass_app
def set_variables(
    app: App,
    instance: str,
    variables: str | None,
    pairs: tuple[str, ...],
    node: str | None,
    token: str | None,
    actor: str | None,
    decrypt: bool,
    as_json: bool,
) -> None:
    """Set variables of a running process instance by hand, for instance to mend an incident.

    Only those named change; prints all variables as they are now. A name is a whole name, not a
    path: to change what is inside of one, give it anew. With --at they go where a step
    there would write them: what a sub-process or a multi-instance declares stays in it.
    """
    given = app.seal(variables_of(variables, pairs))
    if not given:
        raise click.UsageError("nothing to set: give --var NAME=VALUE or --variables")
    with app.connect() as conn:
        place = find_token(app, conn, instance, node, token) if node or token else None
        found = RUNNING.find(conn, app.tenant, instance)
        _refuse_paths(app, conn, found, [pair.partition("=")[0] for pair in pairs])
        row = app.call(
            conn, "set_variables", p_variables=given, p_actor=actor, p_token_id=place,
            p_process_instance_id=found,
        )[0]  # fmt: skip
    now = row["set_variables"]
    now = app.unseal(now) if decrypt else now
    emit(now if as_json else {name: json_text(value) for name, value in now.items()}, as_json)


def _refuse_paths(app: App, conn: Connection, instance: str, names: list[str]) -> None:
    """A dotted name is mostly meant as a path into a variable that is there."""
    dotted = [name for name in names if "." in name]
    if not dotted:
        return
    now = app.call(conn, "get_variables", p_process_instance_id=instance)[0]["get_variables"]
    for name in dotted:
        root = name.partition(".")[0]
        if root in now and name not in now:
            raise PgbpmError(
                f"there is no variable {name!r}, and a name is no path into {root!r}",
                hint=f"give {root} anew: --var '{root}={{…}}'; a variable of this name is made with"
                " --variables",
            )


@click.command()
@click.argument("name")
@click.argument("key")
@variables_options
@click.option("--ttl", metavar="INTERVAL", help="Kept so long if nobody waits (default: 1 hour).")
@click.option("--id", "message_id", help="Id of the sender: the same id is taken once.")
@json_option
@pass_app
def message(
    app: App,
    name: str,
    key: str,
    variables: str | None,
    pairs: tuple[str, ...],
    ttl: str | None,
    message_id: str | None,
    as_json: bool,
) -> None:
    """Send the message NAME with correlation key KEY to whoever waits for it, or will."""
    payload = app.seal(variables_of(variables, pairs), message_id)
    with app.connect() as conn:
        try:
            row = app.call(
                conn, "correlate_message", p_name=name, p_correlation_key=key,
                p_payload=payload, p_ttl=ttl, p_message_id=message_id,
            )[0]  # fmt: skip
        except (psycopg.errors.InvalidDatetimeFormat, psycopg.errors.DatetimeFieldOverflow):
            raise click.BadParameter(
                f"{ttl!r} is no interval; write '2 hours' or '30 days', at most '365 days'",
                param_hint="--ttl",
            ) from None
        wake_runners(conn)
    emit(row, as_json)


@click.command()
@click.argument("name")
@variables_options
@click.option("--idempotency-key", help="Repeating the call with it reaches nobody again.")
@json_option
@pass_app
def signal(
    app: App,
    name: str,
    variables: str | None,
    pairs: tuple[str, ...],
    idempotency_key: str | None,
    as_json: bool,
) -> None:
    """Broadcast the signal NAME to all who wait for it now, and start what it starts."""
    payload = app.seal(variables_of(variables, pairs), idempotency_key)
    with app.connect() as conn:
        row = app.call(
            conn,
            "broadcast_signal",
            p_name=name,
            p_payload=payload,
            p_idempotency_key=idempotency_key,
        )[0]
        wake_runners(conn)
    emit(row, as_json)


@click.command()
@click.argument("instance", metavar="ID|KEY")
@click.option("--reason", help="Why, for the audit.")
@click.option("--actor", help="On whose behalf (default: the database role).")
@json_option
@pass_app
def cancel(app: App, instance: str, reason: str | None, actor: str | None, as_json: bool) -> None:
    """Cancel a process instance with everything open in it."""
    with app.connect() as conn:
        row = app.call(
            conn, "cancel_process", p_reason=reason, p_actor=actor,
            p_process_instance_id=INSTANCE.find(conn, app.tenant, instance),
        )[0]  # fmt: skip
    emit(row, as_json)


_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


@click.command()
@click.argument("instance", metavar="ID|KEY")
@click.option("--limit", default=1000, show_default=True, type=click.IntRange(1, 10000))
@json_option
@pass_app
def trail(app: App, instance: str, limit: int, as_json: bool) -> None:
    """Who decided what on which version, and what went out with which receipt.

    KEY is a business key: all instances of it.
    """
    named = "p_process_instance_id" if _UUID.fullmatch(instance) else "p_business_key"
    with app.connect() as conn:
        rows = app.call(conn, "get_trail", p_limit=limit, **{named: instance})
    if as_json:
        emit_json(rows)
        return
    emit([_trail_line(row) for row in rows], False)
    if len(rows) == limit:
        click.echo(f"({limit} shown; more with --limit)")


# The receipt is that of now: once where it came or was found, not at each step on the way there.
_KINDS_WITH_RECEIPT = {"CommandSent", "CommandFailed", "CommandReconciled"}


def _trail_line(row: Row) -> Row:
    """One line of the page: what is told about a step, in a few words."""
    said = [row["note"]] if row["note"] else []
    if row["command"] is not None:
        command = row["command"]
        said.append(f"{command['command_id']} {command['state']}")
        if command["receipt"] and row["kind"] in _KINDS_WITH_RECEIPT:
            said.append(json.dumps(command["receipt"], ensure_ascii=False))
    said += [piece["object_key"] or piece["sha256"] for piece in row["evidence"] or []]
    said += [f"{f['subject']} {f['name']}={json.dumps(f['value'])}" for f in row["facts"] or []]
    return {
        "at": row["at"],
        "who": row["actor"] or "",
        "what": row["what"],
        "node": row["node_id"] or "",
        "version": row["version"],
        "with": "; ".join(said),
    }


COMMANDS = [start, ps, show, trail, set_variables, message, signal, cancel]
