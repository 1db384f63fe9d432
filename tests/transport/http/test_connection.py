"""Connections for threads and for an event loop: kept open, checked before each use, never replaced."""

import os
import re
import signal
import socket
import ssl
import threading
import time
from binascii import crc32
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm.record import replace
from dynaorm.transport import NoAnswer
from dynaorm.transport.http import async_connection, connection, http_answer, limits
from dynaorm.transport.http.connection import PIECE, ConnectionPool
from tests.transport.http.pools import ANOTHERS, BODY, CONTENT, POOLS, OpenPool, Pool, route_of, send, silence
from tests.transport.http.pools import limits as limits_of
from tests.transport.unruly import (
    Behaviour,
    Request,
    Unruly,
    answer,
    hang_up,
    reset,
    response,
    sending,
    unruly_server,
)

# -- answers -----------------------------------------------------------------------------------------------------------


def test_an_answer_that_ends_with_its_connection_is_whole(server: Unruly, pool: Pool) -> None:
    server.will(sending(response(CONTENT, framing=""), then_close=True))
    assert send(pool).body == BODY
    send(pool)
    assert server.connections == 2


# -- an answer reaches no other request --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "unasked",
    [ANOTHERS, ANOTHERS * 2, ANOTHERS[:30], b"x", response({}, 408, framing="Connection: close"), b""],
    ids=["answer", "two answers", "half an answer", "byte", "408", "end"],
)
def test_what_arrives_on_an_idle_connection_is_never_the_answer_to_the_next_request(
    unasked: bytes, server: Unruly, pool: Pool
) -> None:
    asked, spoke = threading.Event(), threading.Event()

    def speak_late(peer: socket.socket, _: Request) -> bool:
        peer.sendall(response(CONTENT))
        asked.wait(10)
        peer.sendall(unasked)
        if not unasked:
            peer.shutdown(socket.SHUT_RDWR)
        spoke.set()
        return bool(unasked)

    server.will(speak_late)
    assert send(pool).body == BODY
    asked.set()
    assert spoke.wait(10)
    assert send(pool).body == b"{}"
    assert server.connections == 2


def test_a_connection_that_was_idle_for_long_is_not_used_again(
    server: Unruly, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(pool)
    for module in (connection, async_connection):
        monkeypatch.setattr(module, "IDLE_SECONDS", -1.0)
    send(pool)
    assert server.connections == 2


# -- TLS ---------------------------------------------------------------------------------------------------------------


def test_requests_and_answers_of_megabytes_over_tls_are_whole(
    secure_server: Unruly, certificate: Path, open_pool: OpenPool
) -> None:
    body = os.urandom(1_000_000)
    secure_server.will(sending(response(None, raw=body)))
    pool = open_pool(secure_server.endpoint, ca_bundle=certificate)
    assert send(pool, body).body == body
    send(pool)
    assert secure_server.requests[0].body == body
    assert secure_server.connections == 1


# -- threads and processes ---------------------------------------------------------------------------------------------


def test_threads_share_the_connections_and_never_each_others_answers(server: Unruly) -> None:
    server.otherwise = lambda peer, request: answer({"echo": request.content})(peer, request)
    wrong: list[bytes] = []
    with closing(ConnectionPool(route_of(server.endpoint), limits_of(pool_size=3))) as pool:

        def work(name: str) -> None:
            for number in range(30):
                body = f'"{name}-{number}"'.encode()
                if send(pool, body).body != b'{"echo": ' + body + b"}":
                    wrong.append(body)

        in_threads(6, lambda number: work(str(number)))
    assert wrong == []
    assert len(server.requests) == 180


def in_threads(count: int, work: Callable[[int], object]) -> None:
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_more_connections_than_are_kept_close_after_their_answer(server: Unruly) -> None:
    both = threading.Barrier(2)

    def together(peer: socket.socket, request: Request) -> bool:
        both.wait(10)
        return answer(CONTENT)(peer, request)

    server.will(together, together)
    with closing(ConnectionPool(route_of(server.endpoint), limits_of(pool_size=1))) as pool:
        in_threads(2, lambda _: send(pool))
        assert server.closed.wait(10)
        send(pool)
    assert server.connections == 2


@pytest.fixture
def thread_pool(server: Unruly) -> ConnectionPool:
    return ConnectionPool(route_of(server.endpoint), limits_of())


def test_a_connection_in_use_when_the_pool_is_closed_closes_after_its_answer(
    server: Unruly, thread_pool: ConnectionPool
) -> None:
    def close_meanwhile(peer: socket.socket, request: Request) -> bool:
        thread_pool.close()
        return answer(CONTENT)(peer, request)

    server.will(close_meanwhile)
    assert send(thread_pool).status == 200
    assert server.closed.wait(10)


def test_a_pool_that_nobody_closed_leaves_nothing_open(server: Unruly) -> None:
    pool = ConnectionPool(route_of(server.endpoint), limits_of())
    send(pool)
    del pool
    assert server.closed.wait(10)


@pytest.mark.usefixtures("interruptible")
def test_a_connection_whose_request_was_interrupted_is_not_used_again(server: Unruly, pool: Pool) -> None:
    def interrupt(peer: socket.socket, request: Request) -> bool:
        main = threading.main_thread().ident
        assert main is not None
        signal.pthread_kill(main, signal.SIGINT)
        return answer({"Item": {"PK": {"S": "late"}}})(peer, request) if server.closed.wait(10) else False

    server.will(interrupt)
    with pytest.raises(KeyboardInterrupt):
        send(pool)
    server.closed.set()
    assert b"late" not in send(pool).body
    assert server.connections == 2


@pytest.mark.usefixtures("interruptible")
def test_a_connection_whose_tls_handshake_was_interrupted_is_closed(open_pool: OpenPool) -> None:
    closed = threading.Event()

    def interrupt(listening: socket.socket) -> None:
        peer, _ = listening.accept()
        with peer:
            peer.recv(PIECE)
            main = threading.main_thread().ident
            assert main is not None
            signal.pthread_kill(main, signal.SIGINT)
            if not peer.recv(PIECE):
                closed.set()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=interrupt, args=(listening,)).start()
        # The traceback keeps whatever was open.
        with pytest.raises(KeyboardInterrupt) as interrupted:
            send(open_pool(f"https://127.0.0.1:{listening.getsockname()[1]}"))
        assert closed.wait(10), interrupted


