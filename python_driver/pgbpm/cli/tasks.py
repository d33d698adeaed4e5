"""Tasks: list them, complete them, and what people do with theirs."""

from __future__ import annotations

from typing import Any

import click

from pgbpm.cli.app import App, json_option, pass_app
from pgbpm.cli.listing import actor_option, limit_option, listing
from pgbpm.cli.lookup import (
    TASK,
    USER_TASK,
)
from pgbpm.cli.output import emit, emit_json
from pgbpm.cli.values import variables_of, variables_options
from pgbpm.cli.waking import wake_runners
from pgbpm.db import Connection
from pgbpm.errors import PgbpmError


@click.command()
@click.option("--type", "task_type", help="Only of this type (people's tasks: bpm:user).")
@click.option("--state", help="Only in this state (default: Ready, Executing and Held).")
@click.option("--assignee", help="Only of this person.")
@click.option("--for", "person", metavar="NAME", help="Only what this person can do.")
@click.option("--group", "groups", multiple=True, help="With --for: a group they are in.")
@limit_option
@json_option
@pass_app
def tasks(
    app: App,
    task_type: str | None,
    state: str | None,
    assignee: str | None,
    person: str | None,
    groups: tuple[str, ...],
    limit: int,
    as_json: bool,
) -> None:
    """List open tasks, for machines and for people, the oldest first."""
    if person is not None:
        _list_for(app, person, groups, limit, as_json)
        return
    if groups:
        raise click.UsageError("--group says in which groups --for is")
    listing(
        app,
        """
        select t.task_id, t.process_instance_id, t.business_key, t.node_id, t.node_name,
               t.task_type, t.state, t.attempt, t.max_attempts, t.worker_id, t.lease_until,
               t.assignee, t.candidate_groups, t.available_at
          from bpm.task t
         where t.tenant_id = %(tenant)s
           and t.state = any (case when %(state)s::text is null
                              then '{Ready,Executing,Held}'::text[] else array[%(state)s] end)
           and (%(type)s::text is null or t.task_type = %(type)s)
           and (%(assignee)s::text is null or t.assignee = %(assignee)s)
         order by t.task_id limit %(limit)s
        """,
        {"type": task_type, "state": state, "assignee": assignee, "limit": limit},
        {
            "id": "task_id", "key": "business_key", "node": "node_id", "type": "task_type",
            "state": "state", "attempt": "attempt", "worker": "worker_id", "assignee": "assignee",
            "since": "available_at",
        },
        as_json,
        "no open tasks",
    )  # fmt: skip


def _list_for(app: App, person: str, groups: tuple[str, ...], limit: int, as_json: bool) -> None:
    with app.connect() as conn:
        rows = app.call(
            conn, "list_user_tasks", p_actor=person, p_groups=list(groups) or None,
            p_limit=min(limit, 1000),
        )  # fmt: skip
    shown = ("task_id", "business_key", "node_id", "assignee", "owner", "due_at", "fencing_token")
    short = rows if as_json else [{name: row[name] for name in shown} for row in rows]
    emit(short, as_json, empty=f"nothing for {person} to do")


@click.group()
def task() -> None:
    """One task of a person: look at it, take it, hand it on, talk about it."""


task_argument = click.argument("task_key", metavar="ID|KEY")


def _change(app: App, key: str, function: str, as_json: bool, **arguments: Any) -> None:
    with app.connect() as conn:
        found = TASK.find(conn, app.tenant, key, closed=USER_TASK)
        rows = app.call(conn, function, p_task_id=found, **arguments)
    emit(rows[0], as_json)


@task.command("show")
@task_argument
@pass_app
def show_task(app: App, task_key: str) -> None:
    """Everything a form needs, as JSON."""
    with app.connect() as conn:
        found = TASK.find(conn, app.tenant, task_key, closed=USER_TASK)
        emit_json(app.call(conn, "get_user_task", p_task_id=found)[0]["get_user_task"])


@task.command("claim")
@task_argument
@actor_option
@json_option
@pass_app
def claim_task(app: App, task_key: str, actor: str | None, as_json: bool) -> None:
    """Take a task; the first wins."""
    _change(app, task_key, "claim_user_task", as_json, p_actor=actor)


