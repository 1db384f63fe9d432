"""The encoder of a class: a function, compiled once from generated Python, that encodes all stored fields.

Every save calls it. A loop over the fields takes half as much time again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from dynaorm.entity.mapping.field import FieldMapping
from dynaorm.item.value import AttributeValue

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
