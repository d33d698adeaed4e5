"""What became of it all: counted from the engine, from the world, and compared with the script."""

from __future__ import annotations

import sqlite3
from collections import Counter
from dataclasses import dataclass
from typing import Any

from tests.demo.orders import Order
from tests.demo.people import People
from tests.demo.stage import Database, Stage


@dataclass(frozen=True, slots=True)
class Effects:
    """What the world recorded of one kind (``booking`` or ``charge``)."""

    requests: int
    keys_asked_again: int
    effects: int
    orders: frozenset[int]
    double: int
    """Effects beyond the first of a key, and keys beyond the first of an order."""


def effects_of(stage: Stage, kind: str) -> Effects:
    """Count one kind of effect."""
    with sqlite3.connect(stage.world_file) as db:
        asked = Counter(
            row[0] for row in db.execute("select key from request where kind = ?", (kind,))
        )
        rows = db.execute("select key, order_number from effect where kind = ?", (kind,)).fetchall()
    per_key = Counter(key for key, _ in rows)
    keys_per_order = Counter(number for _, number in {(key, number) for key, number in rows})
    double = sum(n - 1 for n in per_key.values()) + sum(n - 1 for n in keys_per_order.values())
    return Effects(
        requests=asked.total(),
        keys_asked_again=sum(n > 1 for n in asked.values()),
        effects=len(rows),
        orders=frozenset(keys_per_order),
        double=double,
    )


def ends(db: Database) -> dict[str, str]:
    """Business key → id of the end event its instance reached last, of those that ended."""
    rows = db.rows(
        """
        select distinct on (i.business_key) i.business_key, i.status, h.node_id
          from bpm.instance i
          join bpm.history h on h.tenant_id = i.tenant_id
           and h.workflow_instance_id = i.workflow_instance_id
         where i.process_code = 'order' and i.status = 'Completed'
           and h.node_id in ('closed', 'refused', 'declined')
         order by i.business_key, h.seq desc
        """
    )
    return {str(row["business_key"]): str(row["node_id"]) for row in rows}


def judge(stage: Stage, people: People, seconds: float) -> dict[str, Any]:
    """The report; ``faults`` lists in words what is not as the script says (empty: all is well)."""
    db = Database(stage.url)
    reached = ends(db)
    ended = db.rows("select i.status, count(*)::int n from bpm.instance i group by 1")
    violations = db.rows("select * from bpm.check_invariants()")
    bookings, charges = effects_of(stage, "booking"), effects_of(stage, "charge")
    audit = db.rows(
        """
        select (select count(*) from bpm.task t where t.attempt > 1) as tasks_tried_again,
               (select count(*) from bpm.execution e where e.state = 'Expired') as leases_expired,
               (select count(*) from bpm.command c where c.attempt > 1) as commands_sent_again,
               (select count(*) from bpm.incident i where i.state = 'Open') as open_incidents,
               (select count(*) from bpm.timer t where t.status = 'Fired') as timers_fired,
               (select count(*) from bpm.message m where m.state = 'Correlated') as messages
        """
    )[0]
    db.close()
    statuses = {str(row["status"]): int(row["n"]) for row in ended}
    total = len(people.orders)
    report: dict[str, Any] = {
        "instances": total,
        "completed": statuses.get("Completed", 0),
        "closed": sum(end == "closed" for end in reached.values()),
        "refused": sum(end == "refused" for end in reached.values()),
        "declined": sum(end == "declined" for end in reached.values()),
        "lost": total - statuses.get("Completed", 0),
        "double_effects": bookings.double + charges.double,
        "runner_kills": stage.runner_kills,
        "server_kills": stage.server_kills,
        "violations": len(violations),
        "seconds": round(seconds, 1),
        "starts_sent": people.started_anew + people.known_answers,
        "starts_new": people.started_anew,
        "approved": people.approved,
        "rejected": people.rejected,
        "early_messages": people.early_messages,
        "bookings": bookings.effects,
        "bookings_asked_again": bookings.keys_asked_again,
        "charges": charges.effects,
        "charges_asked_again": charges.keys_asked_again,
        **audit,
    }
    report["faults"] = _faults(people, reached, bookings, charges, report)
    report["faults"] += [f"invariant broken: {row}" for row in violations[:20]]
    return report


def _faults(
    people: People,
    reached: dict[str, str],
    bookings: Effects,
    charges: Effects,
    report: dict[str, Any],
) -> list[str]:
    faults = [
        f"{order.key} should end at {order.end}, but {reached.get(order.key, 'has not ended')}"
        for order in people.orders
        if reached.get(order.key) != order.end
    ]
    closed = frozenset(order.number for order in people.orders if order.end == "closed")
    refused = frozenset(order.number for order in people.orders if order.end == "refused")
    for name, seen in (("booking", bookings), ("charge", charges)):
        faults += [f"{Order(n).key} was closed without a {name}" for n in closed - seen.orders]
        faults += [f"{Order(n).key} was refused and has a {name}" for n in refused & seen.orders]
    charged_wrongly = charges.orders - closed
    faults += [f"{Order(n).key} was charged and not closed" for n in charged_wrongly - refused]
    if report["starts_new"] != report["instances"]:
        faults.append(f"{report['starts_new']} starts were new instead of {report['instances']}")
    if people.other_answers:
        faults.append(f"{people.other_answers} repeated starts got another instance")
    if report["double_effects"]:
        faults.append(f"{report['double_effects']} effects happened twice")
    if report["open_incidents"]:
        faults.append(f"{report['open_incidents']} incidents are open")
    return faults


def tell(report: dict[str, Any]) -> None:
    """The report for people."""
    r = report
    asked = r["approved"] + r["rejected"]
    story = [
        f"What became of {r['instances']} orders",
        (r["closed"], "closed: stock reserved, courier booked, card charged, each once"),
        (r["refused"], f"refused by the approver, who was asked {asked} times"),
        (r["declined"], "dropped because the card company said no"),
        (r["lost"], "lost"),
        "What was sent twice, failed or broke on the way",
        (r["starts_sent"], f"starts sent, every key twice: {r['starts_new']} instances"),
        (r["tasks_tried_again"], "tasks needed more than one attempt"),
        (r["leases_expired"], "leases ran out in the hands of dead runners"),
        (r["commands_sent_again"], "bookings were sent again"),
        (r["bookings_asked_again"], "of them with a key the courier had seen: not booked again"),
        (r["charges_asked_again"], "charges were asked for again: not made again"),
        (r["timers_fired"], "timers fired"),
        (r["messages"], f"messages met their order, {r['early_messages']} were sent too early"),
        (r["runner_kills"], f"runners killed, {r['server_kills']} server killed"),
        "What the world recorded",
        (r["bookings"], f"bookings and {r['charges']} charges, counted per command and task id"),
        (r["double_effects"], "effects happened twice"),
        (r["violations"], "violations found by the engine's own audit"),
    ]
    for line in story:
        print(f"\n{line}" if isinstance(line, str) else f"  {line[0]:>5}  {line[1]}")
    print()
    for fault in r["faults"]:
        print(f"FAULT: {fault}")
