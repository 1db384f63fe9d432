"""The keywords of a class statement: their values, and what subclasses inherit."""

from typing import Any

import pytest

from dynaorm import Entity, Table
from dynaorm.entity.declare.options import declared_options
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import UsageError

KEYS = {"pk": "TICKET#{slug}", "sk": "A"}


def declare(**keywords: Any) -> type[Entity]:
    class Ticket(Entity, **keywords):
        slug: str

    return Ticket


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
