"""The default transport of ``Session``."""

import time

from dynaorm.flow.protocol.call import Call, Reply
from dynaorm.transport.attempt_time import later
from dynaorm.transport.default.choice import Choice, need_of
from dynaorm.transport.direct.transport import DirectTransport
from dynaorm.transport.http.destination import OnlyBotocore


class DefaultTransport(Choice, DirectTransport):
    """Carries calls over connections of its own, or through pynamodb where something needs botocore.

    Threads may share it. Nothing is opened or read from the environment before the first call.
    """

    def call(self, call: Call, /) -> Reply:
        """Make one attempt. Raises what ``DirectTransport.call`` raises."""
        if reason := need_of(call):
            return self._stepped_aside(reason).call(call)
        began = time.monotonic()
        try:
            return super().call(call)
        except OnlyBotocore as only:
            return self._stepped_aside(str(only)).call(later(call, time.monotonic() - began))

    def close(self) -> None:
        """Close the connections. A later call opens new ones."""
        super().close()
        if self._aside is not None:
            self._aside.close()
