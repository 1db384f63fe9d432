"""What stands under a key where a write is refused, and the error of an insert whose key is taken."""

from typing import Any

from dynaorm.entity.declare.catalog import class_of_type, stored_class, type_in
from dynaorm.entity.foreign_item import ForeignItem, foreign_item
from dynaorm.entity.key import stored_key
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.errors import AlreadyExists, DecodeError
from dynaorm.item.value import Item, same

_LOSSY = "choose another value of {fields}, or get the stored entity by its key and change it"


def standing(mapping: EntityMapping, item: Item | None) -> Any:
    """The entity that an item under a key of the class holds, of whatever class it is.

    None for no item, a tombstone, an item of no declared class, and one that does not fit its class.
    """
    item = mapping.undeleted(item)
    if item is None:
        return None
    tag = type_in(mapping.table, item)
    found = stored_class(mapping, item) or (tag and class_of_type(mapping, tag))
    try:
        return found.loader.hydrate(item) if found else None
    except DecodeError:
        return None


def already_exists(mapping: EntityMapping, key: Item, given: Item, stored: Item) -> AlreadyExists:
    """The error, which names another class, or the fields whose values differ though their key is the same."""
    found, there = stored_key(mapping, key), standing(mapping, stored)
    if (other := foreign_item(mapping, stored)) is not None:
        return AlreadyExists(
            key=found,
            violations=(),
            stored=there,
            problem=f"{other.said} is stored under {found!r}",
            remedy=_remedy(mapping, other),
        )
    differing = [
        name
        for name in mapping.key_fields
        if name not in found.fields and _differs(mapping, name, given, stored)
    ]
    if not differing:
        return AlreadyExists(key=found, violations=(), stored=there)
    fields = ", ".join(differing)
    return AlreadyExists(
        key=found,
        violations=(),
        stored=there,
        problem=f"{found!r} is already stored with another value of {fields}, which has the same key",
        remedy=_LOSSY.format(fields=fields),
    )


def _remedy(mapping: EntityMapping, other: ForeignItem) -> str:
    if other.is_related:
        return f"get it by {other.key!r}, or replace it with session.save(entity, overwrite=True)"
    instead = f"choose another value of {', '.join(mapping.key_fields)}, or " if mapping.key_fields else ""
    if other.key is None:
        return f"{instead}declare its class, import its module, and delete that item first"
    return f"{instead}delete that item first: session.delete({other.key!r})"


def _differs(mapping: EntityMapping, name: str, given: Item, stored: Item) -> bool:
    field = mapping.fields.get(name)  # a computed field is stored nowhere
    found = field.stored_in(stored) if field is not None else None
    return field is not None and found is not None and not same(given.get(field.attribute), found)
