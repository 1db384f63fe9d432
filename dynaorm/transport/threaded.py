"""A synchronous transport for asynchronous sessions: each call in a worker thread."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

from dynaorm.flow.call import Call, Reply, Transport
from dynaorm.transport.process import NotPicklable, register
from dynaorm.transport.settings import Endpoint

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
