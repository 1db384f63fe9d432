"""Refuses values that are nested more deeply than DynamoDB stores.

Rule 1. The value of an attribute is on level 1, and the parts of a list or map are one level below it. DynamoDB stores
        32 levels: a text inside of 31 lists, not inside of 32.
Rule 2. Whether a type can have more levels is known when its class is declared. Only its values are checked.

Source: Amazon DynamoDB Developer Guide, "Constraints in DynamoDB": nested attributes up to 32 levels deep.
"""

from __future__ import annotations

from typing import Any, Final

from dynaorm.entity.codec.value import Codec, CodecError
from dynaorm.item.value import AttributeValue
from dynaorm.record import replace

LEVELS: Final = 32


def limited(codec: Codec) -> Codec:
    """The codec of an attribute: the same, but it refuses a value that DynamoDB does not store in an attribute."""
    if codec.levels <= LEVELS:
        return codec
    return replace(codec, encode=lambda value: encode_at(codec, value, 1), levels=LEVELS)


def encode_at(codec: Codec, value: Any, level: int) -> AttributeValue:
    """The attribute value of a value on this level of an attribute. Raises ValueError."""
    if level + codec.levels - 1 <= LEVELS:
        return codec.encode(value)
    try:
        found = codec.encode(value)
    except RecursionError:
        raise _too_deep() from None
    _check(found, level)
    return found


def _check(value: AttributeValue, level: int) -> None:
    row = [value]
    while row:
        if level > LEVELS:
            raise _too_deep()
        below: list[AttributeValue] = []
        for one in row:
            if "M" in one:
                below += one["M"].values()
            elif "L" in one:
                below += one["L"]
        row, level = below, level + 1


def _too_deep() -> CodecError:
    return CodecError(
        f"is nested too deeply: DynamoDB has {LEVELS} levels, and the attribute itself is the first",
        remedy="nest it less deeply, or store it as text: Attribute(codec=PYNAMODB_JSON)",
    )
