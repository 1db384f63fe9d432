"""From the arguments of a session to the context of its flows, and to its default transport."""

from collections.abc import Callable, Mapping
from inspect import isawaitable
from typing import TYPE_CHECKING, Final

from dynaorm.errors import DecodeError, UsageError
from dynaorm.flow.protocol.call import AsyncTransport, Clock, Transport
from dynaorm.flow.protocol.context import Context
from dynaorm.flow.protocol.retry import Retry
from dynaorm.late import late
from dynaorm.transport.clock import SystemClock

if TYPE_CHECKING:
    from dynaorm.transport import pynamodb, threaded
    from dynaorm.transport.http.credentials import GivenCredentials
else:
    late(globals(), pynamodb="dynaorm.transport.pynamodb", threaded="dynaorm.transport.threaded")

_SECRET_BYTES: Final = 16
"""The length of the signature: a shorter secret would be easier to guess than the signature."""


def context_of(
    table_names: Mapping[str, str] | Callable[[str], str] | None,
    retry: Retry,
    consistent: bool,
    clock: Clock | None,
    *,
    on_decode_error: Callable[[DecodeError], object] | None = None,
    cursor_secret: bytes | None = None,
    exactly_once: bool = False,
) -> Context:
    """Return the context of a session. Raises UsageError for a secret that does not protect cursors."""
    _check_secret(cursor_secret)
    if table_names is None:
        name: Callable[[str], str] = str
    elif isinstance(table_names, Mapping):
        names = dict(table_names)

        def name(declared: str) -> str:
            return names.get(declared, declared)
    else:
        name = table_names
    return Context(
        name, retry, clock or SystemClock(), consistent, on_decode_error, cursor_secret, exactly_once
    )


def _check_secret(secret: object) -> None:
    if secret is None:
        return
    if not isinstance(secret, bytes):
        found = f"cursor_secret= is a {type(secret).__name__}, not bytes"
    elif len(secret) < _SECRET_BYTES:
        found = f"cursor_secret= has {len(secret)} bytes, too few to be safe"
    else:
        return
    raise UsageError(
        problem=found,
        remedy=f"give at least {_SECRET_BYTES} random bytes, the same in every process: create them once with "
        "secrets.token_bytes(32) and store them as you store passwords; or give None for unsigned cursors",
    )


def default_transport(
    region: str | None,
    endpoint: str | None,
    profile: str | None,
    credentials: "GivenCredentials | None" = None,
) -> Transport:
    """Return a connection of pynamodb. Raises UsageError for credentials that cannot be asked for."""
    return pynamodb.PynamoTransport(
        region=region, endpoint=endpoint, profile=profile, credentials=credentials
    )


def default_async_transport(
    region: str | None,
    endpoint: str | None,
    profile: str | None,
    credentials: "GivenCredentials | None" = None,
) -> AsyncTransport:
    """Return the default transport of a synchronous session, run in worker threads."""
    return threaded.ThreadedTransport(default_transport(region, endpoint, profile, credentials))


def check_credentials(transport: object, credentials: object) -> None:
    """Raise UsageError for credentials beside a transport, which has its own."""
    if transport is not None and credentials is not None:
        raise UsageError(
            problem="Session(transport=..., credentials=...): the transport has credentials of its own",
            remedy="give them to the transport: DirectTransport(credentials=...)",
        )


def close_transport(transport: object) -> None:
    """Close a transport, if it has a ``close`` method."""
    close = getattr(transport, "close", None)
    if close is not None:
        close()


async def close_async_transport(transport: object) -> None:
    """Close a transport, if it has a ``close`` method, which may be a coroutine function."""
    close = getattr(transport, "close", None)
    closing = close() if close is not None else None
    if isawaitable(closing):
        await closing
