"""What has been read before a plan is compiled: items, and guards that belong to other entities."""

from collections.abc import Mapping
from dataclasses import field
from typing import Final, TypeAlias

from dynaorm.entity.table import Table
from dynaorm.item.value import Item
from dynaorm.record import record

Ident: TypeAlias = tuple[object, ...]


def ident_of(table: Table, key: Item) -> Ident:
    """The identity of an item: its table's declared name and the contents of its primary key, in the table's order.

    Numbers are compared as texts: rendered and stored ones are both canonical.
    """
    return table.name, *contents_of(table, key)


def contents_of(table: Table, key: Item) -> Ident:
    """The identity of an item within its table, which may be declared twice under different names."""
    names = table.key_names
    if len(names) == 1:
        return (*key[names[0]].values(),)
    partition, sort = names
    return (*key[partition].values(), *key[sort].values())


@record
class Reads:
    """Items that were read consistently or returned by a refusal, and guards found to belong to other entities.

    ``items`` maps to None where nothing is stored.
    """

    items: Mapping[Ident, Item | None] = field(default_factory=dict)
    foreign_guards: frozenset[Ident] = frozenset()

    def with_more(self, items: Mapping[Ident, Item | None], foreign_guards: frozenset[Ident]) -> "Reads":
        return Reads({**self.items, **items}, self.foreign_guards | foreign_guards)


NOTHING_READ: Final = Reads()
