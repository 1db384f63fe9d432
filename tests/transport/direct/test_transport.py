"""The direct transport: every way an attempt can end, and a session's story over it."""

import json
import socket
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from email.utils import formatdate
from typing import Annotated, Any

import pytest
from botocore.exceptions import NoCredentialsError

from dynaorm import DirectTransport, Entity, Session, Table, Unique
from dynaorm.errors import (
    OutcomeUnknown,
    StaleEntity,
    UnexpectedRefusal,
    UniqueViolation,
    Unreachable,
    UsageError,
)
from dynaorm.flow.protocol.call import Call, NoAnswer, Refusal, Transport
from dynaorm.flow.protocol.retry import Retry
from dynaorm.testing.clock import FakeClock
from dynaorm.testing.faults import FaultyTransport, lost_answer
from tests.transport.unruly import (
    Behaviour,
    Request,
    Unruly,
    answer,
    chunked,
    hang_up,
    keeps_time,
    refusal,
    response,
    sending,
)

GET = Call("GetItem", {"TableName": "app", "Key": {"PK": {"S": "a"}}})
PUT = Call("PutItem", {"TableName": "app", "Item": {"PK": {"S": "a"}, "b": {"B": b"\xff"}}})


@pytest.fixture
def transport(server: Unruly) -> Iterator[DirectTransport]:
    with closing(DirectTransport(endpoint=server.endpoint)) as transport:
        yield transport


def failure_of(transport: Transport, call: Call = GET) -> Refusal | NoAnswer:
    with pytest.raises((Refusal, NoAnswer)) as caught:
        transport.call(call)
    assert isinstance(caught.value, Refusal | NoAnswer)
    return caught.value


def test_a_reply_is_given_in_the_low_level_form_with_bytes_for_binary_values(
    server: Unruly, transport: DirectTransport
) -> None:
    server.will(chunked({"Item": {"PK": {"S": "a"}, "b": {"B": "/w=="}}}, 5))
    assert transport.call(GET)["Item"] == {"PK": {"S": "a"}, "b": {"B": b"\xff"}}


def test_a_request_is_sent_signed_and_as_it_is(server: Unruly, transport: DirectTransport) -> None:
    transport.call(PUT)
    (request,) = server.requests
    assert request.content == {"TableName": "app", "Item": {"PK": {"S": "a"}, "b": {"B": "/w=="}}}
    assert request.line == "POST / HTTP/1.1"
    assert request.headers["x-amz-target"] == "DynamoDB_20120810.PutItem"
    assert "Credential=testing/" in request.headers["authorization"]
    assert "/us-east-1/dynamodb/aws4_request" in request.headers["authorization"]


def test_a_repeated_call_is_sent_byte_for_byte_again(server: Unruly, transport: DirectTransport) -> None:
    transport.call(PUT)
    transport.call(PUT)
    assert server.requests[0].body == server.requests[1].body
    assert server.connections == 1


@pytest.mark.parametrize(
    "code",
    [
        "ProvisionedThroughputExceededException",
        "ThrottlingException",
        "RequestLimitExceeded",
        "TransactionInProgressException",
        "ConditionalCheckFailedException",
    ],
)
def test_what_dynamodb_says_no_with_is_a_refusal_and_one_attempt(
    code: str, server: Unruly, transport: DirectTransport
) -> None:
    server.will(refusal(code, message="no", Item={"PK": {"B": "/w=="}}))
    refused = failure_of(transport, PUT)
    assert isinstance(refused, Refusal)
    assert (refused.code, refused.message, refused.request_id) == (code, "no", "REQUEST1")
    assert refused.item == {"PK": {"B": b"\xff"}}
    assert len(server.requests) == 1
    transport.call(PUT)
    assert server.connections == 1


