"""One version of an entity, as history gives it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Generic, TypeVar

from dynaorm.entity.mapping import VERSION, VERSION_AT, EntityMapping
from dynaorm.entity.scalar import parse_datetime
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


def version_of(mapping: EntityMapping, main_key: Item, item: Item) -> Version[Any]:
    """The version a version item holds; ``main_key`` is the primary key of the latest copy.

    Raises:
        DecodeError: the item does not fit the class.
    """
    assert mapping.versioning is not None
    image = {**item, **main_key}
    number = int(item[VERSION]["N"])
    at = parse_datetime(item[VERSION_AT]["S"])
    if mapping.versioning.fields is None:
        entity = mapping.hydrate(image, read_only=True)
        return Version(number, at, dict(vars(entity)), entity)
    values = mapping.subject(image)
    return Version(number, at, {name: values[name] for name in mapping.versioning.fields}, None)
