"""Connections are kept open, used by one request at a time, checked before they are used again, and never replaced."""

import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from dynaorm.flow.protocol.call import NoAnswer
from dynaorm.transport.direct import connection
from dynaorm.transport.direct.connection import Connection, ConnectionPool
from dynaorm.transport.direct.credentials import FixedCredentials
from dynaorm.transport.direct.destination import Destination
from dynaorm.transport.direct.endpoint import endpoint_of
from dynaorm.transport.direct.http_answer import AnswerReader, HttpAnswer
from dynaorm.transport.direct.proxy import proxy_of
from dynaorm.transport.direct.signed_request import SignedRequest, Signer
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
    tunnel,
    unruly_server,
)

KEYS = FixedCredentials("KEY", "secret")
CONTENT = {"Item": {"PK": {"S": "a" * 100}}}


def pool_to(
    url: str, *, ca_bundle: Path | None = None, timeout: float = 5.0, size: int = 10
) -> ConnectionPool:
    endpoint = endpoint_of(url)
    bundle = None if ca_bundle is None else str(ca_bundle)
    destination = Destination(endpoint, "us-east-1", KEYS, bundle, proxy_of(endpoint))
    return ConnectionPool(destination, timeout=timeout, connect_timeout=5.0, size=size)


def request_to(server: Unruly, body: bytes = b"{}") -> SignedRequest:
    return Signer(endpoint_of(server.endpoint), "us-east-1").sign("GetItem", body, KEYS, 1.7e9)


def send(pool: ConnectionPool, server: Unruly, body: bytes = b"{}") -> HttpAnswer:
    return pool.send(request_to(server, body))


def silence(pool: ConnectionPool, server: Unruly, body: bytes = b"{}") -> NoAnswer:
    with pytest.raises(NoAnswer) as caught:
        send(pool, server, body)
    return caught.value


@pytest.fixture
def pool(server: Unruly) -> Iterator[ConnectionPool]:
    with closing(pool_to(server.endpoint)) as pool:
        yield pool


def test_requests_follow_each_other_on_one_connection(server: Unruly, pool: ConnectionPool) -> None:
    for _ in range(5):
        assert send(pool, server).status == 200
    assert (server.connections, len(server.requests)) == (1, 5)


def test_a_chunked_answer_is_whole_and_leaves_its_connection_open(
    server: Unruly, pool: ConnectionPool
) -> None:
    expected = response(CONTENT).partition(b"\r\n\r\n")[2]
    for size in (1, 7, 1000):
        server.will(chunked(CONTENT, size))
        assert send(pool, server).body == expected
    assert server.connections == 1


def test_an_answer_that_ends_with_its_connection_is_whole(server: Unruly, pool: ConnectionPool) -> None:
    server.will(sending(response(CONTENT, framing=""), then_close=True))
    assert send(pool, server).body == response(CONTENT).partition(b"\r\n\r\n")[2]
    send(pool, server)
    assert server.connections == 2


def test_an_answer_of_many_pieces_and_megabytes_is_whole(server: Unruly, pool: ConnectionPool) -> None:
    body = os.urandom(3_000_000)
    whole = response(None, raw=body)
    server.will(sending(*(whole[at : at + 100_001] for at in range(0, len(whole), 100_001))))
    assert send(pool, server).body == body
    send(pool, server)
    assert server.connections == 1


def test_a_request_of_megabytes_arrives_whole(server: Unruly, pool: ConnectionPool) -> None:
    body = os.urandom(5_000_000)
    send(pool, server, body)
    assert server.requests[0].body == body


@pytest.mark.parametrize("behaviour", [hang_up, reset])
def test_a_connection_dropped_before_its_answer_is_no_answer_to_something_sent(
    behaviour: Behaviour, server: Unruly, pool: ConnectionPool
) -> None:
    server.will(behaviour)
    assert silence(pool, server).sent
    assert len(server.requests) == 1
    assert send(pool, server).status == 200
    assert server.connections == 2


@pytest.mark.parametrize("kept", [1, 20, 90, 240])
def test_a_connection_dropped_in_the_middle_of_its_answer_is_no_answer(
    kept: int, server: Unruly, pool: ConnectionPool
) -> None:
    server.will(sending(response(CONTENT)[:kept], then_close=True))
    failure = silence(pool, server)
    assert failure.sent
    assert "closed before the whole answer came" in failure.reason
    assert len(server.requests) == 1


def test_a_connection_closed_while_idle_is_not_used_again(server: Unruly, pool: ConnectionPool) -> None:
    server.will(sending(response(CONTENT), then_close=True))
    send(pool, server)
    assert server.closed.wait(10)
    assert send(pool, server).status == 200
    assert (server.connections, len(server.requests)) == (2, 2)


