"""The codec of the field that says when an item expires: epoch seconds, as DynamoDB's TTL requires."""

from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from dynaorm.entity.codec.of_type import Codec
from dynaorm.entity.text.of_type import scalar_of
from dynaorm.item.value import AttributeValue


def is_expiry(annotation: Any) -> bool:
    """Whether a type is ``datetime`` or ``datetime | None``, in any spelling."""
    scalar = scalar_of(annotation)
    return scalar is not None and scalar.python is datetime


def seconds_of(stored: AttributeValue) -> int:
    """The whole epoch seconds of a stored time. Raises ValueError."""
    try:
        return int(Decimal(stored["N"]))
    except (KeyError, InvalidOperation):
        raise ValueError(f"is stored as {stored}, not as a number of epoch seconds") from None


def _encode(value: Any) -> AttributeValue:
    if not isinstance(value, datetime):
        raise ValueError(f"is {value!r}, not a datetime; give one with a time zone")
    if value.tzinfo is None:
        raise ValueError("is a datetime without a time zone; give it one (datetime.now(UTC))")
    return {"N": str(int(value.timestamp()))}


def _decode(stored: AttributeValue) -> Any:
    seconds = seconds_of(stored)
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        raise ValueError(
            f"is stored as {stored}, which is not a time in epoch seconds; is it in milliseconds?"
        ) from None


EXPIRY: Final = Codec(encode=_encode, decode=_decode, tags=frozenset({"N"}))
