"""Two tenants and more, each with rows in every table and in every state, all marked.

Everything is made through the public functions. ``unfilled`` lists the tables a tenant has no row
in: a new table has to be filled here, or it is not behind the wall.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg import sql

from tests.wall import drawings

Connection = psycopg.Connection[dict[str, Any]]
Row = dict[str, Any]
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")

EMPTY: dict[str, str] = {
    # table of bpm_core -> why no tenant of the wall has a row in it
    "multi_instance_part": "only of lists longer than 64",
}


@dataclass(slots=True)
class Tenant:
    """One tenant; ``mark`` is in every word of its data."""

    name: str
    mark: str
    ids: set[str] = field(default_factory=set)
    """Every uuid of its rows."""


ATTACKER = Tenant("wall", "mkalfa")
VICTIM = Tenant("wall-b", "mkbeta")
"""Its name begins with the attacker's: a prefix taken for a name would let the attacker in."""
NAMELESS = Tenant("", "mknone")
STRANGE = Tenant("w\u00e4ll \u202e'\"\\_;--", "mkuuml")
TENANTS = (ATTACKER, VICTIM, NAMELESS, STRANGE)

_LONG = "1 hour"
"""Leases and pauses of the world: while it is stormed nothing in it falls due by itself."""


class Builder:
    """Fills one tenant."""

    def __init__(self, conn: Connection, tenant: Tenant) -> None:
        self._conn = conn
        self.tenant = tenant

    def call(self, function: str, **arguments: Any) -> list[Row]:
        """Call a public function for the tenant."""
        given = {
            f"p_{name}": json.dumps(value) if isinstance(value, (dict, list)) else value
            for name, value in arguments.items()
            if value is not None
        }
        given["p_tenant_id"] = self.tenant.name
        given = {
            name: "{" + ",".join(value) + "}" if isinstance(value, tuple) else value
            for name, value in given.items()
        }
        query = sql.SQL("select * from {}({})").format(
            sql.Identifier("bpm", function),
            sql.SQL(", ").join(
                sql.SQL("{} => {}").format(sql.Identifier(name), sql.Literal(value))
                for name, value in given.items()
            ),
        )
        return self._conn.execute(query).fetchall()

    def backdate_archived(self) -> None:
        """What is archived may be deleted after a minute, and here is no clock to be moved."""
        self._conn.execute(
            "update bpm_core.process_definition set archived_at = archived_at - interval '1 hour'"
            " where tenant_id = %s",
            [self.tenant.name],
        )

    def set(self, name: str, value: Any) -> None:
        """Change a setting, which holds for all tenants."""
        self._conn.execute("select bpm.set_setting(%s, %s)", [name, json.dumps(value)])

    def look(self, view: str, where: str = "true", order: str = "1") -> list[Row]:
        """Rows of a public view."""
        query = f"select * from bpm.{view} where tenant_id = %s and {where} order by {order}"
        return self._conn.execute(query, [self.tenant.name]).fetchall()

    def claim(self, kind: str, count: int = 1) -> list[Row]:
        """Claim tasks of the type ``<mark>-<kind>``."""
        name = f"{self.tenant.mark}-{kind}"
        return self.call(
            "claim_tasks", worker=f"{self.tenant.mark} w", types=(name,), limit=count, lease=_LONG
        )

    def complete(self, kind: str) -> None:
        """Claim and complete one."""
        (task,) = self.claim(kind)
        m = self.tenant.mark
        self.call(
            "complete_task", task_id=task["task_id"], fencing_token=task["fencing_token"],
            variables={"result": f"{m} result"},
            evidence=[proof(m, f"{kind} photo")],
            facts=[{"subject_type": f"{m}-parcel", "subject_key": f"{m} 1", "name": f"{m} weight",
                    "value": f"{m} heavy", "evidence": [0]}],
        )  # fmt: skip

    def start(self, code: str, key: str) -> Row:
        """Start a process of the tenant."""
        m = self.tenant.mark
        (row,) = self.call(
            "start_process", code=f"{m}-{code}", business_key=f"{m} {key}",
            idempotency_key=f"{m} start {key}",
            variables={
                "secret": f"{m} secret", "key": f"{m} {key}", "amount": 7, "go": False,
                "items": [f"{m} item 1", f"{m} item 2"],
            },
        )  # fmt: skip
        return row