@pytest.mark.parametrize(
    "behaviour",
    [
        hang_up,
        answer({"__type": "InternalServerError"}, 500),
        answer({}, 503),
        answer({}, checksum=1),
        answer(None, raw=b"<html>"),
        answer(None, raw=b'{"Item":'),
        answer(None, 301, raw=b"", Location="http://localhost/"),
        sending(response({"Item": {"PK": {"S": "a"}}})[:-5], then_close=True),
        sending(b"garbage", then_close=True),
    ],
    ids=[
        "hung up",
        "500",
        "503",
        "checksum",
        "page",
        "half a JSON",
        "redirect",
        "cut",
        "garbage",
    ],
)
def test_what_tells_nothing_of_the_request_is_no_answer_and_one_attempt(
    behaviour: Behaviour, server: Unruly, transport: DirectTransport
) -> None:
    server.will(behaviour)
    failure = failure_of(transport, PUT)
    assert isinstance(failure, NoAnswer)
    assert failure.sent
    assert len(server.requests) == 1
    assert transport.call(GET) == {}


def test_silence_ends_after_the_timeout(server: Unruly) -> None:
    server.will(server.stay_silent)
    with closing(DirectTransport(endpoint=server.endpoint, timeout=0.05)) as transport:
        failure = failure_of(transport)
    assert isinstance(failure, NoAnswer)
    assert failure.sent


def test_a_host_that_is_not_there_is_no_answer_to_something_never_sent() -> None:
    failure = failure_of(DirectTransport(endpoint="http://nowhere.invalid:8000"))
    assert isinstance(failure, NoAnswer)
    assert not failure.sent


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


def test_credentials_that_expire_are_refreshed_for_the_next_call(
    server: Unruly, expiring_profile: str
) -> None:
    with closing(DirectTransport(endpoint=server.endpoint, profile=expiring_profile)) as transport:
        transport.call(GET)
        transport.call(GET)
    first, second = server.requests
    assert first.access_key != second.access_key
    assert first.headers["x-amz-security-token"] == first.access_key.replace("KEY", "token")
    assert second.headers["x-amz-security-token"] == second.access_key.replace("KEY", "token")


def test_without_credentials_botocores_own_error_passes_and_nothing_is_sent(
    server: Unruly, transport: DirectTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with pytest.raises(NoCredentialsError):
        transport.call(GET)
    assert server.connections == 0
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    assert transport.call(GET) == {}


def test_eight_threads_at_a_cold_transport_open_it_once(server: Unruly, transport: DirectTransport) -> None:
    barrier = threading.Barrier(8)
    replies: list[Any] = []

    def work() -> None:
        barrier.wait()
        replies.append(transport.call(GET))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(replies) == len(server.requests) == 8


def test_a_closed_transport_opens_new_connections_when_called_again(server: Unruly) -> None:
    transport = DirectTransport(endpoint=server.endpoint)
    transport.close()
    transport.call(GET)
    transport.close()
    transport.close()
    assert server.closed.wait(10)
    transport.call(GET)
    transport.close()
    assert (server.connections, len(server.requests)) == (2, 2)


def test_a_transport_is_closed_with_its_block(server: Unruly) -> None:
    with DirectTransport(endpoint=server.endpoint) as transport:
        transport.call(GET)
    assert server.closed.wait(10)


def test_a_transport_says_where_it_goes() -> None:
    transport = DirectTransport("eu-west-1", "http://localhost:8000", "shop")
    assert repr(transport) == (
        "DirectTransport(region='eu-west-1', endpoint='http://localhost:8000', profile='shop')"
    )


@pytest.mark.parametrize("limits", [{"timeout": 0}, {"connect_timeout": -1}, {"pool_size": 0}])
def test_numbers_that_make_no_sense_are_refused(limits: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="timeouts above 0"):
        DirectTransport(**limits)


def test_through_a_proxy_that_is_itself_encrypted_calls_take_the_default_road(
    server: Unruly, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "https://proxy.invalid:3128")
    transport = DirectTransport(endpoint=server.endpoint)
    with pytest.warns(UserWarning, match=r"https://proxy\.invalid:3128 is not one of plain HTTP"):
        failure = failure_of(transport)
    assert isinstance(failure, NoAnswer)
    assert failure.reason.startswith("ProxyConnectionError")
    with warnings.catch_warnings():
        assert isinstance(failure_of(transport), NoAnswer)
    transport.close()


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


def test_a_session_tells_its_story_over_the_direct_road(
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


def test_a_lost_answer_is_survived_over_the_direct_road(
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
