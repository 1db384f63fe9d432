"""Aggregates as both of their classes know them once they are declared."""

from decimal import Decimal
from typing import ClassVar

import pytest

from dynaorm import Aggregate, Entity, Table
from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.mapping.aggregate import AggregateMapping
from dynaorm.entity.mapping.mapping import mapping_of


def group_of(table: Table) -> type[Entity]:
    class Group(Entity, table=table, pk="GROUP#{group_id}", sk="INFO"):
        group_id: str
        members: int = 0
        hours: Decimal = Decimal(0)

    return Group


def test_pydantic_takes_an_aggregate_for_no_field_annotated_or_not() -> None:
    table = Table("app")
    group = group_of(table)

    class Membership(Entity, table=table, pk="GROUP#{group_id}", sk="USER#{user_id}"):
        group_id: str
        user_id: str
        hours: int = 0
        counted = Aggregate(group, count="members")
        summed: ClassVar[Aggregate] = Aggregate(group, sum={"hours": "hours"})

    assert list(Membership.model_fields) == ["group_id", "user_id", "hours"]
    assert Membership(group_id="g", user_id="u").model_dump() == {
        "group_id": "g",
        "user_id": "u",
        "hours": 0,
    }
    assert Membership.counted is Membership(group_id="g", user_id="u").counted
    assert repr(Membership.counted) == "Aggregate(Group, count='members')"
    assert repr(Membership.summed) == "Aggregate(Group, sum={'hours': 'hours'})"
    assert Membership.summed.attribute_name == "summed"


def test_a_mapping_says_what_is_kept_where_and_what_it_depends_on() -> None:
    table = Table("app")
    group = group_of(table)

    class Membership(Entity, table=table, pk="GROUP#{team}", sk="USER#{user_id}"):
        team: str | None
        user_id: str
        hours: int | None = None
        note: str = ""
        in_group = Aggregate(group, count="members", sum={"hours": "hours"}, key={"group_id": "team"})

    (found,) = mapping_of(Membership).aggregates.values()
    assert found == AggregateMapping(
        "in_group",
        group,
        {"group_id": "team"},
        "members",
        {"hours": "hours"},
        None,
        stored=frozenset({"team"}),
    )
    assert found.fields == {"team", "hours"}
    assert found.maintained == ("members", "hours")
    assert "hours" in found.depends_on
    assert "note" not in found.depends_on
    assert mapping_of(Membership).derived_fields == {"team", "user_id", "hours"}
    assert mapping_of(group).maintained == {"members": "Membership.in_group", "hours": "Membership.in_group"}
    assert mapping_of(Membership).maintained == {}
    assert table.rules.is_counted


def test_subclasses_inherit_an_aggregate_on_both_sides() -> None:
    table = Table("app")

    class Group(Entity, table=table, pk="GROUP#{group_id}", sk="INFO"):
        group_id: str
        members: int = 0

    class Membership(Entity, table=table, pk="GROUP#{group_id}", sk="USER#{user_id}"):
        group_id: str
        user_id: str
        in_group = Aggregate(Group, count="members")

    class Club(Group):
        """A group declared after what is counted in it."""

    class Honorary(Membership):
        """A membership that counts as any other."""

    assert mapping_of(Club).maintained == {"members": "Membership.in_group"}
    assert mapping_of(Honorary).aggregates == mapping_of(Membership).aggregates


@pytest.mark.parametrize("again", [True, False])
def test_a_class_declared_again_takes_the_place_of_what_it_kept_before(again: bool) -> None:
    table = Table("app")
    group = group_of(table)

    def declared(aggregate: Aggregate | None) -> type[Entity]:
        class Membership(Entity, table=table, pk="GROUP#{group_id}", sk="USER#{user_id}"):
            group_id: str
            user_id: str
            if aggregate is not None:
                in_group = aggregate

        return Membership

    declared(Aggregate(group, count="members"))
    declared(Aggregate(group, count="members") if again else None)
    assert bool(table.rules.maintained) is table.rules.is_counted is bool(catalog_of(table).counted) is again
