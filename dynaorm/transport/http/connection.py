"""Connections to one server for threads: kept open, checked before each use, one request at a time on each.

Rule 1. A request is sent once. A broken connection is never replaced within an attempt.
Rule 2. A request that was not sent whole was not carried out: its signature covers its length and its body.
Rule 3. A connection that received anything between two requests, even its end, is not used again: those bytes would
        pass for the answer to the next request.
Rule 4. Every wait has a deadline: see ``Limits``.

Why not urllib3: a call over it costs 29 % of a call through botocore's client, over these connections 6 %.
"""

from __future__ import annotations

import select
import socket
import time
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

from dynaorm.flow.call import NoAnswer
from dynaorm.transport.http.exchange import SignedRequest
from dynaorm.transport.http.http_answer import AnswerReader, HttpAnswer, Malformed
from dynaorm.transport.http.limits import Limits
from dynaorm.transport.http.route import Route, check_tunnel
from dynaorm.transport.process import in_time, register

IDLE_SECONDS = 60.0
"""A connection that was idle for longer is not used again: a firewall may have dropped it without a word."""

PIECE = 65_536
"""The most bytes to receive at once. From 128 KiB on, the C library may map memory anew each time. That takes ten times
as long as receiving a small answer."""


class Connection:
    """One open connection. The caller must close it or return it to the pool."""

    def __init__(self, opened: socket.socket) -> None:
        self._socket = opened
        self._is_readable = readable(opened)
        self.idle_since = time.monotonic()
        register(self)

    def exchange(self, message: memoryview, limits: Limits) -> HttpAnswer:
        """Send a request and receive its answer. After NoAnswer, close the connection."""
        began = time.monotonic()
        size, rest = len(message), message
        try:
            while rest:
                self._socket.settimeout(_left(limits.end(began, size)))
                rest = rest[self._socket.send(rest) :]
        except OSError as error:
            reason = f"the request could not be sent whole: {sentence(error)}"
            raise NoAnswer(reason, sent=False) from error
        reader = AnswerReader()
        answer = None
        try:
            while answer is None:
                self._socket.settimeout(_left(limits.end(began, size + reader.received)))
                answer = _received(self._socket, reader)
        except TimeoutError as error:
            raise NoAnswer(no_answer_within(limits)) from error
        except (OSError, Malformed) as error:
            raise NoAnswer(sentence(error)) from error
        return answer

    def is_alive(self) -> bool:
        """Whether the server waits for a request: nothing came since the last answer, not even the end."""
        return time.monotonic() - self.idle_since <= IDLE_SECONDS and not self._is_readable()

    def close(self) -> None:
        """Close it, without TLS's farewell."""
        self._socket.close()

    def reset_after_fork(self) -> None:
        """Close this process's copy of the socket. A pool takes the connection for one that has ended."""
        self._socket.close()


class ConnectionPool:
    """The connections to one destination. It may be shared by threads, and survives a fork.

    Args:
        route: how to reach the destination.
        limits: how long to wait, and how many connections to keep open while they are not used.
    """

    def __init__(self, route: Route, limits: Limits) -> None:
        self._route = route
        self._limits = limits
        # A deque's append and pop are atomic, so there is no lock that a fork could copy while it is held.
        self._idle: deque[Connection] = deque()
        self._is_closed = False
        self._finalizer = weakref.finalize(self, _close_all, self._idle)

    def send(self, request: SignedRequest, seconds: float | None = None) -> HttpAnswer:
        """Send a request once and return its answer, within the limits, and these seconds if given. Raises NoAnswer."""
        limits = self._limits if seconds is None else self._limits.within(seconds, time.monotonic())
        connection = self._take_idle() or Connection(_opened(self._route, limits))
        try:
            answer = connection.exchange(self._route.message(request), limits)
        # An interruption, too: the answer that is still to come would pass for that of the next request (Rule 3).
        except BaseException:
            connection.close()
            raise
        if not answer.is_reusable or self._is_closed or len(self._idle) >= self._limits.pool_size:
            connection.close()
        else:
            connection.idle_since = time.monotonic()
            self._idle.append(connection)
        return answer

    def close(self) -> None:
        """Close the idle connections; those in use close after their answer."""
        self._is_closed = True
        _close_all(self._idle)

    def _take_idle(self) -> Connection | None:
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return None
            if connection.is_alive():
                return connection
            connection.close()


