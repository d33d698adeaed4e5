"""``pgbpm publish|deprecate|archive|delete``: the catalog, beyond deploying files."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import click
import psycopg
from psycopg.types.json import Jsonb

from pgbpm.cli.app import App, json_option, pass_app
from pgbpm.cli.catalog import refusal_of, strict_option
from pgbpm.cli.output import emit, show_error, table
from pgbpm.cli.values import Unreadable, read_bpmn, variables_of
from pgbpm.errors import PgbpmError

Row = dict[str, Any]

KINDS = ("process", "workflow", "task", "role")
_OF_A_TASK = {
    "task_type", "executor_kind", "max_attempts", "backoff", "backoff_factor", "backoff_cap",
    "jitter", "lease", "approval_required", "input_schema", "result_schema", "exclusion_rule",
}  # fmt: skip
_JSON_OF_A_TASK = {"input_schema", "result_schema", "exclusion_rule"}

file_type = click.Path(exists=True, dir_okay=False, path_type=Path)
actor_option = click.option("--actor", help="On whose behalf (default: the database role).")
reason_option = click.option("--reason", help="Why, for the audit.")


@click.group()
def publish() -> None:
    """Publish roles, tasks, workflows and processes, each on its own."""


@publish.command("role")
@click.argument("code")
@click.argument("file", required=False, type=file_type)
@actor_option
@json_option
@pass_app
def role(app: App, code: str, file: Path | None, actor: str | None, as_json: bool) -> None:
    """Publish who owns workflows.

    FILE (JSON or TOML): responsibilities, policy, capabilities, context_profile, each optional.
    """
    definition = Jsonb(_read(file) if file else {})
    with app.connect() as conn:
        row = app.call(conn, "publish_role", p_code=code, p_definition=definition, p_actor=actor)[0]
    _tell("role", {"code": code, **row}, as_json)


@publish.command("task")
@click.argument("code")
@click.argument("file", required=False, type=file_type)
@click.option(
    "--set", "pairs", multiple=True, metavar="NAME=VALUE",
    help="One of its settings, over those of FILE; VALUE is JSON if it can be read as such.",
)  # fmt: skip
@click.option("--input-schema", type=file_type, help="JSON Schema of what it is given.")
@click.option("--result-schema", type=file_type, help="JSON Schema of what it gives back.")
@actor_option
@json_option
@pass_app
def task(
    app: App,
    code: str,
    file: Path | None,
    pairs: tuple[str, ...],
    input_schema: Path | None,
    result_schema: Path | None,
    actor: str | None,
    as_json: bool,
) -> None:
    """Publish how a task is executed: bpm.publish_task with these settings.

    FILE (JSON or TOML) may hold any of: task_type, executor_kind, max_attempts, backoff,
    backoff_factor, backoff_cap, jitter, lease, approval_required, input_schema, result_schema,
    exclusion_rule. What is not given is the default.
    """
    settings = _object(_read(file), file) if file else {}
    settings |= variables_of(None, pairs)
    schemas = {"input_schema": input_schema, "result_schema": result_schema}
    settings |= {name: _read(path) for name, path in schemas.items() if path}
    unknown = sorted(settings.keys() - _OF_A_TASK)
    if unknown:
        raise click.BadParameter(f"a task has no {', '.join(unknown)}", param_hint="FILE or --set")
    arguments = {
        f"p_{name}": Jsonb(value) if name in _JSON_OF_A_TASK else value
        for name, value in settings.items()
    }
    with app.connect() as conn:
        row = app.call(conn, "publish_task", p_code=code, p_actor=actor, **arguments)[0]
    _tell("task", {"code": code, **row}, as_json)


@publish.command("workflow")
@click.argument("file", type=file_type)
@click.option("--code", help="Its code (default: the id of the process).")
@click.option("--process", "process_id", metavar="ID", help="Which process of the file.")
@click.option("--owner", metavar="ROLE", help="Who owns it (default: the role default).")
@click.option(
    "--task", "pins", multiple=True, metavar="NODE=TASK[:VERSION]",
    help="Pin a node to another task, or another version of it (repeat).",
)  # fmt: skip
@click.option("--name", help="Its name (default: as the file says).")
@strict_option
@actor_option
@json_option
@pass_app
def workflow(
    app: App,
    file: Path,
    code: str | None,
    process_id: str | None,
    owner: str | None,
    pins: tuple[str, ...],
    name: str | None,
    strict: bool,
    actor: str | None,
    as_json: bool,
) -> None:
    """Publish one process of a BPMN file as a workflow, which processes can bind."""
    with app.connect() as conn:
        try:
            row = app.call(
                conn, "publish_workflow", p_code=code, p_xml=read_bpmn(file), p_name=name,
                p_process_id=process_id, p_owner_role=owner, p_strict=strict, p_actor=actor,
                p_tasks=Jsonb(dict(map(_pin, pins))),
            )[0]  # fmt: skip
        except Unreadable as error:
            raise PgbpmError(f"{file} {error}") from None
        except psycopg.Error as error:
            findings = refusal_of(file, error)
            if findings is None or as_json:
                raise
            summary = (error.diag.message_primary or "").partition(". ")[0]
            show_error(error.sqlstate, f"{file}: {summary.rstrip('.')}")
            click.echo(table(findings), err=True)
            click.get_current_context().exit(PgbpmError.exit_code)
    _tell("workflow", row, as_json)


@publish.command("process")
@click.argument("code")
@click.argument("file", type=file_type)
@actor_option
@json_option
@pass_app
def process(app: App, code: str, file: Path, actor: str | None, as_json: bool) -> None:
    """Publish a process of several workflows.

    FILE (JSON or TOML): name, if it has one, and bindings, an array of binding_key, workflow,
    version, position, depends_on, start_condition; or that array alone.
    """
    said = _read(file)
    said = {"bindings": said} if isinstance(said, list) else _object(said, file)
    if said.keys() - {"name", "bindings"}:
        raise click.BadParameter(f"{file}: a process has a name and bindings", param_hint="FILE")
    with app.connect() as conn:
        row = app.call(
            conn, "publish_process", p_code=code, p_bindings=Jsonb(said.get("bindings")),
            p_name=said.get("name"), p_actor=actor,
        )[0]  # fmt: skip
    _tell("process", {"code": code, **row}, as_json)


@click.command()
@click.argument("code")
@click.argument("version", type=int)
@reason_option
@actor_option
@json_option
@pass_app
def deprecate(
    app: App, code: str, version: int, reason: str | None, actor: str | None, as_json: bool
) -> None:
    """Take a version of a process out of use, for good: nothing starts it any more."""
    with app.connect() as conn:
        row = app.call(
            conn, "deprecate_process", p_code=code, p_version=version, p_reason=reason,
            p_actor=actor,
        )[0]  # fmt: skip
    emit(row, as_json)


@click.command()
@click.argument("kind", type=click.Choice(KINDS))
@click.argument("code")
@reason_option
@actor_option
@json_option
@pass_app
def archive(
    app: App, kind: str, code: str, reason: str | None, actor: str | None, as_json: bool
) -> None:
    """Take a definition out of use until it is published again. What runs goes on."""
    with app.connect() as conn:
        row = app.call(
            conn, "archive_definition", p_kind=kind, p_code=code, p_reason=reason, p_actor=actor
        )[0]
    emit(row, as_json)


@click.command()
@click.argument("kind", type=click.Choice(KINDS))
@click.argument("code")
@reason_option
@actor_option
@json_option
@pass_app
def delete(
    app: App, kind: str, code: str, reason: str | None, actor: str | None, as_json: bool
) -> None:
    """Delete a definition that was archived a minute ago or longer and that nothing refers to."""
    with app.connect() as conn:
        row = app.call(
            conn, "delete_definition", p_kind=kind, p_code=code, p_reason=reason, p_actor=actor
        )[0]
    emit(row, as_json)


def _tell(kind: str, row: Row, as_json: bool) -> None:
    if as_json:
        emit(row, True)
        return
    what = "published" if row["is_new"] else "unchanged"
    click.echo(f"{what} {kind} {row['code']} version {row['version']}")
    for warning in row.get("warnings", ()):
        click.echo(f"  warning {warning['code']}: {warning['message']}")


def _read(file: Path) -> Any:
    """What a JSON or TOML file holds."""
    try:
        text = file.read_text(encoding="utf-8")
        return tomllib.loads(text) if file.suffix == ".toml" else json.loads(text)
    except (OSError, ValueError) as error:
        raise click.BadParameter(f"{file}: {error}", param_hint="FILE") from None


def _object(value: Any, file: Path | None) -> Row:
    if not isinstance(value, dict):
        raise click.BadParameter(f"{file}: must hold an object", param_hint="FILE")
    return value


def _pin(text: str) -> tuple[str, Any]:
    node, equals, what = text.partition("=")
    code, colon, version = what.rpartition(":")
    if not equals or not node or not what:
        raise click.BadParameter(f"{text!r} is not NODE=TASK[:VERSION]", param_hint="--task")
    if colon and version.isdigit():
        return node, {"task": code, "version": int(version)}
    return node, what


COMMANDS = [publish, deprecate, archive, delete]
