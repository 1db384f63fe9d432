"""The direct transport for asyncio: one attempt per call over connections of our own.

What may block (configuration files, an instance's role, the refreshing of credentials) runs in a thread.
"""

import asyncio
from collections.abc import AsyncGenerator
from inspect import isawaitable
from typing import Protocol, Self

from dynaorm.flow.call import Call, Reply
from dynaorm.transport.answer import STREAM_READS
from dynaorm.transport.direct.settings import DirectSettings
from dynaorm.transport.http.async_connection import AsyncConnectionPool
from dynaorm.transport.http.destination import Destination
from dynaorm.transport.http.exchange import RequestCodec
from dynaorm.transport.http.limits import Limits
from dynaorm.transport.http.route import route_to
from dynaorm.transport.process import prepared_in_a_thread
from dynaorm.transport.threaded import ThreadedTransport


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
