"""The owner of a unique value, whatever its table and its key attributes are called."""

from typing import Annotated, Any

import pytest

from dynaorm import Entity, Key, NumberKey, Session, Table, Unique, tools
from dynaorm.description import classify
from dynaorm.entity.internal_items import is_in, key_in, owner_in, owner_of
from dynaorm.errors import UniqueViolation
from dynaorm.flow.integrity.finding import FindingKind
from dynaorm.item.value import Item
from dynaorm.testing import FaultyTransport
from tests.cast.seen import put

values = Table("values-of-owners", type_attribute=None)
people = Table("people-with-values", guard_table=values)
firms = Table("firms-with-values", pk="firm", sk=None, guard_table=values)
untyped = Table("owners-without-type", type_attribute=None)
named = Table("owner-in-table", pk="table", sk="SK")


class Person(Entity, table=people, pk="P#{name}", sk="P"):
    name: str
    mail: Annotated[str, Unique(shared=True)]


class Firm(Entity, table=firms, pk="P#{name}"):
    name: str
    mail: Annotated[str, Unique(shared=True)]


class Guest(Entity, table=untyped, pk="GUEST#{name}", sk="G", versioned=True):
    name: str
    mail: Annotated[str, Unique(shared=True)]


class Host(Entity, table=untyped, pk="HOST#{name}", sk="H"):
    name: str
    mail: Annotated[str, Unique(shared=True)]


class Seat(Entity, table=named, pk="SEAT#{number}", sk="S"):
    number: int
    guest: Annotated[str, Unique()]


def refused(session: Session, entity: Any) -> Any:
    with pytest.raises(UniqueViolation) as caught:
        session.save(entity)
    (violation,) = caught.value.violations
    return violation.owner


def test_a_value_held_in_another_table_names_its_owner(session: Session) -> None:
    session.save_many([Person(name="a", mail="person"), Firm(name="a", mail="firm")])
    assert session.get_by(Person, mail="firm") is None
    assert session.get_by(Firm, mail="person") is None
    assert refused(session, Person(name="b", mail="firm")) == Key(Firm, name="a")
    assert refused(session, Firm(name="b", mail="person")) == Key(Person, name="a")


def test_a_value_of_another_class_is_not_found_in_untyped_items(
    session: Session, wire: FaultyTransport
) -> None:
    session.save_many([Guest(name="a", mail="guest"), Host(name="a", mail="host")])
    wire.calls.clear()
    assert session.get_by(Guest, mail="host") is None
    assert session.get_by(Host, mail="guest") is None
    # The key of the owner says its class.
    assert [call.operation for call in wire.calls] == ["GetItem", "GetItem"]
    assert session.get_by(Guest, mail="guest") == Guest(name="a", mail="guest")
    assert refused(session, Host(name="b", mail="guest")) == Key(Guest, name="a")


def test_a_key_attribute_called_table_is_part_of_the_owner(session: Session) -> None:
    session.save(Seat(number=1, guest="x"))
    assert refused(session, Seat(number=2, guest="x")) == Key(Seat, number=1)
    guard: Item = {
        **{name: {"S": "guest#x"} for name in named.key_names},
        "owner": {"M": {"table": {"S": "SEAT#1"}, "SK": {"S": "S"}}},
    }
    found = classify(guard, named)
    assert (found.kind, found.cls, found.owner) == ("guard", Seat, guard["owner"]["M"])
    assert list(tools.verify(session, named)) == []


def test_an_owner_with_an_empty_key_is_not_asked_for(session: Session, wire: FaultyTransport) -> None:
    guard = {"PK": {"S": "mail#x"}, "SK": {"S": "mail#x"}}
    put(wire, {**guard, "owner": {"M": {"table": {"S": firms.name}, "firm": {"S": ""}}}}, values)
    wire.calls.clear()
    (finding,) = tools.verify(session, firms, people)
    assert finding.kind is FindingKind.ORPHAN_GUARD
    # DynamoDB would refuse the whole request.
    assert repr({"S": ""}) not in repr([call.request for call in wire.calls])


OWNERS: list[tuple[Table, Item]] = [
    (people, {"PK": {"S": "a"}, "SK": {"S": "b"}}),
    (firms, {"firm": {"S": "a"}}),
    (named, {"table": {"S": named.name}, "SK": {"S": "b"}}),
    (named, {"table": {"S": people.name}, "SK": {"S": "b"}}),
    (Table("numbered", pk=NumberKey("id"), sk=None), {"id": {"N": "0"}}),
]


@pytest.mark.parametrize(("table", "key"), OWNERS)
def test_an_owner_is_read_in_its_own_table_alone(table: Table, key: Item) -> None:
    owner = owner_in({"owner": owner_of(table, key)})
    assert is_in(owner, table)
    assert key_in(owner, table) == key
    others = [one for one, _ in OWNERS if one is not table and one.guards is table.guards]
    assert [key_in(owner, one) for one in others] == [None] * len(others)


@pytest.mark.parametrize("guard", [{}, {"owner": {"S": "x"}}, {"owner": {"M": {}}}])
def test_what_names_no_owner_has_no_key_in_any_table(guard: Item) -> None:
    assert [key_in(owner_in(guard), table) for table, _ in OWNERS] == [None] * len(OWNERS)
