"""The places of a class in the indexes of its table."""

from dynaorm import Entity, F, GlobalIndex, Index, Table
from dynaorm.entity.mapping.mapping import mapping_of

app = Table("spots", indexes=[GlobalIndex("GSI1"), GlobalIndex("GSI2")])
linked = Table(
    "linked",
    indexes=[
        GlobalIndex("GSI1", pk="A", sk="B"),
        GlobalIndex("GSI2", pk="C", sk="D"),
        GlobalIndex("GSI3", pk="C", sk="B"),
        GlobalIndex("GSI4", pk="E", sk="SK"),
        GlobalIndex("GSI5", pk="own", sk="SK"),
    ],
)


class Thing(Entity, table=app, pk="THING#{name}", sk="T"):
    name: str
    state: str | None = None
    rank: int = 0
    first = Index("GSI1", pk="FIRST", sk="{rank:03d}", when=F.state == "a")
    second = Index("GSI1", pk="SECOND", sk="{state}#{name}", when=F.state != "a")
    plain = Index("GSI2", pk="PLAIN", sk="{state}")


class Linked(Entity, table=linked, pk="LINKED#{name}", sk="{name}"):
    name: str
    a: str | None = None
    b: str | None = None
    c: str | None = None
    d: str | None = None
    e: str | None = None
    own: str = "own"
    first = Index("GSI1", pk="{a}", sk="{b}")
    second = Index("GSI2", pk="{c}", sk="{d}")
    third = Index("GSI3", pk="{c}", sk="{b}")
    fourth = Index("GSI4", pk="{e}")
    fifth = Index("GSI5", pk="{own}")


def test_places_in_one_index_are_together_and_plain_ones_come_first() -> None:
    found = mapping_of(Thing).places
    assert [*found] == ["GSI2", "GSI1"]
    assert [one.attribute_name for one in found["GSI1"].places] == ["first", "second"]
    assert (found["GSI2"].is_plain, found["GSI1"].is_plain) == (True, False)
    assert sorted(found["GSI1"].fields) == ["name", "rank", "state"]
    assert found["GSI1"].made_up == ("GSI1PK", "GSI1SK")


def test_an_attribute_that_is_made_for_keys_alone_belongs_to_no_field() -> None:
    assert mapping_of(Thing).made_up == {"GSI1PK", "GSI1SK", "GSI2PK", "GSI2SK"}
    assert mapping_of(Linked).made_up == {"A", "B", "C", "D", "E"}


def test_a_key_that_cannot_be_is_no_problem_where_the_condition_does_not_hold() -> None:
    mapping = mapping_of(Thing)
    values = mapping.subject(mapping.encode({"name": "x", "state": "b", "rank": -1}))
    assert mapping.indexes["first"].keys_in(values) is None
    assert mapping.indexes["second"].keys_in(values) == {
        "GSI1PK": {"S": "SECOND"},
        "GSI1SK": {"S": "b#x"},
    }


def test_the_keys_of_indexes_that_share_attributes_depend_on_the_fields_of_all() -> None:
    found = {name: "".join(sorted(one.depends_on)) for name, one in mapping_of(Linked).places.items()}
    assert found == {"GSI1": "abcd", "GSI2": "abcd", "GSI3": "abcd", "GSI4": "ename", "GSI5": "nameown"}
