"""The same for an asynchronous session: a clock that lets other tasks go on, and a transport that is awaited."""

import asyncio
from collections.abc import Callable, Mapping
from inspect import isawaitable
from typing import Any

from dynaorm.flow.protocol.call import AsyncTransport, Clock
from dynaorm.flow.protocol.context import Context
from dynaorm.flow.protocol.retry import Retry
from dynaorm.session.settings import context_of, default_transport
from dynaorm.transport.clock import SystemClock
from dynaorm.transport.threaded import ThreadedTransport


class AsyncSystemClock(SystemClock):
    """The machine's clock, waiting as asyncio does."""

    async def wait(self, seconds: float) -> None:
        """Let other tasks go on for so long."""
        await asyncio.sleep(seconds)


def async_context_of(
    table_names: Mapping[str, str] | Callable[[str], str] | None,
    retry: Retry,
    consistent: bool,
    clock: Clock | None,
    **options: Any,
) -> Context:
    """The context of an asynchronous session."""
    return context_of(table_names, retry, consistent, clock or AsyncSystemClock(), **options)


def default_async_transport(region: str | None, endpoint: str | None, profile: str | None) -> AsyncTransport:
    """The default transport of a synchronous session, in worker threads."""
    return ThreadedTransport(default_transport(region, endpoint, profile))


async def close_async_transport(transport: object) -> None:
    """Close a transport that has something to close, be it awaited or not."""
    close = getattr(transport, "close", None)
    closing = close() if close is not None else None
    if isawaitable(closing):
        await closing
