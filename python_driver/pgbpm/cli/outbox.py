"""``pgbpm outbox``: commands to the outside."""

from __future__ import annotations

import click

from pgbpm.cli.app import App, json_option, pass_app
from pgbpm.cli.listing import actor_option, limit_option, listing
from pgbpm.cli.lookup import ANY_COMMAND, SETTLED_COMMAND, UNKNOWN_COMMAND
from pgbpm.cli.output import emit
from pgbpm.cli.reasons import error_words
from pgbpm.cli.values import variables_of, variables_options
from pgbpm.cli.waking import wake_runners

state_option = click.option("--state", help="Only in this state: Pending, Unknown, Sent, …")


@click.group(invoke_without_command=True)
@state_option
@limit_option
@json_option
@click.pass_context
def outbox(ctx: click.Context, state: str | None, limit: int, as_json: bool) -> None:
    """Commands to the outside: list them, settle those nobody knows the fate of."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_commands, state=state, limit=limit, as_json=as_json)


@outbox.command("list")
@state_option
@limit_option
@json_option
@pass_app
def list_commands(app: App, state: str | None, limit: int, as_json: bool) -> None:
    """List commands, the newest first."""
    listing(
        app,
        """
        select c.*
          from bpm.command c
         where c.tenant_id = %(tenant)s and (%(state)s::text is null or c.state = %(state)s)
         order by c.command_id desc limit %(limit)s
        """,
        {"state": state, "limit": limit},
        {
            "id": "command_id", "key": "business_key", "to": "destination_code", "state": "state",
            "attempt": "attempt", "next": "available_at", "error": "last_error",
        },
        as_json,
        "no commands",
        derived=lambda row: {**row, "last_error": error_words(row["last_error"])},
    )  # fmt: skip


@outbox.command()
@click.argument("command", metavar="ID|KEY")
@click.option(
    "--outcome", required=True, type=click.Choice(["Sent", "Failed", "Resend", "Manual"]),
    help="What was found out, or what to do.",
)  # fmt: skip
@variables_options
@click.option("--reason", help="Why, for the audit.")
@actor_option
@json_option
@pass_app
def reconcile(
    app: App,
    command: str,
    outcome: str,
    variables: str | None,
    pairs: tuple[str, ...],
    reason: str | None,
    actor: str | None,
    as_json: bool,
) -> None:
    """Settle a command of which nobody knew whether it arrived.

    --var and --variables give the receipt that was found.
    """
    receipt = variables_of(variables, pairs)
    with app.connect() as conn:
        found = UNKNOWN_COMMAND.find(conn, app.tenant, command, closed=ANY_COMMAND)
        row = app.call(
            conn, "reconcile_command", p_command_id=found,
            p_outcome=outcome, p_receipt=receipt or None, p_reason=reason, p_actor=actor,
        )[0]  # fmt: skip
        wake_runners(conn)
    emit(row, as_json)


@outbox.command("unknown")
@limit_option
@json_option
@pass_app
def unknown(app: App, limit: int, as_json: bool) -> None:
    """List commands of which nobody knows whether they arrived: why, and what happens next."""
    listing(
        app,
        """
        select u.*, c.business_key, concat_ws(' ', u.reason, u.detail ->> 'status') as why
          from bpm.unknown_command u
          left join lateral (
            select c.business_key from bpm.command c
             where c.tenant_id = u.tenant_id and c.command_id = u.command_id) c on true
         where u.tenant_id = %(tenant)s
         order by u.first_sent_at limit %(limit)s
        """,
        {"limit": limit},
        {
            "id": "command_id", "key": "business_key", "to": "destination_code", "state": "state",
            "reason": "why", "next": "next_step", "at": "next_at", "not again": "why_not_again",
        },
        as_json,
        "no commands of unknown fate",
    )  # fmt: skip


@outbox.command()
@click.argument("command", metavar="ID|KEY")
@click.option("--reason", required=True, help="Why, for the audit.")
@click.option("--idempotency-key", help="Repeating the call with it sends nothing more.")
@actor_option
@json_option
@pass_app
def again(
    app: App,
    command: str,
    reason: str,
    idempotency_key: str | None,
    actor: str | None,
    as_json: bool,
) -> None:
    """Send what a Sent or Failed command said once more, as a new command.

    The receiver cannot tell that it is the same.
    """
    with app.connect() as conn:
        found = SETTLED_COMMAND.find(conn, app.tenant, command, closed=ANY_COMMAND)
        row = app.call(
            conn, "send_again", p_command_id=found,
            p_reason=reason, p_idempotency_key=idempotency_key, p_actor=actor,
        )[0]  # fmt: skip
        wake_runners(conn)
    emit(row, as_json)


COMMANDS = [outbox]
