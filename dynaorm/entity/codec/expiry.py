"""When an item expires: the codec of the field, epoch seconds as DynamoDB's TTL requires, and whether one has.

``is_expired`` decides in Python, ``expired`` in a condition. They are one rule, and nothing else compares a TTL.
"""

from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from math import ceil, floor
from typing import TYPE_CHECKING, Any, Final

from dynaorm.entity.codec.of_type import Codec
from dynaorm.entity.text.of_type import scalar_of
from dynaorm.entity.text.scalar import in_utc
from dynaorm.failure import Remedied, shown
from dynaorm.item.value import AttributeValue, number_text
from dynaorm.late import late

if TYPE_CHECKING:
    from dynaorm.item import condition
    from dynaorm.item.condition import Condition
else:
    late(globals(), condition="dynaorm.item.condition")

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND: Final = timedelta(seconds=1)
_MICROSECOND: Final = timedelta(microseconds=1)
_MOST_DIGITS: Final = 38  # of a DynamoDB number
# Amazon DynamoDB Developer Guide, "Before you start using TTL": TTL ignores a time that is more than five years past.
# The guide does not say how many days these are. With the fewest, no item is replaced that DynamoDB may keep.
_KEPT_AFTER: Final = 5 * 365 * 86_400


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


def is_expired(stored: AttributeValue | None, now: float, margin: int = 0) -> bool:
    """Whether DynamoDB's TTL would delete an item with this time: it is over, and not for more than five years.

    DynamoDB keeps an item without a time, with 0 or less, with an older time, and with what is no number.

    Args:
        stored: the value of the TTL attribute.
        now: seconds since the epoch; fractions of a second in ``stored`` do not count.
        margin: by how many seconds other clocks may differ. An item has expired if it has by all of them.
    """
    if stored is None:
        return False
    try:
        seconds = seconds_of(stored)
    except ValueError:
        return False
    return max(1, now + margin - _KEPT_AFTER) <= seconds <= now - margin


def expired(attribute: str, now: float, margin: int = 0) -> "Condition":
    """The condition that ``is_expired`` is true of an attribute. Its negation is true of an item without it."""
    (first, end), ttl = expired_between(now, margin), condition.Attr((attribute,))
    is_over = condition.Compare(ttl, "<", {"N": str(end)})
    return condition.And((condition.Compare(ttl, ">=", {"N": str(first)}), is_over))


def expired_between(now: float, margin: int = 0) -> tuple[int, int]:
    """The first second at which an item may have expired, and the one after the last."""
    return max(1, ceil(now + margin - _KEPT_AFTER)), floor(now - margin) + 1


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
