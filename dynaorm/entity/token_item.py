"""A token item remembers a block that ran under a token of the caller's: its key and its attributes.

The key is ``#token#<token>``, in the sort key, too, where the table has one. No guard item can have this key, because
its key begins with the name of a constraint, which is not empty and contains no ``#``.

What ``BLOCK`` says of the block, and how another one is compared with it, is decided in ``plan/same_block.py``; when
the item is written, in ``plan/kinds/token_item.py``.
"""

from __future__ import annotations

from typing import Final

from dynaorm.entity.table import Table
from dynaorm.item.value import AttributeValue, Item

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
