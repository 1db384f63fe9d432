"""Opens a transport to a DynamoDB in another process. The environment variable DYNAORM_TRANSPORT chooses its kind.

So a project's tests, and dynaorm's own, run over either transport without a change. An engine in this process, such as
moto, can only be reached by the default transport.
"""

import os

from dynaorm.errors import UsageError
from dynaorm.flow.protocol.call import AsyncTransport
from dynaorm.transport.direct.async_transport import AsyncDirectTransport
from dynaorm.transport.direct.transport import DirectTransport
from dynaorm.transport.pynamodb import PynamoTransport
from dynaorm.transport.threaded import ThreadedTransport

# An engine on a busy machine answers late. Under a FakeClock, whose pauses take no time, the retries would be spent
# while it still works on the first attempt, and the outcome would be unknown.
_PATIENCE = 60.0

TRANSPORT_VARIABLE = "DYNAORM_TRANSPORT"


def transport_to(endpoint: str) -> DirectTransport | PynamoTransport:
    """A transport to an endpoint. The caller must close it.

    Raises:
        UsageError: DYNAORM_TRANSPORT is neither ``default`` nor ``direct``.
    """
    if _is_direct():
        return DirectTransport(endpoint=endpoint, timeout=_PATIENCE)
    return PynamoTransport(endpoint=endpoint, read_timeout=_PATIENCE)


def async_transport_to(endpoint: str) -> AsyncTransport:
    """The same for an asynchronous session.

    Raises:
        UsageError: DYNAORM_TRANSPORT is neither ``default`` nor ``direct``.
    """
    if _is_direct():
        return AsyncDirectTransport(endpoint=endpoint, timeout=_PATIENCE)
    return ThreadedTransport(PynamoTransport(endpoint=endpoint, read_timeout=_PATIENCE))


def _is_direct() -> bool:
    named = os.environ.get(TRANSPORT_VARIABLE) or "default"
    if named not in ("default", "direct"):
        raise UsageError(
            problem=f"{TRANSPORT_VARIABLE} is {named!r}, which is not the name of a transport",
            remedy="set it to default or direct, or leave it out",
        )
    return named == "direct"
