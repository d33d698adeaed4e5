"""``pgbpm keys``: the keys that encrypt variables."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import click
import psycopg

from pgbpm.cli.app import App, json_option, pass_app
from pgbpm.cli.output import emit
from pgbpm.cli.progress import with_progress
from pgbpm.db import Connection
from pgbpm.encryption import Envelope, SealedError, new_key
from pgbpm.errors import ConfigError, PgbpmError
from pgbpm.sealing import Vault

Row = dict[str, Any]
_BATCH = 100
_CONFLICT = "BP409"
_TRIES = 5

_PAGE = """
    select i.process_instance_id::text as id
      from bpm.instance i
     where i.tenant_id = %s and i.process_instance_id > %s and i.status in ('Running', 'Suspended')
     order by i.process_instance_id limit %s
"""
_WORKFLOWS = """
    select w.workflow_instance_id::text as id, w.variables
      from bpm.workflow w
     where w.tenant_id = %s and w.process_instance_id = %s and w.status in ('Running', 'Suspended')
"""
_NOBODY = "00000000-0000-0000-0000-000000000000"


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def keys(ctx: click.Context, as_json: bool) -> None:
    """The keys that encrypt variables: list, make, rotate."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_keys, as_json=as_json)


@keys.command("list")
@json_option
@pass_app
def list_keys(app: App, as_json: bool) -> None:
    """List the keys of the configuration, and whether they can be read here."""
    vault = app.vault
    rows = [
        {
            "id": key_id,
            "key": reference,
            "encrypts": key_id == vault.active,
            "problem": _problem(vault, key_id),
        }
        for key_id, reference in vault.references.items()
    ]
    emit(rows, as_json, empty="no keys: encryption.keys is empty")


def _problem(vault: Vault, key_id: str) -> str | None:
    try:
        vault.key(key_id)
    except ConfigError as error:
        return error.message
    return None


@keys.command()
def new() -> None:
    """Print a new random key, 32 bytes in base64. Nothing is stored."""
    click.echo(new_key())


@keys.command()
@click.option("--limit", type=click.IntRange(1), metavar="N", help="At most so many instances.")
@click.option("--after", metavar="ID", help="Only instances after this one, by id (to go on).")
@click.option("--check", is_flag=True, help="Change nothing, only count.")
@click.option("--actor", help="On whose behalf (default: the database role).")
@json_option
@pass_app
def rotate(
    app: App, limit: int | None, after: str | None, check: bool, actor: str | None, as_json: bool
) -> None:
    """Encrypt the variables of running instances anew with the active key.

    An instance at a time, each in a transaction of its own; what changes meanwhile is read again.
    It may be stopped and repeated whenever you like. Exit code 1 says that something could not be
    decrypted. What has been written down already (history, results, commands, dead letters) keeps
    its key.
    """
    vault = app.vault
    if not vault.active:
        raise ConfigError("there is no key to encrypt with", hint="encryption.keys names them")
    vault.check()
    counts = {"instances": 0, "renewed": 0, "values": 0, "failed": 0}
    with app.connect() as conn:
        ids = list(_ids(conn, app.tenant, after or _NOBODY, limit))
        for found in with_progress(ids, "renewing"):
            counts["instances"] += 1
            try:
                values = _renew(app, conn, vault, found, check, actor)
            except SealedError as error:
                counts["failed"] += 1
                click.echo(f"{found}: {error.message}", err=True)
                continue
            counts["values"] += values
            counts["renewed"] += values > 0
    if check:
        counts["to_renew"] = counts.pop("renewed")
    emit({**counts, "last": ids[-1] if ids else None}, as_json)
    if counts["failed"]:
        click.get_current_context().exit(PgbpmError.exit_code)


def _ids(conn: Connection, tenant: str, after: str, limit: int | None) -> Iterator[str]:
    left = limit
    while left is None or left > 0:
        size = _BATCH if left is None else min(left, _BATCH)
        page = [row["id"] for row in conn.execute(_PAGE, [tenant, after, size])]
        yield from page
        if len(page) < size:
            return
        after = page[-1]
        left = None if left is None else left - size


def _renew(
    app: App, conn: Connection, vault: Vault, instance: str, check: bool, actor: str | None
) -> int:
    """Renews one instance; how many values. What ended or changed meanwhile is looked at again."""
    for _ in range(_TRIES - 1):
        with contextlib.suppress(_Moved):
            return _renew_now(app, conn, vault, instance, check, actor)
    try:
        return _renew_now(app, conn, vault, instance, check, actor)
    except _Moved:
        raise SealedError("it changes all the time; try again later") from None


class _Moved(Exception):
    """A variable changed between reading and writing, or the place is gone."""


def _renew_now(
    app: App, conn: Connection, vault: Vault, instance: str, check: bool, actor: str | None
) -> int:
    state: Row = app.call(conn, "get_process", p_process_instance_id=instance)[0]["get_process"]
    if state["instance"]["status"] not in {"Running", "Suspended"}:
        return 0
    workflows = conn.execute(_WORKFLOWS, [app.tenant, instance]).fetchall()
    values = 0
    for token, variables in _places(state, workflows):
        old = {name: value for name, value in variables.items() if _stale(value, vault.active)}
        if not old:
            continue
        renewed = {name: vault.renew(app.tenant, value) for name, value in old.items()}
        values += sum(_stale(value, vault.active) for value in old.values())
        if check:
            continue
        try:
            app.call(
                conn, "set_variables", p_process_instance_id=instance, p_variables=renewed,
                p_expected=old, p_token_id=token, p_actor=actor,
            )  # fmt: skip
        except psycopg.Error as error:
            if error.sqlstate not in {_CONFLICT, "BP404"}:
                raise
            raise _Moved from error
    return values


def _places(state: Row, workflows: list[Row]) -> Iterator[tuple[str | None, Row]]:
    """Where variables are declared, and the token to reach them by: the process and its only
    workflow, its several or called workflows, open scopes.

    What a called process was given ends with it, and items of a multi-instance share their host.
    """
    yield None, state["instance"]["variables"] or {}
    hosts = [scope["host_token_id"] for scope in state["scopes"]]
    for scope in state["scopes"]:
        if hosts.count(scope["host_token_id"]) == 1:
            yield scope["host_token_id"], scope["variables"] or {}
    for workflow in workflows:
        of_it = [s for s in state["scopes"] if s["workflow_instance_id"] == workflow["id"]]
        hidden = {name for scope in of_it for name in scope["variables"] or {}}
        tokens = [t for t in state["tokens"] if t["workflow_instance_id"] == workflow["id"]]
        if tokens and workflow["id"] != state["instance"]["workflow_instance_id"]:
            own = workflow["variables"] or {}
            yield tokens[0]["token_id"], {n: v for n, v in own.items() if n not in hidden}


def _stale(value: Any, active: str) -> int:
    """How many envelopes of other keys are in a value."""
    if isinstance(value, dict):
        return sum(_stale(item, active) for item in value.values())
    if isinstance(value, list):
        return sum(_stale(item, active) for item in value)
    envelope = Envelope.of(value) if isinstance(value, str) else None
    return int(envelope is not None and envelope.key_id != active)


COMMANDS = [keys]
