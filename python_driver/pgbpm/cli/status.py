"""``pgbpm status`` (what is there) and ``pgbpm doctor`` (is it well)."""

from __future__ import annotations

from typing import Any

import click
import psycopg

from pgbpm import __version__, migrations
from pgbpm.cli.app import App, json_option, pass_app
from pgbpm.cli.output import emit, emit_json, table
from pgbpm.db import API_VERSION, Connection, Database, check_api, reach_database, sessions
from pgbpm.errors import MigrationError, PgbpmError


def schema_report(current: migrations.MigrationStatus) -> dict[str, Any]:
    """The state of the migrations as JSON."""
    return {
        "latest": current.latest,
        "applied": [m.name for m in current.applied],
        "pending": [m.name for m in current.pending],
        "newer": [m.name for m in current.newer],
    }


def _overview(database: Database, conn: Connection) -> dict[str, Any]:
    row = conn.execute(
        "select current_setting('server_version') as version, current_database() as database,"
        " session_user::text as login, current_setting('max_connections')::int as max_connections"
    ).fetchone()
    assert row is not None
    embedded = database.server.status().as_json() if database.server else None
    return {
        "driver": {"version": __version__, "api_version": API_VERSION},
        "server": {**row, "embedded": embedded},
        "schema": schema_report(migrations.status(conn)),
        "pool": {**sessions(conn), "max": database.config.database.max_connections},
        "subscriptions": _subscriptions(conn),
    }


def _subscriptions(conn: Connection) -> list[dict[str, Any]]:
    """Who is told of domain events and is behind, in all tenants this login sees."""
    try:
        return conn.execute(
            "select s.tenant_id as tenant, s.code, s.behind, s.behind_since, s.last_error"
            "  from bpm.event_subscription s"
            " where s.behind_since is not null order by s.behind_since limit 20"
        ).fetchall()
    except psycopg.Error:  # an older schema, or none
        return []


@click.command()
@json_option
@pass_app
def status(app: App, as_json: bool) -> None:
    """Show server, schema version, migrations and connections. Exit code 4 if any is pending."""
    with reach_database(app.config) as database, database.connect("status") as conn:
        report = _overview(database, conn)
    if as_json:
        emit_json(report)
    else:
        emit(_lines(report), as_json=False)
    if report["schema"]["pending"]:
        click.get_current_context().exit(MigrationError.exit_code)


@click.command()
@json_option
@pass_app
def doctor(app: App, as_json: bool) -> None:
    """Check whether everything is fit to work. Exit code 0 if it is, 1 if not."""
    with reach_database(app.config) as database, database.connect("doctor") as conn:
        report = _overview(database, conn)
        checks = _own_checks(report, conn) + _engine_checks(app, conn)
    fit = all(check["ok"] or not check["required"] for check in checks)
    report = {"ready": fit, **report, "checks": checks}
    if as_json:
        emit_json(report)
    else:
        emit(_lines(report), as_json=False)
        click.echo()
        click.echo(table([{**check, "ok": _verdict(check)} for check in checks]))
        click.echo()
        click.echo("ready" if fit else "NOT ready")
    if not fit:
        click.get_current_context().exit(PgbpmError.exit_code)


def _own_checks(report: dict[str, Any], conn: Connection) -> list[dict[str, Any]]:
    """What the driver sees from outside, in the shape of the engine's checks."""
    pending = report["schema"]["pending"]
    checks = [_check("migrations", not pending, {"pending": pending} if pending else {})]
    try:
        check_api(conn)
        checks.append(_check("interface", True, {"version": API_VERSION}))
    except (MigrationError, psycopg.Error) as error:
        checks.append(_check("interface", False, {"error": str(error)}))
    return checks


def _engine_checks(app: App, conn: Connection) -> list[dict[str, Any]]:
    """What ``bpm.ready()`` says; its absence is a failed check."""
    try:
        answer = app.call(conn, "ready")[0]["ready"]
    except psycopg.Error as error:
        return [_check("engine", False, {"error": error.diag.message_primary or str(error)})]
    return list(answer["checks"])


def _check(name: str, ok: bool, detail: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "ok": ok, "required": True, "detail": detail}


def _verdict(check: dict[str, Any]) -> str:
    return "ok" if check["ok"] else "FAILED" if check["required"] else "warning"


def _lines(report: dict[str, Any]) -> dict[str, Any]:
    """The report as one line per matter."""
    server, schema, pool = report["server"], report["schema"], report["pool"]
    embedded = server["embedded"]
    lines = {
        "driver": f"pgbpm {report['driver']['version']}",
        "server": f"PostgreSQL {server['version']}, database {server['database']}"
        f" as {server['login']}",
    }
    if embedded:
        lines["embedded"] = f"{embedded['origin']}, data in {embedded['data_dir']}"
    latest = schema["latest"]
    lines["schema"] = f"at {latest:04}" if latest else "not installed"
    if schema["pending"]:
        lines["pending"] = ", ".join(schema["pending"])
    if schema["newer"]:
        lines["newer"] = ", ".join(schema["newer"])
    lines["connections"] = (
        f"{pool['active']} active, {pool['idle']} idle, {pool['waiting']} waiting"
        f" (pool limit {pool['max']} per process, server limit {server['max_connections']})"
    )
    if report["subscriptions"]:
        behind = [
            f"{row['code']}{row['tenant'] and ' of ' + row['tenant']} {row['behind']} events behind"
            f" since {row['behind_since'].astimezone():%Y-%m-%d %H:%M:%S}"
            for row in report["subscriptions"]
        ]
        lines["subscribers"] = "; ".join(behind)
    return lines


COMMANDS = [status, doctor]
