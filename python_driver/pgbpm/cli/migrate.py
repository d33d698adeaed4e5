"""``pgbpm migrate|status|bundle|maintain``: the schema of the database."""

from __future__ import annotations

import click

from pgbpm import migrations
from pgbpm.cli.app import App, json_option, pass_app
from pgbpm.cli.output import emit, emit_json
from pgbpm.db import push_settings, reach_database
from pgbpm.errors import MigrationError


def _report(current: migrations.MigrationStatus) -> dict[str, object]:
    return {
        "latest": current.latest,
        "applied": [m.name for m in current.applied],
        "pending": [m.name for m in current.pending],
    }


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
            report = _report(migrations.status(conn))
        else:
            before = migrations.status(conn)
            applied = migrations.run(conn)
            push_settings(conn, app.config)
            names = {m.version: m.name for m in before.pending}
            report = {"ran": [names.get(version, version) for version in applied]}
            report |= _report(migrations.status(conn))
    if as_json:
        emit_json(report)
    else:
        for name in report.get("ran", []):  # type: ignore[attr-defined]
            click.echo(f"applied {name}")
        for name in report["pending"]:  # type: ignore[attr-defined]
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


@click.command()
@json_option
@pass_app
def maintain(app: App, as_json: bool) -> None:
    """Create and drop history partitions as their months come and go."""
    with app.connect() as conn:
        emit(app.call(conn, "maintain_partitions"), as_json, empty="nothing to do")


COMMANDS = [migrate, bundle, maintain]
