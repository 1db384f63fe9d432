"""Over each transport, a request that did not leave is known not to have: proxies, certificates, hosts."""

import time
from pathlib import Path
from typing import Any

import pytest

from dynaorm.transport import Call, NoAnswer, Refusal
from tests.transport.each_transport import Closable, Open
from tests.transport.unruly import (
    Behaviour,
    Unruly,
    answer,
    hang_up,
    reset,
    sending,
    tunnel,
    unruly_server,
)

pytestmark = pytest.mark.usefixtures("one_loader")

GET = Call("GetItem", {"TableName": "app", "Key": {"PK": {"S": "a"}}})
PUT = Call("PutItem", {"TableName": "app", "Item": {"PK": {"S": "a"}, "b": {"B": b"\xff"}}})


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
