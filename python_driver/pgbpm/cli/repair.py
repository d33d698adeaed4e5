"""``pgbpm suspend|resume|move|skip``: what operators do to running instances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from pgbpm.cli.app import App, json_option, pass_app
from pgbpm.cli.lookup import INSTANCE, RUNNING
from pgbpm.cli.output import emit
from pgbpm.cli.values import variables_of, variables_options
from pgbpm.cli.waking import wake_runners
from pgbpm.db import Connection
from pgbpm.errors import PgbpmError

F = TypeVar("F", bound=Callable[..., Any])


def _audit_options(function: F) -> F:
    """Adds ``--reason`` and ``--actor``."""
    function = click.option("--actor", help="On whose behalf (default: the database role).")(
        function
    )
    return click.option("--reason", help="Why, for the audit.")(function)


def _token_options(function: F) -> F:
    """Adds ``--at`` and ``--token``, which name one token of an instance."""
    function = click.option("--token", metavar="ID", help="The token, if several stand there.")(
        function
    )
    return click.option("--at", "node", metavar="NODE", help="Where the token stands.")(function)


def _token(app: App, conn: Connection, instance: str, node: str | None, token: str | None) -> str:
    """The id of the one live token that is meant. Raises :class:`PgbpmError` if it is not one."""
    found = RUNNING.find(conn, app.tenant, instance, INSTANCE)
    state = app.call(conn, "get_process", p_process_instance_id=found)[0]["get_process"]
    tokens = [
        row
        for row in state["tokens"]
        if (node is None or row["node_id"] == node)
        and (token is None or row["token_id"].startswith(token.lower()))
    ]
    if len(tokens) == 1:
        return str(tokens[0]["token_id"])
    places = ", ".join(f"{row['node_id']} ({row['token_id']})" for row in state["tokens"][:10])
    if not tokens:
        raise PgbpmError("no token stands there", hint=f"tokens: {places or 'none'}")
    raise PgbpmError(
        f"{len(tokens)} tokens fit", hint=f"name one with --at or --token; tokens: {places}"
    )


@click.command()
@click.argument("instance", metavar="ID|KEY")
@_audit_options
@json_option
@pass_app
def suspend(app: App, instance: str, reason: str | None, actor: str | None, as_json: bool) -> None:
    """Hold a process instance: nothing in it moves until it is resumed.

    Work in hand may be finished; its results are kept and take effect on resume.
    """
    with app.connect() as conn:
        row = app.call(
            conn, "suspend_process", p_reason=reason, p_actor=actor,
            p_process_instance_id=RUNNING.find(conn, app.tenant, instance, INSTANCE),
        )[0]  # fmt: skip
        wake_runners(conn)
    emit(row, as_json)


@click.command()
@click.argument("instance", metavar="ID|KEY")
@_audit_options
@json_option
@pass_app
def resume(app: App, instance: str, reason: str | None, actor: str | None, as_json: bool) -> None:
    """Let a suspended process instance go on."""
    with app.connect() as conn:
        row = app.call(
            conn, "resume_process", p_reason=reason, p_actor=actor,
            p_process_instance_id=RUNNING.find(conn, app.tenant, instance, INSTANCE),
        )[0]  # fmt: skip
        wake_runners(conn)
    emit(row, as_json)


@click.command()
@click.argument("instance", metavar="ID|KEY")
@click.argument("to", metavar="NODE")
@_token_options
@_audit_options
@json_option
@pass_app
def move(
    app: App,
    instance: str,
    to: str,
    node: str | None,
    token: str | None,
    reason: str | None,
    actor: str | None,
    as_json: bool,
) -> None:
    """Move a token of a process instance to NODE, which it enters anew.

    What it offered where it stood (tasks, timers, waits) is closed. NODE must lie in the same
    sub-process. With one token there is no need to say which.
    """
    with app.connect() as conn:
        row = app.call(
            conn, "move_token", p_token_id=_token(app, conn, instance, node, token),
            p_node_id=to, p_reason=reason, p_actor=actor,
        )[0]  # fmt: skip
        wake_runners(conn)
    emit(row, as_json)


@click.command()
@click.argument("instance", metavar="ID|KEY")
@_token_options
@click.option("--flow", metavar="ID", help="The flow to leave by, where several leave the node.")
@variables_options
@_audit_options
@json_option
@pass_app
def skip(
    app: App,
    instance: str,
    node: str | None,
    token: str | None,
    flow: str | None,
    variables: str | None,
    pairs: tuple[str, ...],
    reason: str | None,
    actor: str | None,
    as_json: bool,
) -> None:
    """Let a token leave the node it stands at, as if what it waits for there were done.

    Variables given are set as the task would have set them. With one token there is no need to
    say which.
    """
    given = variables_of(variables, pairs)
    with app.connect() as conn:
        row = app.call(
            conn, "skip_node", p_token_id=_token(app, conn, instance, node, token),
            p_variables=given, p_flow_id=flow, p_reason=reason, p_actor=actor,
        )[0]  # fmt: skip
        wake_runners(conn)
    emit(row, as_json)


COMMANDS = [suspend, resume, move, skip]
