"""Who starts orders, approves them and picks parcels up: one thread each, one connection each."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tests.demo.orders import Order
from tests.demo.stage import Database, Stage

_BATCH = 20
_PAUSE_S = 0.5


@dataclass(slots=True)
class People:
    """The threads, and what they have seen."""

    stage: Stage
    orders: Sequence[Order]
    instances: dict[str, str] = field(default_factory=dict)
    """Business key → process instance, of the first answer."""
    started_anew: int = 0
    known_answers: int = 0
    other_answers: int = 0
    approved: int = 0
    rejected: int = 0
    early_messages: int = 0
    messages: int = 0
    failures: list[BaseException] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _threads: list[threading.Thread] = field(default_factory=list)

    def begin(self) -> None:
        """Send everybody to work."""
        first = threading.Barrier(2)
        roles: list[Callable[[Database], None]] = [
            lambda db: self._customer(db, first),
            lambda db: self._customer(db, first),
            self._approver,
            self._courier,
        ]
        for role in roles:
            thread = threading.Thread(target=self._work, args=(role,), daemon=True)
            thread.start()
            self._threads.append(thread)

    def end(self) -> None:
        """Send everybody home; raises what went wrong for one of them."""
        self._over.set()
        for thread in self._threads:
            thread.join(30)
        if self.failures:
            raise self.failures[0]

    def _work(self, role: Callable[[Database], None]) -> None:
        database = Database(self.stage.url)
        try:
            role(database)
        except BaseException as error:
            self.failures.append(error)
        finally:
            database.close()

    def _customer(self, db: Database, together: threading.Barrier) -> None:
        """Two customers send every order, with the same key, at the same moment."""
        for first in range(0, len(self.orders), _BATCH):
            batch = self.orders[first : first + _BATCH]
            items = [
                {
                    "code": "order",
                    "business_key": order.key,
                    "idempotency_key": f"start-{order.key}",
                    "variables": {"order": order.number, "amount": order.amount},
                }
                for order in batch
            ]
            if together.wait(60) == 0:
                self._send_early(db, batch)
            together.wait(60)
            rows = db.rows(
                "select * from bpm.start_processes(p_items => %s::jsonb) s order by s.item",
                json.dumps(items),
            )
            for order, row in zip(batch, rows, strict=True):
                self._note_start(order, str(row["process_instance_id"]), bool(row["is_new"]))
            if self._over.wait(_PAUSE_S):
                return

    def _note_start(self, order: Order, instance: str, is_new: bool) -> None:
        with self._lock:
            self.started_anew += is_new
            self.known_answers += not is_new
            self.other_answers += self.instances.setdefault(order.key, instance) != instance

    def _send_early(self, db: Database, batch: Sequence[Order]) -> None:
        for order in batch:
            if order.picked_up_early:
                self._pick_up(db, order)
                self.early_messages += 1

    def _pick_up(self, db: Database, order: Order) -> None:
        db.rows(
            "select * from bpm.correlate_message(p_name => 'courier-picked-up',"
            " p_correlation_key => %s, p_payload => %s::jsonb, p_message_id => %s)",
            order.key, json.dumps({"picked_up": True}), f"pick-up-{order.key}",
        )  # fmt: skip

    def _approver(self, db: Database) -> None:
        """Looks at what is asked for and decides by the order's number."""
        while not self._over.wait(0.1):
            for row in db.rows(
                "select a.approval_id, a.business_key from bpm.approval a"
                " where a.status = 'Pending' order by a.created_at limit 20"
            ):
                order = Order(int(str(row["business_key"]).rpartition("-")[2]))
                decision = "Rejected" if order.rejected else "Approved"
                db.rows(
                    "select * from bpm.decide_approval(p_approval_id => %s, p_decision => %s,"
                    " p_note => %s, p_actor => 'approver')",
                    row["approval_id"], decision, "by the script of the demo",
                )  # fmt: skip
                self.approved += not order.rejected
                self.rejected += order.rejected

    def _courier(self, db: Database) -> None:
        """Picks up what was booked, unless it was picked up before."""
        seen: set[int] = set()
        while not self._over.wait(0.1):
            for number in booked(self.stage) - seen:
                seen.add(number)
                order = Order(number)
                if not order.picked_up_early:
                    self._pick_up(db, order)
                    self.messages += 1


def booked(stage: Stage) -> set[int]:
    """Numbers of the orders the courier has booked."""
    for _ in range(100):
        try:
            with sqlite3.connect(stage.world_file, timeout=5) as db:
                rows = db.execute("select order_number from effect where kind = 'booking'")
                return {int(row[0]) for row in rows}
        except sqlite3.OperationalError:
            time.sleep(0.05)
    raise RuntimeError("the courier's book cannot be read")
