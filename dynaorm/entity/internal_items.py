"""The items that dynaorm keeps for entities and blocks: guard items and token items."""

from __future__ import annotations

from typing import Final

from dynaorm.entity.table import Table
from dynaorm.item.value import AttributeValue, Item

# A guard item holds a unique value for one entity: its attributes, and the owner that it names.
#
# Rule 1. It has its key, its owner, and the time of its expiry if the owner has one.
# Rule 2. The owner is the primary key of the entity that holds the value. In another table than its entity's, a guard
#         item also says in which table the owner is.
# Rule 3. An owner that does not say so may be in any of the tables: other programs write such.
#
# Its key is made in ``entity/mapping/index_places.py``. When it is written, and under which condition, is decided in
# ``plan/guards.py``.


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


# A token item remembers a block that ran under a token of the caller's: its key and its attributes.
#
# The key is ``#token#<token>``, in the sort key, too, where the table has one. No guard item can have this key,
# because its key begins with the name of a constraint, which is not empty and contains no ``#``.
#
# What ``BLOCK`` says of the block, and how another one is compared with it, is decided in ``plan/token.py``;
# when the item is written, in ``plan/token.py``.


TOKEN_PREFIX: Final = "#token#"
BLOCK: Final = "_block"
REVISION: Final = "_revision"
UNTIL: Final = "_until"

_OWN: Final = frozenset({BLOCK, REVISION, UNTIL})


def token_home(table: Table) -> Table:
    """The table that has the token items of blocks that begin with an entity of a table: that of its guard items."""
    return table.guards


def token_key(home: Table, token: str) -> dict[str, AttributeValue]:
    """The primary key of the token item of a token, in the table that has it."""
    return {name: {"S": TOKEN_PREFIX + token} for name in home.key_names}


def is_token_item(table: Table, item: Item) -> bool:
    """Whether an item without a type is a token item, or its entry in an index on the table's own keys."""
    texts = [item.get(name, {}).get("S", "") for name in table.key_names]
    if not texts[0].startswith(TOKEN_PREFIX) or any(text != texts[0] for text in texts):
        return False
    return item.keys() <= {*table.key_names, *_OWN, table.ttl_attribute}


def why_no_token_items(home: Table) -> str:
    """Why a table cannot hold token items; empty if it can."""
    other = [key.name for key in home.keys if key.kind != "S"]
    if other:
        return f"{home} has no string key {other[0]!r}"
    taken = sorted(_OWN & home.kinds.keys())
    return f"{taken[0]!r} is a key attribute of {home}" if taken else ""
