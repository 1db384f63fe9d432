"""The codec of a field that says the type of an item, in a class that takes every type that nobody declared."""

from __future__ import annotations

from typing import Any, Final

from dynaorm.entity.codec.value import Codec, CodecError, varied
from dynaorm.entity.table import Table
from dynaorm.item.value import AttributeValue

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

    return varied(codec, encode=encode_other, bound=codec.bound or encode, is_text=False, from_text=None)


def why_no_type(codec: Codec) -> str:
    """Why a field of this codec cannot be the type of an item; empty if it can."""
    return (
        ""
        if codec.tags == _TEXT and not codec.nullable
        else "declare it as a str, a Literal or an Enum of texts"
    )
