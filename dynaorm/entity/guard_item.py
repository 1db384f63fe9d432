"""A guard item holds a unique value for one entity: its attributes, and the owner that it names.

Rule 1. It has its key, its owner, and the time of its expiry if the owner has one.
Rule 2. The owner is the primary key of the entity that holds the value. In another table than its entity's, a guard
        item also says in which table the owner is.
Rule 3. An owner that does not say so may be in any of the tables: other programs write such.

Its key is made in ``entity/mapping/constraint.py``. When it is written, and under which condition, is decided in
``plan/kinds/guards.py``.
"""

from __future__ import annotations

from typing import Final

from dynaorm.entity.table import Table
from dynaorm.item.value import AttributeValue, Item

OWNER: Final = "owner"
TABLE: Final = "table"


def beside_key(home: Table) -> tuple[str, ...]:
    """The attributes that guard items in a table may have beside their key."""
    return (OWNER, *home.expiry_attributes)


def more_than_a_guard(home: Table, item: Item) -> list[str]:
    """The attributes of an item that no guard item of ours in its table has."""
    return sorted(item.keys() - {*home.key_names, *beside_key(home)})


def owner_of(table: Table, key: Item) -> AttributeValue:
    """The owner that the guard items of an entity in a table name."""
    return {"M": key if table.guards is table else {TABLE: {"S": table.name}, **key}}


def owner_in(guard: Item) -> Item:
    """The owner that a guard item names, as it is stored; empty for none."""
    owner: Item = guard.get(OWNER, {}).get("M", {})
    return owner


def is_in(owner: Item, table: Table) -> bool:
    """Whether an owner says that it is in a table."""
    if owner.get(TABLE) == {"S": table.name}:
        return True
    # A key attribute may be called so, too.
    return table.guards is table and (TABLE not in owner or owner.keys() == set(table.key_names))


def says_another(owner: Item, table: Table) -> bool:
    """Whether an owner says that it is in another table than this one."""
    return TABLE in owner and not is_in(owner, table)


def key_in(owner: Item, table: Table) -> Item | None:
    """The primary key in a table that an owner names; None if it is in another one, or names no key."""
    is_whole = all(owner.get(key.name, {}).get(key.kind) for key in table.keys)
    if says_another(owner, table) or not is_whole:
        return None
    return {name: owner[name] for name in table.key_names}


def without_table(owner: Item) -> Item:
    """What an owner names besides its table."""
    return {name: value for name, value in owner.items() if name != TABLE}
