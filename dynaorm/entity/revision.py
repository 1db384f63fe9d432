"""The attribute that changes with every write of an item.

Rule 1. A text is new for every write, so an item that carries it was written by the write that made the text.
Rule 2. A number is one more than before, and 1 where there was none, unless another start is declared. Two writers may
        write the same number, so it says that an item changed, and not who changed it. After a deletion the numbers
        begin anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal

from dynaorm.item.path import Path, overlaps
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

    Conditions name it as a field: ``F.version == 3``. No change may name it.

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
        >>> session.scan(Cart).filter(F.version >= 1).count()
        1
    """

    name: str
    start: int = 0


@record
class Revision:
    """The revision of the items of a table.

    Attributes:
        attribute: its attribute.
        kind: S for a text, N for a number.
        start: the number before that of the first write.
    """

    attribute: str
    kind: Literal["S", "N"] = "S"
    start: int = 0

    @property
    def path(self) -> tuple[str, ...]:
        """Where it is in an item."""
        return (self.attribute,)

    def problems(self) -> Iterator[str]:
        """Why items cannot have it, one sentence each."""
        if type(self.start) is not int:
            yield f"NumberRevision(start={self.start!r}) is not a whole number; give an int, such as 0"

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
    def own(self) -> condition.Condition:
        """The condition of a write by key that the revision is absent or of its type.

        No condition of DynamoDB tells a whole number from a fraction, so a write by key also raises 1.5, to 2.5.
        """
        return condition.any_of_conditions(
            condition.missing(self.attribute), condition.HasType(self.path, self.kind)
        )

    def after(self, before: Item | None, write_id: str) -> AttributeValue:
        """The revision that a write gives to an item; ``before`` is the item that it replaces."""
        if self.kind == "S":
            return {"S": write_id}
        found = None if before is None else self.of(before)
        return {"N": number_text(int(found or self.start) + 1)}

    def stamped(self, image: Item, before: Item | None, write_id: str) -> dict[str, AttributeValue]:
        """An item as a write stores it, with the revision that follows from the item that it replaces."""
        return {**image, self.attribute: self.after(before, write_id)}

    def without(self, item: Item) -> Item:
        """An item without its revision."""
        return {name: value for name, value in item.items() if name != self.attribute}

    def change(self, write_id: str) -> update.Change:
        """The same as ``stamped``, as a change of an item that was not read."""
        if self.kind == "S":
            return update.SetTo(self.path, {"S": write_id})
        # ADD begins at 0 by itself.
        start: AttributeValue | None = {"N": str(self.start)} if self.start else None
        return update.AddTo(self.path, {"N": "1"}, start)

    def meets(self, path: Path) -> bool:
        """Whether a change of this path would change the revision, too."""
        return overlaps(path, self.path)


def revision_of(declared: str | NumberRevision | None) -> Revision | None:
    """The revision that a table declares; None for none."""
    if not isinstance(declared, NumberRevision):
        return None if declared is None else Revision(declared)
    return Revision(declared.name, "N", declared.start)
