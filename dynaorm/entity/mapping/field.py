"""One field of an entity: its attribute, and conversion between its values and attribute values."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Final

from dynaorm.entity.codec.of_type import Codec
from dynaorm.entity.codec.value import NULL
from dynaorm.entity.revision import NestedRevision
from dynaorm.item.known import is_known_in, with_more
from dynaorm.item.value import AttributeValue, Item
from dynaorm.record import record

EMPTY: Final[AttributeValue] = {"L": []}
_INSTANT: Final = datetime(2000, 1, 1, tzinfo=UTC)
_WALL_TIME: Final = _INSTANT.replace(tzinfo=None)


@record
class FieldMapping:
    """A field as stored.

    Attributes:
        name: the field's name in the class.
        attribute: its name in the item.
        codec: its type's codec.
        formerly: older attribute names, read if ``attribute`` is absent.
        default: the static default; None if there is none, or a factory.
        required: the field has no default and no factory.
        none_is_absent: None is stored as an absent attribute; otherwise as NULL, because absence means the default.
        empty_is_absent: what is empty is stored as an absent attribute: a set, because DynamoDB has no empty sets, and
            a dict whose members are attributes.
        in_key: the field is stored in a key alone.
        versioned: changing it writes a version.
        exact: decoding gives back exactly the value that was encoded. False for expiry times, which are stored in whole
            seconds, for vectors, and for values that have a codec of their own or a part with one.
    """

    name: str
    attribute: str
    codec: Codec
    formerly: tuple[str, ...] = ()
    default: Any = None
    required: bool = True
    none_is_absent: bool = False
    empty_is_absent: bool = False
    in_key: bool = False
    versioned: bool = False
    exact: bool = True

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """The names that it has in items, the present one first."""
        return (self.attribute, *self.formerly)

    @property
    def can_be_absent(self) -> bool:
        """Whether some value is stored as an absent attribute."""
        return self.none_is_absent or self.empty_is_absent

    @property
    def empty(self) -> AttributeValue:
        """The attribute value of an empty set, or of a dict without members."""
        return {"M": {}} if self.codec.tags == {"M"} else EMPTY

    @property
    def is_always_stored(self) -> bool:
        """Whether every item that loads has the attribute."""
        return self.required and not self.can_be_absent

    @property
    def absent_value(self) -> AttributeValue | None:
        """The attribute value that absence stands for, unless that is the default or no fixed value."""
        return self.empty if self.empty_is_absent else NULL if self.none_is_absent else None

    def encode(self, value: Any) -> AttributeValue | None:
        """The attribute value; None for an absent one. Raises ValueError if the value is not of the field's type."""
        if value is None and self.none_is_absent:
            return None
        if self.empty_is_absent and value is not None and not value:
            # For its errors alone: the empty value may be of another type.
            self.codec.encode(value)
            return None
        return self.codec.encode(value)

    def stored_in(self, item: Item) -> AttributeValue | None:
        """The field's attribute value in an item, under its present name or a former one."""
        found = item.get(self.attribute)
        if found is None and self.formerly:
            return next((item[name] for name in self.formerly if name in item), None)
        return found

    def decode_absent(self) -> Any:
        """The value that an absent attribute stands for. Raises KeyError if that is the default of the class."""
        if self.empty_is_absent:
            return self.codec.decode(self.empty)
        if self.none_is_absent and self.required:
            return None
        raise KeyError(self.name)

    def value_in(self, item: Item) -> Any:
        """The decoded value; the static default if the attribute is absent."""
        found = self.stored_in(item)
        if found is not None:
            return self.codec.decode(found)
        try:
            return self.decode_absent()
        except KeyError:
            return self.default


@record
class FieldAroundRevision(FieldMapping):
    """A field whose map also has the revision of the item, which is no part of its value.

    Attributes:
        revision: it.
    """

    revision: NestedRevision = NestedRevision("")

    def stored_in(self, item: Item) -> AttributeValue | None:
        found = item.get(self.attribute)
        return None if found is None else self.revision.declared_in(found)


def around_problem(field: FieldAroundRevision) -> str:
    """Why the map of a field cannot have the revision in it, with what to do; empty if it can."""
    codec, revision = field.codec, field.revision
    if codec.tags != {"M"} or codec.members is None or not field.required or field.formerly:
        return (
            f"{revision.name!r} is the revision, so every item has the map {field.attribute!r}; declare it as a "
            "required field whose type is a model"
        )
    member = revision.stamped({}, None, "")[field.attribute]
    try:
        takes = codec.decode(member) != codec.decode({"M": {}})
    except ValueError:
        takes = True
    if takes:
        return (
            f"its type takes {'.'.join(revision.inside)!r}, which holds the revision; drop that member, or let the "
            "type ignore what it does not declare. inspect(entity).revision tells the number"
        )
    return ""


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