def build(conn: Connection) -> None:
    """Make the tenants and fill them all; the caller must be an installer."""
    conn.execute("select bpm.grant_access(session_user::text, '%', 'admin')")
    for tenant in TENANTS:
        if tenant.name:
            conn.execute("select bpm.create_tenant(%s, %s)", [f"{tenant.mark} name", tenant.name])
    conn.execute(
        "select bpm.set_setting('engine.approval_required_task_types', %s)",
        [json.dumps([f"{t.mark}-gated" for t in TENANTS])],
    )
    for tenant in TENANTS:
        fill(Builder(conn, tenant))


def fill(b: Builder) -> None:
    """Rows of every state."""
    m = b.tenant.mark
    catalog(b, m)
    started = [b.start("all", f"case {n}") for n in range(6)]
    people(b, m, started)
    work(b, m)
    record(b, m)
    intake(b, m)
    delivery(b, m)
    lines(b, m)
    messages(b, m)
    b.call("suspend_process", process_instance_id=started[3]["process_instance_id"], reason=m)
    b.call("cancel_process", process_instance_id=started[2]["process_instance_id"], reason=m)
    b.call("claim_domain_events", worker=f"{m} teller", subscription=f"{m}-news-b", lease=_LONG)
    b.call("broadcast_signal", name=f"{m}-alarm", payload={"loud": m})
    b.call("deploy_bpmn", xml=drawings.everything(m, 2))
    b.call(
        "migrate_process", process_instance_id=started[5]["process_instance_id"], to_version=2,
        reason=m,
    )  # fmt: skip
    b.call("set_variables", process_instance_id=started[4]["process_instance_id"],
           variables={"secret": f"{m} new secret"})  # fmt: skip
    past(b, m)


def catalog(b: Builder, m: str) -> None:
    """Definitions and destinations."""
    b.call(
        "register_destination", code=f"{m}-courier", kind="http", secret_ref="env:WALL_SECRET",
        config={"url": f"http://{m}.example/"}, max_concurrent=5,
        probe_url=f"http://{m}.example/{{command_id}}",
    )  # fmt: skip
    b.call("register_destination", code=f"{m}-spare", kind="http",
           config={"url": f"http://{m}.example/"})  # fmt: skip
    for n, (name, where) in enumerate((("a", f"{m}-spare"), ("b", None))):
        b.call("subscribe_events", code=f"{m}-news-{name}", destination=where,
               event_types=None, process_code=f"{m}-line" if n else None)  # fmt: skip
    b.call("set_task_quota", task_type=f"{m}-work", bound=50, reason=m)
    b.call("turn_destination", code=f"{m}-spare", state="Open", reason=m)
    b.call("publish_task", task_type=f"{m}-low",
           result_schema={"type": "object", "required": ["result"]})  # fmt: skip
    b.call("publish_role", code=f"{m}-role", definition={"responsibilities": [m]})
    b.call("publish_workflow", code=f"{m}-flow", xml=drawings.line(m), owner_role=f"{m}-role")
    b.call(
        "publish_process",
        code=f"{m}-both",
        bindings=[
            {"binding_key": f"{m}-first", "workflow": f"{m}-flow"},
            {"binding_key": f"{m}-then", "workflow": f"{m}-flow", "depends_on": [f"{m}-first"]},
        ],
    )
    for kind, schema in (("work", None), ("one", {"not": {"required": ["wrong"]}})):
        b.call("publish_task", task_type=f"{m}-{kind}", max_attempts=2, backoff="1 second",
               result_schema=schema)  # fmt: skip
    for xml in (
        drawings.child(m), drawings.everything(m, 1), drawings.line(m), drawings.line(m, 2),
        drawings.starts(m), drawings.line(m, 1, "spare"),
    ):  # fmt: skip
        b.call("deploy_bpmn", xml=xml)

    b.call("archive_definition", kind="process", code=f"{m}-spare", reason=m)
    b.backdate_archived()


def people(b: Builder, m: str, started: list[Row]) -> None:
    """Approvals and user tasks."""
    for row, decision in zip(started, ("Approved", "Rejected"), strict=False):
        approvals = b.look("approval", f"process_instance_id = '{row['process_instance_id']}'")
        b.call("decide_approval", approval_id=approvals[0]["approval_id"], decision=decision,
               note=f"{m} note", actor=f"{m} boss")  # fmt: skip
    for row in b.look("approval", "status = 'Pending'")[:1]:
        b.call("claim_approval", approval_id=row["approval_id"], actor=f"{m} ann")
    tasks = b.look("task", "task_type = 'bpm:user' and state = 'Ready'", "task_id")
    b.call("claim_user_task", task_id=tasks[0]["task_id"], actor=f"{m} ann")
    b.call("claim_user_task", task_id=tasks[4]["task_id"], actor=f"{m} cyd")
    b.call("delegate_user_task", task_id=tasks[4]["task_id"], to=f"{m} dan", actor=f"{m} cyd")
    b.call("publish_task", task_type=f"{m}-checked", review_required=True)
    b.call("deploy_bpmn", xml=drawings.checked(m))
    for n in range(2):
        b.start("checked", f"checked {n}")
        b.complete("checked")
    reviews = b.look("review", "state = 'Open'", "review_id")
    b.call("decide_review", review_id=reviews[0]["review_id"], decision="Approve", reason=m,
           expected_version=reviews[0]["expected_version"], actor=f"{m} boss")  # fmt: skip
    b.call("comment_user_task", task_id=tasks[0]["task_id"], text=f"{m} comment")
    b.call("complete_user_task", task_id=tasks[1]["task_id"], variables={"seen": m},
           actor=f"{m} bob")  # fmt: skip


