"""``pgbpm server start|stop|status|url``: the embedded server of the project folder."""

from __future__ import annotations

import dataclasses
import signal
import time

import click

from pgbpm.cli.app import App, json_option, pass_app
from pgbpm.cli.output import emit
from pgbpm.config import ServerConfig
from pgbpm.db import project_server
from pgbpm.errors import ServerError
from pgbpm.server import EmbeddedServer, ServerStatus, ephemeral_server


@click.group()
def server() -> None:
    """The embedded PostgreSQL server of this folder."""


def _report(status: ServerStatus) -> dict[str, object]:
    fields = status.as_json()
    return {name: value for name, value in fields.items() if value is not None}


@server.command()
@click.option("--port", type=int, help="Also listen on 127.0.0.1 at this port (password needed).")
@click.option("--ephemeral", is_flag=True, help="Throw-away data; stays in the foreground.")
@json_option
@pass_app
def start(app: App, port: int | None, ephemeral: bool, as_json: bool) -> None:
    """Start the server in the background; prints its URL. A second start changes nothing."""
    config = app.config.server
    if port is not None:
        config = dataclasses.replace(config, port=port)
    if ephemeral or config.ephemeral:
        _hold_ephemeral(config, as_json)
        return
    embedded = EmbeddedServer(app.config.project_dir / config.dir, config)
    before = embedded.status()
    status = embedded.start("daemon")
    if as_json:
        emit(_report(status), as_json)
        return
    if before.state == "running":
        click.echo("The server runs already.", err=True)
        if status.mode == "child":
            click.echo(f"It ends with process {status.owner_pid}, which started it.", err=True)
    else:
        click.echo(
            f"PostgreSQL {status.version} ({status.origin}: {status.bin_dir}) started,"
            f" data in {status.data_dir}",
            err=True,
        )
    click.echo(status.url)


def _hold_ephemeral(config: ServerConfig, as_json: bool) -> None:
    """Run a throw-away server until we are interrupted or it ends."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with ephemeral_server(config) as embedded:
        status = embedded.status()
        if as_json:
            emit(_report(status), as_json)
        else:
            click.echo("Throw-away server; Ctrl-C ends it and removes its data.", err=True)
            click.echo(status.url)
        try:
            while embedded.status().state == "running":
                time.sleep(0.2)
        except KeyboardInterrupt:
            return
    raise ServerError("the throw-away server has ended by itself")


@server.command()
@pass_app
def stop(app: App) -> None:
    """Stop the server; data stay. Without a running server nothing happens."""
    stopped = project_server(app.config).stop()
    click.echo("The server has stopped." if stopped else "The server did not run.", err=True)


@server.command("status")
@json_option
@pass_app
def show_status(app: App, as_json: bool) -> None:
    """Say what the server does. Exit code 0 if it runs, 3 if not."""
    status = project_server(app.config).status()
    emit(_report(status), as_json)
    if status.state != "running":
        click.get_current_context().exit(ServerError.exit_code)


@server.command()
@pass_app
def url(app: App) -> None:
    """Print the connection string of the running server (for psql and BPM__DATABASE__URL)."""
    click.echo(project_server(app.config).url)


COMMANDS = [server]
