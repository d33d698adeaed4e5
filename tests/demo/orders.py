"""The script: everything that happens to an order follows from its number."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Order:
    """Order ``number`` (from 1) and its fate."""

    number: int

    @property
    def key(self) -> str:
        """Business key."""
        return f"order-{self.number:04}"

    @property
    def amount(self) -> int:
        """Every second order is above 1000 and needs an approval."""
        return 1200 if self.number % 2 == 0 else 80

    @property
    def needs_approval(self) -> bool:
        """Whether a person is asked."""
        return self.amount > 1000

    @property
    def rejected(self) -> bool:
        """The approver rejects 5 % of what he is asked: one in twenty."""
        return self.number % 40 == 0

    @property
    def card_declined(self) -> bool:
        """The card company says no to 4 %."""
        return self.number % 25 == 3

    @property
    def warehouse_fails_twice(self) -> bool:
        """Every fifth order meets a warehouse that does not answer, two times."""
        return self.number % 5 == 0

    @property
    def picked_up_early(self) -> bool:
        """A third of the parcels is picked up before anybody waits for that."""
        return self.number % 3 == 0

    @property
    def courier_drops_answer(self) -> bool:
        """The courier books, and the line breaks before it can say so."""
        return self.number % 7 == 3

    @property
    def courier_is_busy(self) -> bool:
        """The courier asks to come back in a second."""
        return self.number % 11 == 5

    @property
    def end(self) -> str:
        """Id of the end event it must reach."""
        if self.rejected:
            return "refused"
        return "declined" if self.card_declined else "closed"


def all_orders(count: int) -> list[Order]:
    """Orders 1 to ``count``."""
    return [Order(number) for number in range(1, count + 1)]
