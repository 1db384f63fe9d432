"""Items that follow from entities: one mechanism for guard items, version items and totals.

Rule 1. A holder is an entity, as it is stored or as it will be. Its kind says which items it holds, and what it has to
        say in each.
Rule 2. An item collects who holds it before a unit of work, and who holds it afterwards. Its kind says what follows:
        one holder claims it (guards), every new holder adds to it (totals), or nobody ever gives it up (versions).
Rule 3. Only a kind knows its action, what a refusal of that means, and how it is said.
Rule 4. A repair takes an item for its holder in place of what was read, whatever that was.
"""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from itertools import pairwise
from typing import Any, Generic, TypeAlias, TypeVar

from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.table import Ident, Table
from dynaorm.errors import DecodeError, InvalidValue, Violation
from dynaorm.failure import message_of
from dynaorm.item.value import Item
from dynaorm.plan.intent import UnitOfWork
from dynaorm.plan.plan import Kind, Operations, PartitionKey, Planned
from dynaorm.plan.stored import ItemChange, ItemCheck, ItemInsert, ItemUpdate
from dynaorm.record import record

T = TypeVar("T")

Sides: TypeAlias = "tuple[EntitySide | None, EntitySide | None]"
"""The entity before and after a change, where it is known."""


@record(quick=True)
class EntitySide:
    """An entity, as it is stored or as it will be.

    Attributes:
        mapping: its class.
        key: its primary key.
        item: its item.
        values: the field values that the item was made of, if they need not be decoded again.
        changed: only what is made of one of these fields is asked for; None: everything.
        at: which change of the unit of work it is a side of.
        replaced: the stored item that it takes the place of, which a deletion may have left.
        is_stored: it is the side before: nothing in it can be refused any more.
    """

    mapping: EntityMapping
    key: Item
    item: Item
    values: Mapping[str, Any] | None = None
    changed: frozenset[str] | None = None
    at: int = 0
    replaced: Item | None = None
    is_stored: bool = True


@record(quick=True)
class Holding(Generic[T]):
    """One item, as one holder has it.

    Attributes:
        ident: the identity of the item, among those of its kind.
        image: the holder.
        label: what its kind knows of it.
    """

    ident: Ident
    image: EntitySide
    label: T


class HolderChange(Generic[T]):
    """One item that follows from its holders.

    Attributes:
        old: those who hold it before the unit of work.
        new: those who hold it afterwards.
    """

    # Defaults of the class: a constructor would cost more than all else that is done with an item.
    old: tuple[Holding[T], ...] = ()
    new: tuple[Holding[T], ...] = ()


