"""The asynchronous direct transport: every way an attempt can end."""

import asyncio
import os
import socket
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import pytest
from botocore.exceptions import NoCredentialsError

from dynaorm import AsyncDirectTransport, AsyncSession, Entity, Table, Unique
from dynaorm.errors import UsageError
from dynaorm.flow.protocol.call import AsyncTransport, Call, NoAnswer, Refusal, Reply
from dynaorm.testing.clock import FakeClock
from tests.transport.unruly import (
    Behaviour,
    Request,
    Unruly,
    answer,
    chunked,
    hang_up,
    keeps_time,
    refusal,
    reset,
    response,
    sending,
    tunnel,
    unruly_server,
)

T = TypeVar("T")

GET = Call("GetItem", {"TableName": "app", "Key": {"PK": {"S": "a"}}})
PUT = Call("PutItem", {"TableName": "app", "Item": {"PK": {"S": "a"}, "b": {"B": b"\xff"}}})


people = Table("people")


class Person(Entity, table=people, pk="PERSON#{person_id}", sk="PROFILE", versioned=True):
    person_id: str
    email: Annotated[str, Unique()]
    photo: bytes = b""


def run(server: Unruly, work: Callable[[AsyncDirectTransport], Awaitable[T]], /, **options: Any) -> T:
    """What some work with a transport to this server gives, in an event loop of its own."""

    async def main() -> T:
        async with AsyncDirectTransport(endpoint=server.endpoint, **options) as transport:
            return await work(transport)

    return asyncio.run(main())


def calls(*wanted: Call) -> Callable[[AsyncTransport], Awaitable[list[Reply]]]:
    """One call after the other."""

    async def work(transport: AsyncTransport) -> list[Reply]:
        return [await transport.call(call) for call in wanted]

    return work


def failure_of(server: Unruly, call: Call = GET, **options: Any) -> Refusal | NoAnswer:
    with pytest.raises((Refusal, NoAnswer)) as caught:
        run(server, calls(call), **options)
    assert isinstance(caught.value, Refusal | NoAnswer)
    return caught.value


def test_a_reply_is_given_in_the_low_level_form_with_bytes_for_binary_values(server: Unruly) -> None:
    server.will(chunked({"Item": {"PK": {"S": "a"}, "b": {"B": "/w=="}}}, 5))
    (reply,) = run(server, calls(GET))
    assert reply["Item"] == {"PK": {"S": "a"}, "b": {"B": b"\xff"}}


def test_a_request_is_sent_signed_and_as_it_is_over_one_connection(server: Unruly) -> None:
    run(server, calls(PUT, PUT, GET))
    first, second, _ = server.requests
    assert first.content == {"TableName": "app", "Item": {"PK": {"S": "a"}, "b": {"B": "/w=="}}}
    assert first.body == second.body
    assert first.access_key == "testing"
    assert server.connections == 1


def test_calls_run_side_by_side_over_no_more_connections_than_given(server: Unruly) -> None:
    both = threading.Barrier(2)

    def together(peer: socket.socket, request: Request) -> bool:
        both.wait(10)
        return answer({})(peer, request)

    server.otherwise = together

    async def work(transport: AsyncTransport) -> list[Reply]:
        return await asyncio.gather(*(transport.call(GET) for _ in range(6)))

    assert run(server, work, pool_size=2) == [{}] * 6
    assert server.connections == 2


@pytest.mark.parametrize(
    "code", ["ProvisionedThroughputExceededException", "ConditionalCheckFailedException"]
)
def test_what_dynamodb_says_no_with_is_a_refusal_and_one_attempt(code: str, server: Unruly) -> None:
    server.will(refusal(code, message="no", Item={"PK": {"B": "/w=="}}))
    refused = failure_of(server, PUT)
    assert isinstance(refused, Refusal)
    assert (refused.code, refused.message, refused.request_id) == (code, "no", "REQUEST1")
    assert refused.item == {"PK": {"B": b"\xff"}}
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "behaviour",
    [
        hang_up,
        reset,
        answer({"__type": "InternalServerError"}, 500),
        answer({}, checksum=1),
        answer(None, raw=b"<html>"),
        answer(None, 301, raw=b"", Location="http://localhost/"),
        sending(response({"Item": {"PK": {"S": "a"}}})[:-5], then_close=True),
        sending(b"garbage\r\n\r\n", then_close=True),
    ],
    ids=["hung up", "reset", "500", "checksum", "page", "redirect", "cut", "garbage"],
)
def test_what_tells_nothing_of_the_request_is_no_answer_and_one_attempt(
    behaviour: Behaviour, server: Unruly
) -> None:
    server.will(behaviour)
    failure = failure_of(server, PUT)
    assert isinstance(failure, NoAnswer)
    assert failure.sent
    assert len(server.requests) == 1


def test_silence_ends_after_the_timeout(server: Unruly) -> None:
    server.will(server.stay_silent)
    failure = failure_of(server, timeout=0.05)
    assert isinstance(failure, NoAnswer)
    assert failure.sent


def test_a_refused_connection_is_no_answer_to_something_never_sent() -> None:
    with unruly_server() as gone:
        pass
    failure = failure_of(gone)
    assert isinstance(failure, NoAnswer)
    assert not failure.sent


def test_a_connection_closed_while_idle_is_not_used_again(server: Unruly) -> None:
    server.will(sending(response({}), then_close=True))

    async def work(transport: AsyncTransport) -> None:
        await transport.call(GET)
        await asyncio.to_thread(server.closed.wait, 10)
        await transport.call(GET)

    run(server, work)
    assert (server.connections, len(server.requests)) == (2, 2)


