"""Opens a transport to a DynamoDB in another process. The environment variable DYNAORM_TRANSPORT chooses its kind.

So a project's tests, and dynaorm's own, run over each transport without a change. moto is only reached over pynamodb,
which the default transport does by itself. ``memory:`` and ``sqlite:`` are reached without any.
"""

import os
import ssl
import urllib.error
import urllib.request
from http.client import HTTPException

from dynaorm.embedded.address import IN_PROCESS, engine_at
from dynaorm.embedded.engine import Engine
from dynaorm.errors import UsageError
from dynaorm.failure import counted
from dynaorm.transport.async_default import AsyncDefaultTransport
from dynaorm.transport.async_pynamodb import AsyncPynamoTransport
from dynaorm.transport.default import DefaultTransport
from dynaorm.transport.direct.async_transport import AsyncDirectTransport
from dynaorm.transport.direct.transport import DirectTransport
from dynaorm.transport.pynamodb import PynamoTransport
from dynaorm.transport.settings import without_password

# An engine on a busy machine answers late. Under a FakeClock, whose pauses take no time, the retries would be spent
# while it still works on the first attempt, and the outcome would be unknown.
_PATIENCE = 60.0
# An endpoint that never answered would use up this time at every attempt. So it is asked for a sign of life first.
_GREETING = 20.0

TRANSPORT_VARIABLE = "DYNAORM_TRANSPORT"


def transport_to(endpoint: str, *, greeting: float = _GREETING) -> DirectTransport | PynamoTransport | Engine:
    """A transport to an endpoint. The caller must close it.

    ``greeting``: for how many seconds to wait for any answer of the endpoint.

    Raises:
        UsageError: DYNAORM_TRANSPORT is none of ``default``, ``direct`` and ``pynamodb``; or nothing answers.
    """
    if endpoint.startswith(IN_PROCESS):
        return engine_at(endpoint)
    named = _named_transport(endpoint, greeting)
    if named == "pynamodb":
        return PynamoTransport(endpoint=endpoint, read_timeout=_PATIENCE)
    kind = DirectTransport if named == "direct" else DefaultTransport
    return kind(endpoint=endpoint, timeout=_PATIENCE)


def async_transport_to(
    endpoint: str, *, greeting: float = _GREETING
) -> AsyncDirectTransport | AsyncPynamoTransport:
    """The same for an asynchronous session."""
    named = _named_transport(endpoint, greeting)
    if named == "pynamodb":
        return AsyncPynamoTransport(endpoint=endpoint, read_timeout=_PATIENCE)
    kind = AsyncDirectTransport if named == "direct" else AsyncDefaultTransport
    return kind(endpoint=endpoint, timeout=_PATIENCE)


def _named_transport(endpoint: str, greeting: float) -> str:
    """The name of the transport to take, after checking that something answers."""
    named = os.environ.get(TRANSPORT_VARIABLE) or "default"
    if named not in ("default", "direct", "pynamodb"):
        raise UsageError(
            problem=f"{TRANSPORT_VARIABLE} is {named!r}, which is not the name of a transport",
            remedy="set it to default, direct or pynamodb, or leave it out",
        )
    _check_answers(endpoint, greeting)
    return named


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
            problem=f"nothing answers at {without_password(endpoint)} within {counted(seconds, 'second')} "
            f"({type(reason).__name__})",
            remedy="start a DynamoDB there, or give its URL with --dynaorm-endpoint or DYNAORM_ENDPOINT; without "
            "either, tests run on moto",
        ) from trouble