class DerivedKind(Kind, Generic[T]):
    """A kind of item that follows from entities.

    Attributes:
        is_summed: an item is the sum over its holders, so judging one asks for all of them.
        noun: what its items are called.
    """

    is_summed = False
    noun: str

    def follows_from(self, mapping: EntityMapping) -> bool:
        """Whether entities of a class can hold items of this kind."""
        raise NotImplementedError

    def made_of(self, mapping: EntityMapping) -> Iterable[frozenset[str]]:
        """The fields that each item of this kind is made of which an entity of a class can hold."""
        raise NotImplementedError

    def can_differ(self, mapping: EntityMapping, changed: AbstractSet[str]) -> bool:
        """Whether what an entity holds can differ if these fields change."""
        for fields in self.made_of(mapping):  # noqa: SIM110 - a loop, because every save asks
            if not fields.isdisjoint(changed):
                return True
        return False

    def held_by(self, image: EntitySide) -> Iterable[Holding[T]]:
        """The items that an entity holds."""
        raise NotImplementedError

    def place(self, held: Holding[T]) -> tuple[Table, Item]:
        """The table and the primary key of an item that is held."""
        raise NotImplementedError

    def reason_to_read(self, mapping: EntityMapping, writer: str) -> str:
        """What a Put would lose or leave behind in place of an entity that was not read; empty for nothing.

        ``writer``: what makes the Put, for the sentence.
        """
        return ""

    def classes_with_items_in(self, table: Table) -> Iterable[EntityMapping]:
        """The classes whose items of this kind are in a table, which may be another one than theirs."""
        return catalog_of(table).mappings.values()

    def tables_beside(self, mapping: EntityMapping) -> Iterable[Table]:
        """The tables of all items that say what items of this kind have to be, of entities of a class."""
        return ()

    def tables_reached(self, table: Table) -> Iterable[Table]:
        """The tables in which items lie that the items of a table name, or follow from."""
        return ()

    def operations_of_reads(self, mapping: EntityMapping) -> Operations:
        """The operations on items of this kind that belong to the reads of a class's entities."""
        return ()

    def operations_of_writes(self, mapping: EntityMapping) -> Operations:
        return ()  # Its items are under keys of their entities.

    def partition_keys(self, mapping: EntityMapping) -> Iterable[PartitionKey]:
        return ()

    def claim_if_unchanged(
        self, image: EntitySide, label: T, stored: Item | None, unit: UnitOfWork
    ) -> Planned:
        """The action that gives an entity its item, if what is stored there is still as it was read."""
        raise NotImplementedError

    def should_release(self, held: Holding[T], stored: Item | None) -> bool:
        """Whether a holder gives up an item that was read and that it no longer holds."""
        return True

    def clash(self, derived: HolderChange[T]) -> Violation | None:
        """Why the last of several new holders cannot hold the item, too; None if it can."""
        return None


def before_and_after(
    change: ItemChange, at: int, final: Item | None = None, *, has_rivals: bool = False
) -> Sides:
    """The images before and after a change, if they are known.

    ``at``: which change it is. ``final``: the item with its revision and version number, if these were given.
    ``has_rivals``: another change may claim what this one holds and keeps.
    """
    before = change.before
    if type(change) is ItemCheck or (before is None and type(change) is not ItemInsert):
        return None, None
    changed = change.changed if type(change) is ItemUpdate and not has_rivals else None
    old = replaced = None
    if before is not None:
        replaced = before.item
        if before.mapping.undeleted(replaced) is not None:
            old = EntitySide(before.mapping, change.key, replaced, None, changed, at)
    if type(change) is not ItemInsert and type(change) is not ItemUpdate:
        return old, None
    item = change.image if final is None else final
    values = change.values if type(change) is ItemInsert else None
    return old, EntitySide(change.mapping, change.key, item, values, changed, at, replaced, False)


def derived_items(sides: Iterable[Sides], kind: DerivedKind[T]) -> list[list[HolderChange[T]]]:
    """For each change the items of a kind that it is the first to concern, before or after.

    Raises:
        StoreError: two entities cannot hold one item.
        DecodeError: a function of the class fails for a stored entity.
    """
    items: dict[Ident, HolderChange[T]] = {}
    clashes: list[tuple[EntityMapping, Violation]] = []
    ends = [0]
    for before, after in sides:
        try:
            for held in () if before is None else kind.held_by(before):
                derived = items.get(held.ident) or items.setdefault(held.ident, HolderChange())
                derived.old += (held,)
        except InvalidValue as problem:
            assert before is not None  # None holds nothing
            raise _unknown(before, problem) from problem.__cause__
        for held in () if after is None else kind.held_by(after):
            derived = items.get(held.ident) or items.setdefault(held.ident, HolderChange())
            derived.new += (held,)
            if len(derived.new) > 1 and (clash := kind.clash(derived)) is not None:
                clashes.append((held.image.mapping, clash))
        ends.append(len(items))
    if clashes:
        raise kind.refused(clashes[0][0], tuple(clash for _, clash in clashes))
    found = [*items.values()]
    return [found[start:end] for start, end in pairwise(ends)]


def _unknown(before: EntitySide, problem: InvalidValue) -> DecodeError:
    """The error for a stored entity of which nobody knows what it holds: a function of its class fails."""
    return before.mapping.errors.unreadable(before.item, (message_of(problem),))
