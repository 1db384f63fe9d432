"""Which classes may share a table, and classes that are declared again."""

from datetime import datetime
from typing import Annotated

import pytest

from dynaorm import (
    Aggregate,
    Attribute,
    Entity,
    ExpiresAt,
    Table,
)
from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.errors import DeclarationError


def declare_person(app: Table, literal: str, unique: str) -> type[Entity]:
    class Person(Entity, table=app, pk=literal + "#{slug}", sk="A", unique={unique: ("slug",)}):
        slug: str

    return Person


def test_a_class_statement_run_again_replaces_the_class() -> None:
    app = Table("app")
    declare_person(app, "PERSON", "handle")
    again = declare_person(app, "HUMAN", "nickname")
    assert [mapping.entity for mapping in catalog_of(app).mappings.values()] == [again]
    assert [begins.pattern for _, begins, _ in app.rules.reserved] == [
        "#token#",
        "nickname\\#",
        "nickname\\#",
    ]

    class Team(Entity, table=app, pk="PERSON#{slug}", sk="A", unique={"handle": ("slug",)}):
        slug: str

    assert catalog_of(app).mappings.keys() == {"Person", "Team"}


def test_a_base_declared_again_takes_its_old_subclasses_with_it() -> None:
    app = Table("app")
    for attribute in ("until", "ends"):

        class Lock(Entity, table=app, pk="LOCK#{slug}", sk="A"):
            slug: str
            until: Annotated[datetime, ExpiresAt(), Attribute(attribute)]

        assert (list(catalog_of(app).mappings), app.ttl_attribute) == (["Lock"], attribute)

        class Lease(Lock):
            pass

        assert list(catalog_of(app).mappings) == ["Lock", "Lease"]


def test_classes_of_different_names_are_different_classes() -> None:
    app = Table("app", type_attribute=None)

    def declare(kind: str, literal: str) -> None:
        class Item(Entity, table=app, name=kind, pk=literal + "#{slug}", sk="A"):
            slug: str

    declare("Apple", "APPLE")
    declare("Pear", "PEAR")
    assert list(catalog_of(app).mappings) == ["Apple", "Pear"]
    with pytest.raises(DeclarationError, match="could meet those of Item \\(APPLE#\\{slug\\}, A\\)"):
        declare("Plum", "APPLE")


def test_two_tables_of_one_name_know_nothing_of_each_other() -> None:
    for app in (Table("app"), Table("app")):
        declare_person(app, "PERSON", "handle")
        assert list(catalog_of(app).mappings) == ["Person"]


@pytest.mark.parametrize("again", [True, False])
def test_a_class_declared_again_replaces_what_was_kept(again: bool) -> None:
    table = Table("app")

    class Group(Entity, table=table, pk="GROUP#{group_id}", sk="INFO"):
        group_id: str
        members: int = 0

    def declared(aggregate: Aggregate | None) -> type[Entity]:
        class Membership(Entity, table=table, pk="GROUP#{group_id}", sk="USER#{user_id}"):
            group_id: str
            user_id: str
            if aggregate is not None:
                in_group = aggregate

        return Membership

    declared(Aggregate(Group, count="members"))
    declared(Aggregate(Group, count="members") if again else None)
    assert bool(table.rules.maintained) is table.rules.is_counted is bool(catalog_of(table).counted) is again
