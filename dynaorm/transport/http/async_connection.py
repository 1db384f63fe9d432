"""Connections to one server for the tasks of one event loop: kept open, checked, one request at a time on each.

The rules are those of ``connection``. What asyncio adds:

Rule 1. asyncio reads whenever bytes arrive. Bytes that arrive while no request waits end their connection; and before
        a request is sent the socket itself is checked, because the event loop may not have looked at it yet.
Rule 2. An attempt that is cancelled ends its connection, so that its answer cannot reach another request.
Rule 3. At most ``pool_size`` attempts are under way. Further ones wait in line, first come first served.
Rule 4. A request counts as not sent only before there is a connection, while asyncio still holds a part of it, or if
        writing it failed.
Rule 5. No socket outlives its event loop. Once the loop is closed, or belongs to a parent process, nothing can be asked
        of it any more: then the socket itself is closed.
"""

import asyncio
import os
from collections import deque
from socket import SO_KEEPALIVE, SOCK_STREAM, SOL_SOCKET, socket
from typing import Any, cast
from weakref import WeakSet

from dynaorm.flow.call import NoAnswer
from dynaorm.transport.http.connection import (
    IDLE_SECONDS,
    PIECE,
    no_answer_within,
    no_connection,
    readable,
    sentence,
)
from dynaorm.transport.http.exchange import SignedRequest
from dynaorm.transport.http.http_answer import AnswerReader, HttpAnswer, Malformed
from dynaorm.transport.http.limits import Limits
from dynaorm.transport.http.route import Route, check_tunnel
from dynaorm.transport.process import register


