"""``pgbpm events`` and ``pgbpm rules``: what came in, and what becomes of it."""

from __future__ import annotations

import json
from typing import Any

import click

from pgbpm.cli.app import App, json_option, pass_app
from pgbpm.cli.listing import actor_option, limit_option, listing
from pgbpm.cli.lookup import ANY_EVENT, EVENT
from pgbpm.cli.output import emit, emit_json
from pgbpm.cli.values import variables_of, variables_options
from pgbpm.cli.waking import wake_runners
from pgbpm.errors import PgbpmError

state_option = click.option("--state", help="Only in this state: Pending, Dispatched, Ignored, …")
reason_option = click.option("--reason", help="Why, for the record.")


@click.group(invoke_without_command=True)
@state_option
@click.option("--type", "event_type", help="Only of this type.")
@limit_option
@json_option
@click.pass_context
def events(
    ctx: click.Context, state: str | None, event_type: str | None, limit: int, as_json: bool
) -> None:
    """What came in from outside: list it, decide about what waits; who is told of what happens
    here."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(
            list_events, state=state, event_type=event_type, limit=limit, as_json=as_json
        )  # fmt: skip


@events.command("list")
@state_option
@click.option("--type", "event_type", help="Only of this type.")
@limit_option
@json_option
@pass_app
def list_events(
    app: App, state: str | None, event_type: str | None, limit: int, as_json: bool
) -> None:
    """List events, the newest first."""
    listing(
        app,
        """
        select e.*
          from bpm.event e
         where e.tenant_id = %(tenant)s
           and (%(state)s::text is null or e.dispatch_state = %(state)s)
           and (%(type)s::text is null or e.event_type = %(type)s)
         order by e.event_id desc limit %(limit)s
        """,
        {"state": state, "type": event_type, "limit": limit},
        {
            "id": "event_id", "channel": "channel", "provider id": "provider_event_id",
            "type": "event_type", "state": "dispatch_state", "reason": "reason",
            "received": "received_at",
        },
        as_json,
        "no events",
    )  # fmt: skip


@events.command()
@click.argument("event", metavar="ID|PROVIDER-ID")
@json_option
@pass_app
def show(app: App, event: str, as_json: bool) -> None:
    """Show an event: its payload, what it waits for, what was decided, what it touched."""
    with app.connect() as conn:
        found = ANY_EVENT.find(conn, app.tenant, event)
        values = [app.tenant, found]
        row = conn.execute(
            "select e.* from bpm.event e where e.tenant_id = %s and e.event_id = %s", values
        ).fetchone()
        if row is None:
            raise PgbpmError(f"there is no event {found}", hint="pgbpm events lists them")
        decision = conn.execute(
            "select d.actions, d.proposal, d.rules, d.decided_by, d.reason, d.business_key,"
            " d.decided_at from bpm.routing_decision d where d.tenant_id = %s and d.event_id = %s",
            values,
        ).fetchone()
        links = conn.execute(
            "select l.how, l.process_instance_id, l.task_id, l.evidence_id, l.at"
            " from bpm.event_link l where l.tenant_id = %s and l.event_id = %s"
            " order by l.how, l.at",
            values,
        ).fetchall()
    if as_json:
        emit_json({**row, "decision": decision, "links": links})
        return
    emit({name: value for name, value in row.items() if value not in (None, "", [])}, False)
    if decision is not None:
        click.echo("\ndecision:")
        emit({name: value for name, value in decision.items() if value is not None}, False)
    if links:
        click.echo("\nlinks:")
        emit(links, False)


@events.command()
@click.argument("channel")
@click.argument("provider_id")
@click.argument("event_type", metavar="TYPE")
@variables_options
@click.option("--session", default="", help="The account, mailbox, shop or device it came over.")
@click.option("--thread", help="What events keep their order in.")
@json_option
@pass_app
def accept(
    app: App,
    channel: str,
    provider_id: str,
    event_type: str,
    variables: str | None,
    pairs: tuple[str, ...],
    session: str,
    thread: str | None,
    as_json: bool,
) -> None:
    """Accept an event, once per channel, session and provider id.

    --var and --variables give its payload.
    """
    payload = app.seal(variables_of(variables, pairs), f"{channel} {session} {provider_id}")
    with app.connect() as conn:
        row = app.call(
            conn, "accept_event", p_channel=channel, p_provider_event_id=provider_id,
            p_type=event_type, p_payload=payload, p_session_id=session, p_thread_id=thread,
        )[0]  # fmt: skip
        wake_runners(conn)
    emit(row, as_json)


@events.command()
@click.argument("event", metavar="ID|PROVIDER-ID")
@click.option("--process", metavar="CODE", help="Start this process.")
@click.option("--message", metavar="NAME", help="Correlate this message.")
@click.option("--attach", is_flag=True, help="Attach to the open instances of the business key.")
@click.option("--key", metavar="KEY", help="The business key.")
@click.option("--correlation-key", metavar="KEY", help="Of the message (default: --key).")
@variables_options
@click.option("--decision", metavar="JSON", help="Anything else bpm.dispatch_event takes.")
@reason_option
@actor_option
@json_option
@pass_app
def dispatch(
    app: App,
    event: str,
    process: str | None,
    message: str | None,
    attach: bool,
    key: str | None,
    correlation_key: str | None,
    variables: str | None,
    pairs: tuple[str, ...],
    decision: str | None,
    reason: str | None,
    actor: str | None,
    as_json: bool,
) -> None:
    """Decide what becomes of an event.

    Variables that are not given are the payload.
    """
    given = variables_of(variables, pairs)
    with app.connect() as conn:
        found = EVENT.find(conn, app.tenant, event, closed=ANY_EVENT)
        if decision is not None:
            if process or message or attach or key or correlation_key or given:
                raise click.UsageError("--decision says everything itself")
            chosen = _decision(decision)
        else:
            if [bool(process), attach].count(True) + (bool(message) and not attach) != 1:
                raise click.UsageError("give --process, --message, --attach or --decision")
            action = "StartProcess" if process else "Attach" if attach else "Correlate"
            chosen = {
                "action": action, "process_code": process, "message_name": message,
                "business_key": key, "correlation_key": correlation_key,
            }  # fmt: skip
            chosen = {name: value for name, value in chosen.items() if value is not None}
            if variables is not None or pairs:
                chosen["variables"] = app.seal(given, found.replace("-", "").lower())
        row = app.call(
            conn, "dispatch_event", p_event_id=found, p_decision=chosen, p_reason=reason,
            p_actor=actor,
        )[0]  # fmt: skip
        wake_runners(conn)
    emit(row, as_json)


def _decision(text: str) -> dict[str, Any]:
    try:
        chosen = json.loads(text)
    except ValueError as error:
        raise click.BadParameter(f"not JSON: {error}", param_hint="--decision") from None
    if not isinstance(chosen, dict):
        raise click.BadParameter("must be a JSON object", param_hint="--decision")
    return chosen


@events.command()
@click.argument("event", metavar="ID|PROVIDER-ID")
@click.option("--reason", required=True, help="Why, for the record.")
@actor_option
@json_option
@pass_app
def ignore(app: App, event: str, reason: str, actor: str | None, as_json: bool) -> None:
    """Decide that nothing becomes of an event."""
    with app.connect() as conn:
        row = app.call(
            conn, "dispatch_event", p_event_id=EVENT.find(conn, app.tenant, event, ANY_EVENT),
            p_decision={"action": "Ignore"}, p_reason=reason, p_actor=actor,
        )[0]  # fmt: skip
        wake_runners(conn)
    emit(row, as_json)


# -- rules ---------------------------------------------------------------------------------------


@click.group(invoke_without_command=True)
@limit_option
@json_option
@click.pass_context
def rules(ctx: click.Context, limit: int, as_json: bool) -> None:
    """What becomes of events of a type: list, set, delete routing rules."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_rules, limit=limit, as_json=as_json)


