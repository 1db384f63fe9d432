"""One field of an entity: its attribute, and conversion between its values and attribute values."""

from __future__ import annotations

from typing import Any

from dynaorm.entity.codec.field import StoredField
from dynaorm.item.value import Item
from dynaorm.record import record


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
