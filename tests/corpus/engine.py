"""The engine as the play uses it: its public functions, one connection, one process at a time."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import DictRow, dict_row

Row = dict[str, Any]
WORKER = "corpus"
_MAX_TICKS = 200


class Broken(Exception):
    """The engine did what it never may: the text says what."""


class Engine:
    """Calls of ``bpm`` functions on one connection to a scratch database with the test kit.

    ``tenant`` is created, and all calls are for it.
    """

    def __init__(self, url: str, tenant: str = "") -> None:
        self._conn: psycopg.Connection[DictRow] = psycopg.connect(
            url, autocommit=True, row_factory=dict_row
        )
        self.tenant = ""
        if tenant:
            self.call("create_tenant", name=tenant, new_tenant_id=tenant)
            self.tenant = tenant

    def close(self) -> None:
        """Close the connection."""
        self._conn.close()

    def rows(self, query: str, *parameters: Any) -> list[Row]:
        """All rows of a statement."""
        return self._conn.execute(query, parameters or None).fetchall()

    def call(self, function: str, **arguments: Any) -> list[Row]:
        """The rows of a public function, called with named arguments (without their ``p_``)."""
        arguments["tenant_id"] = self.tenant
        wrapped = [_wrapped(value) for value in arguments.values()]
        named = [sql.SQL("{} => %s").format(sql.Identifier(f"p_{name}")) for name in arguments]
        query = sql.SQL("select * from {}({})").format(
            sql.Identifier("bpm", function), sql.SQL(", ").join(named)
        )
        return self._conn.execute(query, wrapped).fetchall()

    def settle(self) -> None:
        """Tick until there is nothing left to do now."""
        for _ in range(_MAX_TICKS):
            done = self.call("tick", limit=1000)[0]["done"]
            if not any(done.values()):
                return
        raise Broken(f"tick still finds something to do after {_MAX_TICKS} calls: {done}")

    def state(self, process: str) -> Row:
        """What is open in a process instance."""
        answer: Row = self.call("get_process", process_instance_id=process)[0]["get_process"]
        return answer

    def history(self, process: str, after: int = 0) -> list[Row]:
        """What happened to a process instance after a row."""
        return self.call("get_history", process_instance_id=process, limit=10_000, after_seq=after)

    def instances(self, code: str, *, running: bool = False) -> list[str]:
        """All instances of a process, oldest first; or only those that have not ended."""
        rows = self.rows(
            "select i.process_instance_id::text as id from bpm.instance i"
            " where i.tenant_id = %s and i.process_code = %s and (not %s or i.ended_at is null)"
            " order by i.created_at, i.process_instance_id",
            self.tenant,
            code,
            running,
        )
        return [row["id"] for row in rows]

    def start_timer(self, code: str, node: str) -> datetime | None:
        """When the timer of a start event is due next."""
        due: datetime | None = self.rows(
            "select min(t.due_at) as due from bpm_core.timer t"
            "  join bpm_core.process_version v"
            "    on v.tenant_id = t.tenant_id and v.id = t.process_version_id"
            "  join bpm_core.process_definition d"
            "    on d.tenant_id = v.tenant_id and d.id = v.definition_id"
            " where t.tenant_id = %s and d.code = %s and t.node_id = %s and t.status = 'Scheduled'",
            self.tenant,
            code,
            node,
        )[0]["due"]
        return due

    def advance_to(self, due: datetime | str) -> None:
        """Move the clock just past a time; never back."""
        self.rows(
            "select bpm.advance_clock(greatest(%s::timestamptz - bpm_core.now(), interval '0')"
            " + interval '10 milliseconds')", due,
        )  # fmt: skip

    def lease(self, task: Row) -> int:
        """Claim one task of a worker; its fencing token."""
        claimed = self.call("claim_tasks", worker=WORKER, types=(task["task_type"],),
                            limit=1000, lease="1 day")  # fmt: skip
        mine = [row for row in claimed if str(row["task_id"]) == task["task_id"]]
        others = [
            {"task_id": str(row["task_id"]), "fencing_token": row["fencing_token"]}
            for row in claimed
            if str(row["task_id"]) != task["task_id"]
        ]
        if others:
            self.call("release_tasks", items=others)
        if not mine:
            raise Broken(f"task {task['node_id']} is Ready and due, and cannot be claimed")
        return int(mine[0]["fencing_token"])

    def deliver(self, *, doubtful: bool) -> None:
        """Send every due command to a stub that takes it; doubtful: its answer is lost."""
        claimed = self.call("claim_commands", worker=WORKER, limit=1000, lease="1 hour")
        outcome = "Unknown" if doubtful else "Sent"
        items = [
            {
                "command_id": str(row["command_id"]),
                "fencing_token": row["fencing_token"],
                "outcome": outcome,
                **({} if doubtful else {"receipt": {"stub": True}}),
            }
            for row in claimed
        ]
        if not items:
            return
        self.call("mark_commands", items=items)
        if doubtful:
            for item in items:
                self.call("reconcile_command", command_id=item["command_id"], outcome="Sent",
                          receipt={"stub": True}, actor=WORKER)  # fmt: skip

    def differences(self, process: str) -> list[Row]:
        """Where the replay of history differs from the live tokens (I-14), of all its workflows."""
        return self.rows(
            "select w.id as workflow_instance_id, d.*"
            "  from bpm_core.workflow_instance w"
            " cross join lateral ("
            "   select coalesce(k.id, r.token_id) as token_id, k.node_id, k.state::text as state,"
            "          r.node_id as replayed_node, r.state as replayed_state"
            "     from (select t.id, t.node_id, t.state from bpm_core.token t"
            "            where t.tenant_id = w.tenant_id and t.workflow_instance_id = w.id) k"
            "     full join bpm.replay(w.id, null, w.tenant_id) r on r.token_id = k.id) d"
            " where w.tenant_id = %s and w.process_instance_id = %s"
            "   and (d.node_id is distinct from d.replayed_node"
            "        or d.state is distinct from d.replayed_state)",
            self.tenant,
            process,
        )

    def violations(self) -> list[Row]:
        """What the engine's audit finds."""
        return self.call("check_invariants")


def _wrapped(value: Any) -> Any:
    """JSON for what is JSON there; a tuple is an array of texts."""
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    return value
