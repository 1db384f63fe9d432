"""The strategy draws entities that can all be saved, from the declaration alone."""

import subprocess
import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, NaiveDatetime

from dynaorm import Aggregate, Entity, ExpiresAt, Table, Unique, entity_of, item_of
from dynaorm.description import samples
from dynaorm.errors import UnknownField, UsageError
from dynaorm.testing import entities, factory
from tests.description.test_factory import Coded, Shelf, Thing

app = Table("app")


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Group(Entity, table=app, pk="GROUP#{name}", sk="G"):
    name: str
    members: int = 0


class Member(Entity, table=app, pk="GROUP#{group}", sk="MEMBER#{name}"):
    group: str
    name: str
    badge: Annotated[int, Unique()]
    hours: Annotated[int, Field(ge=1, le=4)] = 1
    in_group = Aggregate(Group, count="members", key={"name": "group"})


class Login(Entity, table=app, pk="LOGIN#{name}", sk="L"):
    name: str
    until: Annotated[datetime | None, ExpiresAt()] = None


@given(things=st.lists(entities(Thing), max_size=4))
def test_what_is_drawn_is_stored_and_loaded(things: list[Thing]) -> None:
    for thing in things:
        assert entity_of(item_of(thing), Thing) == thing
    emails = [thing.email.casefold() for thing in things if thing.email is not None]
    assert len(emails) == len(set(emails))
    assert len({(thing.name, thing.number) for thing in things}) == len(things)


@given(member=entities(Member), other=entities(Member), group=entities(Group), login=entities(Login))
def test_unique_values_differ_within_an_example(
    member: Member, other: Member, group: Group, login: Login
) -> None:
    assert member.badge != other.badge
    assert (member.group, member.name) != (other.group, other.name)
    assert (group.members, login.until) == (0, None)


@given(shelf=entities(Shelf))
def test_what_is_drawn_has_not_expired(shelf: Shelf) -> None:
    assert shelf.until is not None
    assert shelf.until >= datetime(2100, 1, 1, tzinfo=UTC)


@given(one=entities(Coded, code=st.sampled_from(["A1", "A2"]), ssn="1"))
def test_fields_can_be_given_as_strategies_or_values(one: Coded) -> None:
    assert one.code in ("A1", "A2")
    assert one.ssn.get_secret_value() == "1"


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(UnknownField, match="did you mean 'badge'"):
        entities(Member, bage=1)


def test_hypothesis_is_imported_when_a_strategy_is_made() -> None:
    program = "import sys, dynaorm.testing\ndynaorm.testing.entities\nprint('hypothesis' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"


class Hours(Entity, table=Table("drawn-hours"), pk="HOURS#{shop}", sk="{opens}"):
    shop: str
    opens: NaiveDatetime
    changed: AwareDatetime


@given(hours=entities(Hours))
def test_a_wall_time_is_drawn_without_a_zone_and_an_instant_with_one(hours: Hours) -> None:
    assert (hours.opens.tzinfo, hours.changed.tzinfo) == (None, UTC)
    assert item_of(hours)["opens"] == {"S": hours.opens.isoformat("T", "microseconds")}


class Ruled(BaseModel):
    """A strict record with types that are made of others."""

    model_config = ConfigDict(strict=True)

    tags: set[str]
    pair: tuple[int, str]
    on: date


class Strict(Entity, table=app, pk="STRICT#{name}", sk="S"):
    """Takes no list for a set, and no text for a number."""

    model_config = ConfigDict(strict=True)

    name: str
    tags: frozenset[str]
    sizes: tuple[int, ...]
    colour: Colour
    rules: list[Ruled]
    amount: Decimal = Decimal(1)


@given(one=entities(Strict))
def test_a_strict_class_is_drawn_as_any_other(one: Strict) -> None:
    assert entity_of(item_of(one), Strict) == one
    assert type(one.tags) is frozenset
    assert factory(Strict)().name == "name-1"


@given(st.data())
def test_a_strict_class_takes_no_other_value_of_the_caller(data: st.DataObject) -> None:
    with pytest.raises(
        UsageError, match=r"sizes: .*; give sizes what the field allows, or a strategy of that"
    ):
        data.draw(entities(Strict, sizes=[1]))
    with pytest.raises(UsageError, match=r"sizes: .*; give sizes what the field allows$"):
        factory(Strict, sizes=[1])()


@given(st.data(), st.sampled_from([{"hours": 5}, {"hours": "x"}, {"name": None}, {"badge": [1]}]))
def test_a_value_that_breaks_a_bound_is_named(data: st.DataObject, values: dict[str, Any]) -> None:
    (name,) = values
    with pytest.raises(UsageError, match=f"entities.Member. cannot draw one: {name}: .*; give {name} what"):
        data.draw(entities(Member, **values))
    with pytest.raises(UsageError, match=f"factory.Member. cannot build one: {name}: .*; give {name} what"):
        factory(Member, **values)()


@pytest.mark.parametrize("function", [lambda: 1, divmod], ids=["none", "two"])
def test_a_function_that_does_not_take_the_number_is_refused(function: Any) -> None:
    with pytest.raises(UsageError, match=r"does not take 1 argument .*; give a function that takes 1$"):
        factory(Member, hours=function)()


class Far(Entity, table=app, pk="FAR#{name}", sk="F"):
    name: str
    above: Annotated[int, Field(ge=10**20)]
    below: Annotated[int, Field(lt=-(10**20))]


@given(one=entities(Far))
def test_a_bound_far_from_zero_needs_no_other(one: Far) -> None:
    assert one.above >= 10**20
    assert one.below < -(10**20)


def test_a_model_that_is_no_entity_class_is_refused() -> None:
    for make in (factory, entities):
        with pytest.raises(UsageError, match="BaseModel is not an entity class"):
            make(BaseModel)


told = Table("drawn-types", type_attribute="type")


class Entry(Entity, table=told, name=None, pk="ENTRY#{id}", sk="E"):
    id: str
    type: str


class Taken(Entity, table=told, name="type-1", formerly=("0", "a", "type-4"), pk="TAKEN#{id}", sk="T"):
    """Its names are those that are drawn or counted first."""

    id: str


class Lent(Entry):
    type: Literal["type-2", ""] = "type-2"  # type: ignore[mutable-override]  # pydantic validates it


@given(one=entities(Entry) | entities(Entry, type=st.sampled_from(["a", "0", "type-2", "free"])))
def test_a_type_that_another_class_declares_is_never_drawn(one: Entry) -> None:
    assert isinstance(one, Lent) or one.type not in told.rules.types
    assert entity_of(item_of(one), told) == one


def test_a_type_that_another_class_declares_is_never_counted_up_to() -> None:
    make = factory(Entry)
    assert [make().type for _ in range(3)] == ["type-3", "type-3", "type-3"]
    found = [entry.item["type"]["S"] for entry in samples(told) if entry.cls is Entry]
    assert found
    assert told.rules.types.keys().isdisjoint(found)
