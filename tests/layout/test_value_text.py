"""Attribute values as people read them."""

import pytest

from dynaorm.item.value import AttributeValue
from dynaorm.layout.value_text import short_text, value_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param({"S": "a"}, "a", id="text"),
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


@pytest.mark.parametrize(
    ("value", "is_expiry", "text"),
    [
        pytest.param({"S": "2024-06-01T09:30:00.000000Z"}, False, "2024-06-01 09:30:00", id="time"),
        pytest.param(
            {"S": "at 2024-06-01T09:30:00Z"}, False, "at 2024-06-01T09:30:00Z", id="text with a time"
        ),
        pytest.param({"N": "4102444800"}, True, "2100-01-01 00:00:00", id="expiry"),
        pytest.param({"N": "4102444800"}, False, "4102444800", id="number"),
        pytest.param({"N": "9e99"}, True, "9e99", id="expiry beyond all times"),
        pytest.param({"S": "never"}, True, "never", id="expiry that is no number"),
    ],
)
def test_times_are_shown_without_fractions_of_a_second(
    value: AttributeValue, is_expiry: bool, text: str
) -> None:
    assert short_text(value, is_expiry=is_expiry) == text
