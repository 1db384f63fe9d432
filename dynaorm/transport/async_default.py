"""The default transport of ``AsyncSession``."""

import time

from dynaorm.flow.call import Call, Reply
from dynaorm.transport.default import Choice, need_of
from dynaorm.transport.direct.async_transport import AsyncDirectTransport
from dynaorm.transport.http.destination import OnlyBotocore
from dynaorm.transport.process import later
from dynaorm.transport.threaded import ThreadedTransport


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
