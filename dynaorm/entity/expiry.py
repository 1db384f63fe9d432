"""When an item expires: what its attribute says, and whether it has expired.

``Expiry.is_over`` decides in Python, ``Expiry.condition`` in a condition. They are one rule, and nothing else compares
the time of an entity or a guard item with a clock. A token item has no ``Expiry``: it has an attribute of its own
(``token_item.UNTIL``), which ``plan/kinds/token_item`` compares.

Rule 1. A time in seconds means what DynamoDB's TTL makes of it. TTL keeps an item without a time, with 0 or less, and
        with a time that is more than five years past.
Rule 2. TTL cannot read milliseconds, so DynamoDB deletes nothing by them. What is past has expired, however long ago.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from math import ceil, floor
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from dynaorm.failure import shown
from dynaorm.item.value import NUMBER_DIGITS, AttributeValue, Item
from dynaorm.late import late
from dynaorm.record import record

if TYPE_CHECKING:
    from dynaorm.item import condition
    from dynaorm.item.condition import Condition
else:
    late(globals(), condition="dynaorm.item.condition")

Unit: TypeAlias = Literal["s", "ms"]
"""What a program counts since the epoch: seconds or milliseconds."""

PER_SECOND: Final[dict[Unit, int]] = {"s": 1, "ms": 1000}
WORDS: Final[dict[Unit, str]] = {"s": "seconds", "ms": "milliseconds"}
# Amazon DynamoDB Developer Guide, "Before you start using TTL": TTL ignores a time that is more than five years past.
# The guide does not say how many days these are. With the fewest, no item is replaced that DynamoDB may keep.
_KEPT_AFTER: Final = 5 * 365 * 86_400


def since_epoch(stored: AttributeValue, unit: Unit = "s") -> int:
    """The whole seconds or milliseconds of a stored time. Raises ValueError."""
    try:
        number = Decimal(stored["N"])
    except (KeyError, InvalidOperation):
        number = Decimal("NaN")
    if not number.is_finite() or number.adjusted() > NUMBER_DIGITS:
        raise ValueError(f"is stored as {shown(dict(stored))}, not as a number of epoch {WORDS[unit]}")
    return int(number)


@record
class Expiry:
    """The attribute by which the items of a table expire.

    Attributes:
        attribute: its name.
        unit: what it counts.
    """

    attribute: str
    unit: Unit = "s"

    @property
    def ttl(self) -> str | None:
        """The attribute by which DynamoDB deletes the items; None where it cannot."""
        return self.attribute if self.unit == "s" else None

    def time_in(self, item: Item) -> int | None:
        """When an item expires, in its unit; None for never. Raises ValueError."""
        found = item.get(self.attribute, {})
        return since_epoch(found, self.unit) if "N" in found else None

    def is_over(self, item: Item, now: float, margin: int = 0) -> bool:
        """Whether an item has expired. What is no time never does.

        Args:
            now: seconds since the epoch; fractions of the unit in the item do not count.
            margin: by how many seconds other clocks may differ. An item has expired if it has by all of them.
        """
        try:
            time = self.time_in(item)
        except ValueError:
            return False
        first, last = self._over(now, margin)
        return time is not None and first <= time <= last

    def condition(self, now: float, margin: int = 0) -> Condition:
        """The condition that ``is_over`` is true of an item. Its negation is true of an item without the attribute."""
        (first, end), time = self.between(now, margin), condition.Attr((self.attribute,))
        is_past = condition.Compare(time, "<", {"N": str(end)})
        return condition.And((condition.Compare(time, ">=", {"N": str(first)}), is_past))

    def between(self, now: float, margin: int = 0) -> tuple[int, int]:
        """The first time at which an item may have expired, and the one after the last."""
        first, last = self._over(now, margin)
        return ceil(first), floor(last) + 1

    def _over(self, now: float, margin: int) -> tuple[float, float]:
        """The first and the last time that is over."""
        first = max(1, now + margin - _KEPT_AFTER) if self.unit == "s" else 1
        return first, (now - margin) * PER_SECOND[self.unit]
