"""One field of an entity: its attribute, and conversion between its values and attribute values."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final

from dynaorm.entity.codec.field import StoredField
from dynaorm.entity.codec.of_type import Codec
from dynaorm.item.condition import is_known_in, with_more
from dynaorm.item.value import Item
from dynaorm.record import record

_INSTANT: Final = datetime(2000, 1, 1, tzinfo=UTC)
_WALL_TIME: Final = _INSTANT.replace(tzinfo=None)


@record
class FieldMapping(StoredField):
    """A field of an entity.

    Attributes:
        in_key: the field is stored in a key alone.
        versioned: changing it writes a version.
        exact: decoding gives back exactly the value that was encoded. False for expiry times, which are stored in whole
            seconds, for vectors, and for values that have a codec of their own or a part with one.
    """

    in_key: bool = False
    versioned: bool = False
    exact: bool = True

    def value_in(self, item: Item) -> Any:
        """The decoded value; the static default if the attribute is absent."""
        found = self.stored_in(item) or self.implied
        return self.default if found is None else self.codec.decode(found)


def is_time_text(codec: Codec) -> bool:
    """Whether a codec stores datetimes as text, which other writers may have spelled in another way."""
    if "S" not in codec.tags or codec.is_text:
        return False
    return _is_text(codec, _INSTANT) or _is_text(codec, _WALL_TIME)


def _is_text(codec: Codec, value: datetime) -> bool:
    try:
        return "S" in codec.encode(value)
    except ValueError:
        return False


def respelled(item: Item, fields: Iterable[FieldMapping]) -> Item:
    """The item with the values of some fields as dynaorm spells them. Raises ValueError if one cannot be read."""
    changed = {
        attribute: field.codec.encode(field.codec.decode(item[attribute]))
        for field in fields
        for attribute in (field.attribute, *field.formerly)
        if is_known_in(item, attribute)
    }
    return with_more(item, changed) if changed else item