@pytest.mark.parametrize("kind", POOLS)
@pytest.mark.parametrize("keeps_alive", [False, True])
def test_idle_connections_send_probes_if_the_route_says_so(
    kind: str, keeps_alive: bool, server: Unruly, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: list[tuple[Any, ...]] = []
    set_option = socket.socket.setsockopt

    def recorded(self: socket.socket, *option: Any) -> None:
        options.append(option)
        set_option(self, *option)

    monkeypatch.setattr(socket.socket, "setsockopt", recorded)
    route = replace(route_of(server.endpoint), keeps_alive=keeps_alive)
    with closing(POOLS[kind](route, limits_of())) as pool:
        assert send(pool).status == 200
    assert ((socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1) in options) is keeps_alive


# -- deadlines ---------------------------------------------------------------------------------------------------------
def endlessly(first: bytes, again: bytes, pause: float = 0) -> Callable[[Unruly], Behaviour]:
    """Send some bytes, then others for ever."""

    def of(server: Unruly) -> Behaviour:
        def behave(peer: socket.socket, _: Request) -> bool:
            peer.sendall(first)
            while not server.released.wait(pause):
                peer.sendall(again)
            return False

        return behave

    return of


CHUNKED_HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
FLOODS = {
    "body": endlessly(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 65_536),
    "chunks": endlessly(CHUNKED_HEAD, b"1000\r\n" + b"x" * 4096 + b"\r\n"),
    "trailers": endlessly(CHUNKED_HEAD + b"0\r\n", b"a: b\r\n" * 1000),
    "headers": endlessly(b"HTTP/1.1 200 OK\r\n", b"a: b\r\n" * 1000),
    "100 Continue": endlessly(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
    "length": endlessly(b"HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\n", b"x" * 65_536),
}
TRICKLES = {
    "body": endlessly(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", b" ", 0.01),
    "chunks": endlessly(CHUNKED_HEAD, b"1\r\nx\r\n", 0.01),
    "headers": endlessly(b"HTTP/1.1 200 OK\r\n", b"a: b\r\n", 0.01),
    "100 Continue": endlessly(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.01),
    "first line": endlessly(b"H", b"", 0.01),
}


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS)
def test_an_endless_answer_is_no_answer(
    flood: Callable[[Unruly], Behaviour], server: Unruly, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_answer, "ANSWER_LIMIT", 1_000_000)
    server.will(flood(server))
    failure = silence(pool)
    assert failure.sent
    assert "Malformed" in failure.reason


@pytest.mark.parametrize("trickle", TRICKLES.values(), ids=TRICKLES)
def test_an_answer_that_trickles_in_is_no_answer_within_the_timeout(
    trickle: Callable[[Unruly], Behaviour], server: Unruly, open_pool: OpenPool
) -> None:
    server.will(trickle(server))
    began = time.monotonic()
    failure = silence(open_pool(server.endpoint, timeout=0.2))
    assert failure.sent
    assert failure.reason == "no answer within 0.2 s"
    assert 0.2 <= time.monotonic() - began < 5


def test_the_second_request_on_a_connection_has_as_much_time_as_the_first(
    server: Unruly, open_pool: OpenPool
) -> None:
    pool = open_pool(server.endpoint, timeout=0.2)
    assert send(pool).status == 200
    server.will(server.stay_silent)
    began = time.monotonic()
    assert silence(pool).reason == "no answer within 0.2 s"
    assert 0.2 <= time.monotonic() - began < 5
    assert server.connections == 1


@pytest.mark.parametrize("kind", POOLS)
def test_what_an_attempt_has_waited_for_before_is_part_of_its_time(kind: str, server: Unruly) -> None:
    began = time.monotonic()
    server.will(server.stay_silent)
    with closing(POOLS[kind](route_of(server.endpoint), limits_of().within(10.0, began - 9.8))) as pool:
        assert silence(pool).sent
    assert 0.2 <= time.monotonic() - began < 5


def test_a_large_answer_has_more_time_than_a_small_one(
    server: Unruly, open_pool: OpenPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SLOWEST_RATE", 1000)
    whole = response(CONTENT, pad="x" * 1000)

    def in_two(peer: socket.socket, _: Request) -> bool:
        peer.sendall(whole[:-10])
        threading.Event().wait(0.3)
        peer.sendall(whole[-10:])
        return True

    server.will(in_two)
    pool = open_pool(server.endpoint, timeout=0.15)
    assert send(pool).body == BODY


def test_a_request_that_cannot_leave_whole_was_not_sent(
    open_pool: OpenPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SLOWEST_RATE", 1e12)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        pool = open_pool(f"http://127.0.0.1:{deaf.getsockname()[1]}", timeout=0.2)
        failure = silence(pool, b"x" * 20_000_000)
    assert not failure.sent


@pytest.mark.parametrize(
    "whole", [ANOTHERS, response(CONTENT, framing="")], ids=["sized", "ended by its connection"]
)
def test_an_answer_before_its_request_has_left_is_no_answer(whole: bytes, open_pool: OpenPool) -> None:
    """It could only be meant for another. A connection for threads notices it after the server has closed."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def hasty() -> None:
            peer, _ = listening.accept()
            with peer:
                peer.sendall(whole)
                peer.shutdown(socket.SHUT_WR)
                peer.recv(1)

        thread = threading.Thread(target=hasty)
        thread.start()
        failure = silence(open_pool(f"http://127.0.0.1:{listening.getsockname()[1]}"), b"x" * 20_000_000)
        thread.join()
    assert not failure.sent


@pytest.mark.parametrize("proxy", [FLOODS["headers"], TRICKLES["headers"]], ids=["flood", "trickle"])
def test_a_proxy_that_never_lets_through_is_no_answer_to_something_never_sent(
    proxy: Callable[[Unruly], Behaviour],
    server: Unruly,
    secure_server: Unruly,
    open_pool: OpenPool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("https_proxy", server.endpoint)
    server.will(proxy(server))
    began = time.monotonic()
    assert not silence(open_pool(secure_server.endpoint, connect_timeout=0.2)).sent
    assert time.monotonic() - began < 5
    assert secure_server.requests == []


def test_a_tls_handshake_that_never_ends_is_no_answer_to_something_never_sent(open_pool: OpenPool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        pool = open_pool(f"https://127.0.0.1:{deaf.getsockname()[1]}", connect_timeout=0.1)
        assert not silence(pool).sent


def test_a_tls_handshake_that_is_cut_short_says_how(open_pool: OpenPool) -> None:
    def cut(listening: socket.socket) -> None:
        peer, _ = listening.accept()
        with peer:
            peer.recv(PIECE)
            peer.sendall(b"\x16\x03\x03")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=cut, args=(listening,)).start()
        found = silence(open_pool(f"https://127.0.0.1:{listening.getsockname()[1]}"))
    assert not found.sent
    assert re.search(r": (SSLEOFError: .*EOF occurred.*|ConnectionResetError)$", found.reason)


@pytest.mark.parametrize(
    "open_pool", ["threads", "async"], indirect=True
)  # uvloop does not ask Python's resolver
def test_each_address_of_a_host_is_tried_for_its_share_of_the_time(
    server: Unruly, open_pool: OpenPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = int(server.endpoint.rpartition(":")[2])
    with unruly_server() as gone:
        pass
    closed = int(gone.endpoint.rpartition(":")[2])
    found: list[Any] = [
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", one)) for one in (closed, port)
    ]
    unknown = (max(socket.AddressFamily) + 1, *found[1][1:])  # of a protocol that the machine does not have
    with monkeypatch.context() as resolver:
        resolver.setattr(socket, "getaddrinfo", lambda *_, **__: found)
        assert send(open_pool("http://two.example")).status == 200
        found[0] = unknown
        assert send(open_pool("http://two.example")).status == 200
        found[1] = unknown
        assert "not supported" in silence(open_pool("http://two.example")).reason
        resolver.setattr(socket, "getaddrinfo", lambda *_, **__: [])
        assert "has no address" in silence(open_pool("http://none.example")).reason


# -- properties --------------------------------------------------------------------------------------------------------
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
    with unruly_server() as server, closing(POOLS[kind](route_of(server.endpoint), limits_of())) as pool:
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
        closing(POOLS[kind](route_of(server.endpoint, certificate), limits_of())) as pool,
    ):
        for form, size, cuts in answers:
            body = Random(size).randbytes(size)
            server.will(sending(*cut(FORMS[form](body), cuts)))
            assert send(pool).body == body
        assert server.connections == 1
