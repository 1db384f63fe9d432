"""Whatever a server does between and within its answers, a request gets its own answer or none.

However the network cuts an answer, the request gets all of it.
"""

import socket
import ssl
import threading
from binascii import crc32
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm.flow.protocol.call import NoAnswer
from dynaorm.transport.http.connection import PIECE
from tests.transport.http.pools import ANOTHERS, POOLS, limits, route_of, send
from tests.transport.unruly import Behaviour, Request, hang_up, reset, response, sending, unruly_server


def echo(request: Request) -> bytes:
    return response({"echo": request.content})


def saying(*pieces: Callable[[Request], bytes], then_close: bool = False) -> Behaviour:
    def behave(peer: socket.socket, request: Request) -> bool:
        for piece in pieces:
            peer.sendall(piece(request))
        if then_close:
            peer.shutdown(socket.SHUT_RDWR)
        return not then_close

    return behave


BEHAVIOURS: dict[str, Behaviour] = {
    "its answer": saying(echo),
    "its answer, then another in the same packet": saying(lambda request: echo(request) + ANOTHERS),
    "its answer, then another": saying(echo, lambda _: ANOTHERS),
    "its answer, then half of another": saying(echo, lambda _: ANOTHERS[:40]),
    "its answer, then a 408": saying(echo, lambda _: response({}, 408), then_close=True),
    "its answer, then the end": saying(echo, then_close=True),
    "its answer, then the end, as announced": saying(
        lambda request: response({"echo": request.content}, Connection="close"), then_close=True
    ),
    "100 Continue, then its answer": saying(lambda _: b"HTTP/1.1 100 Continue\r\n\r\n", echo),
    "half of its answer": saying(lambda request: echo(request)[:-10], then_close=True),
    "junk": saying(lambda _: b"junk\r\n\r\n" + ANOTHERS),
    "the end": hang_up,
    "a reset": reset,
}


WITHOUT_ANSWER = {"half of its answer", "junk", "the end", "a reset"}


@pytest.mark.parametrize("kind", POOLS)
@given(st.lists(st.sampled_from(sorted(BEHAVIOURS)), min_size=1, max_size=12))
def test_a_request_gets_its_own_answer_or_none(kind: str, script: list[str]) -> None:
    with unruly_server() as server, closing(POOLS[kind](route_of(server.endpoint), limits())) as pool:
        for number, name in enumerate(script):
            said = threading.Event()

            def behave(peer: socket.socket, request: Request, name: str = name) -> bool:
                try:
                    return BEHAVIOURS[name](peer, request)
                finally:
                    said.set()  # noqa: B023 - the next one waits for this

            server.will(behave)
            body = f'"{number}"'.encode()
            try:
                found = send(pool, body).body
            except NoAnswer:
                found = None
            own = b'{"echo": ' + body + b"}"
            assert found == (None if name in WITHOUT_ANSWER else own)
            assert said.wait(10)
        assert [request.content for request in server.requests] == [
            str(number) for number in range(len(script))
        ]


def usual(body: bytes) -> bytes:
    return (
        b"HTTP/1.1 200 OK\r\nServer: Server\r\nDate: Fri, 17 May 2024 09:30:15 GMT\r\n"
        b"Content-Type: application/x-amz-json-1.0\r\nContent-Length: %d\r\nConnection: keep-alive\r\n"
        b"x-amzn-RequestId: ABC\r\nx-amz-crc32: %d\r\n\r\n%b" % (len(body), crc32(body), body)
    )


def in_chunks(body: bytes) -> bytes:
    def chunks() -> Iterator[bytes]:
        at, random = 0, Random(len(body))
        while part := body[at : at + random.choice([1, 100, 5_000, PIECE])]:
            yield b"%x\r\n%b\r\n" % (len(part), part)
            at += len(part)

    head = response(None, raw=b"", framing="Transfer-Encoding: chunked")
    return b"".join([head, *chunks(), b"0\r\nx-trailer: 1\r\n\r\n"])


FORMS: dict[str, Callable[[bytes], bytes]] = {
    "as DynamoDB": usual,
    "with other headers": lambda body: response(None, raw=body),
    "in chunks": in_chunks,
    "after 100 Continue": lambda body: b"HTTP/1.1 100 Continue\r\n\r\n" + usual(body),
}
# A whole answer may have exactly as many bytes as are received at once.
SIZES = st.integers(0, 3 * PIECE) | st.integers(PIECE - 400, PIECE + 1) | st.just(0)
CUTS = st.lists(st.floats(0, 1, exclude_min=True, exclude_max=True), max_size=6)


def cut(whole: bytes, cuts: list[float]) -> Iterator[bytes]:
    ends = sorted({0, *(round(one * len(whole)) for one in cuts), len(whole)})
    return (whole[start:end] for start, end in pairwise(ends))


@pytest.mark.parametrize("secure", [False, True], ids=["plain", "TLS"])
@pytest.mark.parametrize("kind", POOLS)
@given(st.lists(st.tuples(st.sampled_from(sorted(FORMS)), SIZES, CUTS), min_size=1, max_size=4))
def test_an_answer_is_whole_however_it_is_cut(
    kind: str, secure: bool, certificate: Path, answers: list[tuple[str, int, list[float]]]
) -> None:
    context = None
    if secure:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
    with (
        unruly_server(context) as server,
        closing(POOLS[kind](route_of(server.endpoint, certificate), limits())) as pool,
    ):
        for form, size, cuts in answers:
            body = Random(size).randbytes(size)
            server.will(sending(*cut(FORMS[form](body), cuts)))
            assert send(pool).body == body
        assert server.connections == 1
