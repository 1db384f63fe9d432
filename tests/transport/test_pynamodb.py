"""Every way an attempt can end, against a server that misbehaves on purpose."""

import binascii
import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import pytest
from botocore.exceptions import NoCredentialsError, ProfileNotFound
from botocore.session import Session as BotocoreSession
from moto import mock_aws

from dynaorm.errors import UsageError
from dynaorm.flow.protocol.call import Call, NoAnswer, Reason, Refusal, Reply, Transport
from dynaorm.item.json_body import Body
from dynaorm.transport.pynamodb import PynamoTransport

GET = Call("GetItem", {"TableName": "app", "Key": {"PK": {"S": "a"}}})
PUT = Call("PutItem", {"TableName": "app", "Item": {"PK": {"S": "a"}}})
TRANSACT = Call(
    "TransactWriteItems",
    {"TransactItems": [{"Put": PUT.request}, {"Delete": GET.request}], "ClientRequestToken": "t"},
)


@dataclass
class Misbehaving:
    """An HTTP server of one behaviour, which counts the requests that arrive."""

    endpoint: str
    behave: "Behaviour"
    headers: list[Mapping[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)


Behaviour: TypeAlias = Callable[[BaseHTTPRequestHandler], None]


def answer(
    status: int, content: Mapping[str, Any], *, cut: int = 0, checksum: int | None = None
) -> Behaviour:
    """Answer with this status and JSON body, without its last ``cut`` bytes."""
    body = json.dumps(content).encode()

    def behave(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", "application/x-amz-json-1.0")
        handler.send_header("x-amzn-RequestId", "REQUEST1")
        handler.send_header("x-amz-crc32", str(binascii.crc32(body) if checksum is None else checksum))
        handler.send_header("Connection", "close")
        if not cut:
            handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body[: len(body) - cut])

    return behave


def refuse(code: str, **content: Any) -> Behaviour:
    return answer(400, {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", **content})


def drop(handler: BaseHTTPRequestHandler) -> None:
    """Read the request and hang up."""
    handler.close_connection = True


@pytest.fixture
def server() -> Iterator[Misbehaving]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            state.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            state.headers.append(dict(self.headers))
            state.behave(self)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: a test's output is its own."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        state = Misbehaving(f"http://127.0.0.1:{http.server_port}", answer(200, {}))
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        yield state
        state.released.set()
        http.shutdown()
        thread.join()


def failure_of(server: Misbehaving, call: Call = GET, **options: Any) -> Refusal | NoAnswer:
    """What one call ends in, after a check that one request was made of it."""
    with pytest.raises((Refusal, NoAnswer)) as caught:
        PynamoTransport(endpoint=server.endpoint, **options).call(call)
    assert len(server.bodies) == 1
    assert isinstance(caught.value, Refusal | NoAnswer)
    return caught.value


def test_a_reply_is_given_in_the_low_level_form_with_bytes_for_binary_values(server: Misbehaving) -> None:
    server.behave = answer(200, {"Item": {"PK": {"S": "a"}, "b": {"B": "/w=="}}})
    transport: Transport = PynamoTransport(endpoint=server.endpoint)
    assert transport.call(GET)["Item"] == {"PK": {"S": "a"}, "b": {"B": b"\xff"}}


def test_a_reply_is_the_very_bytes_that_came(server: Misbehaving) -> None:
    server.behave = answer(200, {"Item": {"PK": {"S": "a"}}})
    reply = PynamoTransport(endpoint=server.endpoint).call(GET)
    assert isinstance(reply, Body)
    assert reply.raw == b'{"Item": {"PK": {"S": "a"}}}'


def test_a_request_says_what_sent_it(server: Misbehaving, monkeypatch: pytest.MonkeyPatch) -> None:
    PynamoTransport(endpoint=server.endpoint).call(GET)
    agent = server.headers[0]["User-Agent"]
    assert agent.startswith("Botocore/")
    assert agent.endswith(" lib/dynaorm")
    monkeypatch.setenv("AWS_SDK_UA_APP_ID", "shop")
    PynamoTransport(endpoint=server.endpoint).call(GET)
    assert server.headers[1]["User-Agent"] == f"{agent} app/shop"


def test_a_request_is_sent_as_it_is_and_left_as_it_was(server: Misbehaving) -> None:
    request = {"TableName": "app", "Key": {"PK": {"S": "a"}}}
    PynamoTransport(endpoint=server.endpoint).call(Call("GetItem", MappingProxyType(request)))
    assert json.loads(server.bodies[0]) == request == {"TableName": "app", "Key": {"PK": {"S": "a"}}}


def test_a_repeated_transaction_is_sent_byte_for_byte_again_in_its_order(server: Misbehaving) -> None:
    transport = PynamoTransport(endpoint=server.endpoint)
    transport.call(TRANSACT)
    transport.call(TRANSACT)
    assert server.bodies[0] == server.bodies[1]
    assert [list(action) for action in json.loads(server.bodies[0])["TransactItems"]] == [["Put"], ["Delete"]]


def test_a_refusal_has_code_message_and_request_id(server: Misbehaving) -> None:
    server.behave = refuse("ValidationException", message="no such key")
    failure = failure_of(server)
    assert isinstance(failure, Refusal)
    assert (failure.code, failure.message, failure.request_id) == (
        "ValidationException",
        "no such key",
        "REQUEST1",
    )
    assert (failure.reasons, failure.item) == ((), None)


def test_the_item_a_single_write_found_comes_with_its_refusal(server: Misbehaving) -> None:
    server.behave = refuse("ConditionalCheckFailedException", message="no", Item={"PK": {"B": "/w=="}})
    failure = failure_of(server, PUT)
    assert isinstance(failure, Refusal)
    assert failure.item == {"PK": {"B": b"\xff"}}


def test_a_cancelled_transaction_has_one_reason_per_action_in_order(server: Misbehaving) -> None:
    reasons = [
        {"Code": "None"},
        {"Code": "ConditionalCheckFailed", "Message": "no", "Item": {"PK": {"S": "a"}}},
        {"Code": "TransactionConflict"},
    ]
    server.behave = refuse("TransactionCanceledException", Message="cancelled", CancellationReasons=reasons)
    failure = failure_of(server, TRANSACT)
    assert isinstance(failure, Refusal)
    assert failure.reasons == (
        None,
        Reason("ConditionalCheckFailed", "no", {"PK": {"S": "a"}}),
        Reason("TransactionConflict"),
    )


RETRIED_BY_SDKS = [
    "ProvisionedThroughputExceededException",
    "ThrottlingException",
    "RequestLimitExceeded",
    "TransactionInProgressException",
    "TransactionConflictException",
]


@pytest.mark.parametrize("code", RETRIED_BY_SDKS)
def test_what_sdks_repeat_by_themselves_is_one_attempt_here(server: Misbehaving, code: str) -> None:
    server.behave = refuse(code)
    assert isinstance(failure_of(server, TRANSACT), Refusal)


def test_one_attempt_whatever_the_environment_says(
    server: Misbehaving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "5")
    monkeypatch.setenv("AWS_RETRY_MODE", "adaptive")
    server.behave = refuse("ThrottlingException")
    assert isinstance(failure_of(server), Refusal)


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_http_5xx_is_no_answer_because_the_write_may_have_happened(server: Misbehaving, status: int) -> None:
    server.behave = answer(status, {"__type": "InternalServerError", "message": "oh"})
    failure = failure_of(server, PUT)
    assert isinstance(failure, NoAnswer)
    assert failure.sent
    assert failure.reason == f"HTTP {status} InternalServerError: oh"


def test_a_5xx_without_an_error_of_dynamodbs_own_is_no_answer(server: Misbehaving) -> None:
    server.behave = answer(502, {})
    assert isinstance(failure_of(server), NoAnswer)


def test_a_servers_own_fault_is_no_answer_under_any_status(server: Misbehaving) -> None:
    server.behave = refuse("InternalServerError")
    assert isinstance(failure_of(server), NoAnswer)


def test_a_dropped_connection_is_no_answer_to_something_sent(server: Misbehaving) -> None:
    server.behave = drop
    failure = failure_of(server, PUT)
    assert isinstance(failure, NoAnswer)
    assert failure.sent
    assert "ConnectionClosedError" in failure.reason


def test_a_read_timeout_is_no_answer_to_something_sent(server: Misbehaving) -> None:
    server.behave = lambda handler: drop(handler) if server.released.wait(30) else None
    failure = failure_of(server, PUT, read_timeout=0.1)
    assert isinstance(failure, NoAnswer)
    assert failure.sent
    assert "ReadTimeoutError" in failure.reason


@pytest.mark.parametrize("damage", [{"cut": 20}, {"checksum": 1}])
def test_a_damaged_reply_is_no_answer_rather_than_an_absent_item(
    server: Misbehaving, damage: Mapping[str, int]
) -> None:
    server.behave = answer(200, {"Item": {"PK": {"S": "a" * 100}}}, **damage)
    failure = failure_of(server)
    assert isinstance(failure, NoAnswer)
    assert failure.sent


@pytest.mark.parametrize("status", [200, 404, 408, 502])
def test_a_web_page_is_no_answer_whatever_its_status(server: Misbehaving, status: int) -> None:
    def page(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", "text/html")
        handler.send_header("Connection", "close")
        handler.end_headers()
        handler.wfile.write(b"<html>Hello</html>")

    server.behave = page
    failure = failure_of(server, PUT)
    assert isinstance(failure, NoAnswer)
    assert failure.reason == f"HTTP {status} without JSON: is the endpoint a DynamoDB?"


def test_a_refused_connection_is_no_answer_to_something_never_sent() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as closed:
        port = closed.server_port
    with pytest.raises(NoAnswer, match="EndpointConnectionError") as caught:
        PynamoTransport(endpoint=f"http://127.0.0.1:{port}").call(PUT)
    assert not caught.value.sent


def test_eight_threads_at_a_cold_transport_make_one_client(
    server: Misbehaving, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    create_client = BotocoreSession.create_client

    def counted(session: BotocoreSession, service: str, *args: Any, **options: Any) -> Any:
        made.append(service)
        return create_client(session, service, *args, **options)

    monkeypatch.setattr(BotocoreSession, "create_client", counted)
    transport = PynamoTransport(endpoint=server.endpoint)
    together = threading.Barrier(8)
    replies: list[Reply] = []

    def work() -> None:
        together.wait()
        replies.append(transport.call(GET))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(replies) == len(server.bodies) == 8
    assert made == ["dynamodb"]


def test_a_closed_transport_opens_new_connections_when_called_again(server: Misbehaving) -> None:
    transport = PynamoTransport(endpoint=server.endpoint)
    transport.close()
    transport.call(GET)
    transport.close()
    transport.close()
    transport.call(GET)
    assert len(server.bodies) == 2


def test_without_credentials_botocores_own_error_passes_and_nothing_is_sent(
    server: Misbehaving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with pytest.raises(NoCredentialsError):
        PynamoTransport(endpoint=server.endpoint).call(GET)
    assert server.bodies == []


def signed_for(server: Misbehaving, **options: Any) -> tuple[str, str]:
    """The access key and the region a call is signed with."""
    PynamoTransport(endpoint=server.endpoint, **options).call(GET)
    scope = server.headers[-1]["Authorization"].partition("Credential=")[2].split("/")
    return scope[0], scope[2]


def test_the_region_is_the_one_given_then_the_environments_then_an_emulators(
    server: Misbehaving, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert signed_for(server) == ("testing", "us-east-1")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    assert signed_for(server) == ("testing", "eu-west-1")
    monkeypatch.setenv("AWS_REGION", "eu-west-2")
    assert signed_for(server) == ("testing", "eu-west-2")
    assert signed_for(server, region="eu-west-3") == ("testing", "eu-west-3")


def test_a_profile_gives_credentials_and_region(
    server: Misbehaving, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = tmp_path / "config"
    config.write_text(
        "[profile shop]\nregion = sa-east-1\naws_access_key_id = SHOP\naws_secret_access_key = s\n"
    )
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    assert signed_for(server, profile="shop") == ("SHOP", "sa-east-1")
    with pytest.raises(ProfileNotFound):
        PynamoTransport(endpoint=server.endpoint, profile="nobody").call(GET)


def test_without_any_region_or_endpoint_the_error_says_how_to_give_one() -> None:
    assert os.environ["AWS_CONFIG_FILE"] == os.devnull
    with pytest.raises(UsageError, match=r"No AWS region is known.*region="):
        PynamoTransport().call(GET)


# pragma: allowlist nextline secret
@pytest.mark.parametrize("endpoint", ["localhost:8000", "nonsense", "http://liz:secret@two words"])
def test_what_is_no_url_is_refused_as_an_endpoint_and_the_error_says_what_is(endpoint: str) -> None:
    with pytest.raises(UsageError) as caught:
        PynamoTransport(endpoint=endpoint).call(GET)
    assert str(caught.value) == (
        f"{endpoint.rpartition('@')[2]!r} is no endpoint of DynamoDB; give a URL like "
        "https://dynamodb.eu-west-1.amazonaws.com or http://127.0.0.1:8000"
    )


def test_mock_aws_answers_in_process_whatever_was_made_before_it() -> None:
    transport = PynamoTransport(region="us-east-1")
    with mock_aws():
        transport.call(
            Call(
                "CreateTable",
                {
                    "TableName": "app",
                    "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}],
                    "AttributeDefinitions": [{"AttributeName": "PK", "AttributeType": "S"}],
                    "BillingMode": "PAY_PER_REQUEST",
                },
            )
        )
        transport.call(Call("PutItem", {"TableName": "app", "Item": {"PK": {"S": "a"}, "b": {"B": b"\xff"}}}))
        assert transport.call(GET)["Item"] == {"PK": {"S": "a"}, "b": {"B": b"\xff"}}
        assert "TimeToLiveDescription" in transport.call(Call("DescribeTimeToLive", {"TableName": "app"}))
