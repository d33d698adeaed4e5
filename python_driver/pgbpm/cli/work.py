"""What people do: tasks, approvals, dead letters, incidents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import click

from pgbpm.cli.app import App, json_option, pass_app
from pgbpm.cli.lookup import (
    ANY_APPROVAL,
    ANY_REVIEW,
    APPROVAL,
    DEAD_LETTER,
    INCIDENT,
    REVIEW,
    TASK,
    USER_TASK,
)
from pgbpm.cli.output import emit, emit_json
from pgbpm.cli.reasons import has_steps, incident_reason, incident_steps
from pgbpm.cli.values import variables_of, variables_options
from pgbpm.cli.waking import wake_runners
from pgbpm.db import Connection
from pgbpm.errors import PgbpmError

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


# -- tasks ---------------------------------------------------------------------------------------


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


# -- approvals -----------------------------------------------------------------------------------


@click.command()
@all_option
@click.option("--for", "person", metavar="NAME", help="Only what this person may decide.")
@click.option("--group", "groups", multiple=True, help="With --for: a group they are in.")
@limit_option
@json_option
@pass_app
def approvals(
    app: App,
    everything: bool,
    person: str | None,
    groups: tuple[str, ...],
    limit: int,
    as_json: bool,
) -> None:
    """List decisions that are asked for, the oldest first."""
    if person is not None:
        if everything:
            raise click.UsageError("--for lists what is open; it goes without --all")
        with app.connect() as conn:
            rows = app.call(
                conn, "list_approvals", p_actor=person, p_groups=list(groups) or None,
                p_limit=min(limit, 1000),
            )  # fmt: skip
        shown = ("approval_id", "business_key", "node_id", "required_approvals", "approvals",
                 "claimed_by", "expires_at")  # fmt: skip
        short = rows if as_json else [{name: row[name] for name in shown} for row in rows]
        emit(short, as_json, empty=f"nothing for {person} to decide")
        return
    if groups:
        raise click.UsageError("--group says in which groups --for is")
    listing(
        app,
        """
        select a.approval_id, a.process_instance_id, a.business_key, a.node_id, a.node_name,
               a.task_type, a.status, a.effect, a.decided_by, a.decided_at, a.note, a.created_at,
               a.approvers, a.approver_groups, a.claimed_by
          from bpm.approval a
         where a.tenant_id = %(tenant)s and (%(everything)s or a.status = 'Pending')
         order by a.approval_id limit %(limit)s
        """,
        {"everything": everything, "limit": limit},
        {
            "id": "approval_id", "key": "business_key", "node": "node_id", "type": "task_type",
            "status": "status", "asked": "asked", "claimed by": "claimed_by",
            "decided by": "decided_by", "note": "note", "since": "created_at",
        },
        as_json,
        "no decision is asked for",
        derived=_with_asked,
    )  # fmt: skip


def _with_asked(row: Row) -> Row:
    groups = [f"group {name}" for name in row["approver_groups"] or []]
    return {**row, "asked": [*(row["approvers"] or []), *groups] or "anybody"}


group_option = click.option("--group", "groups", multiple=True, help="A group --actor is in.")


def _decide(
    app: App,
    approval: str,
    decision: str,
    note: str | None,
    actor: str | None,
    groups: tuple[str, ...],
) -> Row:
    with app.connect() as conn:
        row = app.call(
            conn, "decide_approval", p_decision=decision, p_note=note, p_actor=actor,
            p_groups=list(groups) or None,
            p_approval_id=APPROVAL.find(conn, app.tenant, approval, closed=ANY_APPROVAL),
        )[0]  # fmt: skip
        wake_runners(conn)
    return row


@click.command()
@click.argument("approval", metavar="ID|KEY")
@click.option("--note", help="Why, for the record.")
@actor_option
@group_option
@json_option
@pass_app
def approve(
    app: App,
    approval: str,
    note: str | None,
    actor: str | None,
    groups: tuple[str, ...],
    as_json: bool,
) -> None:
    """Approve a step. KEY is the business key of an instance with one pending decision."""
    emit(_decide(app, approval, "Approved", note, actor, groups), as_json)


@click.command()
@click.argument("approval", metavar="ID|KEY")
@click.option("--note", help="Why, for the record.")
@actor_option
@group_option
@json_option
@pass_app
def reject(
    app: App,
    approval: str,
    note: str | None,
    actor: str | None,
    groups: tuple[str, ...],
    as_json: bool,
) -> None:
    """Reject a step. KEY is the business key of an instance with one pending decision."""
    emit(_decide(app, approval, "Rejected", note, actor, groups), as_json)


@click.group()
def approval() -> None:
    """Who is at a decision, so that two people do not prepare the same one."""


def _be_at(app: App, key: str, function: str, as_json: bool, **arguments: Any) -> None:
    with app.connect() as conn:
        found = APPROVAL.find(conn, app.tenant, key, closed=ANY_APPROVAL)
        emit(app.call(conn, function, p_approval_id=found, **arguments)[0], as_json)


@approval.command("claim")
@click.argument("key", metavar="ID|KEY")
@actor_option
@group_option
@json_option
@pass_app
def claim_approval(
    app: App, key: str, actor: str | None, groups: tuple[str, ...], as_json: bool
) -> None:
    """Say that you are at a decision. Others see it, and may decide all the same."""
    _be_at(app, key, "claim_approval", as_json, p_actor=actor, p_groups=list(groups) or None)


@approval.command("unclaim")
@click.argument("key", metavar="ID|KEY")
@click.option("--person", metavar="NAME", help="Take somebody else off; needs --reason.")
@click.option("--reason", help="Why, for the record.")
@actor_option
@json_option
@pass_app
def unclaim_approval(
    app: App,
    key: str,
    person: str | None,
    reason: str | None,
    actor: str | None,
    as_json: bool,
) -> None:
    """Say that you, or somebody else, is no longer at a decision."""
    _be_at(app, key, "unclaim_approval", as_json, p_actor=actor, p_person=person, p_reason=reason)


# -- reviews -------------------------------------------------------------------------------------


@click.command()
@all_option
@click.option("--for", "person", metavar="NAME", help="Only what this person may decide.")
@limit_option
@json_option
@pass_app
def reviews(app: App, everything: bool, person: str | None, limit: int, as_json: bool) -> None:
    """List results that wait for somebody to look at them, the oldest first."""
    if person is not None:
        if everything:
            raise click.UsageError("--for lists what is open; it goes without --all")
        with app.connect() as conn:
            rows = app.call(conn, "list_reviews", p_actor=person, p_limit=min(limit, 1000))
        shown = (
            "review_id", "business_key", "node_id", "done_by", "expected_version", "content_hash",
            "reasons", "output",
        )  # fmt: skip
        short = [_without_tail({name: row[name] for name in shown}) for row in rows]
        short = rows if as_json else short
        emit(short, as_json, empty=f"nothing for {person} to review")
        return
    listing(
        app,
        """
        select r.review_id, r.process_instance_id, r.business_key, r.node_id, r.task_id, r.attempt,
               r.state, r.expected_version, r.decision, r.decided_by, r.reason, r.created_at
          from bpm.review r
         where r.tenant_id = %(tenant)s and (%(everything)s or r.state = 'Open')
         order by r.review_id limit %(limit)s
        """,
        {"everything": everything, "limit": limit},
        {
            "id": "review_id", "key": "business_key", "node": "node_id", "state": "state",
            "version": "expected_version", "decision": "decision", "decided by": "decided_by",
            "since": "created_at",
        },
        as_json,
        "no result waits for a review",
    )  # fmt: skip


@click.command()
@click.argument("review_key", metavar="ID|KEY")
@click.argument("decision", type=click.Choice(["approve", "reject", "return"]))
@click.option(
    "--version", "expected", type=int, metavar="N",
    help="The version that was looked at (default: the one it is of).",
)  # fmt: skip
@click.option(
    "--hash", "content", metavar="HASH",
    help="The content that was looked at, or how it begins (default: not compared).",
)  # fmt: skip
@click.option("--reason", help="Why; needed to reject and return.")
@actor_option
@json_option
@pass_app
def review(
    app: App,
    review_key: str,
    decision: str,
    expected: int | None,
    content: str | None,
    reason: str | None,
    actor: str | None,
    as_json: bool,
) -> None:
    """Decide about a result. KEY is the business key of an instance with one open review."""
    with app.connect() as conn:
        found = REVIEW.find(conn, app.tenant, review_key, closed=ANY_REVIEW)
        row = conn.execute(
            "select r.expected_version, r.content_hash from bpm.review r"
            " where r.tenant_id = %s and r.review_id = %s",
            [app.tenant, found],
        ).fetchone()
        if row is not None:
            expected = row["expected_version"] if expected is None else expected
            content = _whole_hash(content, row["content_hash"])
        rows = app.call(
            conn, "decide_review", p_review_id=found, p_expected_version=expected,
            p_decision=decision.capitalize(), p_reason=reason, p_actor=actor,
            p_content_hash=content,
        )  # fmt: skip
        wake_runners(conn)
    emit(rows[0], as_json)


SHOWN_DIGITS = 16
"""So much of a hash people get to see, and may copy."""


def _without_tail(row: Row) -> Row:
    return {**row, "content_hash": row["content_hash"][:SHOWN_DIGITS]}


def _whole_hash(said: str | None, found: str) -> str | None:
    """The hash somebody gave the beginning of: that of the review if it fits, else one that is
    not it, for the database to refuse."""
    if said is None:
        return None
    start = said.strip().lower()
    if len(start) < SHOWN_DIGITS or set(start) - set("0123456789abcdef"):
        raise click.UsageError(f"--hash takes at least {SHOWN_DIGITS} digits of the content hash")
    return found if found.startswith(start) else start.ljust(64, "0")[:64]


# -- dead letters --------------------------------------------------------------------------------


@click.group("dead-letters", invoke_without_command=True)
@all_option
@limit_option
@json_option
@click.pass_context
def dead_letters(ctx: click.Context, everything: bool, limit: int, as_json: bool) -> None:
    """Work that used up its attempts: list it, requeue or discard it."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_dead_letters, everything=everything, limit=limit, as_json=as_json)


