"""A session's lifetime, and the tables it creates and names."""

from collections.abc import Callable, Mapping

import pytest

from dynaorm import (
    GlobalIndex,
    Session,
    Table,
)
from dynaorm.errors import (
    SessionClosed,
    TableNotFound,
    UsageError,
)
from dynaorm.flow.call import Call, Transport
from dynaorm.testing.clock import FakeClock
from dynaorm.testing.tables import tables_of
from tests.cast.orders import Login
from tests.cast.people import USER, Guest, User
from tests.cast.seen import items
from tests.cast.tables import app, away, fleeting, locks


def test_a_with_block_closes_the_session_not_its_transport(moto: Transport) -> None:
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
