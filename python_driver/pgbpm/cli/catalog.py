"""``pgbpm deploy|check``: BPMN files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import psycopg

from pgbpm.cli.app import App, json_option, pass_app
from pgbpm.cli.hints import in_commands
from pgbpm.cli.listing import actor_option, listing
from pgbpm.cli.output import emit, emit_json, show_error, table
from pgbpm.cli.progress import with_progress
from pgbpm.cli.values import Unreadable, read_bpmn
from pgbpm.cli.waking import wake_runners
from pgbpm.db import Connection
from pgbpm.errors import PgbpmError

Row = dict[str, Any]

files_argument = click.argument(
    "files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
strict_option = click.option(
    "--strict", is_flag=True, help="Refuse what is only warned of: listeners and scripts."
)


@click.command()
@files_argument
@click.option("--name", help="Name of the processes (default: as the file says).")
@strict_option
@click.option("--actor", help="On whose behalf (default: the database role).")
@json_option
@pass_app
def deploy(
    app: App,
    files: tuple[Path, ...],
    name: str | None,
    strict: bool,
    actor: str | None,
    as_json: bool,
) -> None:
    """Deploy BPMN files: each executable process gets a new version, unless nothing changed.

    A file with faults is refused as a whole (exit code 1) and the files before it stay deployed.
    """
    done: list[Row] = []
    with app.connect() as conn:
        for file in files:
            try:
                rows = app.call(
                    conn, "deploy_bpmn", p_xml=read_bpmn(file), p_name=name, p_actor=actor,
                    p_strict=strict,
                )  # fmt: skip
            except Unreadable as error:
                raise PgbpmError(f"{file} {error}") from None
            except psycopg.Error as error:
                findings = refusal_of(file, error)
                if findings is None:
                    raise
                if as_json:
                    emit_json({"deployed": done, "refused": str(file), "findings": findings})
                else:
                    _show(done)
                    summary = (error.diag.message_primary or "").partition(". ")[0]
                    show_error(error.sqlstate, f"{file}: {summary.rstrip('.')}")
                    click.echo(table(findings), err=True)
                click.get_current_context().exit(PgbpmError.exit_code)
            done += [{"file": str(file), **row} for row in rows]
    if as_json:
        emit_json({"deployed": done})
    else:
        _show(done)


def _show(done: list[Row]) -> None:
    for row in done:
        what = "deployed" if row["is_new"] else "unchanged"
        click.echo(f"{what} {row['code']} version {row['version']} ({row['file']})")
    for name in dict.fromkeys(row["file"] for row in done):
        warnings = next(row["warnings"] for row in done if row["file"] == name)
        if warnings:
            click.echo(f"\nwarnings of {name}:")
            click.echo(table([_finding(None, "warning", warning) for warning in warnings]))


def refusal_of(file: Path, error: psycopg.Error) -> list[Row] | None:
    """The faults and warnings in the detail of a refusal, or None if it is another error."""
    try:
        detail = json.loads(error.diag.message_detail or "")
        faults, warnings = detail["faults"], detail.get("warnings", [])
    except (ValueError, KeyError, TypeError):
        return None
    return [_finding(file, "fault", fault) for fault in faults] + [
        _finding(file, "warning", warning) for warning in warnings
    ]


def _finding(file: Path | None, severity: str, found: Row) -> Row:
    row: Row = {} if file is None else {"file": str(file)}
    return row | {
        "line": found.get("line"),
        "severity": severity,
        "code": found.get("code"),
        "id": found.get("node_id") or found.get("flow_id"),
        "message": found["message"],
        "hint": in_commands(found.get("hint")),
    }


@click.command()
@files_argument
@strict_option
@json_option
@pass_app
def check(app: App, files: tuple[Path, ...], strict: bool, as_json: bool) -> None:
    """Say what `pgbpm deploy` would say of BPMN files, and store nothing.

    Exit code 1 if any file has a fault; warnings alone are fine.
    """
    findings: list[Row] = []
    with app.connect() as conn:
        for file in with_progress(files, "checking"):
            findings += _check(app, conn, file, strict)
    faulty = {row["file"] for row in findings if row["severity"] == "fault"}
    if as_json:
        emit_json({"files": len(files), "faulty": len(faulty), "findings": findings})
    else:
        for name in map(str, files):
            mine = [row for row in findings if row["file"] == name]
            faults = sum(row["severity"] == "fault" for row in mine)
            warnings = len(mine) - faults
            click.echo(f"{name}: {_counted(faults, 'fault')}, {_counted(warnings, 'warning')}")
            if mine:
                click.echo(table([{k: v for k, v in row.items() if k != "file"} for row in mine]))
                click.echo()
    if faulty:
        click.get_current_context().exit(PgbpmError.exit_code)


def _counted(count: int, word: str) -> str:
    return f"{count or 'no'} {word}{'' if count == 1 else 's'}"


def _check(app: App, conn: Connection, file: Path, strict: bool) -> list[Row]:
    try:
        rows = app.call(conn, "check_bpmn", p_xml=read_bpmn(file), p_strict=strict)
    except Unreadable as error:
        unreadable = {"code": "InvalidXml", "message": f"The file {error}."}
        return [_finding(file, "fault", unreadable)]
    return [_finding(file, row["severity"], row) for row in rows]


@click.command()
@json_option
@pass_app
def definitions(app: App, as_json: bool) -> None:
    """List what is deployed."""
    with app.connect() as conn:
        rows = conn.execute(
            "select * from bpm.definition d where d.tenant_id = %s order by d.code, d.version",
            [app.tenant],
        ).fetchall()
        if not rows:
            app.warn_if_not_granted(conn)
    emit(rows, as_json, empty="nothing deployed")


@click.command()
@json_option
@pass_app
def starts(app: App, as_json: bool) -> None:
    """List the messages, signals and timers that start processes."""
    with app.connect() as conn:
        rows = conn.execute(
            "select e.process_code, e.process_version, e.node_id, e.kind, e.name, e.time_zone,"
            " e.next_due_at, e.remaining from bpm.start_event e where e.tenant_id = %s"
            " order by e.process_code, e.node_id",
            [app.tenant],
        ).fetchall()
        if not rows:
            app.warn_if_not_granted(conn)
    emit(rows, as_json, empty="nothing starts by itself")


@click.command()
@click.argument("code")
@click.option("--url", help="Where commands are posted to.")
@click.option("--kind", help="http (default), webhook, smtp, or a kind of your own runners.")
@click.option("--config", "more", metavar="JSON", help="More of its configuration: for smtp all.")
@click.option(
    "--header", "headers", multiple=True, metavar="NAME=VALUE", help="Sent along (repeat)."
)
@click.option("--timeout", type=float, metavar="S", help="Longest wait for an answer.")
@click.option(
    "--secret",
    metavar="REF",
    help="Token, webhook secret or password: env:NAME or file:PATH of the runner.",
)
@click.option("--key-header", help="Header that carries the command's id (Idempotency-Key).")
@click.option("--key-retention", metavar="INTERVAL", help="How long the receiver remembers a key.")
@click.option("--resend", is_flag=True, help="It honours keys: send again what may have arrived.")
@click.option(
    "--conflict-means", type=click.Choice(["Failed", "Sent", "Pending"]),
    help="What its 409 says of our key.",
)  # fmt: skip
@click.option("--server-error-safe", is_flag=True, help="Its 5xx mean that nothing was stored.")
@click.option("--receipt", metavar="PATH", help="What an answer must hold to count as receipt.")
@click.option("--max-attempts", type=int, metavar="N", help="Then the command has failed.")
@click.option("--lease", metavar="INTERVAL", help="A runner that died is noticed after this.")
@click.option("--ordered", is_flag=True, help="One after the other for each business key.")
@click.option("--probe-url", metavar="URL", help="Where GET tells of a {command_id}.")
@click.option(
    "--absent-means", type=click.Choice(["Unknown", "Pending"]),
    help="What 404 there proves: nothing, or that it never arrived.",
)  # fmt: skip
@click.option("--max-concurrent", type=int, metavar="N", help="Requests under way at once.")
@click.option("--rate-limit", type=int, metavar="N", help="Requests per rate period.")
@click.option("--rate-period", metavar="INTERVAL", help="1 second unless given.")
@click.option("--breaker-threshold", type=int, metavar="N", help="Failures in a row that stop it.")
@click.option("--breaker-delay", metavar="INTERVAL", help="How long it is stopped at first.")
@json_option
@pass_app
def destination(
    app: App,
    /,
    code: str,
    url: str | None,
    more: str | None,
    headers: tuple[str, ...],
    timeout: float | None,
    secret: str | None,
    resend: bool,
    ordered: bool,
    server_error_safe: bool,
    receipt: str | None,
    as_json: bool,
    **profile: Any,
) -> None:
    """Say where send tasks for CODE go and how the receiver behaves, or change it.

    What is not given falls back to its default. Commands already written keep the old address.
    """
    config: Row = {} if more is None else _config(more)
    if url is not None:
        config["url"] = url
    if headers:
        config["headers"] = dict(map(_header, headers))
    if timeout is not None:
        config["timeout_seconds"] = timeout
    with app.connect() as conn:
        app.call(
            conn, "register_destination", p_code=code, p_config=config, p_secret_ref=secret,
            p_resend_allowed=resend, p_server_error_safe=server_error_safe, p_receipt_path=receipt,
            p_ordered=ordered, **{f"p_{name}": value for name, value in profile.items()},
        )  # fmt: skip
    emit({"code": code, "url": url}, as_json)


@click.command()
@json_option
@pass_app
def destinations(app: App, as_json: bool) -> None:
    """List where commands go, and which of these nothing is sent to now."""
    listing(
        app,
        "select d.* from bpm.destination d where d.tenant_id = %(tenant)s order by d.code",
        {},
        {
            "code": "code", "kind": "kind", "state": "state", "failures": "failures",
            "tried at": "probe_at", "held by": "held_by", "why": "reason", "error": "last_error",
        },
        as_json,
        "no destinations",
    )  # fmt: skip


@click.command()
@click.argument("code")
@click.argument("state", type=click.Choice(["Open", "Closed"]))
@click.option("--reason", required=True, help="Why, for the audit.")
@actor_option
@json_option
@pass_app
def turn(app: App, code: str, state: str, reason: str, actor: str | None, as_json: bool) -> None:
    """Open the circuit breaker of destination CODE, so that nothing is sent, or close it."""
    with app.connect() as conn:
        row = app.call(
            conn, "turn_destination", p_code=code, p_state=state, p_reason=reason, p_actor=actor
        )[0]
        wake_runners(conn)
    emit(row, as_json)


def _config(text: str) -> Row:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise click.BadParameter("not a JSON object", param_hint="--config")
    return value


def _header(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--header")
    return name, value


COMMANDS = [deploy, check, definitions, starts, destination, destinations, turn]
