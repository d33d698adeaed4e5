"""Lists of rows, and the options that commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click

from pgbpm.cli.app import App
from pgbpm.cli.output import emit, emit_json
from pgbpm.db import Connection

Row = dict[str, Any]

actor_option = click.option("--actor", help="On whose behalf (default: the database role).")
attempts_option = click.option(
    "--attempts", default=1, show_default=True, type=click.IntRange(1, 1000), help="Fresh attempts."
)
limit_option = click.option("--limit", default=50, show_default=True, type=click.IntRange(1))
all_option = click.option("--all", "everything", is_flag=True, help="Also what is closed.")


def listing(
    app: App,
    query: str,
    values: Row,
    shown: dict[str, str],
    as_json: bool,
    empty: str,
    *,
    derived: Callable[[Row], Row] = dict,
    below: Callable[[Connection, list[Row]], Iterable[str]] = lambda _, __: (),
) -> None:
    """Run a query of a view and print it; ``shown`` maps headings of the table to columns.

    For people only: ``derived`` changes a row before it is shown, ``below`` gives lines to print
    below the table.
    """
    with app.connect() as conn:
        rows = conn.execute(query, {"tenant": app.tenant, **values}).fetchall()
        if not rows:
            app.warn_if_not_granted(conn)
        lines = [] if as_json else list(below(conn, rows))
    if as_json:
        emit_json(rows)
    else:
        short = [
            {head: row[column] for head, column in shown.items()} for row in map(derived, rows)
        ]
        emit(short, False, empty=empty)
        for line in lines:
            click.echo(line)
        if len(rows) == values.get("limit"):
            click.echo(f"({len(rows)} shown; more with --limit)")
