"""What an insert is told whose key is taken."""

from typing import Annotated

import pytest
from pydantic import Field

from dynaorm import Attribute, Entity, InKey, Table
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.plan.stored import already_exists
from dynaorm.plan.values import new_image

app = Table("taken")


class Sign(Entity, table=app, pk="SIGN#{name:upper}", sk="S#{side}#{place:casefold}"):
    name: Annotated[str, Attribute("n", formerly=("label",)), Field(repr=False)]
    side: Annotated[str, InKey()] = "l"
    place: str = "x"


def told(given: Sign, stored: dict[str, object]) -> str:
    mapping = mapping_of(Sign)
    key = mapping.primary_key.of(vars(given))
    image = new_image(mapping, key, vars(given))
    return str(already_exists(mapping, key, image, {**image, **stored}))  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("stored", "fields"),
    [
        ({"n": {"S": "bo"}}, "name"),
        ({"n": {"S": "bo"}, "place": {"S": "X"}}, "name, place"),
    ],
)
def test_fields_that_differ_under_one_key_are_named_without_their_values(
    stored: dict[str, object], fields: str
) -> None:
    said = told(Sign(name="Bo"), stored)
    assert f"is already stored with another value of {fields}, which has the same key" in said
    assert said.endswith(
        f"choose another value of {fields}, or get the stored entity by its key and change it"
    )
    assert "bo" not in said
    assert "Bo" not in said


def test_an_entity_of_the_same_values_and_an_item_without_them_say_nothing_of_fields() -> None:
    for stored in ({}, {"n": {"S": "Bo"}, "place": {"S": "x"}}):
        assert "is already stored; get it and change it" in told(Sign(name="Bo"), dict(stored))
