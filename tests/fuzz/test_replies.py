"""Whatever bytes come back, a session never takes them for an absent item or for a committed write."""

import json
import threading
from binascii import crc32
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm import Entity, Key, Retry, Session, Table, inspect
from dynaorm.errors import OutcomeUnknown, StoreError
from dynaorm.item.json_body import Body, decode_body, encode_body
from dynaorm.testing import FakeClock
from dynaorm.transport import PynamoTransport

app = Table("replies-app")


class Note(Entity, table=app, pk="NOTE#{name}", sk="N"):
    name: str
    text: str = ""


class Answer(NamedTuple):
    """The answer of the server. ``checksum`` is None for no such header."""

    status: int
    body: bytes
    checksum: str | None


ITEM = {
    "PK": {"S": "NOTE#a"},
    "SK": {"S": "N"},
    "_type": {"S": "Note"},
    "name": {"S": "a"},
    "b": {"B": b"\x00"},
}
SOUND = encode_body({"Item": ITEM, "Attributes": ITEM, "Items": [ITEM], "Count": 1})
BODIES = st.one_of(
    st.binary(max_size=40),
    st.sampled_from(
        [b"", b"null", b"[]", b"5", b'"x"', b"true", b"{", b"<html></html>", SOUND[:-1], SOUND + b"}"]
    ),
    st.integers(1, len(SOUND) - 1).map(lambda size: SOUND[:size]),
    st.builds(
        lambda place, byte: SOUND[:place] + bytes([byte]) + SOUND[place + 1 :],
        st.integers(0, len(SOUND) - 1),
        st.integers(0, 255),
    ),
)
"""Random bytes, and replies that were cut or damaged."""


def is_object(body: bytes) -> bool:
    try:
        return isinstance(json.loads(body), dict)
    except (ValueError, RecursionError):
        return False


class Server(ThreadingHTTPServer):
    """A server that answers every request alike."""

    answer = Answer(200, b"{}", None)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        assert isinstance(self.server, Server)
        status, body, checksum = self.server.answer
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if checksum is not None:
            self.send_header("x-amz-crc32", checksum)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), _Handler) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def session(server: Server, credentials: None) -> Iterator[Session]:
    transport = PynamoTransport(endpoint=f"http://127.0.0.1:{server.server_port}")
    yield Session(transport=transport, clock=FakeClock(jitter=0), retry=Retry(attempts=1))
    transport.close()


CHECKSUMS = st.sampled_from([None, "0", "4294967295", "-1", "x", "", "1.0"])


READS: dict[str, Callable[[Session], object]] = {
    "get": lambda session: session.get(Note, name="a"),
    "exists": lambda session: session.exists(Note, name="a"),
    "query": lambda session: session.query(Note, name="a").all(),
    "count": lambda session: session.scan(Note).count(),
    "get_many": lambda session: session.get_many([Key(Note, name="a")]),
}


@given(
    body=BODIES,
    checksum=CHECKSUMS,
    status=st.sampled_from([200, 200, 400, 403, 500, 503]),
    read=st.sampled_from(sorted(READS)),
)
def test_a_damaged_or_foreign_reply_is_no_answer(
    server: Server, session: Session, body: bytes, checksum: str | None, status: int, read: str
) -> None:
    if status == 200 and (is_object(body) if checksum is None else checksum == str(crc32(body))):
        return
    server.answer = Answer(status, body, checksum)
    with pytest.raises(StoreError):
        READS[read](session)
    note = Note(name="a")
    with pytest.raises(StoreError) as refusal:
        session.save(note)
    assert status != 200 or isinstance(refusal.value, OutcomeUnknown)
    assert not inspect(note).loaded


@given(body=BODIES)
def test_bytes_are_a_reply_or_a_value_error(body: bytes) -> None:
    with suppress(ValueError):
        found = decode_body(body)
        assert Body(body).content == found
        assert is_object(body) is isinstance(found, dict)
