"""The asynchronous session: it does what the synchronous one does, can be cancelled, and runs in a web application."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any

import pytest

from dynaorm import AsyncSession, Entity, F, GlobalIndex, Index, Key, Session, Table, Unique
from dynaorm import inspect as look
from dynaorm.errors import OutcomeUnknown, SessionClosed, StaleEntity, UniqueViolation, UsageError
from dynaorm.session.settings import close_async_transport
from dynaorm.testing.clock import FakeClock
from dynaorm.testing.ministack import async_transport_to
from dynaorm.transport import AsyncTransport, Call, NoAnswer, Reply
from dynaorm.transport.asynchronous import AsyncDirectTransport
from tests.cast import tables
from tests.cast.documents import Page

app = Table("aio-app", indexes=[GlobalIndex("GSI1")])


class User(Entity, table=app, pk="USER#{user_id}", sk="PROFILE"):
    user_id: str
    email: Annotated[str, Unique()]
    visits: int = 0
    team: str = "red"
    by_team = Index("GSI1", pk="TEAM#{team}#{user_id:shard2}", sk="{user_id}")


@pytest.fixture(params=["default", "direct"])
def opened(
    request: pytest.FixtureRequest, ministack_endpoint: str, unique_name: Callable[[str], str]
) -> Callable[..., Any]:
    """An asynchronous session on ministack over either transport, with its table.

    ``opened(wrap)`` puts something around the transport.
    """
    open_transport = AsyncDirectTransport if request.param == "direct" else async_transport_to

    @asynccontextmanager
    async def session(
        wrap: Callable[[AsyncTransport], AsyncTransport] = lambda it: it,
    ) -> AsyncIterator[AsyncSession]:
        inner = open_transport(endpoint=ministack_endpoint)
        async with AsyncSession(transport=wrap(inner), table_names=unique_name, clock=FakeClock()) as found:
            await found.create_table(app)
            await found.create_table(tables.app)
            yield found
        await close_async_transport(inner)

    return session


def test_names_signatures_and_docstrings_are_the_same() -> None:
    def shape(session: type) -> dict[str, tuple[list[tuple[str, Any, Any]], str | None]]:
        methods = inspect.getmembers(session, inspect.isfunction)
        return {
            name: (
                [(one.name, one.kind, one.default) for one in inspect.signature(method).parameters.values()],
                (inspect.getdoc(method) or "").partition("\nExamples:")[0],  # those of one await
            )
            for name, method in methods
            if not name.startswith("_")
        }

    assert shape(AsyncSession) == shape(Session)


def test_a_whole_story_is_told_with_await(opened: Callable[..., Any]) -> None:
    async def story() -> None:
        async with opened() as session:
            bobby = await session.save(User(user_id="1", email="bobby@tables.com"))
            with pytest.raises(UniqueViolation):
                await session.save(User(user_id="2", email="bobby@tables.com"))
            assert await session.get_by(User, email="bobby@tables.com") == bobby
            assert (await session.update(Key(User, user_id="1"), F.visits.add(2))).visits == 2
            with pytest.raises(StaleEntity):
                await session.save(bobby.model_copy(update={"team": "blue"}))
            await session.refresh(bobby)
            async with session.transaction() as tx:
                tx.save(Page(name="1", text="pass"))
                tx.update(bobby, {"email": "b@tables.com"})
                with pytest.raises(UsageError, match=r"tx\.save"):
                    await session.save(User(user_id="9", email="9"))
            audit = await session.get_one(Page, name="1")
            audit.text = "fail"
            await session.save(audit)
            assert [version.number async for version in session.history(audit)] == [2, 1]
            await session.delete(bobby)
            assert not await session.exists(User, user_id="1")

    asyncio.run(story())


class Stalled:
    """A transport whose writes are carried out and never answered, until their task is cancelled."""

    def __init__(self, inner: AsyncTransport, begun: asyncio.Event) -> None:
        self._inner = inner
        self._begun = begun
        self.is_stalling = False

    async def call(self, call: Call, /) -> Reply:
        reply = await self._inner.call(call)
        if self.is_stalling and call.operation not in ("GetItem", "Query"):
            self._begun.set()
            await asyncio.Event().wait()
        return reply


@asynccontextmanager
async def after_cancelling(
    opened: Callable[..., Any], write: Callable[[AsyncSession], Awaitable[object]]
) -> AsyncIterator[AsyncSession]:
    """A session whose write was carried out and then cancelled."""
    begun = asyncio.Event()
    stalled: list[Stalled] = []

    def wrap(inner: AsyncTransport) -> AsyncTransport:
        stalled.append(Stalled(inner, begun))
        return stalled[0]

    async with opened(wrap) as session:
        stalled[0].is_stalling = True
        task = asyncio.ensure_future(write(session))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        stalled[0].is_stalling = False
        yield session


def test_a_cancelled_write_leaves_nothing_half_known(opened: Callable[..., Any]) -> None:
    async def story() -> None:
        user = User(user_id="1", email="a@x")
        async with after_cancelling(opened, lambda session: session.save(user)) as session:
            # The write happened. The next one finds that out first, and is not refused as a second insert.
            user.visits = 5
            await session.save(user)
            assert look(user).loaded
            assert (await session.get_one(User, user_id="1")).visits == 5

    asyncio.run(story())


def test_an_unanswered_write_is_settled_by_resume(opened: Callable[..., Any]) -> None:
    class Deaf:
        def __init__(self, inner: AsyncTransport) -> None:
            self.inner = inner
            self.is_deaf = False

        async def call(self, call: Call, /) -> Reply:
            reply = await self.inner.call(call)
            if self.is_deaf:
                raise NoAnswer("timeout")
            return reply

    async def story() -> None:
        found: list[Deaf] = []

        def wrap(inner: AsyncTransport) -> AsyncTransport:
            found.append(Deaf(inner))
            return found[0]

        async with opened(wrap) as session:
            found[0].is_deaf = True
            with pytest.raises(OutcomeUnknown) as caught:
                await session.save(User(user_id="1", email="a@x"))
            found[0].is_deaf = False
            assert await session.resume(caught.value.plan) is True

    asyncio.run(story())


def test_a_closed_session_does_nothing(opened: Callable[..., Any]) -> None:
    async def story() -> None:
        async with opened() as session:
            pass
        with pytest.raises(SessionClosed):
            await session.get(User, user_id="1")

    asyncio.run(story())
