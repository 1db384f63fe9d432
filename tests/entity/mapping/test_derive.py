"""Index keys and claims of an entity."""

from typing import Annotated

from dynaorm import Entity, F, GlobalIndex, Index, InKey, Table, Unique
from dynaorm.entity.mapping.derive import claims, index_keys
from dynaorm.entity.mapping.mapping import mapping_of

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
        item = mapping.primary_key(values) | mapping.encode(values)
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
    item = mapping.primary_key(values) | mapping.encode(values)
    item |= index_keys(mapping, mapping.subject(item, values))
    assert item["GSI1SK"] == {"S": "x"}
    assert mapping.hydrate(item).place == "here"