class AsyncConnection(asyncio.BufferedProtocol):
    """One open connection. The caller must abort it or return it to the pool.

    It brings its own buffer of ``PIECE`` bytes. Without one, asyncio allocates a larger buffer before each receive.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, opened: socket) -> None:
        self._loop = loop
        self._socket = opened
        self._is_readable = readable(opened)
        self._transport: asyncio.Transport
        self._limits: Limits
        self._began = 0.0
        self._size = 0
        self._timer: asyncio.TimerHandle | None = None
        self._buffer = memoryview(bytearray(PIECE))
        self._reader = AnswerReader()
        self._waiting: asyncio.Future[HttpAnswer] | None = None
        self._is_paused = False
        self._is_sending = False
        self._is_secure = False
        self.closed: asyncio.Future[None] = loop.create_future()
        self.idle_since = loop.time()
        register(self)

    async def secure(self, route: Route) -> None:
        """Speak TLS from now on, if the route wants it."""
        if route.tls is not None:
            secured = await self._loop.start_tls(
                self._transport, self, route.tls, server_hostname=route.tls_host
            )
            assert secured is not None
            self.connection_made(secured)
            self._is_secure = True

    def keep_alive(self) -> None:
        """Let the system send TCP's own probes while no request is under way."""
        self._socket.setsockopt(SOL_SOCKET, SO_KEEPALIVE, 1)

    async def exchange(self, message: memoryview, limits: Limits) -> HttpAnswer:
        """Send a request and receive its answer. After NoAnswer or a cancellation, abort the connection."""
        self._limits, self._began, self._size = limits, self._loop.time(), len(message)
        due = limits.end(self._began, 0)
        # The timer of an earlier request fires in time, unless this one has less time than the others.
        if self._timer is not None and due < self._timer.when():
            self._timer.cancel()
            self._timer = None
        # A lost connection gets no timer, because nothing would cancel it.
        if self._timer is None and not self._transport.is_closing():
            self._timer = self._loop.call_at(due, self._expire)
        return await self.ask(message, AnswerReader())

    async def ask(self, message: memoryview, reader: AnswerReader) -> HttpAnswer:
        """Do the same without a deadline, with a reader for the answer."""
        # Bytes came before the request. asyncio would drop what is written now.
        if self._transport.is_closing():
            raise NoAnswer("the server spoke before it was asked", sent=False)
        self._reader = reader
        waiting: asyncio.Future[HttpAnswer] = self._loop.create_future()
        self._waiting = waiting
        try:
            self._is_sending = True
            self._transport.write(message)
            # Decided once: a pause that comes later concerns bytes of TLS's own.
            self._is_sending = self._is_paused
            return await waiting
        finally:
            self._waiting = None
            if waiting.done() and not waiting.cancelled():
                waiting.exception()  # a task that is cancelled at this moment does not look at it

    def is_alive(self) -> bool:
        """Whether the server waits for a request: nothing came since the last answer, not even the end."""
        if self._transport.is_closing() or self._loop.time() - self.idle_since > IDLE_SECONDS:
            return False
        return not self._is_readable()

    def abort(self) -> None:
        """Close it at once; ``closed`` is done when that has happened, unless its event loop is closed."""
        if self._loop.is_closed():
            self._close_socket()
        else:
            self._transport.abort()

    def reset_after_fork(self) -> object:
        """Close this process's copy of the socket, and nothing else."""
        self._close_socket()
        return self

    def _close_socket(self) -> None:
        # An event loop may have put off what ``close`` does (uvloop) until it closes the connection itself.
        if (descriptor := self._socket.detach()) >= 0:
            os.close(descriptor)

    # -- what asyncio calls --------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport; it is to call ``pause_writing`` whenever bytes have not left."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=1, low=0)

    def pause_writing(self) -> None:
        """A part of what was written has not left."""
        self._is_paused = True

    def resume_writing(self) -> None:
        """All of it has left."""
        self._is_paused = self._is_sending = False

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - asyncio's signature
        """Where to receive bytes."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Read on in the answer. Bytes that belong to no answer end the connection."""
        waiting = self._waiting
        if waiting is None or waiting.done():
            self.abort()
            return
        try:
            # A copy: the next bytes are received into the same buffer.
            answer = self._reader.feed(self._buffer[:nbytes].tobytes())
        except Malformed as error:
            self._fail(sentence(error))
            return
        if answer is not None:
            self._finish(waiting, answer)

    def eof_received(self) -> None:
        """The server has closed: the end of the answer, if it has no other."""
        waiting = self._waiting
        if waiting is not None and not waiting.done():
            try:
                self._finish(waiting, self._reader.end())
            except Malformed as error:
                self._fail(sentence(error))

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing comes any more."""
        if exc is None:
            self.eof_received()
        # EPIPE: the last part of what was written has not left. With TLS, that may not have been the request's.
        self._is_sending = self._is_sending or (isinstance(exc, BrokenPipeError) and not self._is_secure)
        self._fail(sentence(exc or ConnectionAbortedError("the connection was closed")))
        if self._timer is not None:
            self._timer.cancel()
        if not self.closed.done():
            self.closed.set_result(None)

    def _expire(self) -> None:
        """Fail if the time for the bytes that have passed is over. Otherwise look again when it may be."""
        self._timer = None
        if self._waiting is None:
            return
        limits, passed = self._limits, self._size + self._reader.received
        left = limits.end(self._began, passed) - self._loop.time()
        if left > 0:
            self._timer = self._loop.call_later(min(left, limits.timeout), self._expire)
        else:
            self._fail(no_answer_within(limits))

    def _finish(self, waiting: asyncio.Future[HttpAnswer], answer: HttpAnswer) -> None:
        if self._is_sending:
            self._fail("an answer came before its request was sent whole")
        else:
            waiting.set_result(answer)

    def _fail(self, reason: str) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(NoAnswer(reason, sent=not self._is_sending))


class AsyncConnectionPool:
    """The connections to one destination from one event loop.

    Args:
        route: how to reach the destination.
        limits: how long to wait, and how many connections to have at most.
    """

    def __init__(self, route: Route, limits: Limits) -> None:
        self._route = route
        self._limits = limits
        self._places = asyncio.Semaphore(limits.pool_size)
        self._idle: deque[AsyncConnection] = deque()
        self._opened: WeakSet[AsyncConnection] = WeakSet()
        self._is_closed = False

    async def send(self, request: SignedRequest, seconds: float | None = None) -> HttpAnswer:
        """Send a request once and return its answer, within the limits, and these seconds if given. Raises NoAnswer."""
        limits = self._limits
        if seconds is not None:
            limits = limits.within(seconds, asyncio.get_running_loop().time())
        await self._take_place(limits)
        try:
            connection = self._take_idle()
            if connection is None:
                connection = await _opened(self._route, limits)
                self._opened.add(connection)
            try:
                answer = await connection.exchange(self._route.message(request), limits)
            # Rule 2.
            except BaseException:
                connection.abort()
                raise
            if not answer.is_reusable or self._is_closed:
                connection.abort()
            else:
                connection.idle_since = asyncio.get_running_loop().time()
                self._idle.append(connection)
            return answer
        finally:
            self._places.release()

    async def close(self) -> None:
        """Close the idle connections; those in use close after their answer."""
        self._is_closed = True
        idle = [*self._idle]
        self._idle.clear()
        for connection in idle:
            connection.abort()
        if idle:
            # asyncio closes a socket in a later turn of the loop, and this may be its last.
            await asyncio.wait({connection.closed for connection in idle}, timeout=1.0)

    def close_sockets(self) -> None:
        """Close all connections of an event loop that is closed."""
        self._is_closed = True
        for connection in [*self._opened]:
            connection.abort()

    async def _take_place(self, limits: Limits) -> None:
        if not self._places.locked():
            await self._places.acquire()  # without waiting
            return
        try:
            async with asyncio.timeout(limits.timeout):
                await self._places.acquire()
        except TimeoutError as error:
            reason = f"no connection was free for {limits.timeout:g} s (pool_size={limits.pool_size})"
            raise NoAnswer(reason, sent=False) from error

    def _take_idle(self) -> AsyncConnection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_alive():
                return connection
            connection.abort()
        return None


async def _opened(route: Route, limits: Limits) -> AsyncConnection:
    """A connection to the destination, through its proxy and with TLS where it wants them."""
    now = asyncio.get_running_loop().time()
    seconds = limits.connect_end(now) - now
    try:
        async with asyncio.timeout(seconds):
            connection = await _connected(route, seconds)
            try:
                if route.keeps_alive:
                    connection.keep_alive()
                if route.connect:
                    check_tunnel(await connection.ask(route.connect, AnswerReader(to_connect=True)))
                await connection.secure(route)
            except BaseException:
                connection.abort()
                raise
    except TimeoutError as error:
        raise no_connection(route, TimeoutError(f"not within {seconds:g} s")) from error
    except NoAnswer as error:  # the proxy's to CONNECT
        raise no_connection(route, ConnectionError(error.reason)) from error
    except (OSError, ValueError) as error:  # ValueError: a host name that is not possible
        raise no_connection(route, error) from error
    return connection


async def _connected(route: Route, seconds: float) -> AsyncConnection:
    """A connection to one of a host's addresses, each tried for its share of the time."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    addresses = await loop.getaddrinfo(route.host, route.port, type=SOCK_STREAM)
    for tried, (family, _, protocol, _, address) in enumerate(addresses, 1):
        share = (deadline - loop.time()) / (len(addresses) - tried + 1)
        try:
            async with asyncio.timeout(share):
                return await _connected_to(address, family, protocol)
        except OSError:
            if tried == len(addresses):
                raise
    raise OSError("the host has no address")


async def _connected_to(address: Any, family: int, protocol: int) -> AsyncConnection:
    loop = asyncio.get_running_loop()
    # A socket of our own: what asyncio shows of one that it opens cannot be detached (Rule 5).
    opened = socket(family, SOCK_STREAM, protocol)
    try:
        opened.setblocking(False)
        await loop.sock_connect(opened, address)
        _, connection = await loop.create_connection(lambda: AsyncConnection(loop, opened), sock=opened)
    except BaseException:
        opened.close()
        raise
    return connection