def test_a_connection_on_which_somebody_speaks_unasked_is_not_used_again(
    server: Unruly, pool: ConnectionPool
) -> None:
    server.will(sending(response(CONTENT) + response({"Item": {"PK": {"S": "another's"}}})))
    assert b"another's" not in send(pool, server).body
    assert b"another's" not in send(pool, server).body
    assert server.connections == 2


def test_a_connection_that_was_idle_for_long_is_not_used_again(
    server: Unruly, pool: ConnectionPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(pool, server)
    monkeypatch.setattr(connection, "IDLE_SECONDS", -1.0)
    send(pool, server)
    assert server.connections == 2


def test_no_answer_in_time_is_no_answer_to_something_sent(server: Unruly) -> None:
    server.will(server.stay_silent)
    with closing(pool_to(server.endpoint, timeout=0.05)) as pool:
        failure = silence(pool, server)
    assert failure.sent
    assert failure.reason == "no answer within 0.05 s"


def test_half_an_answer_in_time_is_no_answer_either(server: Unruly) -> None:
    def half(peer: socket.socket, request: Request) -> bool:
        peer.sendall(response(CONTENT)[:50])
        return server.released.wait(30) and False

    server.will(half)
    with closing(pool_to(server.endpoint, timeout=0.05)) as pool:
        assert silence(pool, server).reason == "no answer within 0.05 s"


def test_an_answer_that_trickles_in_does_not_take_for_ever(server: Unruly) -> None:
    def trickle(peer: socket.socket, request: Request) -> bool:
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        while not server.released.wait(0.01):
            peer.sendall(b" ")
        return False

    server.will(trickle)
    with closing(pool_to(server.endpoint, timeout=0.2)) as pool:
        assert silence(pool, server).reason == "no answer within 0.2 s"


def test_after_a_long_answer_the_next_one_has_all_its_time_again() -> None:
    ours, theirs = socket.socketpair()
    whole = response(CONTENT)

    class Prompting(AnswerReader):
        def feed(self, data: bytes) -> HttpAnswer | None:
            found = super().feed(data)
            if found is None:
                theirs.sendall(whole[50:])
            return found

    with ours, theirs:
        theirs.sendall(whole[:50])
        assert Connection(ours, 5.0).exchange(b"POST", Prompting()).status == 200
        assert ours.gettimeout() == 5.0


def test_garbage_is_no_answer(server: Unruly, pool: ConnectionPool) -> None:
    server.will(sending(b"220 mail.example.com ESMTP\r\n\r\n"))
    failure = silence(pool, server)
    assert failure.sent
    assert "an answer cannot begin with '220 mail" in failure.reason


def test_a_refused_connection_is_no_answer_to_something_never_sent() -> None:
    with unruly_server() as gone:
        pass
    failure = silence(pool_to(gone.endpoint), gone)
    assert not failure.sent
    assert "ConnectionRefusedError" in failure.reason


def test_a_host_that_cannot_be_is_no_answer_to_something_never_sent(server: Unruly) -> None:
    for host in ("nowhere.invalid", "a" * 64 + ".invalid"):
        assert not silence(pool_to(f"http://{host}"), server).sent


def test_a_request_that_did_not_leave_whole_was_not_sent() -> None:
    ours, theirs = socket.socketpair()
    with ours:
        theirs.close()
        with pytest.raises(NoAnswer, match="could not be sent whole: BrokenPipeError") as caught:
            Connection(ours, 5.0).exchange(b"POST", AnswerReader())
    assert not caught.value.sent


def test_threads_share_the_connections_and_never_each_others_answers(server: Unruly) -> None:
    def echo(peer: socket.socket, request: Request) -> bool:
        return answer({"echo": request.content})(peer, request)

    server.otherwise = echo
    wrong: list[bytes] = []
    with closing(pool_to(server.endpoint, size=3)) as pool:

        def work(name: str) -> None:
            for number in range(30):
                body = f'"{name}-{number}"'.encode()
                if send(pool, server, body).body != b'{"echo": ' + body + b"}":
                    wrong.append(body)

        threads = [threading.Thread(target=work, args=(str(name),)) for name in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []
    assert len(server.requests) == 180


def test_more_connections_than_are_kept_close_after_their_answer(server: Unruly) -> None:
    both = threading.Barrier(2)

    def together(peer: socket.socket, request: Request) -> bool:
        both.wait(10)
        return answer(CONTENT)(peer, request)

    server.will(together, together)
    with closing(pool_to(server.endpoint, size=1)) as pool:
        threads = [threading.Thread(target=send, args=(pool, server)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert server.closed.wait(10)
        send(pool, server)
    assert server.connections == 2


def test_a_forked_process_uses_no_connection_of_its_parent(
    server: Unruly, pool: ConnectionPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(pool, server)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    send(pool, server)
    send(pool, server)
    assert server.connections == 2


def test_a_connection_in_use_when_the_pool_is_closed_closes_after_its_answer(server: Unruly) -> None:
    pool = pool_to(server.endpoint)

    def close_meanwhile(peer: socket.socket, request: Request) -> bool:
        pool.close()
        return answer(CONTENT)(peer, request)

    server.will(close_meanwhile)
    assert send(pool, server).status == 200
    assert server.closed.wait(10)


def test_a_pool_that_nobody_closed_leaves_nothing_open(server: Unruly) -> None:
    pool = pool_to(server.endpoint)
    send(pool, server)
    del pool
    assert server.closed.wait(10)


def test_a_connection_whose_request_was_interrupted_is_not_used_again(
    server: Unruly, pool: ConnectionPool
) -> None:
    def interrupt(peer: socket.socket, request: Request) -> bool:
        main = threading.main_thread().ident
        assert main is not None
        signal.pthread_kill(main, signal.SIGINT)
        return answer({"Item": {"PK": {"S": "late"}}})(peer, request) if server.closed.wait(10) else False

    server.will(interrupt)
    with pytest.raises(KeyboardInterrupt):
        send(pool, server)
    server.closed.set()
    assert b"late" not in send(pool, server).body
    assert server.connections == 2


# -- TLS and proxies ---------------------------------------------------------------------------------------------------


def test_tls_connections_are_kept_open_too(secure_server: Unruly, certificate: Path) -> None:
    with closing(pool_to(secure_server.endpoint, ca_bundle=certificate)) as pool:
        for _ in range(3):
            assert send(pool, secure_server).status == 200
        secure_server.will(sending(response(CONTENT), then_close=True))
        send(pool, secure_server)
        assert secure_server.closed.wait(10)
        send(pool, secure_server)
    assert (secure_server.connections, len(secure_server.requests)) == (2, 5)


def test_a_large_answer_over_tls_is_whole(secure_server: Unruly, certificate: Path) -> None:
    body = os.urandom(1_000_000)
    secure_server.will(sending(response(None, raw=body)))
    with closing(pool_to(secure_server.endpoint, ca_bundle=certificate)) as pool:
        assert send(pool, secure_server).body == body
        assert send(pool, secure_server, body).status == 200
    assert secure_server.requests[1].body == body


def test_nothing_is_sent_to_a_server_whose_certificate_is_refused(secure_server: Unruly) -> None:
    with closing(pool_to(secure_server.endpoint)) as pool:
        failure = silence(pool, secure_server)
    assert "CERTIFICATE_VERIFY_FAILED" in failure.reason
    assert not failure.sent
    assert secure_server.requests == []


def test_nothing_is_sent_to_a_server_of_another_name(secure_server: Unruly, certificate: Path) -> None:
    url = secure_server.endpoint.replace("127.0.0.1", "localhost")
    with closing(pool_to(url, ca_bundle=certificate)) as pool:
        assert not silence(pool, secure_server).sent
    assert secure_server.requests == []


def test_a_proxy_passes_on_what_is_not_encrypted(server: Unruly, monkeypatch: pytest.MonkeyPatch) -> None:
    # pragma: allowlist nextline secret
    monkeypatch.setenv("http_proxy", server.endpoint.replace("http://", "http://me:secret@"))
    with closing(pool_to("http://dynamodb.example:8000")) as pool:
        send(pool, server)
        send(pool, server)
    assert server.connections == 1
    assert server.requests[0].line == "POST http://dynamodb.example:8000/ HTTP/1.1"
    assert server.requests[0].headers["proxy-authorization"] == "Basic bWU6c2VjcmV0"


def test_a_proxy_sees_nothing_of_what_is_encrypted(
    server: Unruly, secure_server: Unruly, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # pragma: allowlist nextline secret
    monkeypatch.setenv("https_proxy", server.endpoint.replace("http://", "http://me:secret@"))
    server.will(tunnel)
    with closing(pool_to(secure_server.endpoint, ca_bundle=certificate)) as pool:
        send(pool, secure_server, b'"private"')
        send(pool, secure_server)
    (connect,) = server.requests
    authority = secure_server.endpoint.removeprefix("https://")
    assert connect.line == f"CONNECT {authority} HTTP/1.1"
    assert connect.headers == {"host": authority, "proxy-authorization": "Basic bWU6c2VjcmV0"}
    assert "proxy-authorization" not in secure_server.requests[0].headers
    assert [request.body for request in secure_server.requests] == [b'"private"', b"{}"]


@pytest.mark.parametrize(
    "proxy", [answer({}, 407), hang_up, sending(b"junk\r\n\r\n")], ids=["refuses", "hangs up", "mumbles"]
)
def test_a_proxy_that_does_not_let_through_is_no_answer_to_something_never_sent(
    proxy: Behaviour,
    server: Unruly,
    secure_server: Unruly,
    certificate: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("https_proxy", server.endpoint)
    server.will(proxy)
    with closing(pool_to(secure_server.endpoint, ca_bundle=certificate)) as pool:
        failure = silence(pool, secure_server)
    assert not failure.sent
    assert secure_server.requests == []
