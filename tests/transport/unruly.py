"""A server on bare sockets that answers as a test tells it: whole, in pieces, cut short, late, or not at all."""

import json
import socket
import ssl
import struct
import threading
from binascii import crc32
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import formatdate
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Request:
    """What arrived: its first line, its headers by lower-case name, and its body."""

    line: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def content(self) -> Any:
        return json.loads(self.body)

    @property
    def scope(self) -> tuple[str, str]:
        """The access key and the Region it is signed with."""
        key, _, region, *_ = self.headers["authorization"].partition("Credential=")[2].split("/")
        return key, region

    @property
    def signed_at(self) -> float:
        """The seconds since the Unix epoch that its signature says."""
        return datetime.fromisoformat(self.headers["x-amz-date"]).timestamp()


Behaviour: TypeAlias = Callable[[socket.socket, Request], bool]
"""Answers a request, and says whether the connection stays open for the next."""


@dataclass
class Unruly:
    """A server that plays its script, one behaviour per request, and then always answers ``otherwise``.

    ``closed`` is set whenever the server has closed a connection; ``released`` ends what waits for the test's end.
    """

    endpoint: str
    script: deque[Behaviour] = field(default_factory=deque)
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    closed: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.otherwise: Behaviour = answer({})

    def will(self, *behaviours: Behaviour) -> None:
        self.script.extend(behaviours)

    def stay_silent(self, *_: object) -> bool:
        """A behaviour: no answer before the test ends."""
        self.released.wait(30)
        return False

    def serve(self, peer: socket.socket) -> None:
        # Without delay, what was sent has arrived: Nagle's algorithm would hold back all but the first packet.
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while (request := _read(peer)) is not None:
            self.requests.append(request)
            behave = self.script.popleft() if self.script else self.otherwise
            if not behave(peer, request):
                return


def response(
    content: object,
    status: int = 200,
    *,
    raw: bytes | None = None,
    framing: str | None = None,
    checksum: object = None,
    **headers: str,
) -> bytes:
    """An answer as it goes over the wire. ``raw``: its body, instead of JSON; ``framing``: instead of a length."""
    body = json.dumps(content).encode() if raw is None else raw
    lines = [
        f"HTTP/1.1 {status} Whatever",
        "Content-Type: application/x-amz-json-1.0",
        "x-amzn-RequestId: REQUEST1",
        *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()),
        f"Content-Length: {len(body)}" if framing is None else framing,
    ]
    if raw is None or checksum is not None:
        lines.append(f"x-amz-crc32: {crc32(body) if checksum is None else checksum}")
    return "\r\n".join([line for line in lines if line]).encode() + b"\r\n\r\n" + body


def answer(content: object, status: int = 200, **options: Any) -> Behaviour:
    """Answer with this JSON, and keep the connection open."""
    return sending(response(content, status, **options))


def refusal(code: str, **content: Any) -> Behaviour:
    return answer({"__type": f"com.amazonaws.dynamodb.v20120810#{code}", **content}, 400)


def sending(*pieces: bytes, then_close: bool = False) -> Behaviour:
    """Send these bytes, each in a packet of its own."""

    def behave(peer: socket.socket, _: Request) -> bool:
        for piece in pieces:
            peer.sendall(piece)
        return not then_close

    return behave


def chunked(content: object, size: int) -> Behaviour:
    """The same answer in chunks of so many bytes, each in a packet of its own, with a trailer after them."""
    whole = response(content, framing="Transfer-Encoding: chunked")
    head, _, body = whole.partition(b"\r\n\r\n")
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    chunks = [b"%x;name=value\r\n%b\r\n" % (len(part), part) for part in parts]
    return sending(head + b"\r\n\r\n", *chunks, b"0\r\nx-trailer: 1\r\n\r\n")


def keeps_time(theirs: float) -> Behaviour:
    """Refuse signatures that are more than five minutes off this time, and say what time it is."""

    def behave(peer: socket.socket, request: Request) -> bool:
        if abs(request.signed_at - theirs) < 300:
            return answer({})(peer, request)
        content = {"__type": "x#InvalidSignatureException", "message": "Signature not yet current"}
        return answer(content, 400, Date=formatdate(theirs, usegmt=True))(peer, request)

    return behave


def hang_up(peer: socket.socket, _: Request) -> bool:
    """Read the request, and close the connection."""
    return False


def reset(peer: socket.socket, _: Request) -> bool:
    """Read the request, and break the connection (RST)."""
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return False


def tunnel(peer: socket.socket, request: Request) -> bool:
    """Be a proxy: connect to whom CONNECT names, and carry bytes both ways."""
    host, _, port = request.line.split()[1].rpartition(":")
    with socket.create_connection((host, int(port))) as upstream:
        peer.sendall(b"HTTP/1.0 200 Connection established\r\n\r\n")
        back = threading.Thread(target=_pump, args=(upstream, peer))
        back.start()
        _pump(peer, upstream)
        back.join()
    return False


@contextmanager
def unruly_server(context: ssl.SSLContext | None = None) -> Iterator[Unruly]:
    """A server on 127.0.0.1, behind TLS if a context is given."""
    threads: list[threading.Thread] = []
    peers: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        scheme = "http" if context is None else "https"
        state = Unruly(f"{scheme}://127.0.0.1:{listening.getsockname()[1]}")

        def converse(peer: socket.socket) -> None:
            # A client that goes away in the middle is what many tests are about.
            with (
                suppress(OSError),
                peer if context is None else context.wrap_socket(peer, server_side=True) as wrapped,
            ):
                state.serve(wrapped)
            state.closed.set()

        def accept() -> None:
            while True:
                peer, _ = listening.accept()
                if state.released.is_set():
                    peer.close()
                    return
                state.connections += 1
                peers.append(peer)
                threads.append(threading.Thread(target=converse, args=(peer,)))
                threads[-1].start()

        accepting = threading.Thread(target=accept)
        accepting.start()
        try:
            yield state
        finally:
            state.released.set()
            socket.create_connection(listening.getsockname()).close()
            accepting.join()
            for peer in peers:
                with suppress(OSError):
                    peer.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join()


def _read(peer: socket.socket) -> Request | None:
    received = b""
    while b"\r\n\r\n" not in received:
        piece = peer.recv(65_536)
        if not piece:
            return None
        received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    line, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (each.partition(":") for each in lines)}
    assert len(headers) == len(lines), "no header is sent twice"
    while len(body) < int(headers.get("content-length", "0")):
        body += peer.recv(65_536)
    return Request(line, headers, body)


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)
