"""Ranges of times have every spelling that other writers use, and little else."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm.query.key_range import Interval, spellings_from, spellings_of, spellings_to

_times = st.datetimes(datetime(1000, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))  # noqa: DTZ001 - aware by timezones=
_offsets = st.integers(-23, 23).map(lambda hours: timezone(timedelta(hours=hours)))


def in_utc(at: datetime) -> list[str]:
    """The spellings of a time in UTC that lose nothing."""
    whole = at.replace(tzinfo=None).isoformat("T", "microseconds")
    found = [whole + end for end in ("Z", "+0000", "+00:00")]
    if not at.microsecond:
        found.append(f"{whole[:19]}Z")
        if not at.second:
            found.append(f"{whole[:16]}Z")
    return found


@given(at=_times, earlier=st.timedeltas(timedelta(0), timedelta(days=300)))
def test_all_spellings_in_utc_are_in_the_ranges(at: datetime, earlier: timedelta) -> None:
    bound = max(at - earlier, datetime(1000, 1, 1, tzinfo=UTC))
    for text in in_utc(at):
        assert text in spellings_from(bound, zones=False)
        assert text in spellings_of(at, zones=False)
    for text in in_utc(bound):
        assert text in spellings_to(at, zones=False)


@given(at=_times, zone=_offsets, separator=st.sampled_from("T "))
def test_spellings_in_any_zone_are_in_the_wide_ranges(at: datetime, zone: timezone, separator: str) -> None:
    text = at.astimezone(zone).isoformat(separator)
    for found in (
        spellings_from(at, zones=True),
        spellings_to(at, zones=True),
        spellings_of(at, zones=True),
    ):
        assert text in found


@pytest.mark.parametrize(
    ("second", "low", "high"),
    [(0, "2024-05-01T10:15", "2024-05-01T10:16"), (7, "2024-05-01T10:15:07", "2024-05-01T10:15:08")],
)
def test_a_range_is_not_wider_than_a_second_or_minute(second: int, low: str, high: str) -> None:
    at = datetime(2024, 5, 1, 10, 15, second, tzinfo=UTC)
    found = spellings_of(at, zones=False)
    assert found.low == low
    assert not Interval(high, None).meets(found)


def test_the_first_and_the_last_day_have_ranges() -> None:
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    assert spellings_from(first, zones=True).low == "0001-01-01"
    assert spellings_to(last, zones=True).high == "9999-12-32"
