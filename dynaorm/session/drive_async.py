"""``drive_async``: runs a flow in an event loop, over an asynchronous transport.

It is written by hand: tasks differ from the threads of ``drive`` in more than ``await``.
"""

import asyncio
from typing import Any, Final, Protocol, TypeVar, runtime_checkable

from dynaorm.flow.call import AsyncTransport, Call, Clock, Flow, Parallel, Pause
from dynaorm.session.drive import Replies
from dynaorm.transport.process import awaited_in_time

T = TypeVar("T")

_GRACE: Final = 0.2
"""A transport that keeps the time itself knows better what became of the request."""


@runtime_checkable
class AsyncClock(Protocol):
    """A clock that waits without blocking the event loop."""

    async def wait(self, seconds: float) -> None: ...


async def drive_async(
    flow: Flow[T], transport: AsyncTransport, clock: Clock, replies: Replies | None = None
) -> T:
    """Run a flow to its end, one call at a time. Errors of a call are thrown into the flow, also its cancellation.

    ``replies``: those of the flow that runs this one.
    """
    replies = replies or Replies()
    try:
        step = next(flow)
        while True:
            try:
                reply: Any = {}
                if isinstance(step, Call):
                    reply = transport.call(step)
                    # A transport of the application may answer at once.
                    if hasattr(reply, "__await__"):
                        reply = await (
                            reply if step.timeout is None else awaited_in_time(reply, step.timeout + _GRACE)
                        )
                    replies.add(reply)
                elif isinstance(step, Pause):
                    await _pause(clock, step.seconds)
                else:
                    reply = await _together(step, transport, clock, replies)
            except BaseException as raised:  # noqa: BLE001 - a cancelled flow must know that no answer came
                step = replies.after_error(flow, raised)
            else:
                step = replies.after(flow, reply)
    except StopIteration as stop:
        result: T = stop.value
        return result
    finally:
        flow.close()


async def _pause(clock: Clock, seconds: float) -> None:
    if isinstance(clock, AsyncClock):
        await clock.wait(seconds)
    else:
        # A clock of the application may only know how to block, which would stop all other tasks of the loop.
        await asyncio.to_thread(clock.pause, seconds)


async def _together(step: Parallel, transport: AsyncTransport, clock: Clock, replies: Replies) -> list[Any]:
    """Return the outcome of every flow, in order. If cancelled, cancel the running flows and wait for them."""
    gate = asyncio.Semaphore(step.limit)

    async def run(flow: Flow[Any]) -> Any:
        async with gate:
            try:
                return await drive_async(flow, transport, clock, replies)
            except Exception as failure:  # noqa: BLE001 - the flow that asked decides about errors
                return failure

    tasks = [asyncio.ensure_future(run(flow)) for flow in step.flows]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        # Each flow must have noted what became of its write before the caller sees the cancellation.
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
