"""``pgbpm access``, ``pgbpm tenant`` and ``pgbpm quotas``: who may what for whom, the tenants, and
how much each may do at once."""

from __future__ import annotations

import click

from pgbpm.cli.app import NULL, App, json_option, pass_app
from pgbpm.cli.output import emit, emit_json, table
from pgbpm.cli.waking import wake_runners

_CAPABILITY = click.Choice(["reader", "worker", "operator", "admin"])
_actor = click.option("--actor", help="On whose behalf (default: the database role).")
_reason = click.option("--reason", help="Why, for the audit.")
_pattern = click.option(
    "--pattern", metavar="P", help="Tenant, or with a trailing % a prefix (default: --tenant)."
)


@click.group(invoke_without_command=True)
@json_option
@pass_app
@click.pass_context
def access(context: click.Context, app: App, as_json: bool) -> None:
    """List who may what for this tenant, and by which grant; grant and revoke."""
    if context.invoked_subcommand is not None:
        return
    with app.connect() as conn:
        rows = list(
            conn.execute(
                "select role_name, capability, tenant_pattern, granted_by, granted_at"
                " from bpm.access where tenant_id = %s order by role_name, capability",
                [app.tenant],
            )
        )
    if as_json:
        emit_json(rows)
    else:
        click.echo(table(rows) if rows else "no grants that this login may see")


@access.command()
@click.argument("role")
@click.argument("capability", type=_CAPABILITY)
@_pattern
@_actor
@json_option
@pass_app
def grant(
    app: App, role: str, capability: str, pattern: str | None, actor: str | None, as_json: bool
) -> None:
    """Let the database role ROLE do what CAPABILITY says. Granting twice changes nothing."""
    given = app.tenant if pattern is None else pattern
    with app.connect() as conn:
        app.call(
            conn, "grant_access", p_role=role, p_tenant_pattern=given, p_capability=capability,
            p_actor=actor,
        )  # fmt: skip
    emit({"role": role, "tenant_pattern": given, "capability": capability}, as_json)


@access.command()
@click.argument("role")
@click.argument("capability", type=_CAPABILITY)
@_pattern
@_actor
@json_option
@pass_app
def revoke(
    app: App, role: str, capability: str, pattern: str | None, actor: str | None, as_json: bool
) -> None:
    """Take that grant away again. What other grants give the role it keeps."""
    given = app.tenant if pattern is None else pattern
    with app.connect() as conn:
        row = app.call(
            conn, "revoke_access", p_role=role, p_tenant_pattern=given, p_capability=capability,
            p_actor=actor,
        )[0]  # fmt: skip
    emit(
        {"role": role, "tenant_pattern": given, "capability": capability,
         "revoked": row["revoke_access"]},
        as_json,
    )  # fmt: skip


@click.group(invoke_without_command=True)
@json_option
@pass_app
@click.pass_context
def tenant(context: click.Context, app: App, as_json: bool) -> None:
    """List the tenants this login may read; make, suspend and resume tenants, share among them."""
    if context.invoked_subcommand is not None:
        return
    with app.connect() as conn:
        rows = list(
            conn.execute(
                "select tenant_id, name, state, weight, created_at from bpm.tenant"
                " order by tenant_id"
            )
        )
    if as_json:
        emit_json(rows)
    else:
        click.echo(table(rows) if rows else "no tenants that this login may read")


@tenant.command()
@click.argument("id")
@click.option("--name", help="What people call it (default: the id).")
@_actor
@json_option
@pass_app
def create(app: App, id: str, name: str | None, actor: str | None, as_json: bool) -> None:
    """Make the tenant ID, or rename it; whoever makes it becomes its admin."""
    with app.connect() as conn:
        app.call(conn, "create_tenant", p_name=name or id, p_new_tenant_id=id, p_actor=actor)
    emit({"tenant_id": id, "name": name or id}, as_json)


