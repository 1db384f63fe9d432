"""Bugs of other libraries with unique values that depend on other fields, on time, or on names."""

from datetime import UTC, datetime
from typing import Annotated

import pytest

from dynaorm import Entity, ExpiresAt, Key, Table, Unique
from dynaorm.errors import UniqueViolation
from dynaorm.testing.clock import FakeClock
from tests.story.engine import Engine

app = Table("App")


class User(Entity, table=app, pk="USER#{user_id}", sk="PROFILE"):
    user_id: str
    email: Annotated[str | None, Unique(normalize=str.casefold)] = None


class Member(Entity, table=app, pk="MEMBER#{member_id}", sk="MEMBER"):
    member_id: str
    account: str
    nick: Annotated[str, Unique(scope="account")]


class Subscriber(Entity, table=app, pk="SUBSCRIBER#{subscriber_id}", sk="SUBSCRIBER"):
    subscriber_id: str
    mail: Annotated[str, Unique(when=lambda subscriber: not subscriber.deleted)]
    deleted: bool = False


class Invitation(Entity, table=app, pk="INVITATION#{invitation_id}", sk="INVITATION"):
    invitation_id: str
    code: Annotated[str, Unique()]
    until: Annotated[datetime | None, ExpiresAt()] = None


def test_a_scoped_value_is_judged_with_the_stored_scope_where_the_call_does_not_name_it(
    engine: Engine,
) -> None:
    """Bug: an update without the scope guards the value under "undefined", and a duplicate is accepted."""
    engine.create(app)
    with engine.session() as session:
        session.save(Member(member_id="m1", account="acme", nick="liz"))
        session.save(Member(member_id="m2", account="acme", nick="sue"))
        session.save(Member(member_id="m3", account="other", nick="liz"))
        with pytest.raises(UniqueViolation) as refused:
            session.update(Key(Member, member_id="m2"), {"nick": "liz"})
        assert (refused.value.fields, refused.value.value) == (("account", "nick"), ("acme", "liz"))
        assert refused.value.owner == Key(Member, member_id="m1")
        session.update(Key(Member, member_id="m2"), {"nick": "ann"})
    assert engine.guards(app) == {
        "nick#acme#ann": "MEMBER#m2",
        "nick#acme#liz": "MEMBER#m1",
        "nick#other#liz": "MEMBER#m3",
    }


def test_a_change_of_the_scope_alone_moves_the_guard_and_deletion_finds_it_there(engine: Engine) -> None:
    """Bug: the guard stays in the old scope, or its old key is built with the new scope."""
    engine.create(app)
    with engine.session() as session:
        session.save(Member(member_id="m1", account="acme", nick="liz"))
        session.save(Member(member_id="m3", account="other", nick="liz"))
        with pytest.raises(UniqueViolation):
            session.update(Key(Member, member_id="m1"), {"account": "other"})
        session.update(Key(Member, member_id="m1"), {"account": "third"})
        assert engine.guards(app) == {"nick#other#liz": "MEMBER#m3", "nick#third#liz": "MEMBER#m1"}
        session.delete(Key(Member, member_id="m1"))
    assert engine.guards(app) == {"nick#other#liz": "MEMBER#m3"}


def test_a_value_claimed_under_a_condition_is_given_up_when_only_the_condition_changes(
    engine: Engine,
) -> None:
    """Bug: an update looks only at its own fields, so the address of a deleted user stays taken."""
    engine.create(app)
    with engine.session() as session:
        session.save(Subscriber(subscriber_id="s1", mail="a@x"))
        session.update(Key(Subscriber, subscriber_id="s1"), {"deleted": True})
        assert engine.guards(app) == {}
        session.save(Subscriber(subscriber_id="s2", mail="a@x"))
        with pytest.raises(UniqueViolation) as refused:
            session.update(Key(Subscriber, subscriber_id="s1"), {"deleted": False})
        assert refused.value.owner == Key(Subscriber, subscriber_id="s2")
    assert engine.guards(app) == {"mail#a@x": "SUBSCRIBER#s2"}


@pytest.fixture
def far_future(clock: FakeClock) -> int:
    """A time after that of every engine's clock, because an engine that deletes expired items would spoil the test."""
    start = int(datetime(2100, 1, 1, tzinfo=UTC).timestamp())
    clock.advance(start - clock.now())
    return start


def test_a_guard_expires_with_its_entity_and_its_value_is_free_a_minute_later(
    engine: Engine, far_future: int
) -> None:
    """Bug: the guard has no time to live, so the value of an expired item is taken for ever."""
    engine.create(app)
    until = datetime.fromtimestamp(far_future + 600, UTC)
    with engine.session() as session:
        mine = session.save(Invitation(invitation_id="i1", code="x", until=until))
        session.update(mine, {"until": datetime.fromtimestamp(far_future + 1200, UTC)})
        expiry = {"N": str(far_future + 1200)}
        owner = {"PK": {"S": "INVITATION#i1"}, "SK": {"S": "INVITATION"}}
        assert engine.raw(app)[1] == {
            "PK": {"S": "code#x"},
            "SK": {"S": "code#x"},
            "owner": {"M": owner},
            "until": expiry,
        }
        engine.clock.advance(1259)
        assert session.get_by(Invitation, code="x") is None
        with pytest.raises(UniqueViolation):
            session.save(Invitation(invitation_id="i2", code="x"))
        engine.clock.advance(2)
        session.save(Invitation(invitation_id="i2", code="x"))
    assert engine.guards(app) == {"code#x": "INVITATION#i2"}


def test_a_renamed_class_keeps_its_items_and_its_guards(engine: Engine) -> None:
    """Bug: the name of the class is part of the guards' keys, so renaming it orphans them all."""
    engine.create(app)
    with engine.session() as session:
        session.save(User(user_id="u1", email="a@x"))
        renamed = Table("App")

        class Customer(Entity, table=renamed, pk="USER#{user_id}", sk="PROFILE", name="User"):
            user_id: str
            email: Annotated[str | None, Unique(normalize=str.casefold)] = None

        found = session.get_by(Customer, email="a@x")
        assert found == Customer(user_id="u1", email="a@x")
        with pytest.raises(UniqueViolation):
            session.save(Customer(user_id="u2", email="a@x"))
        found.email = "b@x"
        session.save(found)
    assert engine.guards(app) == {"email#b@x": "USER#u1"}
