"""``pgbpm maintain``: upkeep, in small transactions."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

import click
import psycopg

from pgbpm.cli.app import App, json_option, pass_app
from pgbpm.cli.output import emit
from pgbpm.cli.subscriptions import forget_events
from pgbpm.db import Connection
from pgbpm.repeat import explain, is_conflict

Row = dict[str, Any]

_TENANTS = "select t.tenant_id from bpm.tenant t order by t.tenant_id"
_KINDS = ("instances", "events", "messages", "signals", "traces")
_REASONS = {
    "busy": "in use just now",
    "command": "a command may still be sent, or nobody knows whether it arrived",
    "dead_letter": "a dead letter is open",
    "decision": "an approval is open, or its effect is to come",
    "incident": "an incident is open",
    "linked": "a process instance or a task is linked with it",
    "message": "a message id of it is still to be known again",
    "review": "a review is open",
    "unfinished": "something of it has not ended",
}
_TRIES = 8
_PAUSE_S = 0.25
_DENIED = ("BP403", "BP423", "42501")


@click.command()
@click.option(
    "--limit", default=500, show_default=True, help="Process instances removed per transaction."
)
@json_option
@pass_app
def maintain(app: App, limit: int, as_json: bool) -> None:
    """Upkeep: months of history ahead, expired keys, told events, and what has had its time.

    What is kept for how long is said by the settings retention.*; by default everything is.
    Every step is a transaction of its own; stopped half way, the next run goes on from there.
    """
    with app.connect() as conn:
        upkeep = _Upkeep(app, conn, limit)
        rows = [*upkeep.removals(), *upkeep.history(), *upkeep.keys(), *upkeep.events()]
        months = list(upkeep.partitions())
    rows += months if as_json else _made(months)
    emit(rows, as_json, empty=f"nothing to do; {len(months)} months of history are there")


class _Upkeep:
    """What is done, step by step; each step gives rows to print."""

    def __init__(self, app: App, conn: Connection, limit: int) -> None:
        self._app = app
        self._conn = conn
        self._limit = limit

    def partitions(self) -> Iterator[Row]:
        """The months ahead."""
        for row in self._call("maintain_partitions"):
            yield _row(row["partition"], row["action"])

    def keys(self) -> Iterator[Row]:
        """Idempotency keys whose time is over."""
        forgotten = 0
        while True:
            (keys,) = self._call("maintain_keys")
            forgotten += keys["deleted"]
            _show("idempotency keys", forgotten)
            if keys["done"] or not keys["deleted"]:
                break
        if forgotten:
            yield _row("idempotency_key", f"Forgot {forgotten}")

    def events(self) -> Iterator[Row]:
        """Domain events that every subscriber has had."""
        if forgotten := forget_events(self._app, self._conn):
            yield _row("event_outbox", f"Forgot {forgotten}")

    def removals(self) -> Iterator[Row]:
        """What has had its time, tenant by tenant: all that this login may see, or ``--tenant``."""
        tenants = [row["tenant_id"] for row in self._conn.execute(_TENANTS)]
        for tenant in [self._app.tenant] if self._app.tenant else tenants:
            for kind in _KINDS:
                what = f"{kind} of {tenant}" if tenant else kind
                try:
                    yield from self._pass(what, kind, tenant)
                except psycopg.Error as error:
                    if error.sqlstate not in _DENIED and not is_conflict(error):
                        raise
                    yield _row(what, "Could not", explain(error))

    def history(self) -> Iterator[Row]:
        """Months of history that have had their time."""
        while True:
            try:
                rows = self._call("maintain_history")
            except psycopg.Error as error:
                if not is_conflict(error):
                    raise
                yield _row("history", "Could not", explain(error))
                return
            for row in rows:
                yield _row(row["partition"], row["action"], _month(row["detail"]))
            if not rows or rows[0]["action"] == "Kept":
                return

    def _pass(self, what: str, kind: str, tenant: str) -> Iterator[Row]:
        limit = self._limit if kind == "instances" else None
        removed = 0
        while True:
            (page,) = self._call("maintain_tenant", p_kind=kind, p_limit=limit, p_tenant_id=tenant)
            removed += page["removed"]
            _show(what, removed)
            if page["outcome"] != "More":
                break
        if page["outcome"] == "Busy":
            yield _row(what, "Busy", "somebody else removes them just now")
        if removed:
            yield _row(what, f"Removed {removed}")
        if page["kept"]:
            why = "; ".join(f"{n}: {_REASONS.get(r, r)}" for r, n in page["reasons"].items())
            yield _row(what, f"Kept {page['kept']}", f"{why}; the oldest is {page['oldest_kept']}")

    def _call(self, function: str, **arguments: Any) -> list[Row]:
        """One call; repeated a few times where somebody else was in the way."""
        arguments.setdefault("p_tenant_id", "")
        for _ in range(_TRIES - 1):
            try:
                return self._app.call(self._conn, function, **arguments)
            except psycopg.Error as error:
                if not is_conflict(error):
                    raise
            time.sleep(_PAUSE_S)
        return self._app.call(self._conn, function, **arguments)


def _row(what: str, action: str, detail: str = "") -> Row:
    return {"what": what, "action": action, "detail": detail}


def _made(months: Sequence[Row]) -> list[Row]:
    """The months that were made: that the others are there is nothing to tell a person."""
    return [month for month in months if month["action"] != "Present"]


def _month(detail: Row) -> str:
    if "bytes" in detail:
        return f"{detail['rows']} rows, {detail['bytes'] / 1e6:.1f} MB"
    return (
        f"{detail['instances']} workflow instances that began before its end are still there;"
        f" the oldest is {detail['oldest']}"
        + (f" of tenant {detail['tenant_id']}" if detail["tenant_id"] else "")
    )


def _show(what: str, removed: int) -> None:
    """How far it is, for whoever watches."""
    if removed and sys.stderr.isatty():
        click.echo(f"\r{what}: {removed} removed\x1b[K", nl=False, err=True)


COMMANDS = [maintain]
