"""One canonical text per type: read back exactly, refused for other types, in the order of the values."""

import re
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from ipaddress import IPv4Address, IPv6Address
from typing import Any, Literal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import HttpUrl, NaiveDatetime, SecretStr

from dynaorm import Ksuid, KsuidMs
from dynaorm.entity.text.scalar import datetime_text, may_meet
from tests.entity.scalars import scalar


class Color(Enum):
    RED = "red"
    BLUE = "blue #1"


class Size(StrEnum):
    SMALL = "s"


class Level(IntEnum):
    LOW = 1
    HIGH = 20


ZONES = st.integers(-23, 23).map(lambda hours: timezone(timedelta(hours=hours, minutes=30)))
NAIVE = datetime(2024, 1, 1)  # noqa: DTZ001 - what is to be refused
MOMENTS = st.datetimes(NAIVE.replace(year=2), NAIVE.replace(year=9998), timezones=ZONES | st.just(UTC))
TEXTS = st.text(st.characters(codec="utf-8"))
DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, places=5, min_value=-(10**30), max_value=10**30)

VALUES: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXTS,
    int: st.integers(-(10**37), 10**37),
    Decimal: DECIMALS,
    float: st.floats(allow_nan=False, allow_infinity=False, min_value=-1e100, max_value=1e100).filter(
        lambda value: value == 0 or abs(value) > 1e-100
    ),
    bool: st.booleans(),
    UUID: st.uuids(),
    date: st.dates(),
    time: st.times(),
    datetime: MOMENTS,
    timedelta: st.timedeltas(),
    Color: st.sampled_from(Color),
    Size: st.sampled_from(Size),
    Level: st.sampled_from(Level),
    Literal["a", "b"]: st.sampled_from(["a", "b"]),
    Literal[1, 2]: st.sampled_from([1, 2]),
    Ksuid: st.binary(min_size=20, max_size=20).map(Ksuid.from_bytes),
    KsuidMs: st.binary(min_size=20, max_size=20).map(KsuidMs.from_bytes),
    bytes: st.binary(),
    SecretStr: TEXTS.map(SecretStr),
    IPv4Address: st.ip_addresses(v=4),
    IPv6Address: st.ip_addresses(v=6),
}
PAIRS = st.sampled_from(list(VALUES)).flatmap(
    lambda kind: st.tuples(st.just(kind), VALUES[kind], VALUES[kind])
)


@given(PAIRS)
def test_a_text_reads_back_as_its_value(pair: tuple[Any, Any, Any]) -> None:
    kind, value, _ = pair
    assert scalar(kind).from_text(scalar(kind).to_text(value)) == value


@given(PAIRS)
def test_values_are_equal_exactly_where_their_texts_are(pair: tuple[Any, Any, Any]) -> None:
    kind, one, other = pair
    assert (one == other) == (scalar(kind).to_text(one) == scalar(kind).to_text(other))


@given(PAIRS)
def test_every_text_is_of_its_pattern_and_its_shape(pair: tuple[Any, Any, Any]) -> None:
    kind, value, _ = pair
    found, text = scalar(kind), scalar(kind).to_text(value)
    assert re.fullmatch(found.pattern, text)
    assert may_meet(found.shape, (text,) if text else ())


