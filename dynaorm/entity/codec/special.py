"""The codecs of fields with a purpose: the time of expiry, the type of an item, and what a vector index reads.

DynamoDB refuses an item whose vector is not a list of as many 32-bit floats as the index has dimensions, and one whose
filter is an empty text. So these codecs refuse it first. Source: Amazon DynamoDB API Reference, CreateTable.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from math import isfinite
from typing import Any, Final

from dynaorm.entity.codec.value import Codec, CodecError, UnsupportedType, WrapperCodec, optional
from dynaorm.entity.expiry import PER_SECOND, WORDS, Unit, since_epoch
from dynaorm.entity.table import Table, VectorIndex
from dynaorm.entity.text.scalar import in_utc, scalar_of
from dynaorm.entity.type_tree import TypeTree
from dynaorm.failure import ValueErrorWithRemedy, shown, with_article
from dynaorm.item.value import AttributeValue, number_text

# -- expiry ------------------------------------------------------------------------------------------------------------


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def is_expiry(annotation: Any) -> bool:
    """Whether a type is ``datetime`` or ``datetime | None``, in any spelling."""
    scalar = scalar_of(annotation)
    return scalar is not None and scalar.python is datetime


def _expiry_codec(unit: Unit) -> Codec:
    step = timedelta(seconds=1) // PER_SECOND[unit]

    def encode(value: Any) -> AttributeValue:
        if not isinstance(value, datetime):
            raise ValueErrorWithRemedy(f"is {value!r}, not a datetime", "give one with a time zone")
        # Not value.timestamp(), a float, which would round the last microseconds of distant years up.
        return {"N": str((in_utc(value) - _EPOCH) // step)}

    def decode(stored: AttributeValue) -> Any:
        time = since_epoch(stored, unit)
        try:
            return _EPOCH + time * step
        except OverflowError:
            hint = "; is it in milliseconds?" if unit == "s" else ""
            text = f"is stored as {shown(dict(stored))}, which is not a time in epoch {WORDS[unit]}{hint}"
            raise ValueError(text) from None

    def bound(value: Any) -> AttributeValue:
        if not isinstance(value, datetime):
            return encode(value)
        microseconds = Decimal((in_utc(value) - _EPOCH) // _MICROSECOND)
        return {"N": number_text(microseconds / (step // _MICROSECOND))}

    return Codec(encode=encode, decode=decode, tags=frozenset({"N"}), bound=bound)


EXPIRY: Final = _expiry_codec("s")
EXPIRIES: Final[Mapping[Unit, Codec]] = {"s": EXPIRY, "ms": _expiry_codec("ms")}


# -- the type of an item -----------------------------------------------------------------------------------------------


_TEXT: Final = frozenset({"S"})


def other_type_codec(codec: Codec, table: Table, name: str) -> Codec:
    """The codec, which stores no type that another class of the table declares: that class would load the item.

    ``name``: that of the class. Conditions may name every type, because they also look at items of subclasses.
    """
    encode = codec.encode

    def encode_other(value: Any) -> AttributeValue:
        found = encode(value)
        owner = table.rules.types.get(str(found.get("S")), name)
        if owner != name:
            raise CodecError(f"is the type of {owner}, which would load the item", remedy=f"make a {owner}")
        return found

    return WrapperCodec(
        codec, encode=encode_other, bound=codec.bound or encode, is_text=False, from_text=None
    )


def why_no_type(codec: Codec) -> str:
    """Why a field of this codec cannot be the type of an item; empty if it can."""
    return (
        ""
        if codec.tags == _TEXT and not codec.nullable
        else "declare it as a str, a Literal or an Enum of texts"
    )


# -- vector indexes ----------------------------------------------------------------------------------------------------


# Half of the smallest 32-bit float: everything below is 0.
_NOTHING: Final = 2.0**-150


def vector_codec(tree: TypeTree, index: VectorIndex) -> Codec:
    """The codec of a field that holds the vectors of an index. Raises UnsupportedType for a type without them."""
    whole = tree.without_none
    if whole.origin not in (list, tuple) or [one.plain for one in whole.parts][:1] != [float]:
        raise UnsupportedType("Vector() needs a field of numbers; write list[float]")

    def encode(value: Any) -> AttributeValue:
        return numbers_of(value, index)

    codec = Codec(encode, _decode_vector, frozenset({"L"}), form="a vector", opaque=True, levels=2)
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
    return {"L": [{"N": _float_text(one)} for one in value]}


def _float_text(number: Any) -> str:
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


def _decode_vector(stored: AttributeValue) -> list[float]:
    return [float(one["N"]) for one in stored["L"]]


def searched_codec(codec: Codec) -> Codec:
    """The codec of a field that a search filters by, which refuses what DynamoDB does: an empty text."""
    encode = codec.encode

    def encode_searched(value: Any) -> AttributeValue:
        found = encode(value)
        if "" in found.values() or b"" in found.values():
            raise ValueErrorWithRemedy("is empty, and a search filters by it", "give a text, or None")
        return found

    return WrapperCodec(codec, encode=encode_searched, is_text=False, from_text=None)
