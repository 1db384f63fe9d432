"""Keeps the time of one attempt where a library is used that has no limit for a whole attempt.

Botocore's own limits hold for each wait for bytes, and nothing limits how long credentials are looked for. Such an
attempt runs in a thread, which is left to itself when the time is over.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from typing import TYPE_CHECKING, TypeVar

from dynaorm.flow.protocol.call import NoAnswer
from dynaorm.late import late

if TYPE_CHECKING:
    import asyncio
else:
    late(globals(), asyncio="asyncio")

T = TypeVar("T")


def in_time(seconds: float, attempt: Callable[[], T]) -> T:
    """What an attempt returns or raises, which runs in a thread. Raises NoAnswer if it takes longer."""
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
        raise _too_late(seconds)
    if failure:
        raise failure[0]
    return outcome[0]


async def awaited_in_time(attempt: Awaitable[T], seconds: float) -> T:
    """What an attempt returns or raises, which is cancelled if it takes longer. Then it raises NoAnswer."""
    try:
        async with asyncio.timeout(seconds) as limit:
            return await attempt
    except TimeoutError as error:
        # A TimeoutError of the attempt itself, not of this limit.
        if not limit.expired():
            raise
        raise _too_late(seconds) from error


def _too_late(seconds: float) -> NoAnswer:
    return NoAnswer(f"no answer within {seconds:g} s")
