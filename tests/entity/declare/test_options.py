"""The keywords of a class statement: their values, and what subclasses inherit."""

from typing import Any

import pytest

from dynaorm import Entity, Table
from dynaorm.entity.declare.options import declared_options
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import DeclarationError, UsageError

KEYS = {"pk": "TICKET#{slug}", "sk": "A"}


def declare(**keywords: Any) -> type[Entity]:
    class Ticket(Entity, **keywords):
        slug: str

    return Ticket


@pytest.mark.parametrize(
    ("keywords", "problems"),
    [
        ({"pkk": "x"}, ["unknown keyword pkk=; did you mean pk=?"]),
        ({"extr": "forbid"}, ["unknown keyword extr=; did you mean extra=?"]),
        (
            {"colour": 1},
            [
                (
                    "unknown keyword colour=; "
                    "the keywords are table, pk, sk, name, formerly, unique, versioned, version_padding"
                )
            ],
        ),
        ({"table": "app"}, ["table='app' is not a Table; write table=Table('app')"]),
        ({"table": None}, ["pk=, sk= without a table; add table=..."]),
        ({"name": ""}, ["name='' is not the name of an entity; write name=\"...\""]),
        ({"name": 5}, ['name=5 is not the name of an entity; write name="..."']),
        (
            {"sk": ("A", "B"), "versioned": "v_{version}"},
            ["sk=('A', 'B') is not a key template; write sk=\"...\""],
        ),
        (
            {"unique": ["slug"]},
            ['unique=[\'slug\'] is not a mapping; write unique={"name": ("field", "field")}'],
        ),
        (
            {"unique": {"pair": (), "other": 5}},
            [
                "unique={'pair': ()} names no fields; write unique={'pair': (\"field\", \"field\")}",
                "unique={'other': 5} names no fields; write unique={'other': (\"field\", \"field\")}",
            ],
        ),
        ({"versioned": 3}, ["versioned=3; write True, or a sort key template with {version}"]),
        ({"versioned": ""}, ["versioned=''; write True, or a sort key template with {version}"]),
        (
            {"versioned": True, "version_padding": -1},
            ["version_padding=-1; write a number of digits from 0 to 20"],
        ),
        (
            {"versioned": True, "version_padding": 21},
            ["version_padding=21; write a number of digits from 0 to 20"],
        ),
        (
            {"versioned": True, "version_padding": True},
            ["version_padding=True; write a number of digits from 0 to 20"],
        ),
        ({"version_padding": 4}, ["version_padding= in a class without versions; add versioned=True"]),
    ],
)
def test_a_wrong_keyword_is_refused(keywords: dict[str, Any], problems: list[str]) -> None:
    with pytest.raises(DeclarationError) as caught:
        declare(**{"table": Table("app"), **KEYS, **keywords})
    assert str(caught.value) == "\n  - ".join(["Cannot map class Ticket:", *problems])


@pytest.mark.parametrize("padding", [0, 1, 20])
def test_versions_are_padded_to_as_many_digits_as_are_asked_for(padding: int) -> None:
    ticket = declare(table=Table("app"), **KEYS, versioned=True, version_padding=padding)
    versioning = mapping_of(ticket).versioning
    assert versioning is not None
    assert versioning.template.rewrap("v0_A", 7) == f"v{7:0{padding}d}_A"


def test_a_class_with_keys_but_no_table_is_refused_instead_of_being_left_unmapped() -> None:
    with pytest.raises(DeclarationError, match="pk=, sk= without a table; add table="):
        declare(**KEYS)


def test_pydantics_keywords_are_pydantics() -> None:
    ticket = declare(table=Table("app"), **KEYS, frozen=True, str_to_upper=True)
    assert ticket.model_config == {"frozen": True, "str_to_upper": True}


def test_the_name_of_an_entity_is_its_class_s_unless_given() -> None:
    assert mapping_of(declare(table=Table("app"), **KEYS)).name == "Ticket"
    assert mapping_of(declare(table=Table("app"), **KEYS, name="ticket")).name == "ticket"


def test_a_constraint_of_one_field_may_be_given_without_a_tuple() -> None:
    ticket = declare(table=Table("app"), **KEYS, unique={"handle": "slug"})
    assert mapping_of(ticket).constraints["handle"].fields == ("slug",)


def test_a_base_without_table_only_lends_fields() -> None:
    class Named(Entity):
        slug: str

    class Ticket(Named, table=Table("app"), pk="TICKET#{slug}", sk="A"):
        pass

    assert mapping_of(Ticket).root is Ticket
    with pytest.raises(UsageError) as caught:
        mapping_of(Named)
    assert str(caught.value) == (
        "Named is not mapped to a table; "
        "declare class Named(Entity, table=..., pk=...), or use the class that has one"
    )