@rules.command("list")
@limit_option
@json_option
@pass_app
def list_rules(app: App, limit: int, as_json: bool) -> None:
    """List routing rules, by type, the highest priority first."""
    listing(
        app,
        """
        select r.*
          from bpm.routing_rule r
         where r.tenant_id = %(tenant)s
         order by r.event_type, r.priority desc, r.code limit %(limit)s
        """,
        {"limit": limit},
        {
            "code": "code", "type": "event_type", "channel": "channel", "priority": "priority",
            "condition": "condition", "action": "action", "process": "process_code",
            "key": "business_key_path", "message": "message_name", "correlate": "correlation_path",
        },
        as_json,
        "no routing rules",
    )  # fmt: skip


ACTIONS = click.Choice(["StartProcess", "Correlate", "Attach", "Ignore", "AskHuman", "Outside"])


@rules.command("set")
@click.argument("code")
@click.argument("event_type", metavar="TYPE")
@click.argument("action", type=ACTIONS)
@click.option("--when", metavar="EXPRESSION", help="Only if this is true of payload and event.")
@click.option("--channel", help="Only of this channel.")
@click.option("--process", metavar="CODE", help="The process to start, or to attach to.")
@click.option("--key", metavar="PATH", help="Where the business key is: payload.order.id")
@click.option("--message", metavar="NAME", help="The message to correlate.")
@click.option("--correlate", metavar="PATH", help="Where its key is (default: --key).")
@click.option(
    "--map", "mappings", multiple=True, metavar="NAME=EXPRESSION",
    help="One variable (repeat; default: the payload).",
)  # fmt: skip
@click.option("--priority", type=int, default=0, show_default=True, help="The highest goes first.")
@click.option("--ttl", metavar="INTERVAL", help="How long the message is kept (default: 1 hour).")
@click.option("--reason", help="Why; shown with what it ignores, or asks.")
@actor_option
@json_option
@pass_app
def set_rule(
    app: App,
    code: str,
    event_type: str,
    action: str,
    when: str | None,
    channel: str | None,
    process: str | None,
    key: str | None,
    message: str | None,
    correlate: str | None,
    mappings: tuple[str, ...],
    priority: int,
    ttl: str | None,
    reason: str | None,
    actor: str | None,
    as_json: bool,
) -> None:
    """Set a routing rule, or put it in the place of the one with this code."""
    variables: dict[str, str] | None = {} if mappings else None
    for mapping in mappings:
        name, equals, expression = mapping.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{mapping!r} is not NAME=EXPRESSION", param_hint="--map")
        assert variables is not None
        variables[name] = expression
    with app.connect() as conn:
        row = app.call(
            conn, "set_routing_rule", p_code=code, p_event_type=event_type, p_action=action,
            p_condition=when, p_channel=channel, p_process_code=process, p_business_key_path=key,
            p_message_name=message, p_correlation_path=correlate, p_variables=variables,
            p_priority=priority, p_message_ttl=ttl, p_reason=reason, p_actor=actor,
        )[0]  # fmt: skip
        wake_runners(conn)
    emit(row, as_json)


@rules.command()
@click.argument("code")
@reason_option
@actor_option
@json_option
@pass_app
def delete(app: App, code: str, reason: str | None, actor: str | None, as_json: bool) -> None:
    """Delete a routing rule; what it decided stays decided."""
    with app.connect() as conn:
        row = app.call(
            conn, "delete_routing_rule", p_code=code, p_reason=reason, p_actor=actor
        )[0]  # fmt: skip
        wake_runners(conn)
    emit(row, as_json)


COMMANDS = [events, rules]
