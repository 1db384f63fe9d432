"""Connection errors told apart by whether a request can have left; what botocore parses of an answer."""

import json
from binascii import crc32
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
    ProxyConnectionError,
    ReadTimeoutError,
    SSLError,
)

from dynaorm.flow.protocol.call import NoAnswer, Refusal
from dynaorm.item.json_body import Body
from dynaorm.transport.botocore_outcome import (
    CONNECTION_ERRORS,
    judge_answer,
    no_answer_of,
    refusal_in,
    reply_in,
)

URL = "http://127.0.0.1:1"


@pytest.mark.parametrize(
    ("error", "sent"),
    [
        (EndpointConnectionError(endpoint_url=URL, error="refused"), False),
        (ConnectTimeoutError(endpoint_url=URL, error="slow"), False),
        (ProxyConnectionError(proxy_url=URL, error="refused"), False),
        (ReadTimeoutError(endpoint_url=URL, error="slow"), True),
        (ConnectionClosedError(endpoint_url=URL, error="closed", request=None), True),
        (HTTPClientError(error="anything"), True),
        (SSLError(endpoint_url=URL, error=OSError("broken record")), True),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else str(value),
)
def test_a_connection_error_was_sent_unless_no_connection_was_made(error: Exception, sent: bool) -> None:
    assert isinstance(error, CONNECTION_ERRORS)
    missing = no_answer_of(error)
    assert missing.sent is sent
    assert missing.reason.startswith(type(error).__name__)


def test_an_error_while_connecting_was_not_sent_whatever_its_kind() -> None:
    def connect() -> None:
        raise OSError("bad record")

    def send() -> None:
        try:
            connect()
        except OSError as error:
            raise HTTPClientError(error=error) from error

    with pytest.raises(HTTPClientError) as caught:
        send()
    assert not no_answer_of(caught.value).sent


def judged(status: int, body: bytes) -> tuple[bytes, dict[str, Any]]:
    """What botocore is left to parse of an answer, and what its result is completed with."""
    response: dict[str, Any] = {
        "status_code": status,
        "body": body,
        "headers": {"x-amz-crc32": str(crc32(body))},
    }
    parsed: dict[str, Any] = {}
    judge_answer(
        response_dict=response,
        customized_response_dict=parsed,
        operation_model=SimpleNamespace(name="GetItem"),
    )
    return response["body"], parsed


def test_botocore_parses_nothing_of_a_reply() -> None:
    left, parsed = judged(200, b'{"Item":{"PK":{"S":"a"}}}')
    reply = reply_in({"ResponseMetadata": {}, **parsed})
    assert left == b""
    assert isinstance(reply, Body)
    assert (reply.raw, dict(reply)) == (b'{"Item":{"PK":{"S":"a"}}}', {"Item": {"PK": {"S": "a"}}})


def test_botocore_parses_code_and_message_of_a_refusal() -> None:
    body = b'{"__type":"x#ConditionalCheckFailedException","message":"no","Item":{},"ThrottlingReasons":5}'
    left, parsed = judged(400, body)
    assert json.loads(left) == {"__type": "ConditionalCheckFailedException", "message": "no"}
    error = ClientError({"Error": {}, **parsed}, "GetItem")  # type: ignore[typeddict-item]  # what botocore makes of it
    refusal = refusal_in(error)
    assert isinstance(refusal, Refusal)
    assert (refusal.code, refusal.item) == ("ConditionalCheckFailedException", {})


@pytest.mark.parametrize(("status", "body"), [(200, b"<html>"), (200, b""), (500, b"{}"), (400, b"{}")])
def test_what_is_no_answer_is_not_left_to_botocore(status: int, body: bytes) -> None:
    with pytest.raises(NoAnswer):
        judged(status, body)


def test_a_refusal_of_another_service_is_none_of_dynamodbs() -> None:
    denied = ClientError({"Error": {"Code": "AccessDenied", "Message": ""}}, "AssumeRole")
    assert refusal_in(denied) is None
    assert refusal_in(None) is None
