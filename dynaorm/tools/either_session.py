"""Functions that take a ``Session`` or an ``AsyncSession``, written once, as coroutines.

With a ``Session``, nothing that they await waits: a coroutine ends in its first step, so it needs no event loop.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import AbstractContextManager, asynccontextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar, overload

from dynaorm.errors import UsageError
from dynaorm.failure import shown
from dynaorm.flow.call import Flow
from dynaorm.late import late
from dynaorm.session.transaction import refuse_inside

if TYPE_CHECKING:
    import asyncio

    from dynaorm.session._async.session import AsyncSession
    from dynaorm.session.session import Session
else:
    late(globals(), asyncio="asyncio")

P = ParamSpec("P")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

EitherSession: TypeAlias = "Session | AsyncSession"


class ReturningTool(Protocol[P, T_co]):
    """A function that returns its result with a ``Session``, and is awaited with an ``AsyncSession``."""

    @overload
    def __call__(self, session: Session, /, *args: P.args, **kwargs: P.kwargs) -> T_co: ...
    @overload
    def __call__(
        self, session: AsyncSession, /, *args: P.args, **kwargs: P.kwargs
    ) -> Coroutine[Any, Any, T_co]: ...


class IteratingTool(Protocol[P, T_co]):
    """A function whose results you iterate over: asynchronously with an ``AsyncSession``."""

    @overload
    def __call__(self, session: Session, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T_co]: ...
    @overload
    def __call__(
        self, session: AsyncSession, /, *args: P.args, **kwargs: P.kwargs
    ) -> AsyncIterator[T_co]: ...


def returning(
    tool: Callable[Concatenate[EitherSession, P], Coroutine[Any, Any, T]],
) -> ReturningTool[P, T]:
    """Let a coroutine function return its result at once with a ``Session``."""
    function: ReturningTool[P, T] = _with_either_session(tool, _result_of)
    return function


def iterating(
    tool: Callable[Concatenate[EitherSession, P], AsyncGenerator[T]],
) -> IteratingTool[P, T]:
    """Let a function that makes an asynchronous generator make an iterator with a ``Session``."""
    function: IteratingTool[P, T] = _with_either_session(tool, _iterator_of)
    return function


def _with_either_session(tool: Callable[..., Any], synchronous: Callable[[Any], Any]) -> Any:
    @wraps(tool)
    def call(session: EitherSession, /, *args: Any, **kwargs: Any) -> Any:
        if not hasattr(session, "_context"):
            raise UsageError(
                problem=f"{tool.__name__}({shown(session)}, ...) is given no session",
                remedy="give a Session or an AsyncSession first",
            )
        work = tool(session, *args, **kwargs)
        return work if is_async(session) else synchronous(work)

    return call


def _result_of(work: Awaitable[T]) -> T:
    try:
        next(work.__await__())
    except StopIteration as end:
        result: T = end.value
        return result
    raise AssertionError("a Session does not wait in an event loop")


def _iterator_of(items: AsyncGenerator[T]) -> Iterator[T]:
    try:
        while True:
            try:
                item = _result_of(anext(items))
            except StopAsyncIteration:
                return
            yield item
    finally:
        _result_of(items.aclose())


def is_async(session: EitherSession) -> bool:
    """Whether it is an ``AsyncSession``."""
    return hasattr(session, "__aenter__")


async def run(session: EitherSession, tool: str, flow: Flow[T]) -> T:
    """Run a flow that only reads."""
    result: Any = session._run(tool, flow)
    if is_async(session):
        result = await result
    return result  # type: ignore[no-any-return]  # a session of each kind returns the flow's own result


async def run_write(session: EitherSession, tool: str, flow: Flow[T]) -> T:
    """Run a flow that writes. Raises UsageError inside an open transaction of the session."""
    refuse_inside(session, tool, f"{tool}(session, ...)")
    return await run(session, tool, flow)


async def run_blocking(session: EitherSession, work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """The result of work that blocks, such as that on files. An event loop does it in a thread, so others go on.

    A task that is cancelled ends after the work, so that no two threads use one file.
    """
    if not is_async(session):
        return work(*given, **named)
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
    session: EitherSession,
    make: Callable[P, AbstractContextManager[T]],
    *given: P.args,
    **named: P.kwargs,
) -> AsyncIterator[T]:
    """Make, enter and leave a context manager whose work blocks."""

    def enter() -> tuple[AbstractContextManager[T], T]:
        manager = make(*given, **named)
        return manager, manager.__enter__()

    manager, value = await run_blocking(session, enter)
    try:
        yield value
    except BaseException as raised:
        if not await run_blocking(session, manager.__exit__, type(raised), raised, raised.__traceback__):
            raise
    else:
        await run_blocking(session, manager.__exit__, None, None, None)
