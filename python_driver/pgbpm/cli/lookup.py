"""From what a person types to an id: a whole id, the beginning of one, or a business key.

Events are known by the id their provider gave them instead of a business key.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from psycopg import sql

from pgbpm.db import Connection
from pgbpm.errors import PgbpmError

_HEX = re.compile(r"[0-9a-fA-F]{6,32}")
_MOST_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Kind:
    """What is looked for: a view of schema ``bpm``, its id column, and what counts as open."""

    name: str
    view: str
    id_column: str
    is_open: str = "true"
    key_column: str = "business_key"
    key_name: str = "business key"
    elsewhere: str = ""

    def find(self, conn: Connection, tenant: str, typed: str, closed: Kind | None = None) -> str:
        """The id of the only row that ``typed`` means.

        A whole id is given back unseen (the call that follows says whether it exists). If nothing
        open fits, the newest of ``closed`` does: the call that follows says what became of it.
        Raises :class:`PgbpmError` if nothing fits or several rows do.
        """
        digits = typed.replace("-", "")
        if re.fullmatch(r"[0-9a-fA-F]{32}", digits):
            return typed
        rows = self._by_key(conn, tenant, typed)
        if not rows and _HEX.fullmatch(digits):
            rows = self._by_beginning(conn, tenant, digits)
        if len(rows) == 1:
            return str(rows[0]["id"])
        if not rows and closed is not None:
            rows = closed._by_key(conn, tenant, typed)
            if not rows and _HEX.fullmatch(digits):
                rows = closed._by_beginning(conn, tenant, digits)
            if rows:
                return str(rows[0]["id"])
        if not rows:
            raise PgbpmError(
                f"no {self.name} fits {typed!r}",
                hint=f"give its id, the beginning of it (6 digits or more), or the {self.key_name}"
                f"{self.elsewhere}",
            )
        ids = ", ".join(str(row["id"]) for row in rows[:_MOST_SHOWN])
        more = ", …" if len(rows) > _MOST_SHOWN else ""
        raise PgbpmError(f"{typed!r} fits more than one {self.name}", hint=f"one of: {ids}{more}")

    def _by_key(self, conn: Connection, tenant: str, key: str) -> list[dict[str, Any]]:
        return self._select(conn, "v.{key} = %s and {}", [key], tenant)

    def _by_beginning(self, conn: Connection, tenant: str, digits: str) -> list[dict[str, Any]]:
        return self._select(
            conn,
            "v.{id} between %s::uuid and %s::uuid",
            [digits.ljust(32, "0"), digits.ljust(32, "f")],
            tenant,
        )

    def _select(
        self, conn: Connection, condition: str, values: list[str], tenant: str
    ) -> list[dict[str, Any]]:
        query = sql.SQL(
            "select v.{id} as id from bpm.{view} v"
            f" where v.tenant_id = %s and {condition.replace('{}', self.is_open)}"
            " order by v.{id} desc limit %s"
        ).format(
            id=sql.Identifier(self.id_column),
            view=sql.Identifier(self.view),
            key=sql.Identifier(self.key_column),
        )
        return list(conn.execute(query, [tenant, *values, _MOST_SHOWN + 1]))


INSTANCE = Kind(
    "process instance", "instance", "process_instance_id",
    elsewhere="; of one that retention removed pgbpm trail tells",
)  # fmt: skip
RUNNING = Kind(
    "running process instance", "instance", "process_instance_id",
    "v.status in ('Running', 'Suspended')",
)  # fmt: skip
ENDED = Kind(
    "process instance that failed or was cancelled", "instance", "process_instance_id",
    "v.status in ('Failed', 'Cancelled')",
)  # fmt: skip
TASK = Kind("open task", "task", "task_id", "v.state in ('Ready', 'Executing', 'Held')")
USER_TASK = Kind("task of a person", "task", "task_id", "v.task_type = 'bpm:user'")
ANY_APPROVAL = Kind("approval", "approval", "approval_id")
APPROVAL = Kind("pending approval", "approval", "approval_id", "v.status = 'Pending'")
ANY_REVIEW = Kind("review", "review", "review_id")
REVIEW = Kind("open review", "review", "review_id", "v.state = 'Open'")
INCIDENT = Kind("open incident", "incident", "incident_id", "v.state = 'Open'")
DEAD_LETTER = Kind("open dead letter", "dead_letter", "dead_letter_id", "v.state = 'Open'")
ANY_COMMAND = Kind("command", "command", "command_id")
UNKNOWN_COMMAND = Kind(
    "command of unknown fate", "command", "command_id",
    "v.state in ('Unknown', 'Reconciling', 'Manual')",
)  # fmt: skip
SETTLED_COMMAND = Kind(
    "command that is Sent or Failed", "command", "command_id", "v.state in ('Sent', 'Failed')"
)
EVENT = Kind(
    "event that waits or failed", "event", "event_id", "v.dispatch_state in ('Pending', 'Failed')",
    "provider_event_id", "id its provider gave it",
)  # fmt: skip
ANY_EVENT = Kind(
    "event", "event", "event_id", key_column="provider_event_id", key_name="id its provider gave it"
)