@dead_letters.command("list")
@all_option
@limit_option
@json_option
@pass_app
def list_dead_letters(app: App, everything: bool, limit: int, as_json: bool) -> None:
    """List dead letters, the oldest first."""
    listing(
        app,
        """
        select d.dead_letter_id, d.process_instance_id, d.business_key, d.kind, d.task_id,
               d.incident_id, d.error, d.state, d.created_at, d.closed_by, d.closed_at,
               coalesce(nullif(concat_ws(': ', coalesce(d.error ->> 'type', d.error ->> 'code'),
                                         coalesce(nullif(d.error ->> 'message', ''), e.said)), ''),
                        d.error #>> '{}') as reason
          from bpm.dead_letter d
         cross join lateral (
            select coalesce(d.error #>> '{error,message}', d.error #>> '{error,reason}',
                            nullif(concat_ws(' ', d.error #>> '{error,outcome}',
                                             d.error #>> '{error,status}'), '')) as said) e
         where d.tenant_id = %(tenant)s and (%(everything)s or d.state = 'Open')
         order by d.dead_letter_id limit %(limit)s
        """,
        {"everything": everything, "limit": limit},
        {
            "id": "dead_letter_id", "key": "business_key", "kind": "kind", "state": "state",
            "since": "created_at", "error": "reason",
        },
        as_json,
        "no dead letters",
    )  # fmt: skip


