"""The direct transport: its clock, its credentials, and the stories of sessions over it."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from email.utils import formatdate
from typing import Annotated

import pytest

from dynaorm import DirectTransport, Entity, Session, Table, Unique
from dynaorm.errors import (
    OutcomeUnknown,
    StaleEntity,
    UnexpectedRefusal,
    UniqueViolation,
    Unreachable,
    UsageError,
)
from dynaorm.flow.protocol.call import Call, Transport
from dynaorm.flow.protocol.retry import Retry
from dynaorm.testing.clock import FakeClock
from dynaorm.testing.faults import FaultyTransport, lost_answer
from tests.transport.unruly import Request, Unruly, hang_up, keeps_time, response, sending

GET = Call("GetItem", {"TableName": "app", "Key": {"PK": {"S": "a"}}})


@pytest.fixture
def transport(server: Unruly) -> Iterator[DirectTransport]:
    with closing(DirectTransport(endpoint=server.endpoint)) as transport:
        yield transport


def test_a_transport_is_closed_with_its_block(server: Unruly) -> None:
    with DirectTransport(endpoint=server.endpoint) as transport:
        transport.call(GET)
    assert server.closed.wait(10)


def test_a_wrong_clock_is_set_by_the_servers_and_a_session_does_not_notice(
    server: Unruly, transport: DirectTransport
) -> None:
    server.otherwise = keeps_time(time.time() - 86_400)
    with Session(transport=transport, clock=FakeClock()) as session:
        session.save(Person(person_id="1", email="a@example.com"))
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
        session.get(Person, person_id="1")


def test_credentials_that_are_given_later_are_found(
    server: Unruly, transport: DirectTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with pytest.raises(UsageError):
        transport.call(GET)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    assert transport.call(GET) == {}


# -- the real thing ----------------------------------------------------------------------------------------------------

people = Table("people")


class Person(Entity, table=people, pk="PERSON#{person_id}", sk="PROFILE", versioned=True):
    person_id: str
    email: Annotated[str, Unique()]
    photo: bytes = b""
    keys: frozenset[bytes] = frozenset()


@pytest.fixture
def ministack(
    ministack_endpoint: str, unique_name: Callable[[str], str]
) -> Iterator[tuple[Transport, Callable[[str], str]]]:
    with closing(DirectTransport(endpoint=ministack_endpoint)) as transport:
        with Session(transport=transport, table_names=unique_name) as session:
            session.create_table(people)
        yield transport, unique_name


def test_a_session_tells_its_story_over_the_direct_transport(
    ministack: tuple[Transport, Callable[[str], str]],
) -> None:
    transport, name = ministack
    with Session(transport=transport, table_names=name) as session:
        ann = Person(
            person_id="1", email="ann@example.com", photo=b"\xff\x00", keys=frozenset({b"\x01", b"BS"})
        )
        bob = Person(person_id="2", email="bob@example.com")
        session.save(ann)
        session.save(bob)
        assert session.get(Person, person_id="1") == ann
        assert session.get_by(Person, email="bob@example.com") == bob

        bob.email = "ann@example.com"
        with pytest.raises(UniqueViolation) as taken:
            session.save(bob)
        assert taken.value.owner is not None
        assert taken.value.owner.fields == {"person_id": "1"}

        with session.transaction() as tx:
            ann.email = "bob@example.com"
            tx.save(ann)
            tx.save(bob)
        assert session.get_by(Person, email="ann@example.com") == bob

        stale = session.get_one(Person, person_id="1")
        ann.photo = b"new"
        session.save(ann)
        stale.photo = b"old"
        with pytest.raises(StaleEntity):
            session.save(stale)
        assert [version.values["photo"] for version in session.history(ann)] == [
            b"new",
            b"\xff\x00",
            b"\xff\x00",
        ]
        session.delete(bob)
        assert session.get(Person, person_id="2") is None


def test_a_lost_answer_is_survived_over_the_direct_transport(
    ministack: tuple[Transport, Callable[[str], str]],
) -> None:
    transport, name = ministack
    faulty = FaultyTransport(transport, lost_answer(operation="TransactWriteItems"))
    with Session(transport=faulty, table_names=name, clock=FakeClock()) as session:
        session.save(Person(person_id="3", email="cat@example.com"))
        assert [call.operation for call in faulty.calls] == ["TransactWriteItems"] * 2
        assert session.get_by(Person, email="cat@example.com") is not None


def test_an_answer_lost_on_the_way_back_leaves_the_outcome_unknown_until_it_is_asked(
    ministack: tuple[Transport, Callable[[str], str]], ministack_endpoint: str, server: Unruly
) -> None:
    """The unruly server stands between: what it is asked it passes on, and it keeps the answer to itself."""
    transport, name = ministack

    def swallow(peer: socket.socket, request: Request) -> bool:
        transport.call(Call(request.headers["x-amz-target"].rpartition(".")[2], json.loads(request.body)))
        return False

    server.otherwise = swallow
    dan = Person(person_id="4", email="dan@example.com")
    between = DirectTransport(endpoint=server.endpoint)
    with (
        Session(transport=between, table_names=name, clock=FakeClock(), retry=Retry(attempts=2)) as session,
        pytest.raises(OutcomeUnknown) as unknown,
    ):
        session.save(dan)
    with Session(transport=transport, table_names=name) as session:
        assert session.resume(unknown.value.plan)
        assert session.get(Person, person_id="4") == dan
    between.close()


def test_a_read_that_nobody_answers_is_unreachable(server: Unruly, transport: DirectTransport) -> None:
    server.otherwise = hang_up
    with (
        Session(transport=transport, clock=FakeClock(), retry=Retry(attempts=3)) as session,
        pytest.raises(Unreachable) as unreachable,
    ):
        session.get(Person, person_id="1")
    assert unreachable.value.attempts == len(server.requests) == 3
