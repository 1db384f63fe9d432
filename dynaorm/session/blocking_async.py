"""Work that blocks, such as that on files, in a thread of its own: other tasks of the event loop go on.

It is written by hand, because it waits for threads.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from typing import ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")


async def run(work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """The result of some work. A task that is cancelled ends after it, so that no two threads use one file."""
    running = asyncio.ensure_future(asyncio.to_thread(work, *given, **named))
    cancelled: asyncio.CancelledError | None = None
    while not running.done():
        try:
            await asyncio.wait([running])
        except asyncio.CancelledError as raised:
            cancelled = raised
    if cancelled is not None:
        # What the work raised matters less than that nobody wants it any more.
        running.exception()
        raise cancelled
    return running.result()


@asynccontextmanager
async def opened(
    make: Callable[P, AbstractContextManager[T]], *given: P.args, **named: P.kwargs
) -> AsyncIterator[T]:
    """Opens and closes what ``make`` returns in a thread."""

    def enter() -> tuple[AbstractContextManager[T], T]:
        found = make(*given, **named)
        return found, found.__enter__()

    manager, value = await run(enter)
    try:
        yield value
    except BaseException as raised:
        if not await run(manager.__exit__, type(raised), raised, raised.__traceback__):
            raise
    else:
        await run(manager.__exit__, None, None, None)
