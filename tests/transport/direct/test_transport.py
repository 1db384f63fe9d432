"""The direct transport: its threads, its clock and its credentials."""

import time
from collections.abc import Iterator
from contextlib import closing
from email.utils import formatdate

import pytest

from dynaorm import Retry, Session
from dynaorm.errors import (
    UnexpectedRefusal,
    UsageError,
)
from dynaorm.testing import FakeClock
from dynaorm.transport import Call, DirectTransport
from tests.cast.people import User
from tests.transport.each_transport import replies_to_threads
from tests.transport.unruly import Unruly, keeps_time, response, sending

GET = Call("GetItem", {"TableName": "app", "Key": {"PK": {"S": "a"}}})


@pytest.fixture
def transport(server: Unruly) -> Iterator[DirectTransport]:
    with closing(DirectTransport(endpoint=server.endpoint)) as transport:
        yield transport


def test_eight_threads_at_a_cold_transport_are_all_answered(transport: DirectTransport) -> None:
    assert replies_to_threads(transport, GET) == [{}] * 8


def test_a_wrong_clock_is_set_by_the_servers_and_a_session_does_not_notice(
    server: Unruly, transport: DirectTransport
) -> None:
    server.otherwise = keeps_time(time.time() - 86_400)
    with Session(transport=transport, clock=FakeClock()) as session:
        session.save(User(user_id="1", email="a@example.com"))
    assert len(server.requests) == 2
    transport.call(GET)
    assert len(server.requests) == 3


def test_a_clock_that_cannot_be_set_is_told_with_its_code(server: Unruly, transport: DirectTransport) -> None:
    server.otherwise = sending(
        response({"__type": "InvalidSignatureException"}, 400, Date=formatdate(0, usegmt=True))
    )
    with (
        Session(transport=transport, clock=FakeClock(), retry=Retry(attempts=1)) as session,
        pytest.raises(UnexpectedRefusal, match="RequestTimeTooSkewed"),
    ):
        session.get(User, user_id="1")


def test_credentials_that_are_given_later_are_found(
    server: Unruly, transport: DirectTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with pytest.raises(UsageError):
        transport.call(GET)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    assert transport.call(GET) == {}
