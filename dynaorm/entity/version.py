"""One version of an entity, as history gives it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Generic, TypeVar

from dynaorm.entity.mapping.mapping import VERSION, VERSION_AT, EntityMapping
from dynaorm.entity.text.scalar import parse_datetime
from dynaorm.item.value import Item
from dynaorm.record import record

E = TypeVar("E")


@record
class Version(Generic[E]):
    """What was saved as one version.

    Attributes:
        number: 1 for the first; numbers are never used twice.
        at: when it was saved (UTC).
        values: the fields it holds.
        entity: the entity as it was, read-only; None where the class versions some fields only.
    """

    number: int
    at: datetime
    values: Mapping[str, Any]
    entity: E | None


def time_of(mapping: EntityMapping, item: Item) -> datetime:
    """When a version was saved, or a tombstone left. Raises DecodeError."""
    stored = item.get(VERSION_AT, {})
    try:
        return parse_datetime(stored["S"])
    except (KeyError, ValueError):
        problem = f"{VERSION_AT}: is stored as {dict(stored)}, not as the time of a version"
        raise mapping.unreadable(item, (problem,)) from None


def version_of(mapping: EntityMapping, main_key: Item, number: int, item: Item) -> Version[Any]:
    """A version as its item holds it; ``main_key`` is the primary key of the latest copy.

    Raises:
        DecodeError: the item does not fit the class, or is another version's.
    """
    assert mapping.versioning is not None
    image = {**item, **main_key}
    at = time_of(mapping, item)
    if mapping.version_of(item) != number:
        problem = f"{VERSION}: is stored as {dict(item.get(VERSION, {}))} under the key of version {number}"
        raise mapping.unreadable(item, (problem,))
    if mapping.versioning.fields is None:
        entity = mapping.hydrate(image, read_only=True)
        return Version(number, at, dict(vars(entity)), entity)
    values = mapping.subject(image)
    return Version(number, at, {name: values[name] for name in mapping.versioning.fields}, None)
