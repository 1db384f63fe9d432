"""Fields with their own encoding in keys: requests use the stored form."""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Annotated, Any

import pytest

from dynaorm import Attribute, Entity, Key, Table, item_of
from dynaorm.entity.key_part import encoded_scalar
from dynaorm.errors import InvalidValue


def to_day(value: date) -> dict[str, Any]:
    return {"S": f"{value:%d.%m.%Y}"}


def from_day(stored: Any) -> date:
    return datetime.strptime(stored["S"], "%d.%m.%Y").replace(tzinfo=UTC).date()


def to_cents(value: Decimal) -> dict[str, Any]:
    return {"N": str(int(value * 100))}


def from_cents(stored: Any) -> Decimal:
    return Decimal(stored["N"]) / 100


def to_bytes(value: int) -> dict[str, Any]:
    return {"B": value.to_bytes(4)}


def from_bytes(stored: Any) -> int:
    return int.from_bytes(stored["B"])


@pytest.mark.parametrize(
    ("encode", "decode", "kind", "value", "text"),
    [
        (to_day, from_day, "S", date(2020, 4, 24), "24.04.2020"),
        (to_cents, from_cents, "N", Decimal("12.5"), "1250"),
        (to_bytes, from_bytes, "B", 5, "00000005"),
    ],
)
def test_each_type_of_key_has_a_text_and_a_way_back(
    encode: Any, decode: Any, kind: Any, value: Any, text: str
) -> None:
    scalar = encoded_scalar(encode, decode, kind)
    assert (scalar.tag, scalar.to_text(value)) == (kind, text)
    assert scalar.from_text(text) == value


def test_an_encoding_of_another_type_than_the_key_attribute_is_refused() -> None:
    scalar = encoded_scalar(to_cents, from_cents, "S")
    with pytest.raises(ValueError, match="is encoded as N, and the key attribute is of type S"):
        scalar.to_text(Decimal(1))


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [("x", "a str"), ({"S": 5}, "a dict"), ({}, "a dict"), ({"X": "x"}, "a dict"), (None, "a NoneType")],
)
def test_an_encoding_that_is_no_attribute_value_is_refused(wrong: Any, kind: str) -> None:
    class Odd(Entity, table=Table("odd"), pk="ODD#{code}", sk="{text}"):
        code: Annotated[int, Attribute(encode=lambda _: wrong, decode=int)]
        text: Annotated[int | None, Attribute(encode=lambda _: wrong, decode=int)]

    problem = (
        f"is encoded as {kind} that is no attribute value; let encode= return what DynamoDB stores, "
        "such as {'S': 'text'} or {'N': '1.5'}"
    )
    calls: list[Callable[[], object]] = [
        lambda: item_of(Odd(code=1, text=2)),
        lambda: Key(Odd, code=1, text=2).primary_key,
    ]
    for call in calls:
        with pytest.raises(InvalidValue, match=re.escape(f"Odd.code = 1: {problem}")):
            call()
