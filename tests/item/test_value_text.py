"""Values as people read them."""

from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any

import pytest

from dynaorm.item.text import key_text, name_text, plain_text, value_text
from dynaorm.item.value import AttributeValue


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param({"S": "a"}, "a", id="text"),
        pytest.param({"S": ""}, "''", id="empty text"),
        pytest.param({"S": "12"}, "'12'", id="text of digits"),
        pytest.param({"S": "null"}, "'null'", id="text of a word"),
        pytest.param({"S": " a"}, "' a'", id="text with a space before it"),
        pytest.param({"S": "'a'"}, "\"'a'\"", id="text in quotes"),
        pytest.param({"S": "**********"}, "**********", id="mask"),
        pytest.param({"M": {"a": {"S": ""}}}, "{a: ''}", id="empty text in a map"),
        pytest.param({"N": "1.50"}, "1.50", id="number"),
        pytest.param({"BOOL": True}, "true", id="bool"),
        pytest.param({"NULL": True}, "null", id="null"),
        pytest.param({"B": b"\x00\xff"}, "0x00ff", id="bytes"),
        pytest.param({"L": [{"S": "a"}, {"N": "1"}]}, "[a, 1]", id="list"),
        pytest.param({"M": {"a": {"L": []}}}, "{a: []}", id="map"),
        pytest.param({"SS": ["b", "a"]}, "{a, b}", id="set"),
        pytest.param({"BS": [b"\x02", b"\x01"]}, "{0x01, 0x02}", id="set of bytes"),
    ],
)
def test_every_type_has_a_text(value: AttributeValue, text: str) -> None:
    assert value_text(value) == text


_TIMES = {
    "2024-06-01T09:30:00.000000Z": "2024-06-01 09:30:00",
    "2024-06-01T09:30:00Z": "2024-06-01 09:30:00",
    "2024-06-01T09:30:00+00:00": "2024-06-01 09:30:00",
    "2024-06-01T09:30:00.120000Z": "2024-06-01 09:30:00.12",
    "at 2024-06-01T09:30:00Z": "at 2024-06-01T09:30:00Z",
    "2024-06-01T09:30:00": "2024-06-01T09:30:00",
    "2024-06-01T09:30:00.000000": "2024-06-01T09:30:00",
    "09:30:00.500000": "09:30:00.5",
    "2024-06-01T09:30:00+02:00": "2024-06-01T09:30:00+02:00",
}


@pytest.mark.parametrize(("stored", "text"), _TIMES.items())
def test_a_time_has_one_form(stored: str, text: str) -> None:
    assert value_text({"S": stored}) == plain_text(stored) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        pytest.param("4102444800", "2100-01-01 00:00:00", id="seconds"),
        pytest.param("9e99", "9e99", id="beyond all times"),
        pytest.param("nan", "nan", id="no number"),
    ],
)
def test_an_expiry_is_a_time(seconds: str, text: str) -> None:
    assert value_text({"N": seconds}, is_expiry=True) == text
    assert value_text({"N": seconds}) == seconds
    assert value_text({"S": "never"}, is_expiry=True) == "never"


class Size(Enum):
    LARGE = "large"
    TENTH = "10"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param("u1", "'u1'", id="text"),
        pytest.param("12", "'12'", id="text of digits"),
        pytest.param("it's", '"it\'s"', id="text with a quote"),
        pytest.param(12, "12", id="number"),
        pytest.param(Decimal("1.5"), "1.5", id="decimal"),
        pytest.param(True, "True", id="bool"),
        pytest.param(None, "None", id="none"),
        pytest.param(Size.LARGE, "'large'", id="enum"),
        pytest.param(datetime(2024, 6, 1, 9, 30, tzinfo=UTC), "'2024-06-01 09:30:00'", id="time"),
        pytest.param("2024-06-01T09:30:00.000000Z", "'2024-06-01 09:30:00'", id="stored time"),
        pytest.param(date(2024, 6, 1), "'2024-06-01'", id="day"),
        pytest.param(b"\xff", "'0xff'", id="bytes"),
    ],
)
def test_in_a_name_all_but_numbers_is_in_quotes(value: Any, text: str) -> None:
    assert name_text(value) == text


def test_a_key_is_verbatim() -> None:
    assert key_text({"S": "2024-06-01T09:30:00Z"}) == "2024-06-01T09:30:00Z"
    assert (key_text({"S": "12"}), key_text({"N": "12"}), key_text({"B": b"\xff"})) == ("12", "12", "0xff")
