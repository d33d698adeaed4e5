"""``pgbpm artifact``: large values by reference."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from pgbpm.artifacts import Artifacts
from pgbpm.cli.app import App, pass_app
from pgbpm.errors import PgbpmError


@click.group()
def artifact() -> None:
    """Large values by reference: put and get them."""


@artifact.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--store", metavar="NAME", help="Which store (default: the first one).")
@pass_app
def put(app: App, file: Path, store: str | None) -> None:
    """Keep the bytes of FILE and print the reference, to be given as a variable."""
    click.echo(Artifacts(app.config.artifacts).put(app.tenant, file.read_bytes(), store))


@artifact.command()
@click.argument("reference")
@click.option("--output", "-o", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="Write there instead of to standard output.")  # fmt: skip
@pass_app
def get(app: App, reference: str, output: Path | None) -> None:
    """Fetch what REFERENCE leads to, after comparing it with its hash."""
    data = Artifacts(app.config.artifacts).get(app.tenant, reference)
    if output is None:
        sys.stdout.buffer.write(data)
        return
    try:
        output.write_bytes(data)
    except OSError as error:
        raise PgbpmError(f"{output} cannot be written: {error.strerror}") from None


COMMANDS = [artifact]
