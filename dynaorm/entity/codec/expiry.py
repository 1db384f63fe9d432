"""The codec of the field that says when an item expires: epoch seconds, as DynamoDB's TTL requires."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from dynaorm.entity.codec.of_type import Codec
from dynaorm.entity.text.of_type import scalar_of
from dynaorm.entity.text.scalar import in_utc
from dynaorm.failure import Remedied, shown
from dynaorm.item.value import AttributeValue, number_text

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND: Final = timedelta(seconds=1)
_MICROSECOND: Final = timedelta(microseconds=1)
_MOST_DIGITS: Final = 38  # of a DynamoDB number


def is_expiry(annotation: Any) -> bool:
    """Whether a type is ``datetime`` or ``datetime | None``, in any spelling."""
    scalar = scalar_of(annotation)
    return scalar is not None and scalar.python is datetime


def seconds_of(stored: AttributeValue) -> int:
    """The whole epoch seconds of a stored time. Raises ValueError."""
    try:
        number = Decimal(stored["N"])
    except (KeyError, InvalidOperation):
        number = Decimal("NaN")
    if not number.is_finite() or number.adjusted() > _MOST_DIGITS:
        raise ValueError(f"is stored as {shown(dict(stored))}, not as a number of epoch seconds")
    return int(number)


def is_past(stored: AttributeValue, now: float) -> bool:
    """Whether a stored time is over; False for one that cannot be read."""
    try:
        return seconds_of(stored) <= now
    except ValueError:
        return False


def _encode(value: Any) -> AttributeValue:
    if not isinstance(value, datetime):
        raise Remedied(f"is {value!r}, not a datetime", "give one with a time zone")
    # Not value.timestamp(), a float, which would round the last microseconds of distant years up.
    return {"N": str((in_utc(value) - _EPOCH) // _SECOND)}


def _decode(stored: AttributeValue) -> Any:
    seconds = seconds_of(stored)
    try:
        return _EPOCH + seconds * _SECOND
    except OverflowError:
        raise ValueError(
            f"is stored as {shown(dict(stored))}, which is not a time in epoch seconds; is it in milliseconds?"
        ) from None


def _bound(value: Any) -> AttributeValue:
    if not isinstance(value, datetime):
        return _encode(value)
    return {"N": number_text(Decimal((in_utc(value) - _EPOCH) // _MICROSECOND).scaleb(-6))}


EXPIRY: Final = Codec(encode=_encode, decode=_decode, tags=frozenset({"N"}), bound=_bound)