@tenant.command()
@click.argument("id")
@_reason
@_actor
@json_option
@pass_app
def suspend(app: App, id: str, reason: str | None, actor: str | None, as_json: bool) -> None:
    """Let nothing move in the tenant ID until it is resumed. It can be read."""
    with app.connect() as conn:
        row = app.call(
            conn, "suspend_tenant", p_suspended_tenant_id=id, p_reason=reason, p_actor=actor
        )[0]
    emit({"tenant_id": id, "state": "Suspended", "is_new": row["suspend_tenant"]}, as_json)


@tenant.command()
@click.argument("id")
@_reason
@_actor
@json_option
@pass_app
def resume(app: App, id: str, reason: str | None, actor: str | None, as_json: bool) -> None:
    """Let the suspended tenant ID go on."""
    with app.connect() as conn:
        row = app.call(
            conn, "resume_tenant", p_resumed_tenant_id=id, p_reason=reason, p_actor=actor
        )[0]
    emit({"tenant_id": id, "state": "Active", "is_new": row["resume_tenant"]}, as_json)


@tenant.command()
@click.argument("id")
@click.argument("weight", type=click.IntRange(1, 1000))
@_reason
@_actor
@json_option
@pass_app
def weight(
    app: App, id: str, weight: int, reason: str | None, actor: str | None, as_json: bool
) -> None:
    """Give the tenant ID its share of the runners while there is more to do than they can."""
    with app.connect() as conn:
        row = app.call(
            conn, "set_tenant_weight", p_weighted_tenant_id=id, p_weight=weight, p_reason=reason,
            p_actor=actor,
        )[0]  # fmt: skip
    emit({"tenant_id": id, "weight": weight, "before": row["set_tenant_weight"]}, as_json)


def _bound(_: click.Context, __: click.Parameter, value: str) -> int | None:
    if value == "none":
        return None
    if not value.isdecimal() or not 1 <= int(value) <= 10000:
        raise click.BadParameter('it is 1 to 10000, or "none"')
    return int(value)


@tenant.command()
@click.argument("id")
@click.argument("bound", callback=_bound)
@_reason
@_actor
@json_option
@pass_app
def quota(
    app: App, id: str, bound: int | None, reason: str | None, actor: str | None, as_json: bool
) -> None:
    """Let at most BOUND tasks of the tenant ID be in hand at once, of all types; or "none"."""
    with app.connect() as conn:
        row = app.call(
            conn, "set_tenant_quota", p_bounded_tenant_id=id,
            p_bound=NULL if bound is None else bound, p_reason=reason, p_actor=actor,
        )[0]  # fmt: skip
        wake_runners(conn)
    emit({"tenant_id": id, "bound": bound, "before": row["set_tenant_quota"]}, as_json)


@click.group(invoke_without_command=True)
@json_option
@pass_app
@click.pass_context
def quotas(context: click.Context, app: App, as_json: bool) -> None:
    """List how many tasks may be in hand at once in this tenant, and how many are."""
    if context.invoked_subcommand is not None:
        return
    with app.connect() as conn:
        rows = list(
            conn.execute(
                "select task_type, bound, held, set_by, set_at from bpm.task_quota"
                " where tenant_id = %s order by task_type",
                [app.tenant],
            )
        )
    if as_json:
        emit_json(rows)
    elif rows:
        click.echo(table([{**row, "task_type": row["task_type"] or "(all types)"} for row in rows]))
    else:
        click.echo("no quotas")


@quotas.command("set")
@click.argument("type")
@click.argument("bound", callback=_bound)
@_reason
@_actor
@json_option
@pass_app
def set_quota(
    app: App, type: str, bound: int | None, reason: str | None, actor: str | None, as_json: bool
) -> None:
    """Let at most BOUND tasks of TYPE be in hand at once in this tenant; or "none"."""
    with app.connect() as conn:
        row = app.call(
            conn,
            "set_task_quota",
            p_task_type=type,
            p_bound=NULL if bound is None else bound,
            p_reason=reason,
            p_actor=actor,
        )[0]
        wake_runners(conn)
    emit({"task_type": type, "bound": bound, "before": row["set_task_quota"]}, as_json)


COMMANDS = [access, tenant, quotas]
