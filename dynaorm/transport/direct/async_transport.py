"""The direct transport for asyncio: one attempt per call over aiohttp, which ``pip install 'dynaorm[async]'`` brings.

What may block (configuration files, an instance's role, the refreshing of credentials) runs in a thread.
"""

import asyncio
import threading
from collections.abc import Callable
from inspect import isawaitable
from typing import TYPE_CHECKING, Protocol, Self

from dynaorm.errors import UsageError
from dynaorm.flow.protocol.call import Call, Reply
from dynaorm.late import late
from dynaorm.transport.direct.destination import find_destination
from dynaorm.transport.direct.transport import can_go_through, check_limits
from dynaorm.transport.threaded import ThreadedTransport

if TYPE_CHECKING:
    from dynaorm.transport import pynamodb
else:
    late(globals(), pynamodb="dynaorm.transport.pynamodb")


class AsyncDirectTransport:
    """Carries calls of asynchronous sessions to DynamoDB, over connections that tasks share.

    Nothing is opened or read from the environment before the first call. Credentials, region, endpoint, proxy and CA
    bundle are found as botocore finds them; credentials that expire are refreshed by it.

    Args:
        region: the AWS region; without it ``AWS_REGION``, ``AWS_DEFAULT_REGION``, then the profile's own;
            beside an endpoint, ``us-east-1``.
        endpoint: the URL of a DynamoDB that is not AWS's own for the region, such as an emulator.
        profile: the profile of the AWS configuration files to take credentials and region from.
        timeout: seconds in which more of the answer must come. AWS asks for at least one second with
            TransactWriteItems.
        connect_timeout: seconds to wait for a connection.
        pool_size: how many connections to have at most; further calls wait for one.

    Raises:
        UsageError: a number that makes no sense; or aiohttp is not installed.

    Example::

        async with (
            AsyncDirectTransport(region="eu-west-1") as transport,
            AsyncSession(transport=transport) as session,
        ): ...
    """

    def __init__(
        self,
        region: str | None = None,
        endpoint: str | None = None,
        profile: str | None = None,
        *,
        timeout: float = 10.0,
        connect_timeout: float = 5.0,
        pool_size: int = 50,
    ) -> None:
        check_limits(timeout, connect_timeout, pool_size)
        self._over_aiohttp = _over_aiohttp()
        self.region = region
        self.endpoint = endpoint
        self.profile = profile
        self.timeout = timeout
        self.connect_timeout = connect_timeout
        self.pool_size = pool_size
        self._opening = threading.Lock()
        self._opened: _AsyncOpened | None = None

    def __repr__(self) -> str:
        return (
            f"AsyncDirectTransport(region={self.region!r}, endpoint={self.endpoint!r}, "
            f"profile={self.profile!r})"
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def call(self, call: Call, /) -> Reply:
        """Make one attempt, and give DynamoDB's reply in its low-level form, binary values as bytes.

        Raises:
            Refusal: DynamoDB answered with an error of its own (HTTP 4xx).
            NoAnswer: a timeout, a dropped connection, a damaged reply, or HTTP 5xx.
            UsageError: no AWS region is known.
        """
        opened = self._opened
        if opened is None:
            opened = await asyncio.to_thread(self._open)
        return await opened.call(call)

    async def close(self) -> None:
        """Close this event loop's connections. A later call opens new ones."""
        closing = self._opened.close() if self._opened is not None else None
        if isawaitable(closing):
            await closing

    def _open(self) -> "_AsyncOpened":
        with self._opening:
            if self._opened is None:
                destination = find_destination(self.region, self.endpoint, self.profile)
                if can_go_through(destination.proxy):
                    self._opened = self._over_aiohttp(
                        destination,
                        timeout=self.timeout,
                        connect_timeout=self.connect_timeout,
                        size=self.pool_size,
                    )
                else:
                    inner = pynamodb.PynamoTransport(
                        region=self.region,
                        endpoint=self.endpoint,
                        profile=self.profile,
                        connect_timeout=self.connect_timeout,
                        read_timeout=self.timeout,
                        max_pool_connections=self.pool_size,
                    )
                    self._opened = ThreadedTransport(inner)
            return self._opened


class _AsyncOpened(Protocol):
    async def call(self, call: Call, /) -> Reply: ...

    def close(self) -> object: ...


def _over_aiohttp() -> "Callable[..., _AsyncOpened]":
    try:
        # Imported here because aiohttp is an extra.
        from dynaorm.transport.direct.aiohttp import AiohttpConnections  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if error.name != "aiohttp":
            raise
        raise UsageError(
            problem="aiohttp, over which AsyncDirectTransport sends, is not installed",
            remedy="pip install 'dynaorm[async]', or leave out transport=",
        ) from error
    return AiohttpConnections
