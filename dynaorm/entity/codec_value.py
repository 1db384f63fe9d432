"""What a codec is, and the codecs of single values: strings, numbers, times, bytes and their like."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

from dynaorm.entity.scalar import Scalar, datetime_text
from dynaorm.item.value import AttributeValue

NULL: Final[AttributeValue] = {"NULL": True}


class Unstorable(ValueError):
    """A type that no codec stores; the sentence ends with the remedy."""


@dataclass(frozen=True, slots=True)
class Codec:
    """How values of one type become attribute values and come back.

    Attributes:
        encode: value to attribute value; raises ValueError for a value of another type.
        decode: the reverse, giving values of the declared type; raises ValueError for what encode never makes.
        tags: the DynamoDB types it makes.
        nullable: None is one of its values.
        is_set: it is a set, which DynamoDB cannot store empty.
        element: the codec of the members of a list, tuple, set or dict.
        members: fields of a nested model: name to (attribute name, codec).
    """

    encode: Callable[[Any], AttributeValue]
    decode: Callable[[AttributeValue], Any]
    tags: frozenset[str]
    nullable: bool = False
    is_set: bool = False
    element: "Codec | None" = None
    members: Mapping[str, tuple[str, "Codec"]] | None = None


def content(stored: AttributeValue, tag: str) -> Any:
    """What an attribute value of this type holds. Raises ValueError for one of another type."""
    try:
        return stored[tag]
    except (KeyError, TypeError):
        raise ValueError(f"is stored as {stored!r}, not as {tag}") from None


def scalar_codec(scalar: Scalar) -> Codec:
    """The codec of a type with one text."""
    if scalar.python is bool:
        return Codec(_boolean(scalar), lambda stored: _from_boolean(scalar, stored), frozenset({"BOOL"}))
    if scalar.python is bytes:
        return Codec(_binary(scalar), lambda stored: _from_binary(scalar, stored), frozenset({"B"}))
    if scalar.python is datetime:
        return Codec(_encode_datetime, _decode_datetime, frozenset({"S"}))
    tag, to_text, from_text = scalar.tag, scalar.to_text, scalar.from_text

    def decode(stored: AttributeValue) -> Any:
        text = content(stored, tag)
        return from_text(_plain_number(text) if tag == "N" else text)

    return Codec(lambda value: {tag: to_text(value)}, decode, frozenset({tag}))


def _plain_number(text: str) -> str:
    """A number without an exponent: DynamoDB gives none, other writers and emulators may."""
    return text if "e" not in text and "E" not in text else format(Decimal(text), "f")


def _boolean(scalar: Scalar) -> Callable[[Any], AttributeValue]:
    to_text = scalar.to_text
    return lambda value: {"BOOL": to_text(value) == "true"}


def _from_boolean(scalar: Scalar, stored: AttributeValue) -> Any:
    return scalar.from_text("true" if content(stored, "BOOL") else "false")


def _binary(scalar: Scalar) -> Callable[[Any], AttributeValue]:
    to_text = scalar.to_text
    return lambda value: {"B": bytes.fromhex(to_text(value))}


def _from_binary(scalar: Scalar, stored: AttributeValue) -> Any:
    return scalar.from_text(bytes(content(stored, "B")).hex())


def _encode_datetime(value: Any) -> AttributeValue:
    if not isinstance(value, datetime):
        raise ValueError(f"is a {type(value).__name__}, not a datetime")
    if value.tzinfo is None:
        return {"S": value.isoformat(timespec="microseconds")}
    return {"S": datetime_text(value)}


def _decode_datetime(stored: AttributeValue) -> Any:
    text = content(stored, "S")
    value = datetime.fromisoformat(text)
    return value if value.tzinfo is None else value.astimezone(UTC)


def text_codec(kind: type, to_text: Callable[[Any], str] = str) -> Codec:
    """The codec of a type that pydantic reads from its own text: URLs, addresses, paths."""

    def encode(value: Any) -> AttributeValue:
        if not isinstance(value, kind):
            raise ValueError(f"is a {type(value).__name__}, not a {kind.__name__}")
        return {"S": to_text(value)}

    return Codec(encode, lambda stored: kind(content(stored, "S")), frozenset({"S"}))


def optional(codec: Codec) -> Codec:
    """The codec of ``X | None``."""
    encode, decode = codec.encode, codec.decode
    return Codec(
        lambda value: NULL if value is None else encode(value),
        lambda stored: None if "NULL" in stored else decode(stored),
        codec.tags | {"NULL"},
        nullable=True,
        is_set=codec.is_set,
        element=codec.element,
        members=codec.members,
    )
