"""Connections for threads and for an event loop: kept open, checked before each use, never replaced."""

import os
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dynaorm.record import replace
from dynaorm.transport.http import async_connection, connection
from dynaorm.transport.http.connection import ConnectionPool
from tests.transport.http.pools import ANOTHERS, BODY, CONTENT, POOLS, OpenPool, Pool, route_of, send, silence
from tests.transport.http.pools import limits as limits_of
from tests.transport.unruly import (
    Behaviour,
    Request,
    Unruly,
    answer,
    chunked,
    hang_up,
    reset,
    response,
    sending,
)

# -- answers -----------------------------------------------------------------------------------------------------------


def test_requests_follow_each_other_on_one_connection(server: Unruly, pool: Pool) -> None:
    for _ in range(5):
        assert send(pool).status == 200
    assert (server.connections, len(server.requests)) == (1, 5)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_chunked_answer_is_whole_and_leaves_its_connection_open(
    size: int, server: Unruly, pool: Pool
) -> None:
    server.will(chunked(CONTENT, size))
    assert send(pool).body == BODY
    send(pool)
    assert server.connections == 1


def test_an_answer_that_ends_with_its_connection_is_whole(server: Unruly, pool: Pool) -> None:
    server.will(sending(response(CONTENT, framing=""), then_close=True))
    assert send(pool).body == BODY
    send(pool)
    assert server.connections == 2


def test_requests_and_answers_of_megabytes_are_whole(server: Unruly, pool: Pool) -> None:
    body = os.urandom(3_000_000)
    whole = response(None, raw=body)
    server.will(sending(*(whole[at : at + 100_001] for at in range(0, len(whole), 100_001))))
    assert send(pool, body).body == body
    send(pool)
    assert server.requests[0].body == body
    assert server.connections == 1


@pytest.mark.parametrize("behaviour", [hang_up, reset])
def test_a_connection_dropped_before_its_answer_is_no_answer_to_something_sent(
    behaviour: Behaviour, server: Unruly, pool: Pool
) -> None:
    server.will(behaviour)
    assert silence(pool).sent
    assert len(server.requests) == 1
    assert send(pool).status == 200
    assert server.connections == 2


@pytest.mark.parametrize("kept", [1, 20, 90, 240])
def test_a_connection_dropped_in_the_middle_of_its_answer_is_no_answer(
    kept: int, server: Unruly, pool: Pool
) -> None:
    server.will(sending(response(CONTENT)[:kept], then_close=True))
    failure = silence(pool)
    assert failure.sent
    assert "closed before the whole answer came" in failure.reason
    assert len(server.requests) == 1


def test_garbage_is_no_answer(server: Unruly, pool: Pool) -> None:
    server.will(sending(b"220 mail.example.com ESMTP\r\n\r\n"))
    failure = silence(pool)
    assert failure.sent
    assert "an answer cannot begin with '220 mail" in failure.reason


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


def test_what_arrives_together_with_an_answer_is_never_the_answer_to_the_next_request(
    server: Unruly, pool: Pool
) -> None:
    server.will(sending(response(CONTENT) + ANOTHERS))
    assert send(pool).body == BODY
    assert send(pool).body == b"{}"
    assert server.connections == 2


def test_a_connection_closed_while_idle_is_not_used_again(server: Unruly, pool: Pool) -> None:
    server.will(sending(response(CONTENT), then_close=True))
    send(pool)
    assert server.closed.wait(10)
    assert send(pool).status == 200
    assert (server.connections, len(server.requests)) == (2, 2)


def test_a_connection_that_was_idle_for_long_is_not_used_again(
    server: Unruly, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(pool)
    for module in (connection, async_connection):
        monkeypatch.setattr(module, "IDLE_SECONDS", -1.0)
    send(pool)
    assert server.connections == 2


# -- TLS ---------------------------------------------------------------------------------------------------------------


def test_tls_connections_are_kept_open_too(
    secure_server: Unruly, certificate: Path, open_pool: OpenPool
) -> None:
    pool = open_pool(secure_server.endpoint, ca_bundle=certificate)
    for _ in range(3):
        assert send(pool).status == 200
    secure_server.will(sending(response(CONTENT), then_close=True))
    send(pool)
    assert secure_server.closed.wait(10)
    send(pool)
    assert (secure_server.connections, len(secure_server.requests)) == (2, 5)


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
