"""``pgbpm facts|purge-evidence|identity``: the record, and whose identities it speaks of."""

from __future__ import annotations

import click

from pgbpm.cli.app import App, json_option, pass_app
from pgbpm.cli.listing import actor_option
from pgbpm.cli.output import emit


@click.command()
@click.argument("subject_type", metavar="TYPE")
@click.argument("subject_key", metavar="KEY")
@click.option("--history", is_flag=True, help="Also what was superseded, oldest first.")
@json_option
@pass_app
def facts(app: App, subject_type: str, subject_key: str, history: bool, as_json: bool) -> None:
    """What is true of a subject (pgbpm facts shipment S-1), and how we know."""
    with app.connect() as conn:
        rows = app.call(
            conn,
            "get_facts",
            p_subject_type=subject_type,
            p_subject_key=subject_key,
            p_history=history,
        )
    if not as_json:
        rows = [
            {
                "version": row["subject_version"],
                "name": row["name"],
                "value": row["value"],
                "now": row["is_current"],
                "by": row["confirmed_by"],
                "at": row["at"],
                "evidence": len(row["evidence_ids"]),
            }
            for row in rows
        ]
    emit(rows, as_json, empty="nothing is known of it")


@click.command()
@click.argument("evidence", metavar="ID")
@click.option("--reason", required=True, help="Why, for the audit.")
@actor_option
@json_option
@pass_app
def purge_evidence(app: App, evidence: str, reason: str, actor: str | None, as_json: bool) -> None:
    """Leave only a tombstone of a piece of evidence; says what to remove from the store."""
    with app.connect() as conn:
        row = app.call(
            conn, "purge_evidence", p_evidence_id=evidence, p_reason=reason, p_actor=actor
        )[0]
    emit(row, as_json)


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def identity(ctx: click.Context, as_json: bool) -> None:
    """What is tied to tables of the host, and what is missing there."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(report, as_json=as_json)


@identity.command()
@json_option
@pass_app
def report(app: App, as_json: bool) -> None:
    """Which values have no row at the host."""
    with app.connect() as conn:
        rows = app.call(conn, "identity_report")
    emit(rows, as_json, empty="nothing is tied to the host")


@identity.command()
@click.argument("table")
@click.argument("columns")
@click.argument("host_table")
@click.argument("host_columns")
@actor_option
@json_option
@pass_app
def attach(
    app: App,
    table: str,
    columns: str,
    host_table: str,
    host_columns: str,
    actor: str | None,
    as_json: bool,
) -> None:
    """Tie COLUMNS (with commas) of TABLE to HOST_TABLE: tenant tenant_id crm.account code."""
    with app.connect() as conn:
        row = app.call(
            conn,
            "attach_identity",
            p_table=table,
            p_columns=columns.split(","),
            p_host_table=host_table,
            p_host_columns=host_columns.split(","),
            p_actor=actor,
        )[0]
    emit(row, as_json)


@identity.command()
@click.argument("name")
@actor_option
@json_option
@pass_app
def validate(app: App, name: str, actor: str | None, as_json: bool) -> None:
    """Validate a tie, once nothing is missing at the host."""
    with app.connect() as conn:
        row = app.call(conn, "validate_identity", p_identity=name, p_actor=actor)[0]
    emit({"identity": name, "is_valid": True, "is_new": row["validate_identity"]}, as_json)


@identity.command()
@click.argument("name")
@actor_option
@json_option
@pass_app
def detach(app: App, name: str, actor: str | None, as_json: bool) -> None:
    """Untie columns from the host's table."""
    with app.connect() as conn:
        app.call(conn, "detach_identity", p_identity=name, p_actor=actor)
    emit({"identity": name, "action": "Detached"}, as_json)


COMMANDS = [facts, purge_evidence, identity]
