"""Ranges of times as other writers may spell them: ``2024-05-01T10:15:00Z`` beside dynaorm's own
``2024-05-01T10:15:00.000000Z``.

Rule 1. Spellings in UTC share the date, hour and minute, and the seconds unless they are 0 (``T10:15Z``). A range is
        widened to those, and what was read is compared by value.
Rule 2. Where the key attribute is the field's own attribute, anybody may have written it, in any time zone: there a
        range is widened by the largest offset, which is less than a day.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from dynaorm.entity.text.scalar import in_utc
from dynaorm.query.interval import EVERYTHING, Interval, successor

_DAY: Final = timedelta(days=1)
_MINUTES: Final = 16  # characters of a time up to its minute


def spellings_from(value: datetime, *, zones: bool) -> Interval:
    """An interval with all spellings of a time and of all later ones."""
    if zones:
        return EVERYTHING.cut(">=", _date(value, -_DAY))
    return EVERYTHING.cut(">=", _shared(value))


def spellings_to(value: datetime, *, zones: bool) -> Interval:
    """An interval with all spellings of a time and of all earlier ones."""
    return EVERYTHING.cut("<", successor(_date(value, _DAY) if zones else _minute(value)))


def spellings_of(value: datetime, *, zones: bool) -> Interval:
    """An interval with all spellings of a time."""
    found = spellings_from(value, zones=zones)
    high = successor(_date(value, _DAY) if zones else _shared(value))
    return found.cut("<", high)


def spellings_within(bounds: Iterable[tuple[str, Sequence[Any]]], *, zones: bool) -> Interval:
    """An interval with all spellings of the times within some bounds, each an operator and its values."""
    found = EVERYTHING
    for operator, values in bounds:
        low, high = values[0], values[-1]
        if operator == "begins_with":
            # Every key begins with an empty text, and DynamoDB refuses to compare a key with one.
            if prefix := low[:_MINUTES]:
                found = found.cut(">=", prefix)
                found = found.cut("<", end) if (end := successor(prefix)) else found
            continue
        if operator in (">", ">=", "between"):
            found = found.cut(">=", spellings_from(low, zones=zones).low)
        if operator in ("<", "<=", "between"):
            found = found.cut("<", spellings_to(high, zones=zones).high)
    return found


def _moment(value: datetime) -> datetime:
    """The time as it is written: an instant in UTC, a wall time as it is."""
    return value if value.tzinfo is None else in_utc(value)


def _minute(value: datetime) -> str:
    return _moment(value).isoformat("T", "minutes")[:_MINUTES]


def _shared(value: datetime) -> str:
    """The text that all spellings in UTC begin with."""
    moment = _moment(value)
    return _minute(moment) if not moment.second and not moment.microsecond else moment.isoformat("T")[:19]


def _date(value: datetime, offset: timedelta) -> str:
    moment = _moment(value)
    try:
        return (moment + offset).date().isoformat()
    except OverflowError:
        return moment.date().isoformat()
