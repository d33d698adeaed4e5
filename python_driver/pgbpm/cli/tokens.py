"""Options and look-up for commands that mean one token of an instance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from pgbpm.cli.app import App
from pgbpm.cli.lookup import INSTANCE, RUNNING
from pgbpm.db import Connection
from pgbpm.errors import PgbpmError

F = TypeVar("F", bound=Callable[..., Any])


def token_options(function: F) -> F:
    """Adds ``--at`` and ``--token``, which name one token of an instance."""
    function = click.option("--token", metavar="ID", help="The token, if several stand there.")(
        function
    )
    return click.option("--at", "node", metavar="NODE", help="Where the token stands.")(function)


def find_token(
    app: App, conn: Connection, instance: str, node: str | None, token: str | None
) -> str:
    """The id of the one live token that is meant. Raises :class:`PgbpmError` if it is not one."""
    found = RUNNING.find(conn, app.tenant, instance, INSTANCE)
    state = app.call(conn, "get_process", p_process_instance_id=found)[0]["get_process"]
    tokens = [
        row
        for row in state["tokens"]
        if (node is None or row["node_id"] == node)
        and (token is None or row["token_id"].startswith(token.lower()))
    ]
    if len(tokens) == 1:
        return str(tokens[0]["token_id"])
    places = ", ".join(f"{row['node_id']} ({row['token_id']})" for row in state["tokens"][:10])
    if not tokens:
        raise PgbpmError("no token stands there", hint=f"tokens: {places or 'none'}")
    raise PgbpmError(
        f"{len(tokens)} tokens fit", hint=f"name one with --at or --token; tokens: {places}"
    )
