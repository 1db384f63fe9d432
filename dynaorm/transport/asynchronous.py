"""Transports of ``AsyncSession``: the default one, the direct one, and any synchronous one in threads."""

import asyncio
import time
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from inspect import isawaitable
from typing import Protocol, Self

from dynaorm.flow.call import Call, Reply, Transport
from dynaorm.transport.answer import STREAM_READS
from dynaorm.transport.default import Choice, need_of
from dynaorm.transport.direct import DirectSettings
from dynaorm.transport.http.async_connection import AsyncConnectionPool
from dynaorm.transport.http.destination import Destination, OnlyBotocore
from dynaorm.transport.http.exchange import RequestCodec
from dynaorm.transport.http.limits import Limits
from dynaorm.transport.http.route import route_to
from dynaorm.transport.process import NotPicklable, later, prepared_in_a_thread, register
from dynaorm.transport.settings import Endpoint

# A synchronous transport for asynchronous sessions: each call in a worker thread.

WORKERS = 50
"""As many threads as ``PynamoTransport`` keeps connections. asyncio's own executor has six on a small machine."""


class ThreadedTransport(NotPicklable):
    """Carries calls over another transport, which may block, in threads of its own.

    A cancelled call continues in its thread: whether it was carried out is not known.
    """

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self._threads = ThreadPoolExecutor(WORKERS, "dynaorm")
        register(self)

    @property
    def server(self) -> Endpoint | None:
        """The server of the other transport, if it says so."""
        found: Endpoint | None = getattr(self._inner, "server", None)
        return found

    async def call(self, call: Call, /) -> Reply:
        """Carry one call. Raises what the other transport raises.

        Args:
            call: the request.

        Examples:
            ```python
            reply = await transport.call(Call("ListTables", {}))
            ```
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, copy_context().run, self._inner.call, call)

    def close(self) -> None:
        """Close the other transport, if it can be closed. A later call opens it again.

        Examples:
            ```python
            await transport.close()
            ```
        """
        threads, self._threads = self._threads, ThreadPoolExecutor(WORKERS, "dynaorm")
        # Not waited for: this runs in the event loop, which would stand still as long as a call is under way.
        threads.shutdown(wait=False)
        close = getattr(self._inner, "close", None)
        if close is not None:
            close()

    def reset_after_fork(self) -> object:
        """Take threads of this process."""
        threads, self._threads = self._threads, ThreadPoolExecutor(WORKERS, "dynaorm")
        return threads


# The direct transport for asyncio: one attempt per call over connections of our own.


class AsyncDirectTransport(DirectSettings):
    """Carries calls of asynchronous sessions to DynamoDB, over connections that tasks share.

    Nothing is opened or read from the environment before the first call. Credentials, Region, endpoint, proxy and CA
    bundle are found as botocore finds them; botocore refreshes credentials that expire.

    Args:
        region: the AWS Region; without it ``AWS_REGION``, ``AWS_DEFAULT_REGION``, then the profile's own;
            beside an endpoint, ``us-east-1``.
        endpoint: the URL of a DynamoDB that is not AWS's own for the Region, such as an emulator.
        profile: the profile of the AWS configuration files to take credentials and Region from.
        credentials: anything with ``get_frozen_credentials()``, asked for each request, in the place of those that
            are configured.
        timeout: seconds for sending a request and receiving all of its answer; each megabyte has one second more. A
            call waits as long for a free connection. AWS asks for at least one second with TransactWriteItems.
        connect_timeout: seconds until a connection is open, proxy and TLS included.
        pool_size: how many connections to have at most; further calls wait for one, in the order they came.

    Raises:
        UsageError: a limit is not positive, or not finite.

    Examples:
        ```python
        async with (
            AsyncDirectTransport(region="eu-west-1") as transport,
            AsyncSession(transport=transport) as session,
        ): ...
        ```
    """

    _opened: "_AsyncOpened | None" = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def call(self, call: Call, /) -> Reply:
        """Make one attempt, and return DynamoDB's reply in its low-level form, binary values as bytes.

        Args:
            call: the request.

        Raises:
            Refusal: DynamoDB answered with an error of its own (HTTP 4xx).
            NoAnswer: a timeout, a dropped connection, a damaged reply, or HTTP 5xx.
            UsageError: the AWS configuration is incomplete or wrong; nothing was sent.

        Examples:
            ```python
            reply = await transport.call(Call("ListTables", {}))
            ```
        """
        if call.operation in STREAM_READS:
            return await asyncio.to_thread(self._streams.call, call)
        carrier = self._opened
        if carrier is None:
            # Looking for credentials and a Region may read files and ask services.
            opened, call = await prepared_in_a_thread(call, self._open)
            carrier = opened
        return await carrier.call(call)

    async def close(self) -> None:
        """Close the connections of this event loop, and of those that have ended. A later call opens new ones.

        Examples:
            ```python
            await transport.close()
            ```
        """
        closing = self._opened.close() if self._opened is not None else None
        if isawaitable(closing):
            await closing
        if self._stream_transport is not None:
            self._stream_transport.close()

    def _open(self) -> "_AsyncOpened":
        with self._opening:
            if self._opened is None:
                found = self._find_destination()
                if isinstance(found, Destination):
                    self._opened = _AsyncDirect(found, self._limits)
                else:
                    self._opened = ThreadedTransport(found)
            return self._opened


class _AsyncOpened(Protocol):
    async def call(self, call: Call, /) -> Reply: ...

    def close(self) -> object: ...


class _AsyncDirect:
    """One pool of connections for each event loop, because a connection belongs to its loop.

    A loop ends with its asynchronous generators, if it is run by ``asyncio.run`` or a server. Such a generator of each
    pool closes its connections then. A loop that was only closed is noticed later.
    """

    def __init__(self, destination: Destination, limits: Limits) -> None:
        self._exchange = RequestCodec(destination)
        self._route = route_to(destination)
        self._limits = limits
        self._pools: dict[asyncio.AbstractEventLoop, AsyncConnectionPool] = {}
        self._endings: dict[asyncio.AbstractEventLoop, AsyncGenerator[None, None]] = {}

    async def call(self, call: Call, /) -> Reply:
        if self._exchange.may_block:
            given, call = await prepared_in_a_thread(call, self._exchange.credentials)
        else:
            given = self._exchange.credentials()
        request = self._exchange.request(call, given)
        pool = self._pools.get(asyncio.get_running_loop()) or await self._new_pool()
        return self._exchange.reply(call.operation, request, await pool.send(request, call.timeout))

    async def close(self) -> None:
        self._close_ended()
        ending = self._endings.pop(asyncio.get_running_loop(), None)
        if ending is not None:
            await ending.aclose()

    async def _new_pool(self) -> AsyncConnectionPool:
        self._close_ended()
        loop = asyncio.get_running_loop()
        pool = self._pools[loop] = AsyncConnectionPool(self._route, self._limits)
        ending = self._endings[loop] = self._closing(pool, loop)
        await anext(ending)  # without waiting
        return pool

    async def _closing(
        self, pool: AsyncConnectionPool, loop: asyncio.AbstractEventLoop
    ) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            self._pools.pop(loop, None)
            self._endings.pop(loop, None)
            await pool.close()

    def _close_ended(self) -> None:
        # A copy: a loop in another thread may add its pool meanwhile.
        for loop in [loop for loop in self._pools.copy() if loop.is_closed()]:
            pool = self._pools.pop(loop, None)
            self._endings.pop(loop, None)
            if pool is not None:
                pool.close_sockets()


# The default transport of ``AsyncSession``.


class AsyncDefaultTransport(Choice, AsyncDirectTransport):
    """Carries calls over connections of its own, or through pynamodb in threads where something needs botocore.

    Tasks may share it. Nothing is opened or read from the environment before the first call.
    """

    _in_threads: ThreadedTransport | None = None

    async def call(self, call: Call, /) -> Reply:
        """Make one attempt. Raises what ``AsyncDirectTransport.call`` raises."""
        if reason := need_of(call):
            return await self._aside_in_threads(reason).call(call)
        began = time.monotonic()
        try:
            return await super().call(call)
        except OnlyBotocore as only:
            return await self._aside_in_threads(str(only)).call(later(call, time.monotonic() - began))

    async def close(self) -> None:
        """Close the connections of this event loop, and of those that have ended. A later call opens new ones."""
        await super().close()
        if self._in_threads is not None:
            self._in_threads.close()

    def _aside_in_threads(self, reason: str) -> ThreadedTransport:
        aside = self._stepped_aside(reason)
        return self._in_threads or vars(self).setdefault("_in_threads", ThreadedTransport(aside))
