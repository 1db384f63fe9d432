"""Every way an attempt can end is the same over each transport, against a server that misbehaves on purpose."""

import os
import threading
import time
from binascii import crc32
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dynaorm.errors import UsageError
from dynaorm.flow.protocol.call import Call, NoAnswer, Reason, Refusal
from dynaorm.item.json_body import Body
from tests.transport.each_transport import TRANSPORTS, Closable, Open
from tests.transport.unruly import (
    Behaviour,
    Unruly,
    answer,
    chunked,
    hang_up,
    refusal,
    reset,
    response,
    sending,
    tunnel,
    unruly_server,
)

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


def unsent(transport: Closable) -> str:
    """The reason of a call that ends before anything is sent."""
    failure = failure_of(transport)
    assert isinstance(failure, NoAnswer)
    assert not failure.sent, failure.reason
    return failure.reason


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


def test_requests_and_answers_of_megabytes_are_whole(server: Unruly, transport: Closable) -> None:
    photo = os.urandom(2_000_000)
    server.otherwise = lambda peer, request: answer({"Item": request.content["Item"]})(peer, request)
    reply = transport.call(Call("PutItem", {"TableName": "app", "Item": {"photo": {"B": photo}}}))
    assert reply["Item"] == {"photo": {"B": photo}}


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


# -- no answers to something never sent --------------------------------------------------------------------------------


def test_a_refused_connection_is_no_answer_to_something_never_sent(open_transport: Open) -> None:
    with unruly_server() as gone:
        pass
    unsent(open_transport(endpoint=gone.endpoint))


