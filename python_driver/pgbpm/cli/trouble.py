"""What cannot go on: dead letters and incidents."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import click

from pgbpm.cli.app import App, json_option, pass_app
from pgbpm.cli.listing import Row, actor_option, all_option, attempts_option, limit_option, listing
from pgbpm.cli.lookup import (
    DEAD_LETTER,
    INCIDENT,
)
from pgbpm.cli.output import emit
from pgbpm.cli.reasons import has_steps, incident_reason, incident_steps
from pgbpm.cli.waking import wake_runners
from pgbpm.db import Connection


@click.group("dead-letters", invoke_without_command=True)
@all_option
@limit_option
@json_option
@click.pass_context
def dead_letters(ctx: click.Context, everything: bool, limit: int, as_json: bool) -> None:
    """Work that used up its attempts: list it, requeue or discard it."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_dead_letters, everything=everything, limit=limit, as_json=as_json)


@dead_letters.command("list")
@all_option
@limit_option
@json_option
@pass_app
def list_dead_letters(app: App, everything: bool, limit: int, as_json: bool) -> None:
    """List dead letters, the oldest first."""
    listing(
        app,
        """
        select d.dead_letter_id, d.process_instance_id, d.business_key, d.kind, d.task_id,
               d.incident_id, d.error, d.state, d.created_at, d.closed_by, d.closed_at,
               coalesce(nullif(concat_ws(': ', coalesce(d.error ->> 'type', d.error ->> 'code'),
                                         coalesce(nullif(d.error ->> 'message', ''), e.said)), ''),
                        d.error #>> '{}') as reason
          from bpm.dead_letter d
         cross join lateral (
            select coalesce(d.error #>> '{error,message}', d.error #>> '{error,reason}',
                            nullif(concat_ws(' ', d.error #>> '{error,outcome}',
                                             d.error #>> '{error,status}'), '')) as said) e
         where d.tenant_id = %(tenant)s and (%(everything)s or d.state = 'Open')
         order by d.dead_letter_id limit %(limit)s
        """,
        {"everything": everything, "limit": limit},
        {
            "id": "dead_letter_id", "key": "business_key", "kind": "kind", "state": "state",
            "since": "created_at", "error": "reason",
        },
        as_json,
        "no dead letters",
    )  # fmt: skip


@dead_letters.command()
@click.argument("dead_letter", metavar="ID|KEY")
@attempts_option
@actor_option
@json_option
@pass_app
def requeue(app: App, dead_letter: str, attempts: int, actor: str | None, as_json: bool) -> None:
    """Give the work fresh attempts, at the very place where it stopped."""
    with app.connect() as conn:
        row = app.call(
            conn, "requeue_dead_letter", p_attempts=attempts, p_actor=actor,
            p_dead_letter_id=DEAD_LETTER.find(conn, app.tenant, dead_letter),
        )[0]  # fmt: skip
        wake_runners(conn)
    emit(row, as_json)


@dead_letters.command()
@click.argument("dead_letter", metavar="ID|KEY")
@click.option("--reason", help="Why, for the audit.")
@actor_option
@json_option
@pass_app
def discard(
    app: App, dead_letter: str, reason: str | None, actor: str | None, as_json: bool
) -> None:
    """Close it without doing the work again; its incident stays open."""
    with app.connect() as conn:
        row = app.call(
            conn, "discard_dead_letter", p_reason=reason, p_actor=actor,
            p_dead_letter_id=DEAD_LETTER.find(conn, app.tenant, dead_letter),
        )[0]  # fmt: skip
    emit(row, as_json)


@click.group(invoke_without_command=True)
@all_option
@limit_option
@json_option
@click.pass_context
def incidents(ctx: click.Context, everything: bool, limit: int, as_json: bool) -> None:
    """What cannot go on, and why: list it, resolve it."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_incidents, everything=everything, limit=limit, as_json=as_json)


@incidents.command("list")
@all_option
@limit_option
@json_option
@pass_app
def list_incidents(app: App, everything: bool, limit: int, as_json: bool) -> None:
    """List incidents, the oldest first."""
    listing(
        app,
        """
        select i.incident_id, i.process_instance_id, i.workflow_instance_id, i.business_key,
               i.token_id, i.node_id, i.node_name, i.code, i.message, i.detail, i.state,
               i.created_at, i.resolved_at, i.resolved_by
          from bpm.incident i
         where i.tenant_id = %(tenant)s and (%(everything)s or i.state = 'Open')
         order by i.incident_id limit %(limit)s
        """,
        {"everything": everything, "limit": limit},
        {
            "id": "incident_id", "key": "business_key", "node": "node_id", "code": "code",
            "state": "state", "since": "created_at", "message": "message",
        },
        as_json,
        "no incidents",
        derived=lambda row: {**row, "message": incident_reason(row)},
        below=partial(_next_steps, app),
    )  # fmt: skip


def _next_steps(app: App, conn: Connection, rows: list[Row]) -> Iterator[str]:
    """What to type for each incident that something has to be done about before it is resolved."""
    for row in rows:
        if row["state"] == "Open" and has_steps(row):
            key = row["business_key"] or str(row["process_instance_id"])
            yield f"{key} → {_steps(app, conn, row, key)}"


def _steps(app: App, conn: Connection, row: Row, key: str) -> str:
    state = None
    if row["process_instance_id"] is not None and has_steps(row):
        state = app.call(conn, "get_process", p_process_instance_id=row["process_instance_id"])[0]
    plain = {name: str(row[name]) for name in ("workflow_instance_id", "token_id") if row[name]}
    return incident_steps({**row, **plain}, key, state and state["get_process"])


@incidents.command()
@click.argument("incident", metavar="ID|KEY")
@attempts_option
@actor_option
@json_option
@pass_app
def resolve(app: App, incident: str, attempts: int, actor: str | None, as_json: bool) -> None:
    """Drive the stopped token again, after what stopped it was mended."""
    with app.connect() as conn:
        found = INCIDENT.find(conn, app.tenant, incident)
        row = app.call(
            conn, "resolve_incident", p_attempts=attempts, p_actor=actor, p_incident_id=found
        )[0]
        wake_runners(conn)
        again = conn.execute(_STOPPED_AGAIN, {"tenant": app.tenant, "incident": found}).fetchall()
        steps = [_steps(app, conn, new, str(new["process_instance_id"])) for new in again]
    emit(row | ({"stopped_again": again} if again and as_json else {}), as_json)
    if not as_json:
        for new, step in zip(again, steps, strict=True):
            click.echo(f"stopped again: {new['code']}: {incident_reason(new)}", err=True)
            click.echo(f"  hint: {step}", err=True)


_STOPPED_AGAIN = """
    select n.incident_id, n.process_instance_id, n.workflow_instance_id, n.token_id, n.code,
           n.message, n.detail
      from bpm.incident r
      join bpm.incident n
        on n.tenant_id = r.tenant_id and n.workflow_instance_id = r.workflow_instance_id
       and n.token_id = r.token_id and n.incident_id <> r.incident_id and n.state = 'Open'
     where r.tenant_id = %(tenant)s and r.incident_id = %(incident)s and r.state <> 'Open'
"""


COMMANDS = [dead_letters, incidents]
