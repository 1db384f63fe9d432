"""Whatever a server does between and within its answers, a request gets its own answer or none."""

import socket
import threading
from collections.abc import Callable
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm.flow.protocol.call import NoAnswer
from tests.transport.http.pools import ANOTHERS, POOLS, limits, route_of, send
from tests.transport.unruly import Behaviour, Request, hang_up, reset, response, unruly_server


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
