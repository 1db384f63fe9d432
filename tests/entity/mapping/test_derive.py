"""Index keys and claims of an entity."""

from typing import Annotated

import pytest
from pydantic import Field

from dynaorm import Entity, F, GlobalIndex, Index, InKey, Table, Unique
from dynaorm.entity.mapping.derive import claims, index_keys
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import InvalidValue
from dynaorm.failure import MASK

app = Table("derived", indexes=[GlobalIndex("GSI1"), GlobalIndex("GSI2")])


class Thing(Entity, table=app, pk="THING#{name}", sk="T"):
    name: str
    place: Annotated[str, InKey()]
    slug: Annotated[str, Unique(when=lambda one: one.place == "here")]
    by_place = Index("GSI1", pk="PLACE", sk="{place}")
    here = Index("GSI2", pk="HERE", sk="{name}", when=lambda one: one.place == "here")


def test_a_function_sees_a_field_that_lives_in_another_index_key_alone() -> None:
    mapping = mapping_of(Thing)
    for place, held in (("here", True), ("there", False)):
        values = {"name": "x", "place": place, "slug": "s"}
        item = mapping.primary_key.of(values) | mapping.encoder.encode(values)
        keys = index_keys(mapping, mapping.subject(item, values))
        assert ("GSI2PK" in keys) is held
        assert ([name for name, *_ in claims(mapping, mapping.subject(item | keys))] == ["slug"]) is held


class Filed(Entity, table=app, pk="FILED#{name}", sk="F"):
    name: str
    state: str
    place: Annotated[str, InKey()]
    first = Index("GSI1", pk="FIRST", sk="{place}", when=F.state == "a")
    second = Index("GSI1", pk="SECOND", sk="{name}", when=F.state == "b")
    by_place = Index("GSI2", pk="PLACE", sk="{place}")


def test_a_field_that_lives_in_a_key_is_not_read_from_the_key_of_another_place() -> None:
    mapping = mapping_of(Filed)
    values = {"name": "x", "state": "b", "place": "here"}
    item = mapping.primary_key.of(values) | mapping.encoder.encode(values)
    item |= index_keys(mapping, mapping.subject(item, values))
    assert item["GSI1SK"] == {"S": "x"}
    assert mapping.loader.hydrate(item).place == "here"


class Hidden(Entity, table=app, pk="HIDDEN#{name}", sk="H"):
    name: str
    pin: Annotated[str, Field(repr=False)]
    one = Index("GSI1", pk="ONE", sk="{name}", when=F.pin > "1000")
    other = Index("GSI1", pk="OTHER", sk="{name}", when=F.pin < "5555")


def test_the_error_about_two_places_shows_no_secret() -> None:
    mapping = mapping_of(Hidden)
    values = {"name": "x", "pin": "3141"}
    with pytest.raises(InvalidValue) as caught:
        index_keys(mapping, mapping.subject(mapping.encoder.encode(values), values))
    assert f"into one (F.pin > {MASK}) and other (F.pin < {MASK})" in str(caught.value)
    assert "3141" not in str(caught.value)
