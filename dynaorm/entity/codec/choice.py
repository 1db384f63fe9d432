"""The codecs of Enum and Literal, which are stored by value."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from enum import Enum, Flag
from typing import Any

from dynaorm.entity.codec.value import NONE, Codec, CodecError, UnsupportedType, scalar_codec
from dynaorm.entity.text.scalar import scalar_of
from dynaorm.failure import shown
from dynaorm.item.value import AttributeValue


def enum_codec(kind: type[Enum]) -> Codec:
    """The codec of an Enum, whose members may have values of several types.

    A plain value is encoded as its member is, because with ``use_enum_values`` pydantic stores the value instead of the
    member. A stored value that no member has is passed to the class's ``_missing_``.
    """
    if issubclass(kind, Flag):
        return _flag_codec(kind)
    return _choice_codec(kind.__name__, ((member, member.value) for member in kind), missing=kind)


def literal_codec(values: Iterable[Any]) -> Codec:
    """The codec of a Literal, whose values may have several types and include None."""
    return _choice_codec(
        "Literal", ((one, one.value if isinstance(one, Enum) else one) for one in values), missing=None
    )


def _choice_codec(
    name: str, choices: Iterable[tuple[Any, Any]], *, missing: Callable[[Any], Any] | None
) -> Codec:
    stored_as: dict[tuple[type, Any], AttributeValue] = {}
    by_stored: dict[tuple[str, Any], Any] = {}
    by_tag: dict[str, Codec] = {}
    for choice, value in choices:
        codec = _codec_of_value(name, value)
        encoded = codec.encode(value)
        ((tag, _),) = encoded.items()
        other = by_stored.setdefault(_token(encoded), choice)
        if other is not choice:
            raise UnsupportedType(
                f"{choice!r} and {other!r} of {name} have the same attribute value; give them different values"
            )
        by_tag[tag] = codec
        stored_as[type(choice), choice] = encoded
        stored_as.setdefault((type(value), value), encoded)

    def encode(value: Any) -> AttributeValue:
        try:
            return stored_as[type(value), value]
        except (KeyError, TypeError):
            raise CodecError(f"is {shown(value)}, not a value of {name}") from None

    def decode(stored: AttributeValue) -> Any:
        try:
            return by_stored[_token(stored)]
        except (KeyError, TypeError, ArithmeticError):
            return _decode_missing(name, stored, by_tag, missing)

    # Its own _missing_ reads other values than those of its members.
    bases = missing.__mro__ if isinstance(missing, type) else ()
    has_spellings = any("_missing_" in vars(base) for base in bases if base is not Enum)
    return Codec(encode, decode, frozenset(by_tag), nullable="NULL" in by_tag, has_spellings=has_spellings)


def _codec_of_value(name: str, value: Any) -> Codec:
    if value is None:
        return NONE
    scalar = None if isinstance(value, Enum) else scalar_of(type(value))
    if scalar is None:
        raise UnsupportedType(
            f"the value {value!r} of {name} cannot be stored; give its members str or int values, "
            f"or use Attribute(encode=..., decode=...)"
        )
    return scalar_codec(scalar)


def _token(stored: AttributeValue) -> tuple[str, Any]:
    ((tag, found),) = stored.items()
    return tag, Decimal(found) if tag == "N" else found


def _decode_missing(
    name: str, stored: AttributeValue, by_tag: dict[str, Codec], missing: Callable[[Any], Any] | None
) -> Any:
    ((tag, found),) = stored.items()
    if missing is not None and tag in by_tag:
        try:
            return missing(by_tag[tag].decode(stored))
        except ValueError:
            pass
    raise CodecError(f"is stored as {tag} {shown(found)}, which is not a value of {name}")


def _flag_codec(kind: type[Flag]) -> Codec:
    def encode(value: Any) -> AttributeValue:
        if not isinstance(value, kind):
            raise CodecError(f"is {shown(value)}, not a value of {kind.__name__}")
        return {"N": str(value.value)}

    def decode(stored: AttributeValue) -> Any:
        found = stored.get("N")
        try:
            return kind(int(str(found)))
        except ValueError:
            raise CodecError(
                f"is stored as {shown(dict(stored))}, which is not a value of {kind.__name__}"
            ) from None

    return Codec(encode, decode, frozenset({"N"}))
