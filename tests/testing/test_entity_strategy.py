"""The strategy draws entities that can all be saved, from the declaration alone."""

import subprocess
import sys
from datetime import UTC, datetime
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AwareDatetime, Field, NaiveDatetime

from dynaorm import Aggregate, Entity, ExpiresAt, Table, Unique, entity_of, item_of
from dynaorm.errors import UnknownField
from dynaorm.testing import entities
from tests.describe.test_factory import Coded, Shelf, Thing

app = Table("app")


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
