"""Credentials that a caller gives sign the requests of that caller alone, over every transport, and are never shown."""

import asyncio
import json
import logging
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import pytest
from botocore.credentials import Credentials

from dynaorm import AsyncSession, Session
from dynaorm.errors import UsageError
from dynaorm.flow.call import Flow
from dynaorm.transport import AsyncDirectTransport, Call, DirectTransport, PynamoTransport

pytestmark = pytest.mark.usefixtures("one_loader")

CALLS = [
    Call("ListTables", {}),
    Call("DescribeStream", {"StreamArn": "arn:aws:dynamodb:us-east-1:000000000000:table/none/stream/2024"}),
]


class Frozen(NamedTuple):
    """Credentials of one moment."""

    access_key: str
    secret_key: str
    token: str | None


class Rotating:
    """Credentials that differ each time they are asked for."""

    def __init__(self, name: str) -> None:
        self.name, self.asked = name, 0

    def get_frozen_credentials(self) -> Frozen:
        self.asked += 1
        return Frozen(f"{self.name}{self.asked}", f"hush-{self.name}", f"token-{self.asked}")


class Server(ThreadingHTTPServer):
    """Answers every request with nothing, and keeps who signed it."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.signed: list[tuple[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def signers(self) -> list[str]:
        """The access keys since the last call."""
        found, self.signed = self.signed, []
        return [key for key, _ in found]


class Answers(BaseHTTPRequestHandler):
    """One connection to the server."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        key = self.headers["Authorization"].partition("Credential=")[2].partition("/")[0]
        assert isinstance(self.server, Server)
        self.server.signed.append((key, self.headers["X-Amz-Security-Token"]))
        body = json.dumps({"TableNames": [], "StreamDescription": {}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Write nothing."""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.operation)
@pytest.mark.parametrize("kind", [PynamoTransport, DirectTransport])
def test_two_transports_sign_with_their_own_and_ask_for_each_request(
    server: Server, kind: Any, call: Call
) -> None:
    one = kind(region="eu-west-1", endpoint=server.url, credentials=Rotating("one"))
    two = kind(region="eu-west-1", endpoint=server.url, credentials=Rotating("two"))
    environment = kind(region="eu-west-1", endpoint=server.url)
    server.signers()
    for transport in (one, two, one, two, environment):
        transport.call(call)
    tokens = [token for _, token in server.signed]
    keys = server.signers()
    assert [key.rstrip("0123456789") for key in keys] == ["one", "two", "one", "two", "testing"]
    assert len(set(keys)) == 5
    assert tokens == [*(f"token-{key[3:]}" for key in keys[:4]), None]
    for transport in (one, two, environment):
        transport.close()


def test_credentials_of_botocore_are_taken(server: Server) -> None:
    given = Credentials("fixed", "hush")  # pragma: allowlist secret
    server.signers()
    for kind in (PynamoTransport, DirectTransport):
        transport: Any = kind(region="eu-west-1", endpoint=server.url, credentials=given)
        for call in CALLS:
            transport.call(call)
        transport.close()
    assert server.signers() == ["fixed"] * 4


def test_no_other_credentials_are_needed(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    for kind in (PynamoTransport, DirectTransport):
        transport: Any = kind(region="eu-west-1", endpoint=server.url, credentials=Rotating("only"))
        transport.call(CALLS[0])
        transport.close()


def test_sessions_give_their_credentials_to_the_default_transport(server: Server) -> None:
    server.signers()
    with Session(region="eu-west-1", endpoint=server.url, credentials=Rotating("one")) as session:
        session._transport.call(CALLS[0])

    async def main() -> None:
        async with AsyncSession(
            region="eu-west-1", endpoint=server.url, credentials=Rotating("two")
        ) as session:
            await session._transport.call(CALLS[0])
        async with AsyncDirectTransport("eu-west-1", server.url, credentials=Rotating("three")) as transport:
            await transport.call(CALLS[0])

    asyncio.run(main())
    assert [key.rstrip("0123456789") for key in server.signers()] == ["one", "two", "three"]


def asking(call: Call) -> Flow[object]:
    return (yield call)


@pytest.mark.parametrize("kind", [PynamoTransport, DirectTransport])
def test_they_are_never_shown(server: Server, kind: Any, caplog: pytest.LogCaptureFixture) -> None:
    transport = kind(region="eu-west-1", endpoint=server.url, credentials=Rotating("one"))
    with caplog.at_level(logging.DEBUG, "dynaorm"), Session(transport=transport, log_values=True) as session:
        session._run("list", asking(CALLS[0]))
    shown = f"{transport!r} {vars(transport)!r} {caplog.text}"
    assert "ListTables" in shown
    assert "hush" not in shown
    transport.close()


@pytest.mark.parametrize("kind", [PynamoTransport, DirectTransport, Session, AsyncSession])
def test_what_cannot_be_asked_for_is_refused(kind: Any) -> None:
    with pytest.raises(UsageError, match=r"is a tuple without get_frozen_credentials\(\)") as caught:
        kind(region="eu-west-1", credentials=("key", "hush"))
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize("kind", [Session, AsyncSession])
def test_a_transport_has_credentials_of_its_own(kind: Any) -> None:
    with pytest.raises(UsageError, match="give the transport what it needs"):
        kind(transport=DirectTransport(), credentials=Rotating("one"))
