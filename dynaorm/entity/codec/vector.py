"""The codecs of what a vector index reads: the vector, and the attributes that a search filters by.

DynamoDB refuses an item whose vector is not a list of as many 32-bit floats as the index has dimensions, and one whose
filter is an empty text. So these codecs refuse it first. Source: Amazon DynamoDB API Reference, CreateTable.
"""

from __future__ import annotations

import struct
from decimal import Decimal
from math import isfinite
from typing import Any, Final

from dynaorm.entity.codec.value import Codec, UnsupportedType, optional
from dynaorm.entity.table import VectorIndex
from dynaorm.entity.type_tree import TypeTree
from dynaorm.failure import ValueErrorWithRemedy, with_article
from dynaorm.item.value import AttributeValue, number_text
from dynaorm.record import replace

# Half of the smallest 32-bit float: everything below is 0.
_NOTHING: Final = 2.0**-150


def vector_codec(tree: TypeTree, index: VectorIndex) -> Codec:
    """The codec of a field that holds the vectors of an index. Raises UnsupportedType for a type without them."""
    whole = tree.without_none
    if whole.origin not in (list, tuple) or [one.plain for one in whole.parts][:1] != [float]:
        raise UnsupportedType("Vector() needs a field of numbers; write list[float]")

    def encode(value: Any) -> AttributeValue:
        return numbers_of(value, index)

    codec = Codec(encode, _decode, frozenset({"L"}), form="a vector", opaque=True, levels=2)
    return optional(codec) if tree.accepts_none else codec


def numbers_of(value: Any, index: VectorIndex) -> AttributeValue:
    """A vector as DynamoDB takes it. Raises ValueError if the index has no such vectors."""
    if not isinstance(value, list | tuple):
        raise ValueErrorWithRemedy(
            f"is {with_article(type(value).__name__)}, not a list of numbers", "give a list of floats"
        )
    if len(value) != index.dimensions:
        raise ValueErrorWithRemedy(
            f"is a vector of length {len(value)}, and {index} has vectors of length {index.dimensions}",
            "give the vector of the model that the index was made for",
        )
    return {"L": [{"N": _text_of(one)} for one in value]}


def _text_of(number: Any) -> str:
    """A number with nine digits, which tell any two 32-bit floats apart."""
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise ValueErrorWithRemedy(
            f"has {with_article(type(number).__name__)} in it, not a number", "give a list of floats"
        )
    try:
        struct.pack("<f", number)
    except (OverflowError, struct.error):
        is_float = False
    else:
        is_float = isfinite(number)
    if not is_float:
        raise ValueErrorWithRemedy(
            f"has {number!r} in it, which is no 32-bit float", "give finite numbers up to 3.4e38"
        )
    return "0" if abs(number) < _NOTHING else number_text(Decimal(f"{number:.9g}"))


def _decode(stored: AttributeValue) -> list[float]:
    return [float(one["N"]) for one in stored["L"]]


def searched_codec(codec: Codec) -> Codec:
    """The codec of a field that a search filters by, which refuses what DynamoDB does: an empty text."""
    encode = codec.encode

    def encode_searched(value: Any) -> AttributeValue:
        found = encode(value)
        if "" in found.values() or b"" in found.values():
            raise ValueErrorWithRemedy("is empty, and a search filters by it", "give a text, or None")
        return found

    return replace(codec, encode=encode_searched, is_text=False, from_text=None)
