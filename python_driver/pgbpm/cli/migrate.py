"""``pgbpm migrate|bundle``: the schema of the database."""

from __future__ import annotations

import click

from pgbpm import migrations
from pgbpm.cli.app import App, json_option, pass_app
from pgbpm.cli.output import emit_json
from pgbpm.cli.status import schema_report
from pgbpm.db import push_settings, reach_database
from pgbpm.errors import MigrationError


@click.command()
@click.option("--check", is_flag=True, help="Change nothing; exit code 4 if anything is pending.")
@json_option
@pass_app
def migrate(app: App, check: bool, as_json: bool) -> None:
    """Bring the schema to the version of this package; a second run does nothing.

    Also writes the engine settings of the configuration to the database.
    """
    with reach_database(app.config) as database, database.connect("migrate") as conn:
        if check:
            report = schema_report(migrations.status(conn))
        else:
            before = migrations.status(conn)
            applied = migrations.run(conn)
            push_settings(conn, app.config)
            names = {m.version: m.name for m in before.pending}
            report = {"ran": [names.get(version, version) for version in applied]}
            report |= schema_report(migrations.status(conn))
    if as_json:
        emit_json(report)
    else:
        for name in report.get("ran", []):
            click.echo(f"applied {name}")
        for name in report["pending"]:
            click.echo(f"pending {name}")
        if not report.get("ran") and not report["pending"]:
            click.echo(f"current at {report['latest']:04}")
    if report["pending"]:
        click.get_current_context().exit(MigrationError.exit_code)


@click.command()
@pass_app
def bundle(app: App) -> None:
    """Print everything as one script: pgbpm bundle | psql -1 mydb."""
    del app
    click.echo(migrations.bundle(), nl=False)


COMMANDS = [migrate, bundle]
