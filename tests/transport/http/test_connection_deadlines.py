"""Every wait for a connection or an answer ends, in threads and in an event loop."""

import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from dynaorm.transport.http import http_answer, limits
from tests.transport.http.pools import ANOTHERS, BODY, CONTENT, OpenPool, Pool, send, silence
from tests.transport.unruly import (
    Behaviour,
    Request,
    Unruly,
    response,
    unruly_server,
)


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
