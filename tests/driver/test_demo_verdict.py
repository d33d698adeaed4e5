"""The verdict of the demo must be able to find fault: with the script, the world, the engine."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any, cast

from tests.demo.orders import Order, all_orders
from tests.demo.people import People
from tests.demo.stage import Stage
from tests.demo.verdict import Effects, _faults, effects_of
from tests.demo.world import Book


class _Folder:
    """As much of a stage as counting effects needs."""

    def __init__(self, folder: Path) -> None:
        self.world_file = folder / "world.sqlite"


def test_the_script_has_what_the_demo_promises() -> None:
    orders = all_orders(200)
    assert sum(order.needs_approval for order in orders) == 100
    assert sum(order.rejected for order in orders) == 5
    assert all(order.needs_approval for order in orders if order.rejected)
    assert sum(order.picked_up_early for order in orders) == 66
    assert sum(order.warehouse_fails_twice for order in orders) == 40
    assert Counter(order.end for order in orders) == {"closed": 187, "refused": 5, "declined": 8}
    assert sum(order.courier_drops_answer for order in orders) > 20
    assert len({order.key for order in orders}) == 200


def test_effects_are_counted_per_key_and_per_order(tmp_path: Path) -> None:
    stage = cast(Stage, _Folder(tmp_path))
    book = Book(stage.world_file)
    for key, order in (("k1", 1), ("k1", 1), ("k2", 2)):
        new = book.take_effect("booking", key, order)
        book.note("booking", key, order, "booked" if new else "known")
    seen = effects_of(stage, "booking")
    assert seen == Effects(
        requests=3, keys_asked_again=1, effects=2, orders=frozenset({1, 2}), double=0
    )
    # An engine that sends one order under two keys cannot be caught by the receiver, but by us.
    assert book.take_effect("booking", "k3", 2)
    assert effects_of(stage, "booking").double == 1
    # A receiver that forgets keys is caught, too.
    book._db.execute("insert into effect values ('booking', 'k1', 1, ?)", (time.time(),))
    assert effects_of(stage, "booking").double == 2


def faults(reached: dict[str, str], **changes: Any) -> list[str]:
    """What the verdict says of three orders (closed, closed, declined)."""
    orders = [Order(1), Order(2), Order(3)]
    people = People(cast(Stage, None), orders)
    people.other_answers = changes.pop("other_answers", 0)
    both = frozenset({1, 2})
    charges = changes.pop("charges", both)
    bookings = changes.pop("bookings", both)
    report = {"starts_new": 3, "instances": 3, "double_effects": 0, "open_incidents": 0, **changes}
    return _faults(
        people, reached, Effects(0, 0, 0, bookings, 0), Effects(0, 0, 0, charges, 0), report
    )


def test_every_kind_of_fault_is_found() -> None:
    good = {"order-0001": "closed", "order-0002": "closed", "order-0003": "declined"}
    assert faults(good) == []
    assert "should end at closed" in faults({**good, "order-0001": "refused"})[0]
    assert "has not ended" in faults({k: good[k] for k in ("order-0001", "order-0002")})[0]
    assert "closed without a charge" in faults(good, charges=frozenset({1}))[0]
    assert "closed without a booking" in faults(good, bookings=frozenset({2}))[0]
    assert "charged and not closed" in faults(good, charges=frozenset({1, 2, 3}))[0]
    assert "starts were new" in faults(good, starts_new=4)[0]
    assert "another instance" in faults(good, other_answers=1)[0]
    assert "happened twice" in faults(good, double_effects=1)[0]
    assert "incidents are open" in faults(good, open_incidents=2)[0]
