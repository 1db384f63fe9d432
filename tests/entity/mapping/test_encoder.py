"""The encoder of a class gives the same attribute values as its fields, one by one."""

from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynaorm import Attribute, Entity, Table
from dynaorm.entity.mapping.item_encoder import encoder_of
from dynaorm.entity.mapping.mapping import mapping_of


class Colour(StrEnum):
    RED = "red"


class Loud(str):
    """A text of one's own."""

    __slots__ = ()


class Thing(Entity, table=Table("app"), pk="THING#{id}", sk="A"):
    id: str
    quoted: Annotated[str, Attribute('it\'s "a"\n{value}')]
    maybe: str | None = None
    loud: Annotated[
        str, Attribute("loud", encode=lambda text: {"S": text.upper()}, decode=lambda av: av["S"])
    ]
    colour: Colour
    count: int
    price: Decimal
    is_on: bool
    at: datetime
    tags: set[str]
    lines: list[str]
    names: dict[str, str]


FIELDS = mapping_of(Thing).fields
TEXTS = st.text(max_size=5) | st.just("plain") | st.text(max_size=5).map(Loud)
VALUES = st.fixed_dictionaries(
    {
        "id": TEXTS,
        "quoted": TEXTS,
        "maybe": st.none() | TEXTS,
        "loud": st.text(max_size=5),
        "colour": st.sampled_from(Colour),
        # DynamoDB keeps 38 digits, those behind the point among them.
        "count": st.integers(1 - 10**38, 10**38),
        "price": st.decimals(-(10**35), 10**35, places=2),
        "is_on": st.booleans(),
        "at": st.datetimes(timezones=st.just(UTC)),
        "tags": st.sets(st.text(max_size=3), max_size=3),
        "lines": st.lists(TEXTS, max_size=3),
        "names": st.dictionaries(TEXTS, TEXTS, max_size=3),
    }
)
ANYTHING = (
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.binary(max_size=2) | st.just([1])
)


def one_by_one(values: dict[str, Any]) -> dict[str, Any]:
    return {field.attribute: field.encode(values[field.name]) for field in FIELDS.values()}


@given(VALUES)
@settings(max_examples=50)
def test_all_fields_at_once_are_what_each_is_by_itself_in_order(values: dict[str, Any]) -> None:
    assert [*encoder_of(FIELDS.values())(values).items()] == [*one_by_one(values).items()]


@given(VALUES, st.sampled_from([*FIELDS]), ANYTHING)
@settings(max_examples=50)
def test_a_value_is_refused_by_all_at_once_where_it_is_by_its_field(
    values: dict[str, Any], name: str, value: object
) -> None:
    values[name] = value
    try:
        expected = FIELDS[name].encode(value)
    except (ValueError, AttributeError) as problem:
        with pytest.raises(type(problem)):
            encoder_of(FIELDS.values())(values)
    else:
        assert encoder_of(FIELDS.values())(values)[FIELDS[name].attribute] == expected
