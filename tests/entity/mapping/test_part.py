"""Some fields of a stored item: their attributes, and the values that loading the whole item gives them."""

from typing import Annotated, Any

import pytest
from pydantic import Field, field_validator

from dynaorm import Attribute, Entity, GlobalIndex, Index, InKey, Table
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.mapping.validate import attributes_of, values_in

app = Table("part-app", indexes=[GlobalIndex("GSI1")])


class Song(Entity, table=app, pk="SONG#{title}", sk="S"):
    title: Annotated[str, InKey()]
    plays: Annotated[int, Attribute("n", formerly=("count",))] = 4
    label: Annotated[str | None, InKey()] = None
    tags: set[str] = Field(default_factory=lambda: {"new"})
    size: Annotated[int, Field(ge=0, validate_default=True)] = 1
    artist: str
    by_label = Index("GSI1", pk="LABEL#{label}", sk="{title}")


class Looking(Song):
    @field_validator("artist")
    @classmethod
    def known(cls, artist: str, info: Any) -> str:
        return f"{artist} of {info.data['title']}"


KEY = {"PK": {"S": "SONG#t"}, "SK": {"S": "S"}}
ITEM = {**KEY, "artist": {"S": "a"}}


def test_the_attributes_of_a_field_are_its_own_its_former_ones_or_the_keys_it_lives_in() -> None:
    mapping = mapping_of(Song)
    assert attributes_of(mapping, ["plays"]) == frozenset({"n", "count"})
    assert attributes_of(mapping, ["label"]) == frozenset({"GSI1PK"})
    assert attributes_of(mapping, ["title", "artist"]) == frozenset({"PK", "GSI1SK", "artist"})


def test_a_field_that_looks_at_others_needs_the_whole_item() -> None:
    assert attributes_of(mapping_of(Looking), ["artist"]) is None
    assert attributes_of(mapping_of(Looking), ["plays"]) is not None
    assert values_in(mapping_of(Looking), ITEM, ["artist"]) == ("a of t",)


@pytest.mark.parametrize(
    "more",
    [{}, {"n": {"N": "7"}}, {"count": {"N": "8"}}, {"GSI1PK": {"S": "LABEL#l"}}, {"tags": {"SS": ["x"]}}],
)
def test_the_values_are_those_of_the_loaded_entity(more: dict[str, Any]) -> None:
    mapping, item = mapping_of(Song), {**ITEM, **more}
    names = [*mapping.fields]
    loaded = mapping.loader.hydrate(item)
    assert values_in(mapping, item, names) == tuple(getattr(loaded, name) for name in names)