def work(b: Builder, m: str) -> None:
    """Tasks in every state, attempts that ended in every way."""
    for kind in ("work", "i1", "book", "each"):
        b.complete(kind)
    (failing,) = b.claim("other")
    b.call("fail_task", task_id=failing["task_id"], fencing_token=failing["fencing_token"],
           error={"message": f"{m} broken"}, retryable=False)  # fmt: skip
    (retried,) = b.claim("inner")
    b.call("fail_task", task_id=retried["task_id"], fencing_token=retried["fencing_token"],
           error={"message": f"{m} broken"}, retryable=True, retry_in=_LONG)  # fmt: skip
    (released,) = b.claim("work")
    b.call("release_tasks", items=[{"task_id": str(released["task_id"]),
                                    "fencing_token": released["fencing_token"]}])  # fmt: skip
    for kind in ("i2", "each", "work", "gated"):
        b.claim(kind)


def proof(m: str, word: str) -> Row:
    """One piece of evidence."""
    content = hashlib.sha256(f"{m} {word}".encode()).hexdigest()
    return {"object_key": f"{m}-{word}", "sha256": content, "mime": "text/plain", "size_bytes": 7}


def intake(b: Builder, m: str) -> None:
    """Events in every state but Failed, a rule, a case."""
    b.call("set_routing_rule", code=f"{m}-rule", event_type=f"{m}-order.*", action="StartProcess",
           process_code=f"{m}-line", condition="${payload.amount > 0}")  # fmt: skip
    task = b.look("task", "state = 'Executing'", "task_id")[0]
    decisions: tuple[Row | None, ...] = (
        {"action": "StartProcess", "process_code": f"{m}-line", "business_key": f"{m} ordered"},
        {"action": "Attach", "process_instance_ids": [str(task["process_instance_id"])],
         "task_ids": [str(task["task_id"])]},
        {"action": "Ignore"},
        None,
    )  # fmt: skip
    for n, decision in enumerate(decisions):
        (event,) = b.call(
            "accept_event", channel=f"{m}-web", provider_event_id=f"{m} event {n}",
            type=f"{m}-order.new", payload={"key": f"{m} ordered {n}", "amount": 1},
            thread_id=f"{m} thread {n}", evidence=[proof(m, f"mail {n}")],
        )  # fmt: skip
        if decision is not None:
            b.call("dispatch_event", event_id=event["event_id"], decision=decision, reason=m)
    b.call("open_case", business_key=f"{m} case")
    b.call("link_session", channel=f"{m}-web", session_id=f"{m} session", group_id=f"{m} group",
           display_name=f"{m} shop")  # fmt: skip


def record(b: Builder, m: str) -> None:
    """Evidence: free, attached to a task, purged."""
    task = b.look("task", "state = 'Executing'", "task_id")[0]
    for n, word in enumerate(("photo", "letter", "gone")):
        (kept,) = b.call(
            "attach_evidence", task_id=task["task_id"] if n == 1 else None,
            items=[proof(m, word)],
        )  # fmt: skip
    b.call("purge_evidence", evidence_id=kept["evidence_id"], reason=m)


def delivery(b: Builder, m: str) -> None:
    """Commands in every state."""
    commands = b.call("claim_commands", worker=f"{m} courier", limit=4, lease=_LONG)
    outcomes = ("Sent", "Unknown", "Refused")
    b.call("mark_commands", items=[
        {"command_id": str(c["command_id"]), "fencing_token": c["fencing_token"],
         "outcome": outcome, "receipt": {"id": f"{m} receipt"}, "detail": {"said": f"{m} detail"}}
        for c, outcome in zip(commands, outcomes, strict=False)
    ])  # fmt: skip


