"""What comes back means the same over each transport, against a server that misbehaves on purpose."""

import signal
import socket
import threading
from binascii import crc32
from typing import Any

import pytest

from dynaorm.item.json_body import Body
from dynaorm.transport import Call, NoAnswer, Reason, Refusal
from tests.transport.each_transport import Closable, Open
from tests.transport.unruly import (
    Behaviour,
    Request,
    Unruly,
    answer,
    chunked,
    hang_up,
    refusal,
    reset,
    response,
    sending,
)

pytestmark = pytest.mark.usefixtures("one_loader")

GET = Call("GetItem", {"TableName": "app", "Key": {"PK": {"S": "a"}}})
PUT = Call("PutItem", {"TableName": "app", "Item": {"PK": {"S": "a"}, "b": {"B": b"\xff"}}})
TRANSACT = Call(
    "TransactWriteItems",
    {"TransactItems": [{"Put": PUT.request}, {"Delete": GET.request}], "ClientRequestToken": "t"},
)


@pytest.fixture
def transport(server: Unruly, open_transport: Open) -> Closable:
    return open_transport(endpoint=server.endpoint)


def failure_of(transport: Closable, call: Call = PUT) -> Any:
    with pytest.raises((Refusal, NoAnswer)) as caught:
        transport.call(call)
    return caught.value


# -- replies -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_reply_is_given_in_the_low_level_form_with_bytes_for_binary_values(
    size: int, server: Unruly, transport: Closable
) -> None:
    server.will(chunked({"Item": {"PK": {"S": "a"}, "b": {"B": "/w=="}}}, size))
    assert transport.call(GET)["Item"] == {"PK": {"S": "a"}, "b": {"B": b"\xff"}}


def test_a_reply_is_the_very_bytes_that_came(server: Unruly, transport: Closable) -> None:
    server.will(answer({"Item": {"PK": {"S": "a"}}}))
    reply = transport.call(GET)
    assert isinstance(reply, Body)
    assert reply.raw == b'{"Item": {"PK": {"S": "a"}}}'


def test_a_request_is_sent_signed_and_as_it_is_and_byte_for_byte_again(
    server: Unruly, transport: Closable
) -> None:
    for call in (TRANSACT, TRANSACT, PUT):
        transport.call(call)
    first, second, put = server.requests
    assert first.body == second.body
    assert [list(action) for action in first.content["TransactItems"]] == [["Put"], ["Delete"]]
    assert put.content == {"TableName": "app", "Item": {"PK": {"S": "a"}, "b": {"B": "/w=="}}}
    assert put.line == "POST / HTTP/1.1"
    assert put.headers["x-amz-target"] == "DynamoDB_20120810.PutItem"
    assert put.scope == ("testing", "us-east-1")
    assert server.connections == 1


# -- refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [
        "ProvisionedThroughputExceededException",
        "ThrottlingException",
        "RequestLimitExceeded",
        "TransactionInProgressException",
        "TransactionConflictException",
        "ConditionalCheckFailedException",
    ],
)
def test_what_dynamodb_says_no_with_is_a_refusal_and_one_attempt(
    code: str, server: Unruly, transport: Closable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "5")
    monkeypatch.setenv("AWS_RETRY_MODE", "adaptive")
    server.will(refusal(code, message="no", Item={"PK": {"B": "/w=="}}))
    refused = failure_of(transport)
    assert isinstance(refused, Refusal)
    assert (refused.code, refused.message, refused.request_id) == (code, "no", "REQUEST1")
    assert (refused.reasons, refused.item) == ((), {"PK": {"B": b"\xff"}})
    assert len(server.requests) == 1
    transport.call(PUT)
    assert server.connections == 1


def test_a_cancelled_transaction_has_one_reason_per_action_in_order(
    server: Unruly, transport: Closable
) -> None:
    reasons = [
        {"Code": "None"},
        {"Code": "ConditionalCheckFailed", "Message": "no", "Item": {"PK": {"S": "a"}}},
        {"Code": "TransactionConflict"},
    ]
    server.will(refusal("TransactionCanceledException", Message="cancelled", CancellationReasons=reasons))
    assert failure_of(transport, TRANSACT).reasons == (
        None,
        Reason("ConditionalCheckFailed", "no", {"PK": {"S": "a"}}),
        Reason("TransactionConflict"),
    )


# -- no answers to something sent --------------------------------------------------------------------------------------


