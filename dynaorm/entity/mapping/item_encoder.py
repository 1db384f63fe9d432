"""Encodes the field values of an entity: its attributes, without its keys. An error names the field."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from dynaorm.entity.mapping.field import FieldMapping
from dynaorm.entity.mapping.secret import ClassErrors
from dynaorm.item.value import AttributeValue
from dynaorm.record import record

# The encoder of a class: a function, compiled once from generated Python, that encodes all stored fields.
#
# Every save calls it. A loop over the fields takes half as much time again.

Encoder: TypeAlias = Callable[[Mapping[str, Any]], dict[str, AttributeValue | None]]
"""Turns field values into attribute values, None for an absent one. KeyError and ValueError do not name the field."""


def encoder_of(fields: Iterable[FieldMapping]) -> Encoder:
    """The encoder of these fields.

    Examples:
        An ``int`` and a ``str`` become ::

            def encode(values):
                return {
                    'visits': encode_0(values['visits']),
                    'name': {"S": value} if type(value := values['name']) is str and value.isascii()
                            else encode_1(value),
                }
    """
    names: dict[str, Any] = {}
    lines = []
    for number, field in enumerate(fields):
        encode = f"encode_{number}"
        names[encode] = field.encode if field.can_be_absent else field.codec.encode
        made = f"{encode}(values[{field.name!r}])"
        # A text of ASCII has no half of a surrogate pair, which would have to be refused: it is spared a call.
        if field.codec.is_text:
            test = f"type(value := values[{field.name!r}]) is str and value.isascii()"
            made = f'{{"S": value}} if {test} else {encode}(value)'
        lines.append(f"        {field.attribute!r}: {made},\n")
    exec(f"def encode(values):\n    return {{\n{''.join(lines)}    }}", names)  # noqa: S102 - of names alone, each as its repr
    encoder: Encoder = names["encode"]
    return encoder


if TYPE_CHECKING:
    from dynaorm.entity.mapping.exact import StrictEncoder


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
        return encoder_of(field for field in self.fields.values() if not field.in_key)

    @cached_property
    def _encode_exact(self) -> StrictEncoder | None:
        return self.compile_exact()

    @cached_property
    def _has_absent(self) -> bool:
        return any(field.can_be_absent for field in self.fields.values())


def _without_absent(item: dict[str, AttributeValue | None]) -> dict[str, AttributeValue]:
    return {name: value for name, value in item.items() if value is not None}