def test_a_host_that_does_not_exist_is_no_answer_to_something_never_sent(open_transport: Open) -> None:
    unsent(open_transport(endpoint="http://nowhere.invalid:8000"))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_nothing_is_sent_to_a_server_whose_certificate_is_refused(
    host: str,
    secure_server: Unruly,
    certificate: Path,
    open_transport: Open,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if host == "localhost":  # which is trusted, and has another name
        monkeypatch.setenv("AWS_CA_BUNDLE", str(certificate))
    reason = unsent(open_transport(endpoint=secure_server.endpoint.replace("127.0.0.1", host)))
    assert "CERTIFICATE_VERIFY_FAILED" in reason or "doesn't match" in reason
    assert secure_server.requests == []


@pytest.mark.parametrize("name", ["AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE"])
def test_a_certificate_that_the_environment_trusts_is_trusted(
    name: str,
    secure_server: Unruly,
    certificate: Path,
    open_transport: Open,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(name, str(certificate))
    transport = open_transport(endpoint=secure_server.endpoint)
    assert [transport.call(GET), transport.call(PUT)] == [{}, {}]
    assert secure_server.connections == 1


# pragma: allowlist nextline secret
WITH_PASSWORD = ("http://", "http://me:secret@")


def test_a_proxy_passes_on_what_is_not_encrypted(
    server: Unruly, open_transport: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", server.endpoint.replace(*WITH_PASSWORD))
    transport = open_transport(endpoint="http://dynamodb.example:8000")
    transport.call(GET)
    transport.call(GET)
    assert server.connections == 1
    assert server.requests[0].line == "POST http://dynamodb.example:8000/ HTTP/1.1"
    assert server.requests[0].headers["proxy-authorization"] == "Basic bWU6c2VjcmV0"


def test_a_proxy_sees_nothing_of_what_is_encrypted(
    server: Unruly,
    secure_server: Unruly,
    certificate: Path,
    open_transport: Open,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("https_proxy", server.endpoint.replace(*WITH_PASSWORD))
    monkeypatch.setenv("AWS_CA_BUNDLE", str(certificate))
    server.will(tunnel)
    transport = open_transport(endpoint=secure_server.endpoint)
    assert [transport.call(GET), transport.call(PUT)] == [{}, {}]
    (connect,) = server.requests
    assert connect.line.startswith(f"CONNECT {secure_server.endpoint.removeprefix('https://')} HTTP/1.")
    assert connect.headers["proxy-authorization"] == "Basic bWU6c2VjcmV0"
    assert "proxy-authorization" not in secure_server.requests[0].headers
    assert len(secure_server.requests) == 2


@pytest.mark.parametrize(
    "proxy",
    [
        answer({}, 407),
        hang_up,
        reset,
        sending(b"junk\r\n\r\n", then_close=True),
        sending(b"HTTP/1.1 20", then_close=True),
        sending(b"HTTP/1.1 200 OK\r\n\r\nI am no TLS server", then_close=True),
    ],
    ids=["refuses", "hangs up", "resets", "mumbles", "stops", "speaks first"],
)
def test_a_proxy_that_does_not_let_through_is_no_answer_to_something_never_sent(
    proxy: Behaviour,
    server: Unruly,
    secure_server: Unruly,
    certificate: Path,
    open_transport: Open,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("https_proxy", server.endpoint)
    monkeypatch.setenv("AWS_CA_BUNDLE", str(certificate))
    server.will(proxy)
    unsent(open_transport(endpoint=secure_server.endpoint))
    assert secure_server.requests == []


def test_a_silent_proxy_is_no_answer_to_something_never_sent(
    server: Unruly, secure_server: Unruly, open_transport: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", server.endpoint)
    server.will(server.stay_silent)
    began = time.monotonic()
    unsent(open_transport(endpoint=secure_server.endpoint, connect_timeout=0.1, timeout=0.1))
    assert time.monotonic() - began < 5


# -- configuration -----------------------------------------------------------------------------------------------------


def refused_before_sending(transport: Closable) -> str:
    with pytest.raises(UsageError) as caught:
        transport.call(GET)
    return str(caught.value)


def test_a_profile_gives_credentials_and_region(
    server: Unruly, open_transport: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = tmp_path / "config"
    config.write_text(
        "[profile shop]\nregion = sa-east-1\naws_access_key_id = SHOP\naws_secret_access_key = s\n"
        "[profile half]\naws_access_key_id = HALF\n"
        "[profile gone]\ncredential_process = /nowhere/at-all\n"
        "[profile failing]\ncredential_process = false\n"
    )
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    open_transport(endpoint=server.endpoint, profile="shop").call(GET)
    assert server.requests[0].scope == ("SHOP", "sa-east-1")
    for profile, remedy in [
        ("nobody", "name a profile"),
        ("half", "set both"),
        ("gone", "correct the AWS configuration"),
        ("failing", "correct the AWS configuration"),
    ]:
        assert remedy in refused_before_sending(open_transport(endpoint=server.endpoint, profile=profile))
    assert len(server.requests) == 1


def test_the_region_is_the_one_given_then_the_environments_then_an_emulators(
    server: Unruly, open_transport: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    def region(**options: Any) -> str:
        open_transport(endpoint=server.endpoint, **options).call(GET)
        return server.requests[-1].scope[1]

    assert region() == "us-east-1"
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    assert region() == "eu-west-1"
    monkeypatch.setenv("AWS_REGION", "eu-west-2")
    assert region() == "eu-west-2"
    assert region(region="eu-west-3") == "eu-west-3"


def test_credentials_that_expire_are_refreshed_for_the_next_call(
    server: Unruly, open_transport: Open, expiring_profile: str
) -> None:
    transport = open_transport(endpoint=server.endpoint, profile=expiring_profile)
    transport.call(GET)
    transport.call(GET)
    first, second = server.requests
    assert first.scope[0] != second.scope[0]
    for request in server.requests:
        assert request.headers["x-amz-security-token"] == request.scope[0].replace("KEY", "token")


def test_expired_credentials_are_refused_with_what_to_do(
    server: Unruly, open_transport: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_CREDENTIAL_EXPIRATION", "2020-01-01T00:00:00Z")
    assert "expired; correct the AWS configuration" in refused_before_sending(
        open_transport(endpoint=server.endpoint)
    )
    assert server.requests == []


@pytest.mark.parametrize(
    ("missing", "remedy"),
    [
        (["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"], "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
        (["AWS_SECRET_ACCESS_KEY"], "set both AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
    ],
)
def test_without_credentials_the_error_says_how_to_give_them(
    missing: list[str],
    remedy: str,
    server: Unruly,
    open_transport: Open,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    transport = open_transport(endpoint=server.endpoint)
    with monkeypatch.context() as environment:
        for name in missing:
            environment.delenv(name)
        assert remedy in refused_before_sending(transport)
    assert server.connections == 0


@pytest.mark.parametrize("region", ["us-east-1\r\nX-Evil: 1", "us-east-1/x", "-a", "a-", "1", "a" * 64, "ü"])
@pytest.mark.parametrize("endpoint", [None, "http://127.0.0.1:1"])
def test_a_region_that_cannot_be_is_refused(region: str, endpoint: str | None, open_transport: Open) -> None:
    problem = refused_before_sending(open_transport(region=region, endpoint=endpoint))
    assert problem.startswith(f"{region!r} is not the name of an AWS region; use a name like")


def test_without_any_region_or_endpoint_the_error_says_how_to_give_one(open_transport: Open) -> None:
    assert os.environ["AWS_CONFIG_FILE"] == os.devnull
    assert "No AWS region is known; give region=" in refused_before_sending(open_transport())


def test_an_endpoint_variant_that_a_region_does_not_have_is_refused(
    open_transport: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_USE_DUALSTACK_ENDPOINT", "true")
    monkeypatch.setenv("AWS_USE_FIPS_ENDPOINT", "true")
    problem = refused_before_sending(open_transport(region="us-isof-east-1"))
    assert "leave out use_fips_endpoint or use_dualstack_endpoint" in problem


# pragma: allowlist nextline secret
@pytest.mark.parametrize(
    "endpoint",
    [
        "localhost:8000",
        "nonsense",
        "http://liz:secret@two words",
        "http://a..b",
        f"http://{'a' * 64}.invalid",
    ],
)
def test_what_is_no_url_is_refused_as_an_endpoint(endpoint: str, open_transport: Open) -> None:
    assert refused_before_sending(open_transport(endpoint=endpoint)) == (
        f"{endpoint.rpartition('@')[2]!r} is not an endpoint of DynamoDB; give a URL like "
        "https://dynamodb.eu-west-1.amazonaws.com or http://127.0.0.1:8000"
    )


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


@pytest.mark.parametrize("kind", ["default", "direct"])
def test_eight_threads_at_a_cold_transport_are_all_answered(kind: str, server: Unruly) -> None:
    barrier = threading.Barrier(8)
    replies: list[Any] = []

    def work() -> None:
        barrier.wait()
        replies.append(transport.call(GET))

    with closing(TRANSPORTS[kind](endpoint=server.endpoint)) as transport:
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert replies == [{}] * 8