@given(PAIRS)
def test_a_text_goes_on_only_by_the_characters_that_say_so(pair: tuple[Any, Any, Any]) -> None:
    kind, one, other = pair
    found = scalar(kind)
    shorter, longer = sorted((found.to_text(one), found.to_text(other)), key=len)
    if not found.open and longer.startswith(shorter) and longer != shorter:
        assert longer[len(shorter)] in found.grows


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (str, Size.SMALL, "s"),
        (int, Level.HIGH, "20"),
        (float, 0.1, "0.1"),
        (float, -0.0, "0"),
        (UUID, UUID("B201C1F2-238E-461F-88E6-0E606FBC3C51"), "b201c1f2-238e-461f-88e6-0e606fbc3c51"),
        (date, date(7, 1, 2), "0007-01-02"),
        (time, time(1, 2, 3), "01:02:03.000000"),
        (datetime, datetime(2024, 1, 1, tzinfo=UTC), "2024-01-01T00:00:00.000000Z"),
        (datetime, datetime(7, 1, 1, tzinfo=UTC), "0007-01-01T00:00:00.000000Z"),
        (datetime, datetime(2024, 1, 1, tzinfo=timezone(timedelta(hours=2))), "2023-12-31T22:00:00.000000Z"),
        (timedelta, timedelta(minutes=1, microseconds=-1), "59.999999"),
        (timedelta, timedelta(days=-1), "-86400"),
        (Color, Color.BLUE, "blue #1"),
        (Color, "red", "red"),
        (Literal["a", "b"], "b", "b"),
        (Literal[Color.RED], Color.RED, "red"),
        (bytes, b"\x00\xff", "00ff"),
        (SecretStr, SecretStr("s3"), "s3"),
        (HttpUrl, HttpUrl("http://a.example"), "http://a.example/"),
    ],
)
def test_texts_are_these(kind: Any, value: object, text: str) -> None:
    assert scalar(kind).to_text(value) == text


@pytest.mark.parametrize(
    ("kind", "value", "problem"),
    [
        (str, None, "is None, not a str"),
        (str, "\ud800", "lone surrogate"),
        (SecretStr, SecretStr("\ud800"), "lone surrogate"),
        (int, True, "is a bool, not an int"),
        (int, 1.0, "is a float, not an int"),
        (int, 10**38 + 1, "39 significant digits"),
        (float, float("nan"), "not a finite number"),
        (float, 1, "is an int, not a float"),
        (Decimal, 1, "is an int, not a Decimal"),
        (UUID, "b201c1f2-238e-461f-88e6-0e606fbc3c51", "is a str, not a UUID"),
        (date, datetime(2024, 1, 1, tzinfo=UTC), "is a datetime, not a date"),
        (datetime, date(2024, 1, 1), "is a date, not a datetime"),
        (datetime, NAIVE, "without a time zone; give it one"),
        (NaiveDatetime, NAIVE.replace(tzinfo=UTC), "give its wall time (.replace(tzinfo=None)), or declare"),
        (
            datetime,
            datetime.min.replace(tzinfo=timezone(timedelta(hours=1))),
            "outside the years 1 to 9999 in UTC",
        ),
        (time, time(1, tzinfo=UTC), "cannot be ordered without a day"),
        (Color, "green", "is 'green', which is not a value of Color"),
        (Color, 1, "is an int, not a str"),
        (Level, True, "is a bool, not an int"),
        (Literal["a", "b"], "c", "is 'c', not one of 'a', 'b'"),
        (Literal[1], True, "is a bool, not an int"),
        (Ksuid, "1YnlHOfSSk3DhX4BR6lMAceAo1V", "is a str, not a Ksuid"),
        (bytes, "00", "is a str, not a bytes"),
    ],
)
def test_a_value_of_another_type_is_refused(kind: Any, value: object, problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        scalar(kind).to_text(value)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (int, "1.5"),
        (int, "NaN"),
        (Decimal, "x"),
        (bool, "yes"),
        (UUID, "x"),
        (date, "2024-13-01"),
        (datetime, "2024-01-01T00:00:00"),
        (Color, "green"),
        (Literal[1, 2], "3"),
        (Ksuid, "z" * 27),
        (timedelta, "0.0000001"),
    ],
)
def test_a_text_of_no_value_is_refused(kind: Any, text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        scalar(kind).from_text(text)


def test_a_time_is_written_from_epoch_seconds_too() -> None:
    assert datetime_text(1_535_544_000.25) == "2018-08-29T12:00:00.250000Z"


def test_a_zone_that_does_not_know_its_offset_is_none() -> None:
    class Nowhere(tzinfo):
        def utcoffset(self, _: datetime | None, /) -> None:
            return None

        dst = tzname = utcoffset

    with pytest.raises(ValueError, match="without a time zone"):
        datetime_text(datetime(2024, 1, 1, tzinfo=Nowhere()))
