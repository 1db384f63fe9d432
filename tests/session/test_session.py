"""A session's lifetime, and the tables it creates and names."""

from collections.abc import Callable, Mapping
from typing import Any, cast

import pytest

from dynaorm import (
    F,
    GlobalIndex,
    Key,
    Session,
    Table,
    tools,
)
from dynaorm.errors import (
    SessionClosed,
    TableNotFound,
    UsageError,
)
from dynaorm.flow.call import Call, Transport
from dynaorm.testing.clock import FakeClock
from dynaorm.testing.faults import FaultyTransport
from dynaorm.testing.tables import tables_of
from dynaorm.testing.transports import ScriptedTransport
from tests.cast.documents import Page
from tests.cast.orders import Login
from tests.cast.people import USER, Guest, User
from tests.cast.seen import items
from tests.cast.tables import app, away, fleeting, locks


@pytest.mark.parametrize(
    "use",
    [
        lambda session: session.get(User, user_id="1"),
        lambda session: session.get_by(User, email="a"),
        lambda session: session.save(User(user_id="1")),
        lambda session: session.delete(USER),
        lambda session: session.update(USER, F.name.set("x")),
        lambda session: session.create_table(app),
        lambda session: session.run(lambda tx: tx.save(User(user_id="1"))),
        lambda session: list(session.history(Key(Page, name="p"))),
    ],
    ids=["get", "get_by", "save", "delete", "update", "create_table", "run", "history"],
)
def test_a_closed_session_sends_nothing(use: Callable[[Session], object]) -> None:
    transport = ScriptedTransport()
    session = Session(transport=transport)
    session.close()
    with pytest.raises(SessionClosed, match="open another"):
        use(session)
    assert transport.calls == []


def test_leaving_the_with_block_closes_and_a_given_transport_stays_open(moto: Transport) -> None:
    with Session(transport=moto) as session:
        session.create_table(app)
    with pytest.raises(SessionClosed):
        session.get(USER)
    with Session(transport=moto) as another:
        assert another.get(USER) is None


def test_create_table_is_idempotent_and_refuses_other_keys(session: Session) -> None:
    session.create_table(app)
    session.save(User(user_id="1"))
    session.create_table(app)
    assert session.exists(USER)
    with pytest.raises(UsageError, match=r"its keys are PK .*HASH S.*not id .*HASH S"):
        session.create_table(Table("app", pk="id", sk=None))
    with pytest.raises(UsageError, match="has no index 'GSI9'"):
        session.create_table(Table("app", indexes=[GlobalIndex("GSI9")]))


def test_a_table_that_expires_gets_ttl_and_its_guards_too(moto: Transport, clock: FakeClock) -> None:
    session = Session(transport=moto, clock=clock)
    # The class is named, because only one that is imported says that the table expires.
    assert tables_of(Login) == (fleeting,)
    session.create_table(fleeting)
    session.create_table(fleeting)
    found = moto.call(Call("DescribeTimeToLive", {"TableName": "fleeting"}))["TimeToLiveDescription"]
    assert (found["TimeToLiveStatus"], found["AttributeName"]) == ("ENABLED", "until")


def test_guards_live_in_their_own_table_and_name_the_owners(moto: Transport, clock: FakeClock) -> None:
    session = Session(transport=moto, clock=clock)
    session.create_table(away)
    member = session.save(Guest(name="m", nick="n"))
    assert items(moto, locks) == {
        "called#n": {
            "lock": {"S": "called#n"},
            "owner": {"M": {"table": {"S": "away"}, "PK": {"S": "GUEST#m"}, "SK": {"S": "G"}}},
        }
    }
    assert session.get_by(Guest, nick="n") == member
    session.delete(member)
    assert items(moto, locks) == {} == items(moto, away)


@pytest.mark.parametrize(
    "names",
    [{"app": "prod.app"}, lambda name: f"prod.{name}"],
    ids=["mapping", "function"],
)
def test_table_names_map_declared_to_physical_names(
    moto: Transport, names: Mapping[str, str] | Callable[[str], str]
) -> None:
    with Session(transport=moto, table_names=names) as session:
        session.create_table(app)
        user = session.save(User(user_id="1", email="a"))
        assert session.get_by(User, email="a") == user
        user.email = "b"
        session.save(user)
        assert items(moto, "prod.app").keys() == {"USER#1 U", "email#b email#b"}
        assert session.plan(User(user_id="2")).to_request()["TableName"] == "prod.app"


def test_a_missing_table_is_named(moto: Transport) -> None:
    session = Session(transport=moto)
    with pytest.raises(TableNotFound, match="'app'"):
        session.get(USER)
    with pytest.raises(TableNotFound, match="'app'"):
        session.save(User(user_id="1", email="a"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda session: session.create_table(User),
            r"create_table\(\) takes a Table, not <class .*User'>; give the Table of the class",
        ),
        (lambda session: session.save(User), "a class was given in place of an object of it; give an object"),
        (
            lambda session: session.delete(User),
            "the primary key of User is made of user_id, and user_id is missing",
        ),
        (lambda session: session.save({"user_id": "1"}), "dict is not an entity class; use one"),
        (lambda session: session.save(USER), "Key is not an entity class"),
        (lambda session: session.save(None), "NoneType is not an entity class; give an entity; .* get_one"),
        (
            lambda session: session.delete(None),
            r"session.get\(\) returns None if nothing is stored, and get_one",
        ),
        (lambda session: session.refresh(USER), r"refresh\(\) reads an object again, and got Key\(User, "),
        (lambda session: session.get_by("User", email="a"), "'User' is not an entity class"),
        (
            lambda session: session.get(USER, as_of="2024"),
            "as_of='2024' is not a datetime; give one with a time zone",
        ),
        (
            lambda session: tools.prune(session, USER, older_than=cast("Any", 5)),
            "older_than=5 is not a datetime",
        ),
        (
            lambda session: tools.prune(session, USER, keep=cast("Any", "3")),
            "keep='3' is not an int of 1 or more; give a whole number of 1 or more",
        ),
        (lambda session: session.resume(None), r"resume\(\) takes a plan, and got None; give error\.plan"),
        (
            lambda session: session.save_many(User(user_id="1", email="a")),
            "a single User was given where several are",
        ),
        (
            lambda session: session.bulk_load(User(user_id="1", email="a")),
            "a single User was given where",
        ),
        (
            lambda session: session.delete_many(USER),
            "a single Key was given where several are expected; give a list",
        ),
        (lambda session: session.delete_many("ab"), "a single str was given where several are expected"),
        (lambda session: session.get_many(USER), "a single Key was given where several are expected"),
    ],
)
def test_what_is_taken_for_something_else_is_refused_by_name(
    session: Session, wire: FaultyTransport, call: Callable[[Session], object], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        call(session)
    assert wire.calls == []
