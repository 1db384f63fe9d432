"""Servers that misbehave, without and with TLS; transports to them; an environment without proxies."""

import ipaddress
import logging
import os
import ssl
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore import handlers
from botocore.httpsession import URLLib3Session
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.transport.both_ways import EachWay, Run, Wrapped
from tests.transport.each_transport import TRANSPORTS, Closable, Open
from tests.transport.unruly import Unruly, unruly_server


@pytest.fixture(autouse=True)
def no_proxy_and_no_bundle(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test sets those that it needs."""
    for name in list(os.environ):
        if name.lower().endswith(("_proxy", "_ca_bundle")):
            monkeypatch.delenv(name)


@pytest.fixture(params=TRANSPORTS)
def open_transport(request: pytest.FixtureRequest) -> Iterator[Open]:
    """Opens a transport of each kind. What a test opens is closed after it."""
    with ExitStack() as opened:

        def open_one(**options: Any) -> Closable:
            return opened.enter_context(closing(TRANSPORTS[request.param](**options)))

        yield open_one


@pytest.fixture
def server() -> Iterator[Unruly]:
    with unruly_server() as server:
        yield server


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of 127.0.0.1 that vouches for itself, with its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    pem = tmp_path_factory.mktemp("tls") / "server.pem"
    pem.write_bytes(
        made.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return pem


@pytest.fixture
def secure_server(certificate: Path) -> Iterator[Unruly]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with unruly_server(context) as server:
        yield server


@pytest.fixture
def expiring_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A profile whose credentials expire in minutes, so that each request needs new ones: KEY1, KEY2, ..."""
    counter = tmp_path / "counter"
    counter.write_text("0")
    program = tmp_path / "credentials.py"
    program.write_text(
        "import datetime, json, pathlib\n"
        f"counter = pathlib.Path({str(counter)!r})\n"
        "number = int(counter.read_text()) + 1\n"
        "counter.write_text(str(number))\n"
        "expiry = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(minutes=5)\n"
        "keys = {'AccessKeyId': f'KEY{number}', 'SecretAccessKey': 's', 'SessionToken': f'token{number}'}\n"
        "print(json.dumps({'Version': 1, **keys, 'Expiration': expiry.isoformat()}))\n"
    )
    config = tmp_path / "config"
    config.write_text(f"[profile expiring]\ncredential_process = {sys.executable} {program}\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    return "expiring"


@pytest.fixture
def each_way(monkeypatch: pytest.MonkeyPatch) -> EachWay:
    """Runs something twice: over own connections, then through botocore."""

    def run(something: Run) -> tuple[Any, Any]:
        ours = something()
        with monkeypatch.context() as patched:
            patched.setattr(URLLib3Session, "send", Wrapped(URLLib3Session.send))
            return ours, something()

    return run


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    caplog.set_level(logging.INFO, "dynaorm")
    return lambda: [record.getMessage() for record in caplog.records if record.name == "dynaorm"]


@pytest.fixture
def handle(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Adds an event handler to every client of botocore."""

    def add(event: str, handler: Callable[..., Any]) -> None:
        monkeypatch.setattr(handlers, "BUILTIN_HANDLERS", [*handlers.BUILTIN_HANDLERS, (event, handler)])

    return add
