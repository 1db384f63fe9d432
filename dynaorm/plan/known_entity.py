"""What is known of every entity that may be stored under a key, before its item is read."""

from collections.abc import Iterable, Mapping
from typing import Any

from dynaorm.entity.mapping.derive import placed_in
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.mapping.place import IndexPlaces
from dynaorm.entity.mapping.stored import StoredValues
from dynaorm.errors import InvalidValue
from dynaorm.item.known import KnownPart, Unread
from dynaorm.item.value import AttributeValue, Item
from dynaorm.record import record


@record(quick=True)
class KnownEntity:
    """What is known of an entity that was not read.

    Attributes:
        item: its item, of which a part is known.
        values: field values that need not be decoded.
    """

    item: KnownPart
    values: Mapping[str, Any]


def known_by_key(mapping: EntityMapping, key: Item, like: Mapping[str, Any] | None = None) -> KnownEntity:
    """What the key of an entity says about it.

    ``like``: the values of one such entity. A field that the key does not give back exactly has its value there: that
    is enough to say whether a key is made of it, though not which.
    """
    found: dict[str, Any] = {}
    for part in mapping.primary_parts:
        matched = part.match(key[part.attribute.name][part.attribute.kind]) or {}
        found |= {
            name: value
            for name, value in matched.items()
            if name in mapping.fields and mapping.fields[name].exact
        }
    item: dict[str, AttributeValue] = dict(key)
    for name in found.keys() & mapping.made_of.conditions:  # nobody asks for the attributes of others
        field = mapping.fields[name]
        value = None if field.in_key or field.formerly else mapping.encoder.encode_field(field, found)
        if value is not None:
            item[field.attribute] = value
    if like is not None:
        found = {name: like[name] for name in mapping.key_fields if name in like} | found
    return KnownEntity(KnownPart(item), found)


def check_in_every(
    mapping: EntityMapping, known: KnownEntity, created: StoredValues, indexes: Iterable[IndexPlaces]
) -> None:
    """Check that every entity under a key is in those of some indexes which a created one would be in.

    Otherwise its keys there, which are stored where they are missing, would put an entity into an index in which it
    does not belong.

    Raises:
        InvalidValue: no entity under the key can have its place in an index.
        Unread: it depends on what is stored.
    """
    every = mapping.subject(known.item, known.values)
    for index in indexes:
        try:
            placed_in(mapping, index, every)
        except Unread:
            if _is_in(mapping, index, created):
                raise


def _is_in(mapping: EntityMapping, index: IndexPlaces, created: StoredValues) -> bool:
    """Whether an entity that is created would be in an index, or could not be created because of it."""
    try:
        return placed_in(mapping, index, created) is not None
    except InvalidValue:
        return True
