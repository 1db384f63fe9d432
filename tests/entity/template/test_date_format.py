"""Date formats write what strftime writes, in digits of one width, and read it back where nothing is left out."""

import re
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm.entity.template import TemplateField, sorts, template_field
from dynaorm.entity.text.scalar import NaiveDatetime, may_meet, pattern_of
from tests.entity.scalars import scalar

ZONES = st.integers(-23, 23).map(lambda hours: timezone(timedelta(hours=hours)))
NAIVE = datetime(2024, 1, 1)  # noqa: DTZ001 - what is to be refused
VALUES: dict[type, st.SearchStrategy[Any]] = {
    datetime: st.datetimes(NAIVE.replace(year=1001), NAIVE.replace(year=9998), timezones=ZONES),
    date: st.dates(date(1001, 1, 1)),
    time: st.times(),
}


def compiled(kind: type, text: str) -> TemplateField:
    return template_field("x", scalar(kind), text, f"{{x:{text}}}")


@pytest.mark.parametrize("letter", "YmdjyGVuwUWHMSfI")
@given(VALUES[datetime])
def test_every_directive_is_strftimes(letter: str, value: datetime) -> None:
    found = compiled(datetime, f"<%{letter}>")
    expected = value.astimezone(UTC).strftime(f"<%{letter}>")
    # glibc pads the year of %G no more than that of %Y, but from the year 1000 on that is the same.
    assert found.write(value) == expected
    assert re.fullmatch(pattern_of(found.shape), expected)
    assert may_meet(found.shape, (expected,))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (datetime, "%Y-%m-%d:%H:%M:%S.%f"),
        (datetime, "%f%S%M%H%d%m%Y"),
        (date, "%d.%m.%Y (%j)"),
        (time, "%H%M%S%f"),
        (date, "%Y%%%m%%%d"),
    ],
)
@given(data=st.data())
def test_a_whole_format_reads_back(kind: type, text: str, data: st.DataObject) -> None:
    found, value = compiled(kind, text), data.draw(VALUES[kind])
    assert found.read is not None
    assert found.read(found.write(value)) == value


@pytest.mark.parametrize(
    ("kind", "text"), [(datetime, "%Y-%m-%d"), (date, "%Y-%m"), (time, "%H:%M"), (date, "%y%m%d")]
)
def test_a_format_that_leaves_something_out_cannot_be_read(kind: type, text: str) -> None:
    assert compiled(kind, text).read is None


def test_a_wall_time_is_written_and_read_as_it_is() -> None:
    found = compiled(NaiveDatetime, "%Y-%m-%d %H:%M:%S.%f")
    assert found.read is not None
    assert found.write(NAIVE) == "2024-01-01 00:00:00.000000"
    assert found.read("2024-01-01 00:00:00.000000") == NAIVE
    with pytest.raises(ValueError, match="with a time zone"):
        found.write(NAIVE.replace(tzinfo=UTC))


def test_a_text_that_does_not_fit_is_refused() -> None:
    read = compiled(date, "%Y-%m-%d").read
    assert read is not None
    for text in ("2024-1-1", "2024-13-01", "2024-02-30"):
        with pytest.raises(ValueError, match=r"."):
            read(text)


@pytest.mark.parametrize(
    ("kind", "text", "problem"),
    [
        (datetime, "%b", "%b does not write a fixed number of digits; use %Y %m"),
        (datetime, "%-d", "%- does not write a fixed number of digits"),
        (datetime, "%Y%", "% does not write a fixed number of digits"),
        (date, "%H", "a date has no %H; use %Y %m"),
        (time, "%Y", "a time has no %Y; use %H %M"),
        (datetime, "%%", "has no directive; write one, such as"),
        (int, "%Y", "is for datetime, date and time, not for int; drop it"),
    ],
)
def test_a_format_that_would_not_sort_is_refused(kind: type, text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        compiled(kind, text)


@pytest.mark.parametrize(
    ("letters", "expected"),
    [
        *(
            (letters, True)
            for letters in ("Y", "Ym", "YmdHM", "Yj", "YjHMSf", "GVu", "YWu", "YUw", "YmYd", "YmdjH")
        ),
        *(
            (letters, False)
            for letters in ("dmY", "m", "Yd", "ymd", "YmdI", "YmH", "H", "GVw", "YWw", "YmdHS", "jY")
        ),
    ],
)
def test_a_format_sorts_if_larger_units_come_first_and_none_is_left_out(letters: str, expected: bool) -> None:
    assert sorts(datetime, letters) is expected


@pytest.mark.parametrize(("letters", "expected"), [("H", True), ("HMSf", True), ("M", False), ("IM", False)])
def test_a_format_of_times_begins_with_the_hour(letters: str, expected: bool) -> None:
    assert sorts(time, letters) is expected


def test_years_are_padded() -> None:
    assert compiled(date, "%Y-%G").write(date(7, 6, 1)) == "0007-0007"