@dead_letters.command()
@click.argument("dead_letter", metavar="ID|KEY")
@attempts_option
@actor_option
@json_option
@pass_app
def requeue(app: App, dead_letter: str, attempts: int, actor: str | None, as_json: bool) -> None:
    """Give the work fresh attempts, at the very place where it stopped."""
    with app.connect() as conn:
        row = app.call(
            conn, "requeue_dead_letter", p_attempts=attempts, p_actor=actor,
            p_dead_letter_id=DEAD_LETTER.find(conn, app.tenant, dead_letter),
        )[0]  # fmt: skip
        wake_runners(conn)
    emit(row, as_json)


@dead_letters.command()
@click.argument("dead_letter", metavar="ID|KEY")
@click.option("--reason", help="Why, for the audit.")
@actor_option
@json_option
@pass_app
def discard(
    app: App, dead_letter: str, reason: str | None, actor: str | None, as_json: bool
) -> None:
    """Close it without doing the work again; its incident stays open."""
    with app.connect() as conn:
        row = app.call(
            conn, "discard_dead_letter", p_reason=reason, p_actor=actor,
            p_dead_letter_id=DEAD_LETTER.find(conn, app.tenant, dead_letter),
        )[0]  # fmt: skip
    emit(row, as_json)


# -- incidents -----------------------------------------------------------------------------------


