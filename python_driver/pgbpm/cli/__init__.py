"""The command line ``pgbpm``.

Each module of this package that has a ``COMMANDS`` list adds those commands; nothing else has to
be registered::

    # pgbpm/cli/deploy.py
    @click.command()
    @click.argument("file", type=click.Path(exists=True))
    @json_option
    @pass_app
    def deploy(app: App, file: str, as_json: bool) -> None:
        "Deploy a BPMN file."
        with app.connect() as conn:
            row = app.call(conn, "deploy_bpmn", p_xml=Path(file).read_text())
        emit(row, as_json)

    COMMANDS = [deploy]

Exit codes: see :mod:`pgbpm.errors`.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from typing import Any

import click
import psycopg

from pgbpm import __version__
from pgbpm import config as configuration
from pgbpm.cli.app import App
from pgbpm.cli.hints import hint_of
from pgbpm.cli.output import show_error
from pgbpm.errors import PgbpmError, ServerError


class _Root(click.Group):
    """Turns errors of the driver and the engine into a message and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except PgbpmError as error:
            show_error(error.code, error.message, error.hint)
            ctx.exit(error.exit_code)
        except psycopg.Error as error:
            show_error(
                error.sqlstate,
                error.diag.message_primary or str(error).strip(),
                hint_of(error, ctx.invoked_subcommand),
                error.diag.message_detail,
            )
            lost = isinstance(error, psycopg.OperationalError) and error.sqlstate is None
            ctx.exit(ServerError.exit_code if lost else PgbpmError.exit_code)


@click.group(cls=_Root, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="pgbpm")
@click.option("--config", "config_file", type=click.Path(), help="TOML file (default: pgbpm.toml).")
@click.option("--database-url", metavar="URL", help="Use this database (overrides database.url).")
@click.option("--ephemeral", is_flag=True, help="Use a throw-away server (server.ephemeral).")
@click.option("--tenant", metavar="ID", help="Work for this tenant (overrides database.tenant).")
@click.pass_context
def root(
    ctx: click.Context,
    config_file: str | None,
    database_url: str | None,
    ephemeral: bool,
    tenant: str | None,
) -> None:
    """A business process engine that lives inside PostgreSQL.

    Without a configured database an embedded server is used, with its data in .pgbpm/.
    """
    config = configuration.load(config_file)
    if database_url:
        config = config.with_values("database", url=database_url)
    if ephemeral:
        config = config.with_values("database", url=None).with_values("server", ephemeral=True)
    ctx.obj = App(config, config.database.tenant if tenant is None else tenant)


def _register() -> None:
    for module in pkgutil.iter_modules(__path__):
        for command in getattr(
            importlib.import_module(f"{__name__}.{module.name}"), "COMMANDS", ()
        ):
            root.add_command(command)


_register()


def main() -> None:
    """Entry point of the ``pgbpm`` program."""
    try:
        root.main(prog_name="pgbpm", standalone_mode=True)
    except KeyboardInterrupt:
        sys.exit(130)