@task.command("unclaim")
@task_argument
@actor_option
@json_option
@pass_app
def unclaim_task(app: App, task_key: str, actor: str | None, as_json: bool) -> None:
    """Give a task back to everybody."""
    _change(app, task_key, "unclaim_user_task", as_json, p_actor=actor)


@task.command("assign")
@task_argument
@click.argument("name", metavar="NAME")
@click.option("--reason", help="Why, for the record.")
@actor_option
@json_option
@pass_app
def assign_task(
    app: App, task_key: str, name: str, reason: str | None, actor: str | None, as_json: bool
) -> None:
    """Give a task to NAME, whoever holds it now."""
    _change(
        app, task_key, "assign_user_task", as_json, p_assignee=name, p_reason=reason, p_actor=actor
    )


@task.command("delegate")
@task_argument
@click.argument("name", metavar="NAME")
@click.option("--reason", help="Why, for the record.")
@actor_option
@json_option
@pass_app
def delegate_task(
    app: App, task_key: str, name: str, reason: str | None, actor: str | None, as_json: bool
) -> None:
    """Hand a task on to NAME, who hands it back with resolve."""
    _change(app, task_key, "delegate_user_task", as_json, p_to=name, p_reason=reason, p_actor=actor)


@task.command("resolve")
@task_argument
@click.option("--note", help="What was found; kept as a comment.")
@actor_option
@json_option
@pass_app
def resolve_task(
    app: App, task_key: str, note: str | None, actor: str | None, as_json: bool
) -> None:
    """Hand a delegated task back to its owner."""
    _change(app, task_key, "resolve_user_task", as_json, p_note=note, p_actor=actor)


@task.command("comment")
@task_argument
@click.argument("text", metavar="TEXT")
@actor_option
@json_option
@pass_app
def comment_task(app: App, task_key: str, text: str, actor: str | None, as_json: bool) -> None:
    """Say something about a task."""
    _change(app, task_key, "comment_user_task", as_json, p_text=text, p_actor=actor)


@click.command()
@click.argument("task", metavar="ID|KEY")
@variables_options
@click.option(
    "--fencing-token", type=int, metavar="N", help="For a service task that was claimed with it."
)
@actor_option
@json_option
@pass_app
def complete(
    app: App,
    task: str,
    variables: str | None,
    pairs: tuple[str, ...],
    fencing_token: int | None,
    actor: str | None,
    as_json: bool,
) -> None:
    """Complete a task: a person's, or with --fencing-token a claimed service task.

    KEY is the business key of an instance with only one open task.
    """
    if fencing_token is not None and actor is not None:
        raise click.UsageError("--actor is for people's tasks; a service task has its worker")
    given = variables_of(variables, pairs)
    with app.connect() as conn:
        found = TASK.find(conn, app.tenant, task, closed=USER_TASK)
        given = app.seal(given, found.replace("-", "").lower())
        if fencing_token is None:
            _refuse_workers_task(conn, app.tenant, found)
            rows = app.call(
                conn, "complete_user_task", p_task_id=found, p_variables=given, p_actor=actor
            )
        else:
            rows = app.call(
                conn, "complete_task", p_task_id=found, p_fencing_token=fencing_token,
                p_variables=given,
            )  # fmt: skip
        wake_runners(conn)
    emit(rows[0], as_json)


def _refuse_workers_task(conn: Connection, tenant: str, task: str) -> None:
    row = conn.execute(
        "select t.task_type, t.worker_id, t.state from bpm.task t"
        " where t.tenant_id = %s and t.task_id = %s",
        [tenant, task],
    ).fetchone()
    if row is not None and row["task_type"] != "bpm:user":
        by = f", claimed by {row['worker_id']}" if row["state"] == "Executing" else ""
        raise PgbpmError(
            f"task {task} is for workers ({row['task_type']}, {row['state']}{by}), not for people",
            hint="whoever claimed it completes it with --fencing-token N; pgbpm run does so",
        )


COMMANDS = [tasks, task, complete]
