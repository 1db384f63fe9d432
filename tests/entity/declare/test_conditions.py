"""The conditions of a class are translated when it is declared."""

from typing import Any

from dynaorm import Entity, F, GlobalIndex, Index, Table
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.item.condition import Attr, Compare, Missing, Or


def app() -> Table:
    return Table("app", indexes=[GlobalIndex("GSI1"), GlobalIndex("ByState", pk="state", sk="name")])


def test_a_condition_is_translated_to_stored_names_and_defaults() -> None:
    class Thing(Entity, table=app(), pk="THING#{name}", sk="T"):
        name: str
        state: str = "new"
        note: str = ""
        one = Index("GSI1", pk="A", sk="{note}", when=F.state == "new")

    place = mapping_of(Thing).indexes["one"]
    assert place.when is not None
    assert place.when.condition == Or((Missing(("state",)), Compare(Attr(("state",)), "=", {"S": "new"})))
    assert sorted(place.fields) == ["note", "state"]
    assert sorted(place.key_fields) == ["note"]


def test_a_subclass_judges_by_its_own_default() -> None:
    class Thing(Entity, table=app(), pk="THING#{name}", sk="T"):
        name: str
        state: str = "new"
        one = Index("GSI1", pk="A", sk="{name}", when=F.state == "new")

    class Old(Thing):
        state: str = "old"

    whens: list[Any] = [mapping_of(kind).indexes["one"].when for kind in (Thing, Old)]
    assert [type(when.condition) for when in whens] == [Or, Compare]
