"""Opens a transport to a DynamoDB in another process. The environment variable DYNAORM_TRANSPORT chooses its kind.

So a project's tests, and dynaorm's own, run over either transport without a change. An engine in this process, such as
moto, can only be reached by the default transport.
"""

import os
import ssl
import urllib.error
import urllib.request
from http.client import HTTPException

from dynaorm.errors import UsageError
from dynaorm.flow.protocol.call import AsyncTransport
from dynaorm.transport.direct.async_transport import AsyncDirectTransport
from dynaorm.transport.direct.transport import DirectTransport
from dynaorm.transport.endpoint import without_password
from dynaorm.transport.pynamodb import PynamoTransport
from dynaorm.transport.threaded import ThreadedTransport

# An engine on a busy machine answers late. Under a FakeClock, whose pauses take no time, the retries would be spent
# while it still works on the first attempt, and the outcome would be unknown.
_PATIENCE = 60.0
# An endpoint that never answered would use up this time at every attempt. So it is asked for a sign of life first.
_GREETING = 20.0

TRANSPORT_VARIABLE = "DYNAORM_TRANSPORT"


def transport_to(endpoint: str, *, greeting: float = _GREETING) -> DirectTransport | PynamoTransport:
    """A transport to an endpoint. The caller must close it.

    ``greeting``: for how many seconds to wait for any answer of the endpoint.

    Raises:
        UsageError: DYNAORM_TRANSPORT is neither ``default`` nor ``direct``; or nothing answers.
    """
    if _is_direct_to(endpoint, greeting):
        return DirectTransport(endpoint=endpoint, timeout=_PATIENCE)
    return PynamoTransport(endpoint=endpoint, read_timeout=_PATIENCE)


def async_transport_to(endpoint: str, *, greeting: float = _GREETING) -> AsyncTransport:
    """The same for an asynchronous session."""
    if _is_direct_to(endpoint, greeting):
        return AsyncDirectTransport(endpoint=endpoint, timeout=_PATIENCE)
    return ThreadedTransport(PynamoTransport(endpoint=endpoint, read_timeout=_PATIENCE))


def _is_direct_to(endpoint: str, greeting: float) -> bool:
    """Whether the transport is a direct one, after checking that something answers."""
    named = os.environ.get(TRANSPORT_VARIABLE) or "default"
    if named not in ("default", "direct"):
        raise UsageError(
            problem=f"{TRANSPORT_VARIABLE} is {named!r}, which is not the name of a transport",
            remedy="set it to default or direct, or leave it out",
        )
    _check_answers(endpoint, greeting)
    return named == "direct"


def _check_answers(endpoint: str, seconds: float) -> None:
    try:
        urllib.request.urlopen(endpoint, timeout=seconds).close()  # noqa: S310 - the developer's own setting
    except urllib.error.HTTPError as answer:
        answer.close()
    except (OSError, HTTPException, ValueError) as trouble:
        reason = getattr(trouble, "reason", trouble)
        # Only the transport knows which certificates to trust.
        if isinstance(reason, ssl.SSLError):
            return
        raise UsageError(
            problem=f"nothing answers at {without_password(endpoint)} within {seconds:g} seconds "
            f"({type(reason).__name__})",
            remedy="start a DynamoDB there, or give its URL with --dynaorm-endpoint or DYNAORM_ENDPOINT; without "
            "either, tests run on moto",
        ) from trouble
