"""The transports that one test is run over, with the same names for their options."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Protocol, TypeAlias

from dynaorm.transport import AsyncDirectTransport, Call, DirectTransport, PynamoTransport, Reply
from dynaorm.transport.asynchronous import AsyncDefaultTransport
from dynaorm.transport.default import DefaultTransport


class Closable(Protocol):
    """A transport that a test opens and closes."""

    def call(self, call: Call, /) -> Reply: ...

    def close(self) -> None: ...


class AsyncInTurn:
    """An asynchronous transport for a synchronous test. Its event loop runs during calls only."""

    def __init__(self, kind: type[AsyncDirectTransport] = AsyncDirectTransport, **options: Any) -> None:
        self._runner = asyncio.Runner()
        self._transport = kind(**options)

    def call(self, call: Call, /) -> Reply:
        return self._runner.run(self._transport.call(call))

    def close(self) -> None:
        self._runner.run(self._transport.close())
        self._runner.close()
        self._runner = asyncio.Runner()


def over_pynamodb(
    *, timeout: float = 10.0, pool_size: int = 50, connect_timeout: float = 5.0, **options: Any
) -> PynamoTransport:
    """The transport over pynamodb with the options of the others."""
    return PynamoTransport(
        read_timeout=timeout, connect_timeout=connect_timeout, max_pool_connections=pool_size, **options
    )


def replies_to_threads(transport: Closable, call: Call) -> list[Reply]:
    """The replies to eight threads that make the same call at once."""
    together = threading.Barrier(8)

    def work(_: int) -> Reply:
        together.wait()
        return transport.call(call)

    with ThreadPoolExecutor(8) as threads:
        return [*threads.map(work, range(8))]


Open: TypeAlias = Callable[..., Closable]

TRANSPORTS: dict[str, Open] = {
    "default": DefaultTransport,
    "async default": partial(AsyncInTurn, AsyncDefaultTransport),
    "pynamodb": over_pynamodb,
    "direct": DirectTransport,
    "async": AsyncInTurn,
}
