"""Approvals and reviews: list them, be at one, decide."""

from __future__ import annotations

from typing import Any

import click

from pgbpm.cli.app import App, json_option, pass_app
from pgbpm.cli.listing import Row, actor_option, all_option, limit_option, listing
from pgbpm.cli.lookup import (
    ANY_APPROVAL,
    ANY_REVIEW,
    APPROVAL,
    REVIEW,
)
from pgbpm.cli.output import emit
from pgbpm.cli.waking import wake_runners


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


COMMANDS = [approvals, approve, reject, approval, reviews, review]
