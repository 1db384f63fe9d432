"""The way to a DynamoDB in another process: over the transport that the environment variable DYNAORM_TRANSPORT names.

A project's tests, and dynaorm's own, run over either with no change. What runs in this process, as moto does, is
reached by the default transport alone.
"""

import os

from dynaorm.errors import UsageError
from dynaorm.flow.protocol.call import AsyncTransport
from dynaorm.transport.direct.async_transport import AsyncDirectTransport
from dynaorm.transport.direct.transport import DirectTransport
from dynaorm.transport.pynamodb import PynamoTransport
from dynaorm.transport.threaded import ThreadedTransport

TRANSPORT_VARIABLE = "DYNAORM_TRANSPORT"


def transport_to(endpoint: str) -> DirectTransport | PynamoTransport:
    """A transport to an endpoint; whoever asks for it closes it.

    Raises:
        UsageError: DYNAORM_TRANSPORT is neither ``default`` nor ``direct``.
    """
    return DirectTransport(endpoint=endpoint) if _is_direct() else PynamoTransport(endpoint=endpoint)


def async_transport_to(endpoint: str) -> AsyncTransport:
    """The same for an asynchronous session.

    Raises:
        UsageError: DYNAORM_TRANSPORT is neither ``default`` nor ``direct``.
    """
    if _is_direct():
        return AsyncDirectTransport(endpoint=endpoint)
    return ThreadedTransport(PynamoTransport(endpoint=endpoint))


def _is_direct() -> bool:
    named = os.environ.get(TRANSPORT_VARIABLE) or "default"
    if named not in ("default", "direct"):
        raise UsageError(
            problem=f"{TRANSPORT_VARIABLE} is {named!r}, which no transport is called",
            remedy="set it to default or direct, or leave it out",
        )
    return named == "direct"
