"""``pgbpm suspend|resume|move|skip|transfer|restart``: what operators do to instances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from pgbpm.cli.app import App, json_option, pass_app
from pgbpm.cli.lookup import ENDED, INSTANCE, RUNNING
from pgbpm.cli.output import emit, emit_json
from pgbpm.cli.tokens import find_token, token_options
from pgbpm.cli.values import variables_of, variables_options
from pgbpm.cli.waking import wake_runners
from pgbpm.db import Connection

F = TypeVar("F", bound=Callable[..., Any])


def _audit_options(function: F) -> F:
    """Adds ``--reason`` and ``--actor``."""
    function = click.option("--actor", help="On whose behalf (default: the database role).")(
        function
    )
    return click.option("--reason", help="Why, for the audit.")(function)


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
@token_options
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
            conn, "move_token", p_token_id=find_token(app, conn, instance, node, token),
            p_node_id=to, p_reason=reason, p_actor=actor,
        )[0]  # fmt: skip
        wake_runners(conn)
    emit(row, as_json)


@click.command()
@click.argument("instance", metavar="ID|KEY")
@token_options
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

    Variables given are set where the task's would be; its output mappings are not applied. With
    one token there is no need to say which.
    """
    given = app.seal(variables_of(variables, pairs))
    with app.connect() as conn:
        row = app.call(
            conn, "skip_node", p_token_id=find_token(app, conn, instance, node, token),
            p_variables=given, p_flow_id=flow, p_reason=reason, p_actor=actor,
        )[0]  # fmt: skip
        wake_runners(conn)
    emit(row, as_json)


@click.command()
@click.argument("instance", metavar="ID|KEY", required=False)
@click.option("--to", "version", metavar="N", type=int, required=True, help="The new version.")
@click.option("--map", "pairs", multiple=True, metavar="OLD=NEW",
              help="A node that has another id there (repeat).")  # fmt: skip
@click.option("--give-up", "given_up", multiple=True, metavar="NODE",
              help="A boundary event whose waits and timers are closed (repeat).")  # fmt: skip
@click.option("--check", is_flag=True, help="Only say what would happen, and what speaks against.")
@click.option("--all", "code", metavar="CODE", help="All instances of a process; needs --from.")
@click.option("--from", "source", type=int, metavar="N", help="With --all: those of this version.")
@_audit_options
@json_option
@pass_app
def transfer(
    app: App,
    instance: str | None,
    version: int,
    pairs: tuple[str, ...],
    given_up: tuple[str, ...],
    check: bool,
    code: str | None,
    source: int | None,
    reason: str | None,
    actor: str | None,
    as_json: bool,
) -> None:
    """Move a process instance to another version of its process.

    What would strand something is refused, and all of it is listed. With --all CODE --from N all
    instances of that version, in batches; exit code 1 says that some were refused.
    """
    mapping = _mapping(pairs, given_up)
    if (instance is None) == (code is None) or (code is None) != (source is None):
        raise click.UsageError("give an instance, or --all CODE with --from N")
    if check and instance is None:
        raise click.UsageError("--check takes one instance")
    with app.connect() as conn:
        if instance is None:
            rows = _transfer_all(
                app, conn, p_code=code, p_from_version=source, p_to_version=version,
                p_mapping=mapping, p_reason=reason, p_actor=actor,
            )  # fmt: skip
            emit(rows, as_json, empty="no such instance")
            bad = any(row["outcome"] == "Rejected" for row in rows)
        else:
            found = RUNNING.find(conn, app.tenant, instance, INSTANCE)
            plan = app.call(
                conn, "plan_migration", p_process_instance_id=found, p_to_version=version,
                p_mapping=mapping,
            )  # fmt: skip
            bad = any(row["refusal"] for row in plan)
            if check or bad:
                emit(plan, as_json, empty="nothing is open in it")
            else:
                row = app.call(
                    conn, "migrate_process", p_process_instance_id=found, p_to_version=version,
                    p_mapping=mapping, p_reason=reason, p_actor=actor,
                )[0]  # fmt: skip
                emit_json(row) if as_json else emit({**row, "changes": len(row["changes"])}, False)
        wake_runners(conn)
    if bad:
        raise SystemExit(1)


def _mapping(pairs: tuple[str, ...], given_up: tuple[str, ...]) -> dict[str, str | None]:
    """The mapping of nodes that the options give. Raises ``click.BadParameter``."""
    mapping: dict[str, str | None] = dict.fromkeys(given_up)
    for pair in pairs:
        old, equals, new = pair.partition("=")
        if not (old and equals and new):
            raise click.BadParameter(f"{pair!r} is not OLD=NEW", param_hint="--map")
        mapping[old] = new
    return mapping


def _transfer_all(app: App, conn: Connection, **arguments: Any) -> list[dict[str, Any]]:
    """Batch after batch, each in a transaction of its own; one row per instance."""
    done: list[dict[str, Any]] = []
    after: str | None = None
    while True:
        rows = app.call(conn, "migrate_processes", p_limit=100, p_after=after, **arguments)
        done += [
            {
                "process_instance_id": row["process_instance_id"],
                "outcome": row["outcome"],
                "refusals": "; ".join(
                    f"{refusal['node']}: {refusal['message']}" for refusal in row["refusals"] or []
                ),
            }
            for row in rows
        ]
        if len(rows) < 100:
            return done
        after = str(rows[-1]["process_instance_id"])


@click.command()
@click.argument("instance", metavar="ID|KEY")
@click.option("--at", "node", metavar="NODE", help="Where it begins (default: its start event).")
@click.option("--upto", type=int, metavar="SEQ", help="Variables as after this row of history.")
@click.option("--idempotency-key", metavar="KEY", help="Same key, same instance: safe to repeat.")
@_audit_options
@json_option
@pass_app
def restart(
    app: App,
    instance: str,
    node: str | None,
    upto: int | None,
    idempotency_key: str | None,
    reason: str | None,
    actor: str | None,
    as_json: bool,
) -> None:
    """Start a new instance in place of one that failed or was cancelled.

    It has the same version, business key and values, and the variables the old one had.
    """
    with app.connect() as conn:
        row = app.call(
            conn, "restart_process", p_process_instance_id=ENDED.find(conn, app.tenant, instance),
            p_node_id=node, p_upto=upto, p_idempotency_key=idempotency_key, p_reason=reason,
            p_actor=actor,
        )[0]  # fmt: skip
        wake_runners(conn)
    emit(row, as_json)


COMMANDS = [suspend, resume, move, skip, transfer, restart]
