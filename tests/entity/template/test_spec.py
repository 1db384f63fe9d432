"""Specs say how a value becomes part of a key: each has one text, and its way back where it loses nothing."""

import re
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm.entity.template import SpecError, TemplateField, template_field
from tests.entity.scalars import scalar


class Color(Enum):
    RED = "Red"


class Day(Enum):
    FIRST = date(2024, 1, 1)


def placeholder(kind: Any, spec: str) -> TemplateField:
    return template_field("x", scalar(kind), spec, f"{{x:{spec}}}")


NOON = datetime(2018, 8, 29, 12, 0, 0, 999_999, tzinfo=UTC)


@pytest.mark.parametrize(
    ("kind", "spec", "value", "text"),
    [
        (str, "upper", "DeBrie", "DEBRIE"),
        (str, "lower", "DeBrie", "debrie"),
        (str, "casefold", "Straße", "strasse"),
        (str, "upper:raw", "a#b", "A#B"),
        (Color, "upper", Color.RED, "RED"),
        (int, "05d", 42, "00042"),
        (int, "08d:desc", 42, "99999957"),
        (int, "desc:08d", 42, "99999957"),
        (int, "shard8", 42, str(crc32(b"42") % 8 + 1)),
        (str, "shard200", "bobby", str(crc32(b"bobby") % 200 + 1)),
        (datetime, "epoch", NOON, "1535544000"),
        (datetime, "epoch_ms", NOON, "1535544000999"),
        (datetime, "epoch", datetime(1969, 12, 31, 23, 59, 59, 1, tzinfo=UTC), "-1"),
        (date, "epoch", date(1970, 1, 2), "86400"),
        (datetime, "%Y-%m-%d:%H:%M:%S", NOON, "2018-08-29:12:00:00"),
        (datetime, "desc", datetime.min.replace(tzinfo=UTC), "315537897599999999"),
        (datetime, "desc", datetime.max.replace(tzinfo=UTC), "000000000000000000"),
        (date, "desc", date.max, "0000000"),
        (date, "desc", date.min, "3652058"),
    ],
)
def test_texts_are_these(kind: Any, spec: str, value: object, text: str) -> None:
    assert placeholder(kind, spec).write(value) == text


@given(st.text(st.characters(codec="utf-8")), st.integers(1, 300))
def test_a_shard_is_one_of_as_many_as_were_asked_for(value: str, shards: int) -> None:
    found = placeholder(str, f"shard{shards}")
    assert found.shards == shards
    assert 1 <= int(found.write(value)) <= shards
    assert re.fullmatch(found.pattern, found.write(value))


@pytest.mark.parametrize(
    ("kind", "spec", "value", "problem"),
    [
        (
            int,
            "05d",
            -1,
            "is negative, and {x:05d} holds 0 to 99999; give it one of these, or sort by an index with sk=",
        ),
        (int, "05d", 100_000, "has more than 5 digits, and {x:05d} holds 0 to 99999"),
        (int, "05d", True, "is a bool, not an int"),
        (int, "05d:desc", -1, "is negative"),
        (datetime, "desc", datetime(2024, 1, 1), "without a time zone"),  # noqa: DTZ001 - what is to be refused
        (datetime, "epoch", "now", "is a str, not a datetime"),
        (date, "desc", NOON, "is a datetime, not a date"),
        (str, "upper", 1, "is an int, not a str"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(kind: Any, spec: str, value: object, problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        placeholder(kind, spec).write(value)


@pytest.mark.parametrize(
    ("kind", "spec", "problem"),
    [
        (str, "uper", "{x:uper} has an unknown spec 'uper'; did you mean 'upper'?"),
        (int, "5d", "unknown spec '5d'; did you mean '05d'?"),
        (int, "zzz", "use one of upper, lower"),
        (str, "shard0", "did you mean 'shard8'?"),
        (str, "upper:lower", "specs that exclude each other; keep one"),
        (str, "upper:upper", "specs that exclude each other; keep one"),
        (str, "upper:desc", "specs that exclude each other; keep one"),
        (int, "05d:raw", "specs that exclude each other; keep one"),
        (datetime, "desc:raw", "specs that exclude each other; keep one"),
        (int, "desc", "write {x:08d:desc}"),
        (str, "desc", "drop it, and query with .descending()"),
        (Day, "desc", "drop it, and query with .descending()"),
        (int, "upper", "only text has a case, not an int; drop the spec"),
        (UUID, "upper", "only text has a case, not a UUID; drop the spec"),
        (Decimal, "05d", "to at most 38 digits; sort by an index with sk=NumberKey('x')"),
        (int, "039d", "to at most 38 digits; drop the spec"),
        (str, "epoch", "only a datetime or a date counts from the epoch; drop the spec"),
        (datetime, "%b", "{x:%b}: %b does not write a fixed number of digits; use %Y"),
        (datetime, "%Y:desc", "write {x:desc}"),
        (str, "%Y", "not for str; drop it"),
    ],
)
def test_a_spec_that_does_not_fit_its_field_is_refused(kind: Any, spec: str, problem: str) -> None:
    with pytest.raises(SpecError, match=re.escape(problem)):
        placeholder(kind, spec)


def test_the_beginning_of_a_text_changes_as_the_text_does() -> None:
    assert placeholder(str, "upper").beginning("deb") == "DEB"
    assert placeholder(str, "raw").beginning("a#") == "a#"
    assert placeholder(datetime, "").beginning("2018-08") == "2018-08"


@pytest.mark.parametrize(
    ("kind", "spec", "text", "problem"),
    [
        (datetime, "", "2018/08", "does not begin any text that {x:} renders"),
        (int, "05d", "123456", "does not begin any text"),
        (int, "05d", 12, "is 12, not a str with the beginning of the text"),
    ],
)
def test_what_no_text_begins_with_is_refused(kind: Any, spec: str, text: object, problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        placeholder(kind, spec).beginning(text)


@pytest.mark.parametrize("spec", ["epoch", "epoch_ms"])
def test_the_middle_of_a_day_is_no_date(spec: str) -> None:
    read = placeholder(date, spec).read
    assert read is not None
    with pytest.raises(ValueError, match="not the beginning of a day"):
        read("3600")
