"""What is stored under a key, where it is no entity of the key's class."""

from typing import NamedTuple

from dynaorm.entity.declare.catalog import class_of_type, has_expired, type_in
from dynaorm.entity.key import Key, stored_key
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.errors import EntityNotFound
from dynaorm.failure import shown
from dynaorm.item.value import Item


class UnexpectedItem(NamedTuple):
    """An item of another class.

    Attributes:
        said: what it is.
        key: its key, with its own class; None if no declared class has its type.
        is_related: whether its class and that of the key have a mapped base class in common.
    """

    said: str
    key: Key[object] | None = None
    is_related: bool = False


def foreign_item(mapping: EntityMapping, item: Item) -> UnexpectedItem | None:
    """The item of another class under a key of ``mapping``; None if the item is an entity of the class."""
    tag = type_in(mapping.table, item)
    if tag is None:
        return None
    found = class_of_type(mapping, tag)
    if found is None:
        return UnexpectedItem(
            f"an item of the type {shown(tag.get('S', tag))}, which no declared class is called,"
        )
    if issubclass(found.entity, mapping.entity):
        return None
    key = stored_key(found, {name: item[name] for name in mapping.table.key_names})
    return UnexpectedItem(f"an item of {found.entity.__name__}", key, issubclass(found.entity, mapping.root))


def not_found(mapping: EntityMapping, key: Key[object], item: Item | None, now: float) -> EntityNotFound:
    """The error of a key under which no live entity of the class is stored, but perhaps this item."""
    is_there = item is not None and not has_expired(mapping, item, now)
    other = foreign_item(mapping, item) if item is not None and is_there else None
    if other is None:
        return EntityNotFound(key=key)
    named = "declare its class, and import its module" if other.key is None else f"name it by {other.key!r}"
    return EntityNotFound(
        key=key,
        problem=f"{other.said} is stored under {key!r}, and no {mapping.entity.__name__}",
        remedy=f"{named}, or check the fields of the key",
    )
