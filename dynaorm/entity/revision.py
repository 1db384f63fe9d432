"""The attribute that changes with every write of an item.

Rule 1. A text is new for every write, so an item that carries it was written by the write that made the text.
Rule 2. A number is one more than before, and 1 where there was none, unless another start is declared. Two writers may
        write the same number, so it says that an item changed, and not who changed it. After a deletion the numbers
        begin anew.
Rule 3. It is an attribute, or a member of a map. That map is stored with every item; the class declares it as a model,
        or not at all. Whoever writes the map keeps the number in it: ``stamped`` puts it there last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal

from dynaorm.item.path import Path, dotted, overlaps, value_at
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
        name: the attribute; ``"system_info.version"`` is the member ``version`` of the map ``system_info``. A class
            that declares this map declares it as a required field whose type is a model without that member.
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
        attribute: the attribute that is it, or has it.
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

    @property
    def name(self) -> str:
        """The same in words."""
        return dotted(self.path)

    @property
    def attribute_type(self) -> Literal["S", "N", "M"]:
        """DynamoDB's type of the attribute that is it, or has it."""
        return self.kind

    @property
    def is_nested(self) -> bool:
        """Whether it is a member of a map: where nothing is stored, DynamoDB cannot begin it."""
        return False

    def problems(self) -> Iterator[str]:
        """Why items cannot have it, one sentence each."""
        if type(self.start) is not int:
            yield f"NumberRevision(start={self.start!r}) is no whole number; give an int, such as 0"

    def of(self, item: Item) -> str | None:
        """The revision of an item as text; None if it has none, or one that this revision never is."""
        found = item.get(self.attribute, {}).get(self.kind)
        if found is None or self.kind == "S":
            return found
        try:
            return number_text(scalar.whole(Decimal(found)))
        except (ValueError, InvalidOperation):
            return None

    def stored_in(self, item: Item) -> AttributeValue | None:
        """What is stored in its place; None for nothing."""
        return item.get(self.attribute)

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
        return condition.any_of_conditions(self._begins, condition.HasType(self.path, self.kind))

    @property
    def _begins(self) -> condition.Condition:
        """The condition that a write by key stores the first revision of an item."""
        return condition.missing(self.attribute)

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

    def raised_in(
        self,
        read: Item,  # noqa: ARG002 - a nested revision looks at it
        write_id: str,
    ) -> tuple[condition.Condition, update.Change]:
        """``own`` and ``change`` for an item that was read; without attributes if there is none."""
        return self.own, self.change(write_id)

    def among(
        self, changes: Iterable[update.Change], before: Item, write_id: str
    ) -> tuple[update.Change, ...]:
        """Changes of whole attributes of an item that was read, with that of its revision."""
        return (*changes, update.SetTo(self.path, self.after(before, write_id)))

    def meets(self, path: Path) -> bool:
        """Whether a change of this path would change the revision, too."""
        return overlaps(path, self.path)


@record
class NestedRevision(Revision):
    """A number that is a member of a map.

    Attributes:
        inside: the names that lead to it from the attribute.
    """

    inside: tuple[str, ...] = ()

    @property
    def path(self) -> tuple[str, ...]:
        return (self.attribute, *self.inside)

    @property
    def attribute_type(self) -> Literal["S", "N", "M"]:
        return "M"

    @property
    def is_nested(self) -> bool:
        return True

    def problems(self) -> Iterator[str]:
        yield from Revision.problems(self)
        if not all(self.path):
            yield f'NumberRevision({self.name!r}) has an empty name; write "map.member"'

    def of(self, item: Item) -> str | None:
        found = value_at(item, self.path)
        return None if found is None else Revision.of(self, {self.attribute: found})

    def stored_in(self, item: Item) -> AttributeValue | None:
        return value_at(item, self.path)

    def is_foreign(self, item: Item) -> bool:
        parents = (value_at(item, self.path[:length]) for length in range(1, len(self.path)))
        if any("M" not in one for one in parents if one is not None):
            return True
        return value_at(item, self.path) is not None and self.of(item) is None

    @property
    def _begins(self) -> condition.Condition:
        # DynamoDB makes no map for a member, so one has to be there.
        return condition.HasType(self.path[:-1], "M") & condition.Missing(self.path)

    def stamped(self, image: Item, before: Item | None, write_id: str) -> dict[str, AttributeValue]:
        return _with_member(image, self.path, self.after(before, write_id))

    def without(self, item: Item) -> Item:
        if self.stored_in(item) is None:
            return item
        return update.apply_changes(item, [update.Remove(self.path)])

    def raised_in(self, read: Item, write_id: str) -> tuple[condition.Condition, update.Change]:
        if self.attribute in read:
            return self.own, self.change(write_id)
        begun = self.stamped({}, None, write_id)[self.attribute]
        return condition.missing(self.attribute), update.SetTo((self.attribute,), begun)

    def among(
        self, changes: Iterable[update.Change], before: Item, write_id: str
    ) -> tuple[update.Change, ...]:
        changes = tuple(changes)
        image = {str(one.path[0]): one.value for one in changes if isinstance(one, update.SetTo)}
        if self.attribute not in image:
            return Revision.among(self, changes, before, write_id)
        stamped = update.SetTo((self.attribute,), self.stamped(image, before, write_id)[self.attribute])
        return tuple(stamped if one.path == (self.attribute,) else one for one in changes)

    def declared_in(self, stored: AttributeValue) -> AttributeValue:
        """The map of an item without the revision that is in it."""
        return self.without({self.attribute: stored})[self.attribute]


def revision_of(declared: str | NumberRevision | None) -> Revision | None:
    """The revision that a table declares; None for none."""
    if not isinstance(declared, NumberRevision):
        return None if declared is None else Revision(declared)
    name: object = declared.name
    first, *inside = name.split(".") if isinstance(name, str) else (declared.name,)
    if not inside:
        return Revision(declared.name, "N", declared.start)
    return NestedRevision(first, "N", declared.start, tuple(inside))


def _with_member(members: Item, path: tuple[str, ...], value: AttributeValue) -> dict[str, AttributeValue]:
    """The members of a map, with one that is at a path in them. A map that leads to it is made if there is none."""
    first, *rest = path
    if not rest:
        return {**members, first: value}
    within = members.get(first, {}).get("M", {})
    return {**members, first: {"M": _with_member(within, tuple(rest), value)}}
