"""Keeps the time of one attempt where a library is used that has no limit for a whole attempt.

Rule 1. Botocore's own limits hold for each wait for bytes, and nothing limits how long credentials are looked for. That
        runs in a thread, which is left to itself when the time is over.
Rule 2. Our own connections keep the time of what they send. Only what comes before runs in a thread: it sends nothing,
        so that a call whose time is over by then was not sent, and is not sent later.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from typing import TYPE_CHECKING, TypeVar

from dynaorm.flow.protocol.call import Call, NoAnswer
from dynaorm.late import late
from dynaorm.record import replace

if TYPE_CHECKING:
    import asyncio
else:
    late(globals(), asyncio="asyncio")

T = TypeVar("T")

_LEAST = 0.001
"""Seconds. No transport takes 0 for a limit."""


def in_time(seconds: float, attempt: Callable[[], T], *, sent: bool = True) -> T:
    """What an attempt returns or raises, which runs in a thread. Raises NoAnswer if it takes longer.

    ``sent``: whether it may send the request.
    """
    outcome: list[T] = []
    failure: list[BaseException] = []
    ended = threading.Event()

    def run() -> None:
        try:
            outcome.append(attempt())
        except BaseException as raised:  # noqa: BLE001 - it is raised where the attempt is waited for
            failure.append(raised)
        finally:
            ended.set()

    # A daemon: one that was left to itself does not keep the process from ending.
    threading.Thread(target=copy_context().run, args=(run,), name="dynaorm attempt", daemon=True).start()
    if not ended.wait(seconds):
        raise _too_late(seconds, sent)
    if failure:
        raise failure[0]
    return outcome[0]


async def awaited_in_time(attempt: Awaitable[T], seconds: float, *, sent: bool = True) -> T:
    """What an attempt returns or raises, which is cancelled if it takes longer. Then it raises NoAnswer."""
    try:
        async with asyncio.timeout(seconds) as limit:
            return await attempt
    except TimeoutError as error:
        # A TimeoutError of the attempt itself, not of this limit.
        if not limit.expired():
            raise
        raise _too_late(seconds, sent) from error


def prepared(call: Call, work: Callable[[], T]) -> tuple[T, Call]:
    """What comes before a call is sent: the result of some work, and the call with the time that is left then.

    Raises NoAnswer if there is none left.
    """
    if call.timeout is None:
        return work(), call
    began = time.monotonic()
    found = in_time(call.timeout, work, sent=False)
    return found, later(call, time.monotonic() - began)


async def prepared_in_a_thread(call: Call, work: Callable[[], T]) -> tuple[T, Call]:
    """The same for an event loop, which the work would stop."""
    working = asyncio.to_thread(work)
    if call.timeout is None:
        return await working, call
    began = time.monotonic()
    found = await awaited_in_time(working, call.timeout, sent=False)
    return found, later(call, time.monotonic() - began)


def later(call: Call, seconds: float) -> Call:
    """The call with the time that is left so many seconds later."""
    return call if call.timeout is None else replace(call, timeout=max(_LEAST, call.timeout - seconds))


def _too_late(seconds: float, sent: bool) -> NoAnswer:
    return NoAnswer(
        f"no answer within {seconds:g} s" if sent else f"not sent within {seconds:g} s", sent=sent
    )
