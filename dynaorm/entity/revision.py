"""The attribute that changes with every write of an item.

Rule 1. A text is new for every write, so an item that carries it was written by the write that made the text.
Rule 2. A number is one more than before, and 1 where there was none, unless another start is declared. Two writers may
        write the same number, so it says that an item changed, and not who changed it. After a deletion the numbers
        begin anew.
"""

from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal

from dynaorm.item.value import AttributeValue, Item, number_text
from dynaorm.late import late
from dynaorm.record import record

if TYPE_CHECKING:
    from dynaorm.entity.text import scalar
    from dynaorm.item import condition, update
else:
    late(
        globals(),
        condition="dynaorm.item.condition",
        scalar="dynaorm.entity.text.scalar",
        update="dynaorm.item.update",
    )

REVISION_ATTRIBUTE: Final = "_rev"
"""The default name of the attribute that changes with every write."""


@record
class NumberRevision:
    """A revision that other libraries keep too: a number, one higher with every write.

    pynamodb's ``VersionAttribute`` and the ``@DynamoDBVersionAttribute`` of Java's mapper are such numbers.

    A number does not say who wrote it, so a write whose answer was lost is not recognised by it. Such a write raises
    ``OutcomeUnknown``, as in a table without a revision, unless it is made with ``exactly_once=True``.

    Attributes:
        name: the attribute.
        start: the first write of an item stores the number after this one. With -1, the numbers begin at 0.

    Examples:
        >>> carts = Table("carts", sk=None, revision_attribute=NumberRevision("version"))
        >>> class Cart(Entity, table=carts, pk="CART#{id}"):
        ...     id: str
        >>> session.create_table(carts)
        >>> inspect(session.save(Cart(id="1"))).revision
        '1'
    """

    name: str
    start: int = 0


@record
class Revision:
    """The revision of the items of a table.

    Attributes:
        attribute: its name.
        kind: S for a text, N for a number.
        start: the number before that of the first write.
    """

    attribute: str
    kind: Literal["S", "N"] = "S"
    start: int = 0

    def of(self, item: Item) -> str | None:
        """The revision of an item as text; None if it has none, or one that this revision never is."""
        found = item.get(self.attribute, {}).get(self.kind)
        if found is None or self.kind == "S":
            return found
        try:
            return number_text(scalar.whole(Decimal(found)))
        except (ValueError, InvalidOperation):
            return None

    def mark_of(self, item: Item) -> str | None:
        """The revision of an item if it names one write; None for a number."""
        return self.of(item) if self.kind == "S" else None

    def is_foreign(self, item: Item) -> bool:
        """Whether the attribute holds what this revision never is."""
        return self.attribute in item and self.of(item) is None

    @cached_property
    def own(self) -> "condition.Condition":
        """The condition of a write by key that the revision is absent or of its type.

        No condition of DynamoDB tells a whole number from a fraction, so a write by key also raises 1.5, to 2.5.
        """
        absent = condition.missing(self.attribute)
        return condition.any_of_conditions(absent, condition.HasType((self.attribute,), self.kind))

    def after(self, before: Item | None, write_id: str) -> AttributeValue:
        """The revision that a write gives to an item; ``before`` is the item that it replaces."""
        if self.kind == "S":
            return {"S": write_id}
        found = None if before is None else self.of(before)
        return {"N": number_text(int(found or self.start) + 1)}

    def change(self, write_id: str) -> "update.Change":
        """The same as a change of an item that was not read."""
        if self.kind == "S":
            return update.SetTo((self.attribute,), {"S": write_id})
        # ADD begins at 0 by itself.
        start: AttributeValue | None = {"N": str(self.start)} if self.start else None
        return update.AddTo((self.attribute,), {"N": "1"}, start)
