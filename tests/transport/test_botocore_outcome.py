"""Connection errors told apart by whether a request can have left; what botocore parses of an answer."""

import json
from binascii import crc32
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.awsrequest import AWSRequest
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
from botocore.httpsession import URLLib3Session

from dynaorm.item.json_body import Body
from dynaorm.transport import NoAnswer, Refusal
from dynaorm.transport.pynamodb import (
    CONNECTION_ERRORS,
    judge_answer,
    no_answer_of,
    refusal_in,
    reply_in,
)
from tests.transport.unruly import Unruly, answer, hang_up, reset, unruly_server

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


# -- with the urllib3 that is installed: the names of its functions are no part of its interface ----------------------


def ended_over_urllib3(url: str, **options: Any) -> NoAnswer:
    """What becomes of a request that botocore sends over urllib3 itself."""
    request = AWSRequest(method="POST", url=url, data=b"{}", headers={}).prepare()
    session = URLLib3Session(timeout=5, **options)
    with pytest.raises(CONNECTION_ERRORS) as caught:
        session.send(request)
    session.close()
    assert isinstance(caught.value, Exception)
    return no_answer_of(caught.value)


def test_over_urllib3_a_refused_certificate_is_known_to_come_before_the_request(
    secure_server: Unruly,
) -> None:
    failure = ended_over_urllib3(secure_server.endpoint)
    assert (failure.sent, secure_server.requests) == (False, [])
    assert "CERTIFICATE_VERIFY_FAILED" in failure.reason


def test_over_urllib3_a_proxy_that_opens_no_tunnel_is_known_to_come_before_the_request() -> None:
    with unruly_server() as proxy:
        proxy.will(answer({}, status=403))
        failure = ended_over_urllib3("https://dynamodb.invalid/", proxies={"https": proxy.endpoint})
    assert not failure.sent


@pytest.mark.parametrize("behaviour", [hang_up, reset], ids=["hung up", "reset"])
def test_over_urllib3_a_request_that_arrived_was_sent_whatever_ends_it(behaviour: Any) -> None:
    with unruly_server() as server:
        server.will(behaviour)
        failure = ended_over_urllib3(server.endpoint)
        assert (failure.sent, len(server.requests)) == (True, 1)


def test_over_urllib3_a_request_on_a_kept_connection_was_sent_too(
    certificate: Path, secure_server: Unruly
) -> None:
    secure_server.will(answer({}), reset)
    request = AWSRequest(method="POST", url=secure_server.endpoint, data=b"{}", headers={}).prepare()
    session = URLLib3Session(timeout=5, verify=str(certificate))  # type: ignore[arg-type]  # a bundle, too
    session.send(request)
    with pytest.raises(CONNECTION_ERRORS) as caught:
        session.send(request)
    session.close()
    assert no_answer_of(caught.value).sent


def test_the_answer_to_what_botocore_asks_by_itself_is_left_to_botocore() -> None:
    """Endpoint discovery reads the ``Endpoints`` of DescribeEndpoints."""
    response = {"status_code": 200, "headers": {}, "body": b'{"Endpoints":[]}'}
    parsed: dict[str, Any] = {}
    judge_answer(
        response_dict=response,
        customized_response_dict=parsed,
        operation_model=SimpleNamespace(name="DescribeEndpoints"),
    )
    assert (response["body"], parsed) == (b'{"Endpoints":[]}', {})