def checked(body: bytes, status: int = 200) -> Behaviour:
    """Answer with these bytes and their checksum."""
    return answer(None, status, raw=body, checksum=crc32(body))


SAYS_NOTHING: dict[str, Behaviour] = {
    "hung up": hang_up,
    "reset": reset,
    "cut": sending(response({"Item": {"PK": {"S": "a"}}})[:-5], then_close=True),
    "garbage": sending(b"garbage\r\n\r\n", then_close=True),
    "500": answer({"__type": "InternalServerError"}, 500),
    "400 but a fault of the server": answer({"__type": "InternalServerError"}, 400),
    "502": answer({}, 502),
    "redirect": answer(None, 301, raw=b"", Location="http://localhost/"),
    "403 of somebody else": answer({"detail": "Forbidden"}, 403),
    "checksum": answer({}, checksum=1),
    "page": answer(None, raw=b"<html>"),
    "404 page": answer(None, 404, raw=b"<html>"),
    "half a JSON": answer(None, raw=b'{"Item":'),
    # These have the right checksum.
    "invalid JSON": checked(b'{"Attributes":'),
    "no UTF-8": checked(b"\x80"),
    "list": checked(b"[]"),
    "number for an item": checked(b'{"Attributes": 5}'),
    "number for an attribute value": checked(b'{"Attributes": {"PK": 5}}'),
    "number for a string": checked(b'{"Attributes": {"PK": {"S": 5}}}'),
    "no base64": checked(b'{"Attributes": {"PK": {"B": "?"}}}'),
    "number for reasons": checked(
        b'{"__type": "x#TransactionCanceledException", "CancellationReasons": 5}', 400
    ),
    "number for a reason": checked(
        b'{"__type": "x#TransactionCanceledException", "CancellationReasons": [5]}', 400
    ),
    "number for a refusal's item": checked(
        b'{"__type": "x#ConditionalCheckFailedException", "Item": 5}', 400
    ),
    "list for a refusal's string": checked(
        b'{"__type": "x#ConditionalCheckFailedException", "Item": {"PK": {"S": []}}}', 400
    ),
    "number for a code": checked(b'{"__type": 5}', 400),
}


@pytest.mark.parametrize("behaviour", SAYS_NOTHING.values(), ids=SAYS_NOTHING)
def test_what_tells_nothing_of_a_write_is_no_answer_and_one_attempt(
    behaviour: Behaviour, server: Unruly, transport: Closable
) -> None:
    server.will(behaviour)
    failure = failure_of(transport)
    assert isinstance(failure, NoAnswer)
    assert failure.sent
    assert len(server.requests) == 1
    assert transport.call(GET) == {}


def test_silence_ends_after_the_timeout(server: Unruly, open_transport: Open) -> None:
    server.will(server.stay_silent)
    failure = failure_of(open_transport(endpoint=server.endpoint, timeout=0.05))
    assert isinstance(failure, NoAnswer)
    assert failure.sent


# -- opening and closing -----------------------------------------------------------------------------------------------


def test_a_closed_transport_opens_new_connections_when_called_again(
    server: Unruly, open_transport: Open
) -> None:
    transport = open_transport(endpoint=server.endpoint)
    transport.call(GET)
    for _ in range(2):
        transport.close()
    transport.call(GET)
    assert (server.connections, len(server.requests)) == (2, 2)


class TimeIsUpError(RuntimeError):
    """What a signal handler raises, wherever the program is."""


@pytest.mark.parametrize("open_transport", ["default", "direct"], indirect=True)
def test_what_a_signal_handler_raises_reaches_the_caller(server: Unruly, open_transport: Open) -> None:
    """It is no error of the configuration: the request was sent."""

    def stop(*_: object) -> None:
        raise TimeIsUpError("the job takes too long")

    def interrupt(peer: socket.socket, request: Request) -> bool:
        main = threading.main_thread().ident
        assert main is not None
        signal.pthread_kill(main, signal.SIGUSR1)
        return answer({})(peer, request) if server.closed.wait(10) else False

    server.will(interrupt)
    before = signal.signal(signal.SIGUSR1, stop)
    try:
        with pytest.raises(TimeIsUpError):
            open_transport(endpoint=server.endpoint).call(PUT)
    finally:
        signal.signal(signal.SIGUSR1, before)
        server.closed.set()
    assert len(server.requests) == 1
