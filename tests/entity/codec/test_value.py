"""Single values: one attribute value each, nothing converted, and messages that go on from a field's name."""

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import StrEnum
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from pydantic import NaiveDatetime

from dynaorm.entity.codec.of_type import codec_of
from dynaorm.entity.codec.value import Misfit, inside

NAIVE = datetime(2024, 1, 2, 3, 4, 5, 6, tzinfo=UTC).replace(tzinfo=None)


class Tag(StrEnum):
    NEW = "new"


@pytest.mark.parametrize(
    ("annotation", "value", "stored"),
    [
        (str, "é", {"S": "é"}),
        (str, "", {"S": ""}),
        (int, -7, {"N": "-7"}),
        (int, 10**60, {"N": "1E+60"}),
        (float, 0.1, {"N": "0.1"}),
        (float, -0.0, {"N": "0"}),
        (float, 5, {"N": "5"}),
        (Decimal, Decimal("1.50"), {"N": "1.5"}),
        (Decimal, 3, {"N": "3"}),
        (bool, True, {"BOOL": True}),
        (bytes, b"\x00", {"B": b"\x00"}),
        (UUID, UUID(int=1), {"S": "00000000-0000-0000-0000-000000000001"}),
        (date, date(2024, 2, 29), {"S": "2024-02-29"}),
        (NaiveDatetime, NAIVE, {"S": "2024-01-02T03:04:05.000006"}),
        (datetime, NAIVE.replace(tzinfo=UTC), {"S": "2024-01-02T03:04:05.000006Z"}),
        (datetime, NAIVE.replace(tzinfo=ZoneInfo("Europe/Berlin")), {"S": "2024-01-02T02:04:05.000006Z"}),
        (time, time(1, 2), {"S": "01:02:00.000000"}),
        (time, time(1, 2, tzinfo=timezone(timedelta(hours=2))), {"S": "01:02:00.000000+02:00"}),
        (timedelta, timedelta(seconds=-1, microseconds=5), {"N": "-0.999995"}),
        (None, None, {"NULL": True}),
    ],
)
def test_a_value_has_one_attribute_value_and_comes_back(annotation: Any, value: Any, stored: Any) -> None:
    codec = codec_of(annotation)
    assert codec.encode(value) == stored
    assert codec.decode(stored) == value
    assert codec.tags == stored.keys()


def test_an_aware_datetime_comes_back_in_utc() -> None:
    found = codec_of(datetime).decode({"S": "2024-01-02T03:04:05+05:00"})
    assert (found.hour, found.tzinfo) == (22, UTC)


def test_a_str_subclass_is_stored_as_plain_text() -> None:
    stored = codec_of(str).encode(Tag.NEW)
    assert type(stored["S"]) is str


@pytest.mark.parametrize(
    ("annotation", "value", "problem"),
    [
        (str, 5, "is an int, not a str"),
        (str, "\ud800", "lone surrogate"),
        (int, True, "is a bool, not an int"),
        (int, "5", "is a str, not an int"),
        (float, "x", "is a str, not a float"),
        (float, True, "is a bool, not a float"),
        (float, 2**63 + 1, "an int that no float equals"),
        (float, float("nan"), "not a finite number"),
        (float, 1e300, "outside DynamoDB's range"),
        (Decimal, 0.1, "is a float, not a Decimal"),
        (Decimal, Decimal(10**38 + 1), "significant digits"),
        (bool, 1, "is an int, not a bool"),
        (bytes, "x", "is a str, not a bytes"),
        (date, NAIVE, "is a datetime, not a date"),
        (datetime, date(2024, 1, 1), "not a datetime"),
        (datetime, NAIVE, "is a datetime without a time zone; give it one"),
        (NaiveDatetime, date(2024, 1, 1), "is a date, not a datetime"),
        (
            NaiveDatetime,
            NAIVE.replace(tzinfo=UTC),
            "is a datetime with a time zone, in a field declared Naive",
        ),
        (
            datetime,
            datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))),
            "outside the years 1 to 9999 in UTC",
        ),
        (time, time(1, tzinfo=ZoneInfo("Europe/Berlin")), "no offset without a day"),
        (time, "01:02", "not a time"),
        (None, 5, "is 5, not None"),
    ],
)
def test_a_value_of_another_type_is_refused(annotation: Any, value: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        codec_of(annotation).encode(value)


@pytest.mark.parametrize(
    ("annotation", "stored", "problem"),
    [
        (str, {"N": "5"}, "is stored as N, not as S"),
        (int, {"N": "1.5"}, "is stored as '1.5', which is not an int"),
        (int, {"S": "5"}, "is stored as S, not as N"),
        (float, {"N": "x"}, "which is not a float"),
        (Decimal, {"N": "x"}, "which is not a Decimal"),
        (bool, {"S": "true"}, "not as BOOL"),
        (bytes, {"B": "eA=="}, "not bytes"),
        (UUID, {"S": "x"}, "which is not a UUID"),
        (datetime, {"S": "yesterday"}, "which is not a datetime"),
        (None, {"S": ""}, "not as NULL"),
    ],
)
def test_a_stored_value_that_encode_never_makes_is_refused(
    annotation: Any, stored: Any, problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        codec_of(annotation).decode(stored)


def test_the_path_to_a_problem_grows_from_the_inside() -> None:
    problem = inside("address", inside(2, inside("city", ValueError("is 5, not a str"))))
    assert str(problem) == "at address[2].city: is 5, not a str"
    assert problem.path == ("address", 2, "city")
    assert str(Misfit("is 5")) == "is 5"


@pytest.mark.parametrize("digits", [10**37 + 1, 10**38 - 1])
def test_an_int_has_38_digits_at_most_whatever_its_sign(digits: int) -> None:
    codec = codec_of(int)
    for value in (digits, -digits):
        assert codec.encode(value) == {"N": str(value)}
    for value in (10**38 + 1, -(10**38) - 1):
        with pytest.raises(ValueError, match="39 significant digits"):
            codec.encode(value)