def test_requests_and_answers_of_megabytes_are_whole(server: Unruly) -> None:
    photo = os.urandom(2_000_000)
    server.otherwise = lambda peer, request: answer({"Item": request.content["Item"]})(peer, request)
    (reply,) = run(server, calls(Call("PutItem", {"Item": {"photo": {"B": photo}}})))
    assert reply["Item"] == {"photo": {"B": photo}}


def test_a_cancelled_call_does_not_leave_its_answer_to_the_next(server: Unruly) -> None:
    arrived = threading.Event()

    def late(peer: socket.socket, request: Request) -> bool:
        arrived.set()
        server.closed.wait(10)
        return answer({"Item": {"PK": {"S": "late"}}})(peer, request)

    server.will(late)

    async def work(transport: AsyncTransport) -> Reply:
        cancelled = asyncio.ensure_future(transport.call(GET))
        await asyncio.to_thread(arrived.wait, 10)
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        server.closed.set()
        return await transport.call(GET)

    assert run(server, work) == {}
    assert server.connections == 2


def test_a_wrong_clock_is_set_by_the_servers_and_a_session_does_not_notice(server: Unruly) -> None:
    server.otherwise = keeps_time(time.time() + 86_400)

    async def work(transport: AsyncTransport) -> None:
        async with AsyncSession(transport=transport, clock=FakeClock()) as session:
            await session.save(Person(person_id="1", email="a@example.com"))

    run(server, work)
    assert len(server.requests) == 2


def test_credentials_that_expire_are_refreshed_for_the_next_call(
    server: Unruly, expiring_profile: str
) -> None:
    run(server, calls(GET, GET), profile=expiring_profile)
    first, second = server.requests
    assert first.access_key != second.access_key
    assert first.headers["x-amz-security-token"] == first.access_key.replace("KEY", "token")


def test_without_credentials_botocores_own_error_passes_and_nothing_is_sent(
    server: Unruly, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with pytest.raises(NoCredentialsError):
        run(server, calls(GET))
    assert server.connections == 0


def test_one_transport_serves_one_event_loop_after_the_other(server: Unruly) -> None:
    transport = AsyncDirectTransport(endpoint=server.endpoint)

    async def visit() -> None:
        await transport.call(GET)
        await transport.close()
        await transport.call(GET)
        await transport.close()
        await transport.close()

    asyncio.run(visit())
    asyncio.run(visit())
    assert (server.connections, len(server.requests)) == (4, 4)


def test_a_certificate_that_is_trusted_by_the_environment_is_trusted(
    secure_server: Unruly, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failure = failure_of(secure_server)
    assert isinstance(failure, NoAnswer)
    assert not failure.sent
    assert secure_server.requests == []
    monkeypatch.setenv("AWS_CA_BUNDLE", str(certificate))
    assert run(secure_server, calls(GET)) == [{}]


def test_a_proxy_passes_on_what_is_not_encrypted(server: Unruly, monkeypatch: pytest.MonkeyPatch) -> None:
    # pragma: allowlist nextline secret
    monkeypatch.setenv("http_proxy", server.endpoint.replace("http://", "http://me:secret@"))

    async def work() -> None:
        transport = AsyncDirectTransport(endpoint="http://dynamodb.example:8000")
        await transport.call(GET)
        await transport.close()

    asyncio.run(work())
    assert server.requests[0].line == "POST http://dynamodb.example:8000/ HTTP/1.1"
    assert server.requests[0].headers["proxy-authorization"] == "Basic bWU6c2VjcmV0"


def test_a_proxy_sees_nothing_of_what_is_encrypted(
    server: Unruly, secure_server: Unruly, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # pragma: allowlist nextline secret
    monkeypatch.setenv("https_proxy", server.endpoint.replace("http://", "http://me:secret@"))
    monkeypatch.setenv("AWS_CA_BUNDLE", str(certificate))
    server.will(tunnel)
    assert run(secure_server, calls(GET, GET)) == [{}, {}]
    (connect,) = server.requests
    assert connect.line.startswith("CONNECT ")
    assert connect.headers["proxy-authorization"] == "Basic bWU6c2VjcmV0"
    assert len(secure_server.requests) == 2
    assert "proxy-authorization" not in secure_server.requests[0].headers
    server.will(answer({}, 407))
    failure = failure_of(secure_server)
    assert isinstance(failure, NoAnswer)
    assert not failure.sent


def test_through_a_proxy_that_is_itself_encrypted_calls_take_the_default_road(
    server: Unruly, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "https://proxy.invalid:3128")
    with pytest.warns(UserWarning, match=r"https://proxy\.invalid:3128 is not one of plain HTTP"):
        failure = failure_of(server)
    assert isinstance(failure, NoAnswer)
    assert failure.reason.startswith("ProxyConnectionError")


def test_without_aiohttp_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "dynaorm.transport.direct.aiohttp", raising=False)
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    with pytest.raises(UsageError, match=r"aiohttp.*is not installed.*dynaorm\[async\]"):
        AsyncDirectTransport()


def test_a_transport_says_where_it_goes_and_refuses_limits_that_make_no_sense() -> None:
    assert repr(AsyncDirectTransport("eu-west-1")) == (
        "AsyncDirectTransport(region='eu-west-1', endpoint=None, profile=None)"
    )
    with pytest.raises(UsageError, match="timeouts above 0"):
        AsyncDirectTransport(timeout=0)
