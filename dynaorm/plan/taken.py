"""The error of an insert whose key is taken."""

from dynaorm.entity.key import stored_key
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.errors import AlreadyExists
from dynaorm.item.value import Item, same

_LOSSY = "choose another value of {fields}, or get the stored entity by its key and change it"


def already_exists(mapping: EntityMapping, key: Item, given: Item, stored: Item) -> AlreadyExists:
    """The error, which names the fields whose values differ though their key is the same."""
    found = stored_key(mapping, key)
    differing = [
        name
        for name in mapping.key_fields
        if name not in found.fields and _differs(mapping, name, given, stored)
    ]
    if not differing:
        return AlreadyExists(key=found, violations=())
    fields = ", ".join(differing)
    return AlreadyExists(
        key=found,
        violations=(),
        problem=f"{found!r} is already stored with another value of {fields}, which has the same key",
        remedy=_LOSSY.format(fields=fields),
    )


def _differs(mapping: EntityMapping, name: str, given: Item, stored: Item) -> bool:
    field = mapping.fields.get(name)  # a computed field is stored nowhere
    found = field.stored_in(stored) if field is not None else None
    return field is not None and found is not None and not same(given.get(field.attribute), found)
