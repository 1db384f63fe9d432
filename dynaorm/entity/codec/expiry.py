"""The codecs of the time at which an item expires: whole seconds since the epoch, or milliseconds."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from dynaorm.entity.codec.of_type import Codec
from dynaorm.entity.expiry import PER_SECOND, WORDS, Unit, since_epoch
from dynaorm.entity.text.scalar import in_utc, scalar_of
from dynaorm.failure import ValueErrorWithRemedy, shown
from dynaorm.item.value import AttributeValue, number_text

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def is_expiry(annotation: Any) -> bool:
    """Whether a type is ``datetime`` or ``datetime | None``, in any spelling."""
    scalar = scalar_of(annotation)
    return scalar is not None and scalar.python is datetime


def _codec(unit: Unit) -> Codec:
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


EXPIRY: Final = _codec("s")
EXPIRIES: Final[Mapping[Unit, Codec]] = {"s": EXPIRY, "ms": _codec("ms")}