def test_a_subclass_shares_keys_and_constraints_and_has_a_name_of_its_own() -> None:
    class Ticket(Entity, table=Table("app"), pk="TICKET#{slug}", sk="A", unique={"handle": ("slug",)}):
        slug: str

    class Bug(Ticket, unique={"hash": ("code",)}):
        code: str

    mapping = mapping_of(Bug)
    assert (mapping.name, mapping.root, mapping.partition.text) == ("Bug", Ticket, "TICKET#{slug}")
    assert list(mapping.constraints) == ["handle", "hash"]
    assert list(mapping_of(Ticket).constraints) == ["handle"]


def test_a_subclass_may_repeat_its_base_s_table_and_key() -> None:
    app = Table("app")

    class Ticket(Entity, table=app, pk="TICKET#{slug}", sk="A"):
        slug: str

    class Bug(Ticket, table=app):
        pass

    class Wish(Ticket, pk="TICKET#{slug}"):
        pass

    assert [mapping_of(entity).root for entity in (Bug, Wish)] == [Ticket, Ticket]


def test_a_subclass_with_a_table_of_its_own_may_change_its_keys() -> None:
    class Ticket(Entity, table=Table("app"), pk="TICKET#{slug}", sk="A"):
        slug: str

    archive = Table("archive")

    class OldTicket(Ticket, table=archive, sk="B"):
        pass

    mapping = mapping_of(OldTicket)
    assert (mapping.table, mapping.root) == (archive, OldTicket)
    assert mapping.primary_key({"slug": "x"}) == {"PK": {"S": "TICKET#x"}, "SK": {"S": "B"}}


@pytest.mark.parametrize("keyword", ["pk", "sk", "versioned", "version_padding"])
def test_a_subclass_cannot_change_the_key_it_shares(keyword: str) -> None:
    class Ticket(Entity, table=Table("app"), pk="TICKET#{slug}", sk="A"):
        slug: str

    value: Any = {"pk": "{slug}", "sk": "B", "versioned": True, "version_padding": 3}[keyword]
    with pytest.raises(DeclarationError) as caught:
        type("Bug", (Ticket,), {"__module__": __name__}, **{keyword: value})
    assert (
        f"{keyword}= would change the key that Ticket declared and its subclasses share; "
        f"drop it, or give the class a table= of its own"
    ) in caught.value.problems


def test_a_subclass_without_table_is_a_plain_model_and_so_are_its_subclasses() -> None:
    class Ticket(Entity, table=Table("app"), pk="TICKET#{slug}", sk="A"):
        slug: str

    class TicketOut(Ticket, table=None):
        pass

    class TicketPage(TicketOut):
        pass

    assert TicketPage(slug="x").model_dump() == {"slug": "x"}
    for plain in (TicketOut, TicketPage):
        assert declared_options(plain).table is None
        with pytest.raises(UsageError, match=f"{plain.__name__} is not mapped to a table"):
            mapping_of(plain)


def test_a_class_is_mapped_whichever_of_its_bases_is_named_first() -> None:
    class Stamped(Entity):
        stamp: int = 0

    class Ticket(Entity, table=Table("app"), pk="TICKET#{slug}", sk="A"):
        slug: str

    class Bug(Stamped, Ticket):
        pass

    class Wish(Ticket, Stamped):
        pass

    assert [mapping_of(entity).root for entity in (Bug, Wish)] == [Ticket, Ticket]


def test_a_class_of_two_families_is_refused() -> None:
    app = Table("app")

    class Ticket(Entity, table=app, pk="TICKET#{slug}", sk="A"):
        slug: str

    class Person(Entity, table=app, pk="PERSON#{slug}", sk="A"):
        slug: str

    with pytest.raises(DeclarationError) as caught:

        class Both(Ticket, Person):
            pass

    assert str(caught.value) == (
        "Cannot map class Both:\n"
        "  - it derives from Ticket and Person, which have different keys; "
        "derive from one of them, or give the class a table= and keys of its own"
    )


def test_a_class_of_two_branches_of_one_family_has_the_constraints_of_both() -> None:
    class Ticket(Entity, table=Table("app"), pk="TICKET#{slug}", sk="A"):
        slug: str
        code: str = ""

    class Bug(Ticket, unique={"bug": ("code",)}):
        pass

    class Wish(Ticket, unique={"wish": ("code",)}):
        pass

    class Both(Bug, Wish):
        pass

    assert list(mapping_of(Both).constraints) == ["bug", "wish"]
