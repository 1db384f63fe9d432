"""Which item is meant, in a table and among all tables."""

from __future__ import annotations

from typing import TypeAlias

from dynaorm.entity.table import Table
from dynaorm.item.value import Item

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
