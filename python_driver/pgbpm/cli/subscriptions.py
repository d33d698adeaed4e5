"""``pgbpm events subscribe|subscriptions|read|unsubscribe``: who is told of what happens here."""

from __future__ import annotations

import getpass
import sys
from typing import Any

import click
import psycopg

from pgbpm.cli.app import App, json_option, pass_app
from pgbpm.cli.events import events, reason_option
from pgbpm.cli.listing import actor_option, limit_option, listing
from pgbpm.cli.output import emit, emit_json
from pgbpm.cli.waking import wake_runners
from pgbpm.db import Connection
from pgbpm.errors import PgbpmError

_LISTED = (
    "published_no", "at", "type", "process_code", "business_key", "workflow_instance_id", "detail",
)  # fmt: skip


@events.command()
@click.argument("code")
@click.option("--process", metavar="CODE", help="Only of this process.")
@click.option("--type", "types", multiple=True, help="Only of this type (repeat; default: all).")
@click.option("--destination", metavar="CODE", help="Runners send each event there.")
@click.option("--channel", metavar="NAME", help="Runners NOTIFY this channel.")
@actor_option
@json_option
@pass_app
def subscribe(
    app: App,
    code: str,
    process: str | None,
    types: tuple[str, ...],
    destination: str | None,
    channel: str | None,
    actor: str | None,
    as_json: bool,
) -> None:
    """Tell somebody of what happens from now on, or change what they are told.

    Without --destination and --channel they ask for themselves: bpm.claim_domain_events, or
    pgbpm events read.
    """
    with app.connect() as conn:
        app.call(
            conn, "subscribe_events", p_code=code, p_process_code=process,
            p_event_types=list(types) or None, p_destination=destination, p_notify_channel=channel,
            p_actor=actor,
        )  # fmt: skip
        wake_runners(conn)
        row = _subscription(conn, app.tenant, code)
    if as_json:
        emit_json(row)
    else:
        shown = {
            "code": code, "to": _told(row)["to"], "process": row["process_code"],
            "types": row["event_types"], "has": row["cursor_no"],
        }  # fmt: skip
        emit({name: value for name, value in shown.items() if value is not None}, False)


def _told(row: dict[str, Any]) -> dict[str, Any]:
    """A subscription with the way they are told, for people."""
    channel = row["notify_channel"] and f"channel {row['notify_channel']}"
    to = row["destination_code"] or channel or "asks"
    return {**row, "to": f"{to} (ended)" if row["ended_at"] else to}


def _subscription(conn: Connection, tenant: str, code: str) -> dict[str, Any]:
    row = conn.execute(
        "select s.* from bpm.event_subscription s where s.tenant_id = %s and s.code = %s",
        [tenant, code],
    ).fetchone()
    if row is None:
        raise PgbpmError(
            f"there is no subscription {code}", hint="pgbpm events subscriptions lists them"
        )
    return row


@events.command("subscriptions")
@limit_option
@json_option
@pass_app
def list_subscriptions(app: App, limit: int, as_json: bool) -> None:
    """List who is told of what happens here, how far behind they are, and why."""
    listing(
        app,
        "select s.* from bpm.event_subscription s where s.tenant_id = %(tenant)s"
        " order by s.ended_at is not null, s.code limit %(limit)s",
        {"limit": limit},
        {
            "code": "code", "to": "to", "process": "process_code", "types": "event_types",
            "has": "cursor_no", "behind": "behind", "since": "behind_since", "error": "last_error",
        },
        as_json,
        "nobody is told of anything",
        derived=_told,
    )  # fmt: skip


@events.command()
@click.argument("code")
@click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True)
@click.option("--keep", is_flag=True, help="Do not move on: the same events come next time.")
@json_option
@pass_app
def read(app: App, code: str, limit: int, keep: bool, as_json: bool) -> None:
    """Read the next events of a subscription.

    It moves on once they are printed; where that fails they come again, after a minute.
    """
    with app.connect() as conn:
        batches = app.call(
            conn, "claim_domain_events", p_worker=f"cli {getpass.getuser()}", p_limit=limit,
            p_subscription=code,
        )  # fmt: skip
        if not batches:
            behind = _subscription(conn, app.tenant, code)
            if behind["lease_until"] is not None:
                raise PgbpmError(f"{behind['worker_id']} is being told of them just now")
        found: list[dict[str, Any]] = batches[0]["events"] if batches else []
        if as_json:
            emit_json(found)
        else:
            rows = [{name: event.get(name) for name in _LISTED} for event in found]
            emit(rows, False, empty="nothing new")
        sys.stdout.flush()
        if batches:
            to = found[0]["published_no"] - 1 if keep else batches[0]["published_to"]
            app.call(
                conn, "mark_published", p_subscription=code,
                p_fencing_token=batches[0]["fencing_token"], p_published_to=to,
            )  # fmt: skip


@events.command()
@click.argument("code")
@reason_option
@actor_option
@json_option
@pass_app
def unsubscribe(app: App, code: str, reason: str | None, actor: str | None, as_json: bool) -> None:
    """End a subscription."""
    with app.connect() as conn:
        app.call(conn, "unsubscribe_events", p_code=code, p_reason=reason, p_actor=actor)
        row = _subscription(conn, app.tenant, code)
    emit(row if as_json else {"code": code, "ended_at": row["ended_at"]}, as_json)


def forget_events(app: App, conn: Connection) -> int:
    """Forget what everybody has had, in every tenant where somebody subscribed; how many."""
    forgotten = 0
    tenants = conn.execute("select distinct s.tenant_id from bpm.event_subscription s").fetchall()
    for tenant in tenants:
        done = False
        while not done:  # each call is a transaction of its own
            try:
                (row,) = app.call(
                    conn, "maintain_domain_events", p_tenant_id=tenant["tenant_id"]
                )  # fmt: skip
            except psycopg.Error as error:
                if error.sqlstate != "BP403":
                    raise
                break  # somebody else's to keep
            forgotten += row["deleted"]
            done = row["done"]
    return forgotten
