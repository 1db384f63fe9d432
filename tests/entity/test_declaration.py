"""Declarations in a class body are not fields; subclasses inherit and replace them."""

from typing import ClassVar

from dynaorm import Aggregate, Entity, GlobalIndex, Index, Table
from dynaorm.entity.declaration import declarations_of

app = Table("app", indexes=[GlobalIndex("GSI1"), GlobalIndex("GSI2"), GlobalIndex("GSI3")])


class Group(Entity, table=app, pk="GROUP#{name}", sk="G"):
    name: str
    tickets: int = 0


class Ticket(Entity, table=app, pk="TICKET#{slug}", sk="A"):
    slug: str
    first = Index("GSI1", pk="A", sk="{slug}")
    second: ClassVar = Index("GSI2", pk="A", sk="{slug}")
    counted: ClassVar[Aggregate] = Aggregate(Group, count="tickets", key={"name": "slug"})


class Bug(Ticket):
    third: ClassVar[Index] = Index("GSI3", pk="A", sk="{slug}")
    first = Index("GSI1", pk="B", sk="{slug}")


def test_a_subclass_inherits_declarations_and_replaces_those_it_repeats() -> None:
    assert [(name, one.pk_text) for name, one in declarations_of(Bug, Index)] == [
        ("third", "A"),
        ("first", "B"),
        ("second", "A"),
    ]
    assert [(name, one.count) for name, one in declarations_of(Bug, Aggregate)] == [("counted", "tickets")]
