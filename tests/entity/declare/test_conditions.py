"""The conditions of a class: translated when it is declared, or refused with the reason."""

from typing import Annotated, Any

from dynaorm import Aggregate, Entity, F, GlobalIndex, Index, InKey, Table, Unique
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.item.condition import Attr, Compare, Missing, Or
from tests.entity.declare.refusals import Refusal, Refusals

refused: Refusals[[]] = Refusals("Thing")


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


@refused(
    "when= of Thing.one: Thing.state = 5: is an int, not a str; give the field a value that its declaration allows"
)
def a_value_of_another_type() -> None:
    class Thing(Entity, table=app(), pk="THING#{name}", sk="T"):
        name: str
        state: str = ""
        one = Index("GSI1", pk="A", sk="{name}", when=F.state == 5)


@refused(
    "when= of the unique constraint 'size': Thing has no field 'siez' that can be used here; did you mean 'size'?"
)
def a_field_that_is_none() -> None:
    class Thing(Entity, table=app(), pk="THING#{name}", sk="T"):
        name: str
        size: Annotated[int, Unique(when=F.siez > 1)] = 0


@refused(
    "when= of Thing.one: F.is_on is neither a condition nor a function; write a condition, such as "
    'F.status == "open", or a function of the entity'
)
def a_field_in_place_of_a_condition() -> None:
    class Thing(Entity, table=app(), pk="THING#{name}", sk="T"):
        name: str
        is_on: bool = False
        one = Index("GSI1", pk="A", sk="{name}", when=F.is_on)  # type: ignore[arg-type]  # the mistake


@refused(
    "one: when= cannot keep an item out of 'ByState', whose keys are fields of the class; give the index a key "
    "attribute of its own"
)
def an_index_keyed_by_fields() -> None:
    class Thing(Entity, table=app(), pk="THING#{name}", sk="T"):
        name: str
        state: str = ""
        one = Index("ByState", when=F.state == "a")


@refused(
    "third: the class is in index 'GSI1' by one, too, and an item has one place in an index; give third a condition "
    "(when=), or drop it"
)
def a_place_beside_another_without_a_condition() -> None:
    class Thing(Entity, table=app(), pk="THING#{name}", sk="T"):
        name: str
        state: str = ""
        one = Index("GSI1", pk="A", sk="{name}", when=F.state == "a")
        third = Index("GSI1", pk="C", sk="{name}")


@refused(
    "hidden: InKey(), but the field cannot be read back exactly from any key of the class; write {hidden} without a "
    "spec in pk= or sk=, or store the field"
)
def a_field_that_only_a_conditional_place_has() -> None:
    class Thing(Entity, table=app(), pk="THING#{name}", sk="T"):
        name: str
        state: str
        hidden: Annotated[str, InKey()]
        one = Index("GSI1", pk="A", sk="{hidden}", when=F.state == "a")


@refused(
    "when= of Thing.one: Thing.name lives in the key alone; a condition or change can only name fields stored as "
    "attributes"
)
def a_condition_on_a_field_in_the_key() -> None:
    class Thing(Entity, table=app(), pk="THING#{name}", sk="T"):
        name: Annotated[str, InKey()]
        state: str
        one = Index("GSI1", pk="A", sk="{state}", when=F.name == "a")


@refused(
    "in_group: Group.members decides about Group.crowded, which an increment would not ask again; let its when= look "
    "at other fields"
)
def a_condition_on_a_total() -> None:
    table = app()

    class Group(Entity, table=table, pk="GROUP#{group}", sk="G"):
        group: str
        members: int = 0
        crowded = Index("GSI1", pk="CROWDED", sk="{group}", when=F.members > 100)

    class Thing(Entity, table=table, pk="GROUP#{group}", sk="USER#{user}"):
        group: str
        user: str
        in_group = Aggregate(Group, count="members")


@refused.each
def test_a_wrong_condition_is_refused(case: Refusal[[]]) -> None:
    case.check()
