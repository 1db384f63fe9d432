"""Fields that are stored in keys alone, and keys that they cannot be read from."""

import re
from datetime import UTC, datetime
from typing import Annotated, Any

import pytest
from pydantic import Field, SecretStr

from dynaorm import Entity, GlobalIndex, Index, InKey, Table
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.mapping.validate import values_in
from dynaorm.errors import DecodeError
from dynaorm.item.value import Item

app = Table("key-fields", indexes=[GlobalIndex("GSI1"), GlobalIndex("GSI2")])


class Reading(Entity, table=app, pk="DEVICE#{device}", sk="AT#{at}#{number:03d}"):
    device: Annotated[str, InKey()]
    at: Annotated[datetime, InKey()]
    number: Annotated[int, InKey(), Field(le=500)]
    colour: Annotated[str | None, InKey()] = None
    by_colour = Index("GSI1", pk="COLOUR#{colour}", sk="{at}")
    again = Index("GSI2", pk="AGAIN#{colour}", sk="{at}")


class Room(Entity, table=app, pk="ROOM#{name}", sk="FLOOR#{floor:shard4}"):
    name: str
    floor: str


AT = datetime(2024, 1, 1, tzinfo=UTC)
KEY = {"PK": {"S": "DEVICE#a"}, "SK": {"S": "AT#2024-01-01T00:00:00.000000Z#007"}}


@pytest.mark.parametrize(
    ("attributes", "colour"),
    [
        ({}, None),
        ({"GSI1PK": {"S": "COLOUR#red"}}, "red"),
        ({"GSI2PK": {"S": "AGAIN#red"}}, "red"),
        ({"GSI1PK": {"S": "COLOUR#red"}, "GSI2PK": {"S": "another"}}, "red"),
        ({"GSI1PK": {"S": "another"}, "GSI2PK": {"S": "AGAIN#red"}}, "red"),
    ],
)
def test_a_field_is_read_from_the_first_key_that_has_it(
    attributes: dict[str, Any], colour: str | None
) -> None:
    found = mapping_of(Reading).loader.hydrate({**KEY, **attributes})
    assert found == Reading(device="a", at=AT, number=7, colour=colour)


@pytest.mark.parametrize(
    ("attributes", "problem"),
    [
        (
            {"PK": {"S": "A"}},
            "device: cannot be read from PK, which is 'A', not a key that 'DEVICE#{device}' renders",
        ),
        (
            {"SK": {"S": "AT#now#007"}},
            "at, number: cannot be read from SK, which is 'AT#now#007', not a key that 'AT#{at}#{number:03d}' renders",
        ),
        (
            {"SK": {"N": "7"}},
            "at, number: cannot be read from SK, which is '7', not a key that 'AT#{at}#{number:03d}' renders",
        ),
        (
            {"GSI1PK": {"S": "another"}},
            "colour: cannot be read from GSI1PK, which is 'another', not a key that 'COLOUR#{colour}' renders",
        ),
        (
            {"SK": {"S": "AT#2024-01-01T00:00:00.000000Z#501"}},
            "number: Input should be less than or equal to 500; it is read from SK, by 'AT#{at}#{number:03d}'",
        ),
    ],
)
def test_the_error_names_the_key_and_its_template(attributes: dict[str, Any], problem: str) -> None:
    with pytest.raises(DecodeError) as caught:
        mapping_of(Reading).loader.hydrate({**KEY, **attributes})
    assert caught.value.problems == (problem,)


def test_the_error_of_a_missing_field_says_which_key_could_have_it() -> None:
    item: Item = {"PK": {"S": "ROOM#a"}, "SK": {"S": "FLOOR#1"}}
    with pytest.raises(DecodeError) as caught:
        mapping_of(Room).loader.hydrate(item)
    problem = "name: Field required; if PK alone has it, declare it with InKey()"
    assert caught.value.problems == (problem, "floor: Field required")
    with pytest.raises(DecodeError, match=re.escape(problem)):
        values_in(mapping_of(Room), item, ["name"])


class Hidden(Entity, table=app, pk="HIDDEN#{code}", sk="H"):
    code: Annotated[SecretStr, InKey()]


def test_the_error_does_not_show_a_key_with_a_secret_field() -> None:
    with pytest.raises(DecodeError) as caught:
        mapping_of(Hidden).loader.hydrate({"PK": {"S": "NOT#s3cret"}, "SK": {"S": "H"}})
    assert "s3cret" not in str(caught.value)
    assert caught.value.problems == (
        "code: cannot be read from PK, which is **********, not a key that 'HIDDEN#{code}' renders",
    )
