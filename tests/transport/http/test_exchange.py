"""A call becomes a signed request, an answer its reply, and a wrong clock is set."""

import json
import time
from datetime import datetime
from email.utils import formatdate

import pytest

from dynaorm.flow.call import is_retryable
from dynaorm.transport import Call, Refusal
from dynaorm.transport.http.credentials import FixedCredentials
from dynaorm.transport.http.destination import Destination
from dynaorm.transport.http.exchange import RequestCodec, SignedRequest
from dynaorm.transport.http.http_answer import HttpAnswer
from dynaorm.transport.settings import endpoint_of

KEYS = FixedCredentials("KEY", "secret")
GET = Call("GetItem", {"TableName": "app", "Key": {"PK": {"B": b"\xff"}}})


@pytest.fixture
def exchange() -> RequestCodec:
    return RequestCodec(Destination(endpoint_of("http://localhost:8000"), "eu-west-1", KEYS, None, None))


def time_of(request: SignedRequest) -> float:
    return datetime.fromisoformat(request.headers["X-Amz-Date"]).timestamp()


def refuse(exchange: RequestCodec, code: str, date: str | None) -> Refusal:
    """What is made of a refusal of a request signed now."""
    headers = {} if date is None else {"date": date}
    body = json.dumps({"__type": f"x#{code}", "message": "Signature expired"}).encode()
    with pytest.raises(Refusal) as caught:
        exchange.reply(GET.operation, exchange.request(GET, KEYS), HttpAnswer(400, headers, body, False))
    return caught.value


def test_a_request_names_its_operation_and_carries_the_call(exchange: RequestCodec) -> None:
    request = exchange.request(GET, KEYS)
    assert request.headers["X-Amz-Target"] == "DynamoDB_20120810.GetItem"
    assert request.body == b'{"TableName":"app","Key":{"PK":{"B":"/w=="}}}'
    assert abs(time_of(request) - time.time()) < 60


@pytest.mark.parametrize("code", ["InvalidSignatureException", "RequestTimeTooSkewed", "RequestExpired"])
@pytest.mark.parametrize("hours", [-30, 5])
def test_after_a_signature_of_another_time_requests_are_signed_with_the_servers(
    exchange: RequestCodec, code: str, hours: int
) -> None:
    theirs = time.time() + hours * 3600
    refusal = refuse(exchange, code, formatdate(theirs, usegmt=True))
    assert is_retryable(refusal)
    assert (refusal.code, refusal.message) == ("RequestTimeTooSkewed", "Signature expired")
    assert abs(time_of(exchange.request(GET, KEYS)) - theirs) < 60


def test_a_signature_refused_at_the_same_time_is_one_of_wrong_keys(exchange: RequestCodec) -> None:
    refusal = refuse(exchange, "InvalidSignatureException", formatdate(usegmt=True))
    assert refusal.code == "InvalidSignatureException"
    assert not is_retryable(refusal)


def test_a_clock_is_set_once_so_that_wrong_keys_are_not_tried_for_ever(exchange: RequestCodec) -> None:
    theirs = formatdate(time.time() + 7200, usegmt=True)
    assert is_retryable(refuse(exchange, "InvalidSignatureException", theirs))
    assert not is_retryable(refuse(exchange, "InvalidSignatureException", theirs))


@pytest.mark.parametrize(
    "date", [None, "", "yesterday", "Mon, 99 Foo 2024 00:00:00 GMT", "Mon, 01 Jan 99999 00:00:00 GMT"]
)
def test_without_the_servers_time_nothing_is_set(exchange: RequestCodec, date: str | None) -> None:
    assert refuse(exchange, "InvalidSignatureException", date).code == "InvalidSignatureException"
    assert abs(time_of(exchange.request(GET, KEYS)) - time.time()) < 60
