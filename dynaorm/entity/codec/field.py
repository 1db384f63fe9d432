"""A field of a class as it is stored, by one rule wherever it stands: in an item, or in the map of a nested value.

Rule 1. None is absent where it is the default, or the field has no default. Otherwise it is NULL.
Rule 2. The empty set is absent, unless absence means None. Then it is ``{"L": []}``.
Rule 3. Items of older versions have NULL or ``{"L": []}`` in maps where these rules say absence. They stay until the
        field changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

from dynaorm.entity.codec.value import NULL, Member, inside, merge
from dynaorm.item.value import AttributeValue, same
from dynaorm.record import record

EMPTY: Final[AttributeValue] = {"L": []}


@record
class StoredField(Member):
    """A field of a class.

    Attributes:
        attribute: its name in the item or map.
        default: the static default; None if there is none, or a factory.
        required: it has no default and no factory.
        defaults_to_none: its default is None.
        can_be_missing: it is a key of a TypedDict that may be missing, which no value stands for.
        default_depends: its default is a function of the fields before it.
    """

    attribute: str
    default: Any = None
    required: bool = True
    defaults_to_none: bool = False
    can_be_missing: bool = False
    default_depends: bool = False

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """The names that it has in items, the present one first."""
        return (self.attribute, *self.formerly)

    @cached_property
    def none_is_absent(self) -> bool:
        """None is stored as an absent attribute (rule 1)."""
        return self.defaults_to_none or (self.required and self.codec.nullable)

    @cached_property
    def empty_is_absent(self) -> bool:
        """What is empty is stored as an absent attribute: a set (rule 2)."""
        return self.codec.is_set and not (self.none_is_absent or self.can_be_missing)

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

    @cached_property
    def absent_value(self) -> AttributeValue | None:
        """The attribute value that absence stands for, unless that is the default or no fixed value."""
        return self.empty if self.empty_is_absent else NULL if self.none_is_absent else None

    @cached_property
    def implied(self) -> AttributeValue | None:
        """The attribute value that is loaded where there is none; None if pydantic takes the default."""
        return None if self.defaults_to_none else self.absent_value

    def absent(self) -> AttributeValue | None:
        value = self.absent_value
        if value is not None or self.default is None:
            return value
        try:
            return self.codec.encode(self.default)
        except ValueError:
            return None

    def encode(self, value: Any) -> AttributeValue | None:
        """The attribute value; None for an absent one. Raises ValueError if the value is not of the field's type."""
        if value is None and self.none_is_absent:
            return None
        if self.empty_is_absent and value is not None and not value:
            # For its errors alone: the empty value may be of another type.
            self.codec.encode(value)
            return None
        return self.codec.encode(value)

    def is_absence(self, value: Any) -> bool:
        try:
            return self.can_be_absent and not value and self.encode(value) is None
        except ValueError:
            return False

    def stored_in(self, item: Mapping[str, AttributeValue]) -> AttributeValue | None:
        """The attribute value in an item or map, under its present name or a former one."""
        found = item.get(self.attribute)
        if found is None and self.formerly:
            return next((item[name] for name in self.formerly if name in item), None)
        return found

    def decode_into(self, values: dict[str, Any], stored: Mapping[str, AttributeValue]) -> None:
        """Add the value to those of a map; nothing if pydantic takes the default. Raises CodecError."""
        value = self.stored_in(stored) or self.implied
        if value is not None:
            try:
                values[self.name] = self.codec.decode(value)
            except ValueError as problem:
                raise inside(self.name, problem) from None

    def merge(
        self,
        stored: Mapping[str, AttributeValue],
        loaded: Mapping[str, AttributeValue],
        now: Mapping[str, AttributeValue],
    ) -> AttributeValue | None:
        """What becomes of it in a map as stored, as loaded and as it is now; None for absence."""
        one, before, value = self.stored_in(stored), self.stored_in(loaded), now.get(self.attribute)
        if value is None:
            is_spelling = before is None or (before is one and same(one, self.absent_value))
            return one if is_spelling else None
        if one is None and before is not None:
            return None if not self.default_depends and same(before, value) else value
        if one is None:
            absent = self.absent()
            # A default factory makes it each time it is loaded.
            is_made = absent is None and not self.can_be_missing
            return None if is_made or same(absent, value) else value
        return value if before is None else merge(self.codec, one, before, value)
