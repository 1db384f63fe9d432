"""From the arguments of a session to the context of its flows, and to its default transport."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from inspect import isawaitable, iscoroutinefunction, unwrap
from typing import TYPE_CHECKING, Final, cast

from dynaorm.argument import check_amount, check_flag, check_plain_function
from dynaorm.embedded.address import IN_PROCESS, async_engine_at, engine_at
from dynaorm.entity.table import table_namer
from dynaorm.errors import DecodeError, UsageError
from dynaorm.failure import counted, shown
from dynaorm.flow.call import WINDOW_SECONDS, AsyncTransport, Clock, Context, Retry, Transport
from dynaorm.late import late
from dynaorm.session.deadline import FlowWatch, Watch
from dynaorm.transport.clock import SystemClock

if TYPE_CHECKING:
    from dynaorm.session import deadline
    from dynaorm.session.deadline import OnAttempt
    from dynaorm.transport import asynchronous as async_defaults
    from dynaorm.transport import default as defaults
    from dynaorm.transport.http.credentials import GivenCredentials
else:
    late(
        globals(),
        async_defaults="dynaorm.transport.asynchronous",
        deadline="dynaorm.session.deadline",
        defaults="dynaorm.transport.default",
    )

_LONGEST: Final = 1_000_000.0  # seconds, as for the limits of transports

_CLOCKS: Final = ("now", "monotonic", "jitter", "new_id", "pause")

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
    timeout: float | None = None,
) -> Context:
    """Return the context of a session. Raises UsageError for an argument of another type or a short secret."""
    if timeout is not None:
        check_amount("timeout={}", timeout, most=_LONGEST)
    _check_secret(cursor_secret)
    check_flag("consistent={}", consistent)
    check_flag("exactly_once={}", exactly_once)
    if not isinstance(retry, Retry):
        raise UsageError(
            problem=f"retry={shown(retry)} is not a Retry", remedy="give Retry(attempts=..., seconds=...)"
        )
    if on_decode_error is not None:
        check_plain_function("on_decode_error={}", on_decode_error, takes=1)
    return Context(
        table_namer(table_names),
        retry,
        clock_of(clock),
        consistent,
        on_decode_error,
        cursor_secret,
        exactly_once,
        timeout,
    )


def clock_of(clock: object) -> Clock:
    """The clock that was given, or that of the system. Raises UsageError for what is none."""
    if clock is None:
        return SystemClock()
    for method in _CLOCKS:
        if isinstance(clock, type) or not callable(getattr(clock, method, None)):
            raise UsageError(
                problem=f"clock={shown(clock)} has no method {method}",
                remedy=f"give an object with the methods {', '.join(_CLOCKS)}, or none",
            )
    return cast("Clock", clock)


def watch_of(on_attempt: OnAttempt | None, log_values: bool, context: Context) -> FlowWatch:
    """Return what sees the flows of a session, and ends them in time. Raises UsageError as ``Watch``."""
    watch = Watch(on_attempt, log_values)
    # Neither limits an attempt (see ``Deadlines``), so the flows are spared another generator around them.
    if context.timeout is None and context.retry.seconds in (0, WINDOW_SECONDS):
        return watch
    return deadline.Deadlines(watch, context)


def _check_secret(secret: object) -> None:
    if secret is None:
        return
    if not isinstance(secret, bytes):
        found = f"cursor_secret= is a {type(secret).__name__}, not bytes"
    elif len(secret) < _SECRET_BYTES:
        found = f"cursor_secret= has {counted(len(secret), 'byte')}, too few to be safe"
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
    credentials: GivenCredentials | None = None,
) -> Transport:
    """Return the default transport. Raises UsageError for credentials that cannot be asked for."""
    if place := _embedded(endpoint):
        return engine_at(place)
    return defaults.DefaultTransport(region, endpoint, profile, credentials=credentials)


def _embedded(endpoint: str | None) -> str:
    """The endpoint that names a DynamoDB in this process; empty for another one, and for what is no text."""
    named: object = os.environ.get("AWS_ENDPOINT_URL_DYNAMODB", "") if endpoint is None else endpoint
    return named if isinstance(named, str) and named.startswith(IN_PROCESS) else ""


def default_async_transport(
    region: str | None,
    endpoint: str | None,
    profile: str | None,
    credentials: GivenCredentials | None = None,
) -> AsyncTransport:
    """Return the default transport of an asynchronous session. Raises UsageError as ``default_transport``."""
    if place := _embedded(endpoint):
        return async_engine_at(place)
    return async_defaults.AsyncDefaultTransport(region, endpoint, profile, credentials=credentials)


def check_transport(transport: object, **own: object) -> None:
    """Raise UsageError for a transport that a ``Session`` cannot call, or with settings that a transport has itself."""
    _check_own(transport, own)
    if transport is not None and (not _has_call(transport) or _is_asynchronous(transport)):
        raise _no_transport("Session", transport, "DirectTransport(...)", "AsyncSession")


def check_async_transport(transport: object, **own: object) -> None:
    """The same for an ``AsyncSession``."""
    _check_own(transport, own)
    if transport is not None and (not _has_call(transport) or _is_own_synchronous(transport)):
        raise _no_transport("AsyncSession", transport, "AsyncDirectTransport(...)", "Session")


def _check_own(transport: object, own: Mapping[str, object]) -> None:
    given = [name for name, value in own.items() if value is not None]
    if transport is not None and given:
        raise UsageError(
            problem=f"Session(transport=..., {given[0]}=...): the transport has its own {given[0]}",
            remedy=f"give the transport what it needs: DirectTransport({given[0]}=...)",
        )


def _has_call(transport: object) -> bool:
    return not isinstance(transport, type) and callable(getattr(transport, "call", None))


def _is_asynchronous(transport: object) -> bool:
    return iscoroutinefunction(unwrap(getattr(transport, "call", check_flag)))


def _is_own_synchronous(transport: object) -> bool:
    """Whether it is a transport of dynaorm's that blocks. A plain method of another one may return an awaitable."""
    return type(transport).__module__.startswith("dynaorm.") and not _is_asynchronous(transport)


def _no_transport(session: str, transport: object, remedy: str, other: str) -> UsageError:
    kind = transport.__name__ if isinstance(transport, type) else type(transport).__name__
    if isinstance(transport, type):
        problem = f"transport={kind} is a class"
    elif _has_call(transport):
        problem = f"{session}(transport=...) cannot call {kind}, which is for {other}"
    else:
        problem = f"transport= is of type {kind}, which has no method call"
    return UsageError(problem=problem, remedy=f"give a transport such as {remedy}, or none")


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
