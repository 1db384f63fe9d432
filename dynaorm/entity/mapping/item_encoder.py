"""Encodes the field values of an entity: its attributes, without its keys. An error names the field."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dynaorm.entity.mapping.field import FieldMapping
from dynaorm.entity.mapping.secret import ClassErrors
from dynaorm.item.value import AttributeValue
from dynaorm.late import late
from dynaorm.record import record

if TYPE_CHECKING:
    from dynaorm.entity.mapping import encoder as encoders
    from dynaorm.entity.mapping.encoder import Encoder
    from dynaorm.entity.mapping.exact import StrictEncoder
else:
    late(globals(), encoders="dynaorm.entity.mapping.encoder")


@record(eq=False)
class ItemEncoder:
    """The encoder of a class.

    Attributes:
        fields: its fields.
        errors: makes its errors.
        compile_exact: compiles the encoder of values that are valid as they are; None if their types do not tell.
    """

    fields: Mapping[str, FieldMapping]
    errors: ClassErrors
    compile_exact: Callable[[], StrictEncoder | None]

    def encode(self, values: Mapping[str, Any]) -> dict[str, AttributeValue]:
        """The attributes of all fields. Raises InvalidValue."""
        item: Any
        try:
            item = self._encode(values)
        except (KeyError, ValueError, RecursionError):
            # Encode again, one by one, to find the field.
            item = {
                field.attribute: self.encode_field(field, values)
                for field in self.fields.values()
                if not field.in_key
            }
        return _without_absent(item) if self._has_absent else item

    def encode_exact(self, values: Mapping[str, Any]) -> dict[str, AttributeValue] | None:
        """The same of values that are valid as they are, by their types alone; None if these do not tell."""
        encode = self._encode_exact
        if encode is None:
            return None
        try:
            return encode(values)
        except (KeyError, ValueError, RecursionError):
            return None

    def encode_field(self, field: FieldMapping, values: Mapping[str, Any]) -> AttributeValue | None:
        """The attribute value of one field; None for an absent one. Raises InvalidValue."""
        try:
            return field.encode(values[field.name])
        except KeyError:
            raise self.errors.invalid(field.name, None, "has no value", "give it one") from None
        except (ValueError, RecursionError) as problem:
            invalid = self.errors.invalid(field.name, values[field.name], problem)
            raise invalid from self.errors.cause_of(field.name, problem)

    @cached_property
    def _encode(self) -> Encoder:
        return encoders.encoder_of(field for field in self.fields.values() if not field.in_key)

    @cached_property
    def _encode_exact(self) -> StrictEncoder | None:
        return self.compile_exact()

    @cached_property
    def _has_absent(self) -> bool:
        return any(field.can_be_absent for field in self.fields.values())


def _without_absent(item: dict[str, AttributeValue | None]) -> dict[str, AttributeValue]:
    return {name: value for name, value in item.items() if value is not None}
