"""Whole tables are read and judged, by sessions of both kinds."""

import asyncio
from typing import Any

import pytest

from dynaorm import AsyncSession, Session
from dynaorm.errors import TableNotFound
from dynaorm.testing import assert_consistent, assert_consistent_async
from dynaorm.transport import Call, Transport
from dynaorm.transport.asynchronous import ThreadedTransport
from tests.flow.integrity.damaged import Room, User, app


@pytest.fixture
def engine(moto: Transport) -> Transport:
    Session(transport=moto).create_table(app)
    return moto


def test_the_error_names_every_inconsistency_in_sessions_of_both_kinds(engine: Transport) -> None:
    for number in "12":
        body = {"PK": {"S": f"X#{number}"}, "SK": {"S": "x"}}
        engine.call(Call("PutItem", {"TableName": "checked", "Item": body}))
    with pytest.raises(
        AssertionError, match=r"(?s)^2 incons.*unknown item in checked, PK=X#1 SK=x: .*X#2.*unchecked$"
    ):
        assert_consistent(Session(transport=engine), User)
    with pytest.raises(AssertionError, match="2 inconsistencies"):
        asyncio.run(assert_consistent_async(AsyncSession(transport=ThreadedTransport(engine)), app))


def test_pages_are_followed_to_their_end(engine: Transport) -> None:
    def in_pages(call: Call) -> Any:
        return engine.call(Call(call.operation, {**call.request, "Limit": 1}))

    class Paged:
        def call(self, call: Call, /) -> Any:
            return in_pages(call) if call.operation == "Scan" else engine.call(call)

    session = Session(transport=Paged())
    session.save(User(id="1", email="a"))
    assert_consistent(session, User)
    engine.call(Call("PutItem", {"TableName": "checked", "Item": {"PK": {"S": "X"}, "SK": {"S": "x"}}}))
    with pytest.raises(AssertionError, match="1 inconsistency"):
        assert_consistent(session, User)


def test_a_table_that_is_asked_for_must_exist_and_its_relatives_need_not(engine: Transport) -> None:
    session = Session(transport=engine)
    with pytest.raises(TableNotFound):
        assert_consistent(session, Room)
    assert_consistent(session, app)
