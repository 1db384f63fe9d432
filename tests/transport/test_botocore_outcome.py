"""Connection errors told apart by whether a request can have left."""

import ssl
from binascii import crc32
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from botocore.exceptions import (
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
    ProxyConnectionError,
    ReadTimeoutError,
    SSLError,
)
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from dynaorm.flow.protocol.call import Call, NoAnswer
from dynaorm.item.json_body import Body
from dynaorm.transport.botocore_outcome import (
    CONNECTION_ERRORS,
    check_reply,
    keep_body,
    no_answer_of,
    reply_of,
)
from dynaorm.transport.pynamodb import PynamoTransport

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


def received(body: bytes, checksum: str | None = None) -> dict[str, Any]:
    headers = {} if checksum is None else {"x-amz-crc32": checksum}
    return {"headers": headers, "body": body, "status_code": 200}


def test_a_reply_without_a_checksum_need_only_be_a_json_object() -> None:
    check_reply(response_dict=received(b"{}"))
    check_reply(response_dict=received(b'{"Item":{}}', str(crc32(b'{"Item":{}}'))))


@pytest.mark.parametrize(
    "body", [b"", b"null", b"[]", b"5", b'"x"', b"\x80", b'{"Item":', b"<html></html>", b"[" * 100_000]
)
def test_a_reply_that_is_no_json_object_is_no_answer(body: bytes) -> None:
    with pytest.raises(NoAnswer, match="HTTP 200 without JSON"):
        check_reply(response_dict=received(body))


@pytest.mark.parametrize("checksum", ["0", "", "x", "-1", "2745614147.0"])
def test_a_reply_that_does_not_match_its_checksum_is_no_answer(checksum: str) -> None:
    with pytest.raises(NoAnswer, match="x-amz-crc32"):
        check_reply(response_dict=received(b"{}", checksum))


def parsed_by_botocore(status: int, body: object) -> tuple[object, dict[str, Any]]:
    """What botocore's parser is left of a body, and what its result is completed with."""
    response, kept = {"status_code": status, "body": body}, dict[str, Any]()
    keep_body(response_dict=response, customized_response_dict=kept)
    return response["body"], kept


def test_botocore_parses_nothing_of_a_successful_reply() -> None:
    left, kept = parsed_by_botocore(200, b'{"Item":{"PK":{"S":"a"}}}')
    reply = reply_of({"ResponseMetadata": {}, **kept})
    assert left == b""
    assert isinstance(reply, Body)
    assert (reply.raw, dict(reply)) == (b'{"Item":{"PK":{"S":"a"}}}', {"Item": {"PK": {"S": "a"}}})


@pytest.mark.parametrize(("status", "body"), [(400, b"{}"), (500, b"{}"), (200, b"<html>"), (200, b"")])
def test_errors_and_what_is_no_object_are_left_to_botocore(status: int, body: bytes) -> None:
    assert parsed_by_botocore(status, body) == (body, {})


def test_a_botocore_that_says_nothing_before_it_parses_gives_what_it_parsed() -> None:
    assert reply_of({"Item": {"PK": {"S": "a"}}}) == {"Item": {"PK": {"S": "a"}}}


@pytest.fixture
def self_signed(tmp_path: Path) -> Iterator[str]:
    """The URL of an HTTPS server whose certificate nobody vouches for."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    pem = tmp_path / "server.pem"
    pem.write_bytes(
        certificate.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as http:
        http.socket = context.wrap_socket(http.socket, server_side=True)
        thread = Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        yield f"https://127.0.0.1:{http.server_port}"
        http.shutdown()
        thread.join()


def test_nothing_is_sent_to_a_server_whose_certificate_is_refused(self_signed: str) -> None:
    with pytest.raises(NoAnswer, match="CERTIFICATE_VERIFY_FAILED") as caught:
        PynamoTransport(endpoint=self_signed).call(Call("ListTables", {}))
    assert not caught.value.sent
