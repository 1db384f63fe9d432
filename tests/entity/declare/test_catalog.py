"""The catalog of a table: its classes, and the class of an item under a key."""

from typing import Annotated

from dynaorm import Aggregate, Entity, Table, Unique
from dynaorm.entity.declare.catalog import cached_per_table, catalog_of, stored_class
from dynaorm.entity.mapping.mapping import mapping_of

guards = Table("guards")
app = Table("app", guard_table=guards)
bare = Table("bare", type_attribute=None)


class Club(Entity, table=bare, pk="CLUB#{name}", sk="C"):
    name: str
    members: int = 0


class User(Entity, table=app, pk="USER#{name}", sk="U", unique={"email": "email"}):
    name: str
    email: str
    in_club = Aggregate(Club, count="members", key={"name": "email"})


class Admin(User):
    """A user with more rights."""


class Team(Entity, table=app, pk="TEAM#{name}", sk="T"):
    name: str


def test_a_table_lists_the_classes_with_items_guards_and_totals_in_it() -> None:
    mappings = [mapping_of(one) for one in (User, Admin, Team)]
    assert list(catalog_of(app).mappings.values()) == mappings
    assert list(catalog_of(app).guarded.values()) == []
    assert list(catalog_of(guards).guarded.values()) == mappings
    assert list(catalog_of(bare).counted.values()) == mappings[:2]
    assert dict(catalog_of(Table("empty")).mappings) == {}


def test_a_catalog_is_replaced_and_never_changed_when_a_class_joins() -> None:
    table = Table("growing")
    before, found = catalog_of(table), cached_per_table(table, lambda _: "an empty table")

    class Leaf(Entity, table=table, pk="{name}", sk="L"):
        name: str
        code: Annotated[str, Unique()]

    after = catalog_of(table)
    assert (dict(before.mappings), found) == ({}, "an empty table")
    assert (list(after.mappings), len(after.guarded), bool(after.reserved)) == (["Leaf"], 1, True)


def test_what_is_derived_from_a_catalog_is_built_once_until_a_class_joins() -> None:
    table = Table("derived")
    built: list[int] = []

    def build(one: Table) -> int:
        built.append(len(catalog_of(one).mappings))
        return built[-1]

    class Leaf(Entity, table=table, pk="LEAF#{name}", sk="L"):
        name: str

    assert [cached_per_table(table, build), cached_per_table(table, build), built] == [1, 1, [1]]

    class Twig(Entity, table=table, pk="TWIG#{name}", sk="L"):
        name: str

    assert [cached_per_table(table, build), built] == [2, [1, 2]]


def test_an_item_under_a_key_is_of_the_class_of_its_family_that_its_type_names() -> None:
    user = mapping_of(User)
    assert stored_class(user, {"_type": {"S": "Admin"}}) is mapping_of(Admin)
    assert stored_class(mapping_of(Admin), {"_type": {"S": "User"}}) is user
    assert stored_class(user, {}) is user
    for tag in ({"S": "Team"}, {"S": "gone"}, {"N": "1"}):
        assert stored_class(user, {"_type": tag}) is None
    assert stored_class(mapping_of(Club), {"_type": {"S": "Team"}}) is mapping_of(Club)
