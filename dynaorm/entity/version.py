"""One version of an entity, as ``history`` returns it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Generic, TypeVar

from dynaorm.entity.key_part import VERSION, VERSION_AT
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.text.scalar import parse_datetime
from dynaorm.item.value import Item
from dynaorm.record import record

E = TypeVar("E")


@record
class Version(Generic[E]):
    """One saved version of an entity.

    Attributes:
        number: 1 for the first version; a number is never used twice.
        at: when it was saved (UTC).
        values: its fields. The ``repr`` masks the values of secret fields.
        entity: the entity as saved, read-only; None if the class versions only some fields.

    Examples:
        >>> [(version.number, version.entity.result) for version in session.history(Key(Audit, equipment_id="e1"))]
        [(2, 'fail'), (1, 'pass')]
    """

    number: int
    at: datetime
    values: Mapping[str, Any]
    entity: E | None


def time_of(mapping: EntityMapping, item: Item, attribute: str = VERSION_AT) -> datetime:
    """When a version was saved or an entity was deleted, by its item. Raises DecodeError."""
    stored = item.get(attribute, {})
    try:
        return parse_datetime(stored["S"])
    except (KeyError, ValueError):
        wrong = (
            f"is stored as {dict(stored)}, not as the time of a version"
            if stored
            else "is absent, although every version and every deletion has its time"
        )
        problem = f"{attribute}: {wrong}"
        raise mapping.errors.unreadable(item, (problem,)) from None


def version_of(mapping: EntityMapping, main_key: Item, number: int, item: Item) -> Version[Any]:
    """The version in an item; ``main_key`` is the primary key of the latest copy.

    Raises:
        DecodeError: the item is not valid for the class, or belongs to another version.
    """
    assert mapping.versioning is not None
    # With the key of the latest copy, because the fields render that one.
    image = {**item, **main_key}
    at = time_of(mapping, item)
    if mapping.loader.version_of(item) != number:
        problem = f"{VERSION}: is stored as {dict(item.get(VERSION, {}))} under the key of version {number}"
        raise mapping.errors.unreadable(item, (problem,))
    if mapping.versioning.fields is None:
        entity = mapping.loader.hydrate(image, read_only=True)
        return Version(number, at, mapping.secrets.hiding(dict(vars(entity))), entity)
    values = mapping.subject(image)
    versioned = {name: values[name] for name in mapping.versioning.fields}
    return Version(number, at, mapping.secrets.hiding(versioned), None)
