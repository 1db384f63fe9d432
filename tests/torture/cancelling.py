"""An ``AsyncSession`` that a worker uses like a ``Session``, and one of whose requests is cancelled."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from dynaorm import AsyncSession
from dynaorm.transport import Call, Reply, Transport


class Cancelling:
    """A transport that cancels the task at one of its calls, before the request is delivered or after it.

    Args:
        inner: delivers the requests.
        at: which call is cancelled; 0 for none.
        delivers: whether that request is delivered.
        note: called when a task is cancelled.
    """

    def __init__(self, inner: Transport, at: int, note: Callable[[], object], *, delivers: bool) -> None:
        self._inner = inner
        self._at = at
        self._note = note
        self._delivers = delivers
        self._calls = 0

    async def call(self, call: Call, /) -> Reply:
        self._calls += 1
        if self._calls != self._at:
            return self._inner.call(call)
        if self._delivers:
            self._inner.call(call)
        self._note()
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)
        raise AssertionError("the task was cancelled")


class DrivenSession:
    """The methods of an AsyncSession as plain functions. Each runs to its end, or raises CancelledError."""

    def __init__(self, session: AsyncSession, loop: asyncio.AbstractEventLoop) -> None:
        self._session = session
        self._loop = loop

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._session, name)
        return lambda *given, **named: self._run(method(*given, **named))

    @contextmanager
    def transaction(self, *given: Any, **named: Any) -> Iterator["_Recorded"]:
        recorded = _Recorded([])
        yield recorded
        self._run(self._replayed(recorded, given, named))

    async def _replayed(self, recorded: "_Recorded", given: Any, named: Any) -> None:
        async with self._session.transaction(*given, **named) as tx:
            for name, arguments, options in recorded.calls:
                getattr(tx, name)(*arguments, **options)

    def use(self, tool: Callable[..., Any], *given: Any, **named: Any) -> Any:
        """The result of a function of ``dynaorm.tools``."""
        return self._run(tool(self._session, *given, **named))

    def _run(self, work: Awaitable[Any]) -> Any:
        return self._loop.run_until_complete(asyncio.ensure_future(work, loop=self._loop))


class _Recorded(NamedTuple):
    """The calls of a block, to be made on the transaction of an event loop."""

    calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]]

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *given, **named: self.calls.append((name, given, named))


def use(tool: Callable[..., Any], session: Any, *given: Any, **named: Any) -> Any:
    """The result of a function of ``dynaorm.tools`` with either kind of session."""
    if isinstance(session, DrivenSession):
        return session.use(tool, *given, **named)
    return tool(session, *given, **named)
