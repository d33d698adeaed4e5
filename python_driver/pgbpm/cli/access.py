"""``pgbpm access`` and ``pgbpm tenant``: who may what for whom, and the tenants."""

from __future__ import annotations

import click

from pgbpm.cli.app import App, json_option, pass_app
from pgbpm.cli.output import emit, emit_json, table

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
    """List the tenants this login may read; make, suspend and resume tenants."""
    if context.invoked_subcommand is not None:
        return
    with app.connect() as conn:
        rows = list(
            conn.execute(
                "select tenant_id, name, state, created_at from bpm.tenant order by tenant_id"
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


COMMANDS = [access, tenant]
