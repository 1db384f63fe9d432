"""From a session's keywords to the context its flows share, and to its default transport."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from dynaorm.errors import DecodeError, UsageError
from dynaorm.flow.protocol.call import Clock, Transport
from dynaorm.flow.protocol.context import Context
from dynaorm.flow.protocol.retry import Retry
from dynaorm.late import late
from dynaorm.transport.clock import SystemClock

if TYPE_CHECKING:
    from dynaorm.transport import pynamodb
else:
    late(globals(), pynamodb="dynaorm.transport.pynamodb")

_SECRET_BYTES: Final = 16
"""As many as the signature has: a shorter secret would be the easier one to guess."""


def context_of(
    table_names: Mapping[str, str] | Callable[[str], str] | None,
    retry: Retry,
    consistent: bool,
    clock: Clock | None,
    *,
    on_decode_error: Callable[[DecodeError], object] | None = None,
    cursor_secret: bytes | None = None,
) -> Context:
    """The context of a session; tables without a name of their own keep the declared one. Raises UsageError."""
    _check_secret(cursor_secret)
    if table_names is None:
        name: Callable[[str], str] = str
    elif isinstance(table_names, Mapping):
        names = dict(table_names)

        def name(declared: str) -> str:
            return names.get(declared, declared)
    else:
        name = table_names
    return Context(name, retry, clock or SystemClock(), consistent, on_decode_error, cursor_secret)


def _check_secret(secret: object) -> None:
    """A secret that can be guessed, or is none, signs nothing: better no session than one that seems safe."""
    if secret is None:
        return
    if not isinstance(secret, bytes):
        found = f"cursor_secret= is a {type(secret).__name__}, not bytes"
    elif len(secret) < _SECRET_BYTES:
        found = f"cursor_secret= has {len(secret)} bytes, which can be guessed"
    else:
        return
    raise UsageError(
        problem=found,
        remedy=f"give at least {_SECRET_BYTES} random bytes, the same in every process: secrets.token_bytes(32), kept "
        "where you keep passwords; or None for cursors without a signature",
    )


def default_transport(region: str | None, endpoint: str | None, profile: str | None) -> Transport:
    """A connection of pynamodb's."""
    return pynamodb.PynamoTransport(region=region, endpoint=endpoint, profile=profile)


def close_transport(transport: object) -> None:
    """Close a transport that has something to close."""
    close = getattr(transport, "close", None)
    if close is not None:
        close()