def lines(b: Builder, m: str) -> None:
    """Instances that ended, dead letters that were closed, incidents that were resolved."""
    done, cancelled, requeued, discarded, resolved = (
        b.start("line", f"line {n}") for n in range(5)
    )
    for task in b.claim("one", 10):
        b.call("complete_tasks", items=[
            {"task_id": str(task["task_id"]), "fencing_token": task["fencing_token"],
             "variables": {"wrong": f"{m} wrong"}}
        ])  # fmt: skip
        if task["process_instance_id"] == done["process_instance_id"]:
            b.call("complete_task", task_id=task["task_id"], fencing_token=task["fencing_token"])
        elif task["process_instance_id"] in (
            requeued["process_instance_id"], discarded["process_instance_id"],
            resolved["process_instance_id"],
        ):  # fmt: skip
            b.call("fail_task", task_id=task["task_id"], fencing_token=task["fencing_token"],
                   error={"message": f"{m} broken"}, retryable=False)  # fmt: skip
    b.call("cancel_process", process_instance_id=cancelled["process_instance_id"], reason=m)
    (task,) = b.look("task", f"process_instance_id = '{done['process_instance_id']}' and "
                             "task_type = 'bpm:user'")  # fmt: skip
    b.call("complete_user_task", task_id=task["task_id"])
    letters = {row["process_instance_id"]: row for row in b.look("dead_letter", "kind = 'Task'")}
    b.call("requeue_dead_letter",
           dead_letter_id=letters[requeued["process_instance_id"]]["dead_letter_id"])  # fmt: skip
    b.call("discard_dead_letter", reason=m,
           dead_letter_id=letters[discarded["process_instance_id"]]["dead_letter_id"])  # fmt: skip
    (incident,) = b.look(
        "incident", f"process_instance_id = '{resolved['process_instance_id']}' and state = 'Open'"
    )
    b.call("resolve_incident", incident_id=incident["incident_id"], attempts=1)
    (refused,) = b.claim("low")
    b.call("complete_tasks", items=[
        {"task_id": str(refused["task_id"]), "fencing_token": refused["fencing_token"],
         "result": {f"{m} wrong": m}}])  # fmt: skip
    b.call("complete_task", task_id=refused["task_id"], fencing_token=refused["fencing_token"],
           variables={"result": m})  # fmt: skip
    # Now the call has ended; its caller hears of it with the next tick.


def past(b: Builder, m: str) -> None:
    """One that ended and was removed."""
    b.call("deploy_bpmn", xml=drawings.line(m, code="past"))
    gone = b.start("past", "past")
    b.call("cancel_process", process_instance_id=gone["process_instance_id"], reason=m)
    b.set("retention.process_days", {f"{m}-past": 0})
    (page,) = b.call("maintain_tenant")
    assert page["removed"] == 1, page
    b.set("retention.process_days", None)


def messages(b: Builder, m: str) -> None:
    """One that is waited for, one that nobody waits for, one that starts something."""
    for name, key in (("paid", "case 3"), ("paid", "nobody"), ("call", "")):
        b.call("correlate_message", name=f"{m}-{name}", correlation_key=f"{m} {key}",
               payload={"said": f"{m} payload"}, message_id=f"{m} {name} {key}")  # fmt: skip


def tables(conn: Connection) -> list[str]:
    """Every table with tenants, partitions counted by their parent."""
    rows = conn.execute(
        "select c.relname as name from pg_class c"
        " where c.relnamespace = 'bpm_core'::regnamespace and c.relkind in ('r', 'p')"
        "   and not c.relispartition and exists (select from pg_attribute a"
        "         where a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped)"
        " order by 1"
    )
    return [row["name"] for row in rows]


def unfilled(conn: Connection) -> list[str]:
    """Tables in which the victim has no row: the wall does not know how to fill them."""
    found = []
    for name in tables(conn):
        rows = conn.execute(
            sql.SQL("select t::text as text from bpm_core.{} t where tenant_id = %s").format(
                sql.Identifier(name)
            ),
            [VICTIM.name],
        ).fetchall()
        if not rows and name not in EMPTY:
            found.append(name)
    return found


def learn_ids(conn: Connection) -> None:
    """Note every uuid of every tenant."""
    for tenant in TENANTS:
        tenant.ids = set()
        for name in tables(conn):
            rows = conn.execute(
                sql.SQL("select t::text as text from bpm_core.{} t where tenant_id = %s").format(
                    sql.Identifier(name)
                ),
                [tenant.name],
            )
            for row in rows:
                tenant.ids |= set(UUID.findall(row["text"]))
        tenant.ids.discard(str(uuid.UUID(int=0)))  # the root scope of everybody