@click.group(invoke_without_command=True)
@all_option
@limit_option
@json_option
@click.pass_context
def incidents(ctx: click.Context, everything: bool, limit: int, as_json: bool) -> None:
    """What cannot go on, and why: list it, resolve it."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_incidents, everything=everything, limit=limit, as_json=as_json)


@incidents.command("list")
@all_option
@limit_option
@json_option
@pass_app
def list_incidents(app: App, everything: bool, limit: int, as_json: bool) -> None:
    """List incidents, the oldest first."""
    listing(
        app,
        """
        select i.incident_id, i.process_instance_id, i.workflow_instance_id, i.business_key,
               i.token_id, i.node_id, i.node_name, i.code, i.message, i.detail, i.state,
               i.created_at, i.resolved_at, i.resolved_by
          from bpm.incident i
         where i.tenant_id = %(tenant)s and (%(everything)s or i.state = 'Open')
         order by i.incident_id limit %(limit)s
        """,
        {"everything": everything, "limit": limit},
        {
            "id": "incident_id", "key": "business_key", "node": "node_id", "code": "code",
            "state": "state", "since": "created_at", "message": "message",
        },
        as_json,
        "no incidents",
        derived=lambda row: {**row, "message": incident_reason(row)},
        below=partial(_next_steps, app),
    )  # fmt: skip


def _next_steps(app: App, conn: Connection, rows: list[Row]) -> Iterator[str]:
    """What to type for each incident that is about variables."""
    for row in rows:
        if row["state"] == "Open" and has_steps(row):
            key = row["business_key"] or str(row["process_instance_id"])
            yield f"{key} → {_steps(app, conn, row, key)}"


def _steps(app: App, conn: Connection, row: Row, key: str) -> str:
    state = None
    if row["process_instance_id"] is not None and has_steps(row):
        state = app.call(conn, "get_process", p_process_instance_id=row["process_instance_id"])[0]
    plain = {name: str(row[name]) for name in ("workflow_instance_id", "token_id") if row[name]}
    return incident_steps({**row, **plain}, key, state and state["get_process"])


@incidents.command()
@click.argument("incident", metavar="ID|KEY")
@attempts_option
@actor_option
@json_option
@pass_app
def resolve(app: App, incident: str, attempts: int, actor: str | None, as_json: bool) -> None:
    """Drive the stopped token again, after what stopped it was mended."""
    with app.connect() as conn:
        found = INCIDENT.find(conn, app.tenant, incident)
        row = app.call(
            conn, "resolve_incident", p_attempts=attempts, p_actor=actor, p_incident_id=found
        )[0]
        wake_runners(conn)
        again = conn.execute(_STOPPED_AGAIN, {"tenant": app.tenant, "incident": found}).fetchall()
        steps = [_steps(app, conn, new, str(new["process_instance_id"])) for new in again]
    emit(row | ({"stopped_again": again} if again and as_json else {}), as_json)
    if not as_json:
        for new, step in zip(again, steps, strict=True):
            click.echo(f"stopped again: {new['code']}: {incident_reason(new)}", err=True)
            click.echo(f"  hint: {step}", err=True)


_STOPPED_AGAIN = """
    select n.incident_id, n.process_instance_id, n.workflow_instance_id, n.token_id, n.code,
           n.message, n.detail
      from bpm.incident r
      join bpm.incident n
        on n.tenant_id = r.tenant_id and n.workflow_instance_id = r.workflow_instance_id
       and n.token_id = r.token_id and n.incident_id <> r.incident_id and n.state = 'Open'
     where r.tenant_id = %(tenant)s and r.incident_id = %(incident)s and r.state <> 'Open'
"""

COMMANDS = [
    tasks,
    task,
    complete,
    approvals,
    approve,
    reject,
    approval,
    reviews,
    review,
    dead_letters,
    incidents,
]