def readable(opened: socket.socket) -> Callable[[], bool]:
    """Says at any time whether a socket has bytes to read, or its end, or an error; True once it is closed."""
    if not hasattr(select, "poll"):
        return lambda: opened.fileno() < 0 or bool(select.select([opened], [], [], 0)[0])
    # Made once, because every request asks.
    poll = select.poll()
    poll.register(opened, select.POLLIN)
    # The descriptor of a closed socket may be that of another one.
    return lambda: opened.fileno() < 0 or bool(poll.poll(0))


def no_answer_within(limits: Limits) -> str:
    """The reason of a NoAnswer after a timeout."""
    return f"no answer within {limits.timeout:g} s"


def no_connection(route: Route, error: Exception) -> NoAnswer:
    """What an error means that came before the request was sent."""
    return NoAnswer(f"no connection to {route.name}: {sentence(error)}", sent=False)


def sentence(error: BaseException) -> str:
    """An error with its kind, and its message if it has one."""
    return f"{type(error).__name__}: {error}".removesuffix(": ")


def _opened(route: Route, limits: Limits) -> socket.socket:
    """A socket that is connected to the destination, through its proxy and with TLS where it wants them."""
    deadline = limits.connect_end(time.monotonic())
    try:
        opened = _connected(route, deadline, is_limited=limits.is_of_attempt)
        try:
            # Otherwise the last packet of a request may wait for the acknowledgement of the one before it. asyncio sets
            # it by itself.
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if route.keeps_alive:
                opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            if route.connect:
                _open_tunnel(opened, route.connect, deadline)
            if route.tls is not None:
                # Without the handshake: if that is interrupted, nobody closes what ``wrap_socket`` makes of the socket.
                opened = route.tls.wrap_socket(
                    opened, server_hostname=route.tls_host, do_handshake_on_connect=False
                )
                opened.settimeout(_left(deadline))
                opened.do_handshake()
        except BaseException:
            opened.close()
            raise
    # ValueError: a host name that is not possible; a proxy that does not speak HTTP.
    except (OSError, ValueError) as error:
        raise no_connection(route, error) from error
    return opened


def _connected(route: Route, deadline: float, *, is_limited: bool) -> socket.socket:
    """A socket that is connected to one of a host's addresses, each tried for its share of the time."""
    addresses = _addresses_in_time(route, deadline) if is_limited else _addresses(route)
    for tried, (family, kind, protocol, _, address) in enumerate(addresses, 1):
        try:
            opened = socket.socket(family, kind, protocol)
            try:
                opened.settimeout(_left(deadline) / (len(addresses) - tried + 1))
                opened.connect(address)
            except BaseException:
                opened.close()
                raise
        # Not every machine has the protocol of every address.
        except OSError:
            if tried == len(addresses):
                raise
        else:
            return opened
    raise OSError("the host has no address")


def _addresses(route: Route) -> list[tuple[Any, ...]]:
    """The addresses of the host. Nothing limits how long the system looks for them."""
    # A name as bytes, or Python loads its tables of the world's alphabets to look for other than ASCII in it.
    host: Any = route.host.encode() if route.host.isascii() else route.host
    return socket.getaddrinfo(host, route.port, type=socket.SOCK_STREAM)


def _addresses_in_time(route: Route, deadline: float) -> list[tuple[Any, ...]]:
    """The same, in a thread that may be left to itself."""
    try:
        return in_time(_left(deadline), lambda: _addresses(route), sent=False)
    except NoAnswer as error:
        raise TimeoutError("the address of the host was not found in time") from error


def _open_tunnel(opened: socket.socket, connect: memoryview, deadline: float) -> None:
    opened.settimeout(_left(deadline))
    opened.sendall(connect)
    reader = AnswerReader(to_connect=True)
    answer = None
    while answer is None:
        opened.settimeout(_left(deadline))
        answer = _received(opened, reader)
    check_tunnel(answer)


def _received(opened: socket.socket, reader: AnswerReader) -> HttpAnswer | None:
    data = opened.recv(PIECE)
    return reader.feed(data) if data else reader.end()


def _left(deadline: float) -> float:
    """The seconds until a deadline. Raises TimeoutError where there are none."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("timed out")
    return left


def _close_all(connections: deque[Connection]) -> None:
    while True:
        try:
            connections.pop().close()
        except IndexError:
            return
