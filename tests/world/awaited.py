"""An AsyncSession that is called as a Session is."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import isawaitable
from typing import Any, Final

from dynaorm import AsyncSession
from dynaorm.transport import Call, Reply, Transport

LOOP: Final = asyncio.new_event_loop()


class AsyncEngine:
    """A transport, awaited."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    async def call(self, call: Call, /) -> Reply:
        return self._inner.call(call)


class Awaited:
    """A session or a query whose every coroutine is run to its end."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)  # a printer asks for methods of its own
        return lambda *given, **named: result(getattr(self.inner, name)(*given, **named))

    def __iter__(self) -> Iterator[Any]:
        return iter(result(listed(self.inner)))

    @contextmanager
    def transaction(self, *given: Any, **named: Any) -> Iterator[Any]:
        block = self.inner.transaction(*given, **named)
        tx = LOOP.run_until_complete(block.__aenter__())
        try:
            yield tx
        except BaseException as error:
            LOOP.run_until_complete(block.__aexit__(type(error), error, error.__traceback__))
            raise
        LOOP.run_until_complete(block.__aexit__(None, None, None))

    def run(self, work: Callable[[Any], Any], **named: Any) -> Any:
        async def awaited(tx: Any) -> Any:
            return work(tx)

        return LOOP.run_until_complete(self.inner.run(awaited, **named))


async def listed(values: Any) -> list[Any]:
    return [value async for value in values]


def result(value: Any) -> Any:
    if isawaitable(value):
        return LOOP.run_until_complete(value)
    return Awaited(value) if hasattr(value, "__aiter__") else value


def awaited_session(transport: Transport, **settings: Any) -> Any:
    return Awaited(AsyncSession(transport=AsyncEngine(transport), **settings))


def use(tool: Callable[..., Any], session: Any, *given: Any, **named: Any) -> Any:
    """What a function of ``dynaorm.tools`` returns with either kind of session; findings as a list."""
    if not isinstance(session, Awaited):
        value = tool(session, *given, **named)
        return list(value) if hasattr(value, "__next__") else value
    value = result(tool(session.inner, *given, **named))
    return list(value) if isinstance(value, Awaited) else value
