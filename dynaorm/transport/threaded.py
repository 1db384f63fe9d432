"""A synchronous transport for asynchronous sessions: each call in a worker thread."""

import asyncio

from dynaorm.flow.protocol.call import Call, Reply, Transport


class ThreadedTransport:
    """Carries calls over another transport, which may block, in asyncio's worker threads.

    A cancelled call goes on in its thread: whether it was carried out is not known.
    """

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    async def call(self, call: Call, /) -> Reply:
        """Carry one call. Raises what the other transport raises."""
        return await asyncio.to_thread(self._inner.call, call)

    def close(self) -> None:
        """Close the other transport, if it can be closed."""
        close = getattr(self._inner, "close", None)
        if close is not None:
            close()
