"""Which classes may share a table, and classes that are declared again."""

from datetime import datetime
from typing import Annotated

import pytest

from dynaorm import (
    Attribute,
    BinaryKey,
    Entity,
    ExpiresAt,
    Key,
    Table,
    Unique,
    detached,
)
from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.mapping.derive import claims
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import DeclarationError, InvalidValue


def test_classes_whose_keys_cannot_meet_share_a_table() -> None:
    app = Table("app")

    class Device(Entity, table=app, pk="DEVICE#{device}", sk="#"):
        device: str

    class Reading(Entity, table=app, pk="DEVICE#{device}", sk="READING#{at}"):
        device: str
        at: datetime

    class Audit(Entity, table=app, pk="DEVICE#{device}", sk="Audit", versioned=True):
        device: str

    assert {name: mapping.entity for name, mapping in catalog_of(app).mappings.items()} == {
        "Device": Device,
        "Reading": Reading,
        "Audit": Audit,
    }


def test_two_classes_share_a_constraint_if_both_say_so() -> None:
    app = Table("app")

    class Person(Entity, table=app, pk="PERSON#{slug}", sk="A"):
        slug: str
        email: Annotated[str, Unique(shared=True)]

    class Team(Entity, table=app, pk="TEAM#{slug}", sk="A"):
        slug: str
        email: Annotated[str, Unique(shared=True)]

    keys = {claims(one, one.subject({}, {"email": "x@y"}))[0][1] for one in map(mapping_of, (Person, Team))}
    assert [*map(tuple, keys)] == [("email#x@y", "email#x@y")]


def test_guards_in_a_table_of_their_own_cannot_meet_the_keys_of_the_class() -> None:
    class Ticket(
        Entity, table=Table("app", guard_table=Table("guards")), pk="email#{slug}", sk="email#{slug}"
    ):
        slug: str
        email: Annotated[str, Unique()]

    assert mapping_of(Ticket).constraints.keys() == {"email"}


def test_two_classes_expire_by_one_attribute_whatever_their_fields_are_called() -> None:
    app = Table("app")

    class Lock(Entity, table=app, pk="LOCK#{slug}", sk="A"):
        slug: str
        until: Annotated[datetime, ExpiresAt()]

    class Lease(Entity, table=app, pk="LEASE#{slug}", sk="A"):
        slug: str
        ends: Annotated[datetime, ExpiresAt(), Attribute("until")]

    assert app.ttl_attribute == "until"


def declare_person(app: Table, literal: str, unique: str) -> type[Entity]:
    class Person(Entity, table=app, pk=literal + "#{slug}", sk="A", unique={unique: ("slug",)}):
        slug: str

    return Person


def test_a_class_statement_that_runs_again_replaces_what_it_declared_before() -> None:
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


def test_a_base_that_is_declared_again_takes_its_old_subclasses_with_it() -> None:
    app = Table("app")
    for attribute in ("until", "ends"):

        class Lock(Entity, table=app, pk="LOCK#{slug}", sk="A"):
            slug: str
            until: Annotated[datetime, ExpiresAt(), Attribute(attribute)]

        assert (list(catalog_of(app).mappings), app.ttl_attribute) == (["Lock"], attribute)

        class Lease(Lock):
            pass

        assert list(catalog_of(app).mappings) == ["Lock", "Lease"]


def test_a_function_that_makes_classes_of_different_names_makes_different_classes() -> None:
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


def test_a_bare_key_that_reads_like_a_guard_item_is_refused_value_by_value() -> None:
    app = Table("app", sk=None)

    class Person(Entity, table=app, pk="{name}"):
        name: str
        email: Annotated[str, Unique()]

    assert Key(Person, name="email").primary_key == {"PK": {"S": "email"}}
    with pytest.raises(InvalidValue) as caught:
        Key(Person, name="email#bobby")
    assert str(caught.value) == (
        "Person.name = 'email#bobby': would be the key of a guard item of 'email'; "
        "use a template with literal text, or {name:raw}"
    )


def test_a_bare_key_that_reads_like_a_version_is_refused_beside_a_versioned_class() -> None:
    app = Table("app")

    class Audit(Entity, table=app, pk="AUDIT#{slug}", sk="Audit", versioned=True):
        slug: str

    class Note(Entity, table=app, pk="NOTE#{slug}", sk="{title}"):
        slug: str
        title: str

    for harmless in ("v", "v1", "version_1", "xv1_"):
        assert Key(Note, slug="a", title=harmless).primary_key["SK"] == {"S": harmless}
    for title in ("v1_", "v0_Audit", "v12_x"):
        with pytest.raises(InvalidValue, match="would be the key of a version of Audit; use a template with"):
            Key(Note, slug="a", title=title)


def test_raw_opts_a_bare_key_out_of_reserved_values_even_under_an_attribute_of_its_own() -> None:
    app = Table("app", pk="Name", sk=None)

    class Person(Entity, table=app, pk="{name:raw}"):
        name: Annotated[str, Attribute("Name")]
        email: Annotated[str, Unique()]

    person = Person(name="email#bobby", email="x")
    assert mapping_of(Person).primary_key(vars(detached(person))) == {"Name": {"S": "email#bobby"}}


def test_a_binary_key_meets_no_guard_item() -> None:
    class Blob(
        Entity, table=Table("app", pk=BinaryKey("PK"), sk=None, guard_table=Table("guards")), pk="{digest}"
    ):
        digest: bytes
        label: Annotated[str, Unique()]

    assert Key(Blob, digest=b"label#x").primary_key == {"PK": {"B": b"label#x"}}


def test_two_classes_with_the_same_bare_keys_may_derive_from_one_class() -> None:
    table = Table("one-base")

    class Base(Entity, table=table, pk="{name}", sk="{part}"):
        name: str
        part: str

    class One(Base):
        size: int

    class Other(Base):
        text: str

    assert mapping_of(One).table is mapping_of(Other).table is table
