"""``AsyncSession``: what a service holds to load and store its entities."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

from dynaorm.entity.key import Key
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.table import Table
from dynaorm.errors import Contention, DecodeError, SessionClosed, StaleEntity, UsageError
from dynaorm.flow.get import get, get_one
from dynaorm.flow.protocol.call import AsyncTransport, Clock, Flow, Pause
from dynaorm.flow.protocol.context import Context
from dynaorm.flow.protocol.retry import DEFAULT_RETRY, WINDOW_SECONDS, Retry
from dynaorm.late import late
from dynaorm.session.bulk_async import AsyncBulk
from dynaorm.session.drive_async import drive_async
from dynaorm.session.query_methods_async import AsyncQueryMethods
from dynaorm.session.settings_async import async_context_of, close_async_transport, default_async_transport
from dynaorm.session.verifying_async import AsyncVerifying
from dynaorm.session.versions_async import AsyncVersions
from dynaorm.transport.logged import logged_async

if TYPE_CHECKING:
    from dynaorm.flow import commit, lookup, provision, write
    from dynaorm.flow import entity as verbs
    from dynaorm.item.condition import Condition
    from dynaorm.item.update import Change
    from dynaorm.plan import intent
    from dynaorm.plan.plan import Plan
    from dynaorm.session import transaction as block
else:
    late(
        globals(),
        block="dynaorm.session.transaction",
        commit="dynaorm.flow.commit",
        intent="dynaorm.plan.intent",
        lookup="dynaorm.flow.lookup",
        provision="dynaorm.flow.provision",
        verbs="dynaorm.flow.entity",
        write="dynaorm.flow.write",
    )

E = TypeVar("E")
T = TypeVar("T")


class AsyncSession(AsyncQueryMethods, AsyncBulk, AsyncVersions, AsyncVerifying):
    """Loads and stores entities. It holds none of them, and may be shared by threads; an entity may not.

    Args:
        region: the AWS region; default the environment's.
        endpoint: another DynamoDB endpoint (``http://127.0.0.1:8000``).
        profile: a profile of the AWS configuration files.
        transport: who carries the calls; default pynamodb's Connection, one attempt per call.
        table_names: physical table names, as a mapping or function of the declared ones.
        retry: how often and how long calls are repeated on conflicts, throttles and missing answers.
        consistent: make plain reads strongly consistent. Reads a plan is computed from always are.
        on_decode_error: called with the ``DecodeError`` of an item in a list that does not fit its class, or that no
            class understands; the list goes on without it. Without a handler the first kind fails the list.
        cursor_secret: signs the cursors of pages, so that nobody can make one up: at least 16 random bytes.
        log_values: the logger ``dynaorm`` writes a line for each attempt at DEBUG; with this, all that was sent, too.
        clock: time, randomness and waiting, for tests.
    """

    def __init__(
        self,
        *,
        region: str | None = None,
        endpoint: str | None = None,
        profile: str | None = None,
        transport: AsyncTransport | None = None,
        table_names: Mapping[str, str] | Callable[[str], str] | None = None,
        retry: Retry = DEFAULT_RETRY,
        consistent: bool = False,
        on_decode_error: Callable[[DecodeError], object] | None = None,
        cursor_secret: bytes | None = None,
        log_values: bool = False,
        clock: Clock | None = None,
    ) -> None:
        self._transport = transport or default_async_transport(region, endpoint, profile)
        self._owns_transport = transport is None
        self._context: Context = async_context_of(
            table_names,
            retry,
            consistent,
            clock,
            on_decode_error=on_decode_error,
            cursor_secret=cursor_secret,
        )
        self._log_values = log_values
        self._closed = False

    # -- lifetime --------------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """Close the session and its connections. A transport that was given stays open."""
        self._closed = True
        if self._owns_transport:
            await close_async_transport(self._transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _run(self, flow: Flow[T], /) -> T:
        if self._closed:
            raise SessionClosed
        return await drive_async(flow, logged_async(self._transport, self._log_values), self._context.clock)

    async def _write(self, verb: str, flow: Flow[T]) -> T:
        block.refuse_inside(self, verb)
        return await self._run(flow)

    # -- tables ----------------------------------------------------------------------------------------------------

    async def create_table(self, table: Table, /) -> None:
        """Create a table (and the one of its guards) on demand billing, and wait until it is active.

        A table that exists is left as it is. TTL is enabled where a class of the table declares ``ExpiresAt()``.

        Raises:
            UsageError: it exists with other keys, or without a declared index.
        """
        await self._run(provision.create_table(table, self._context))

    # -- reading ---------------------------------------------------------------------------------------------------

    @overload
    async def get(self, target: type[E], /, **fields: Any) -> E | None: ...
    @overload
    async def get(
        self,
        target: Key[E],
        /,
        *,
        version: int | None = None,
        as_of: datetime | None = None,
        consistent: bool | None = None,
    ) -> E | None: ...
    async def get(self, target: Any, /, **fields: Any) -> Any:
        """The entity under a key: ``get(User, user_id="u1")``; None where there is none.

        Options go with the key form: ``get(Key(Audit, equipment_id="1"), version=2)``. An entity read at a version
        (``version=``, ``as_of=``) is read-only.

        Raises:
            UnknownField, UsageError, InvalidValue: the key cannot be made.
            DecodeError: what is stored does not fit the class.
        """
        return await self._run(get(target, fields, self._context))

    @overload
    async def get_one(self, target: type[E], /, **fields: Any) -> E: ...
    @overload
    async def get_one(
        self,
        target: Key[E],
        /,
        *,
        version: int | None = None,
        as_of: datetime | None = None,
        consistent: bool | None = None,
    ) -> E: ...
    async def get_one(self, target: Any, /, **fields: Any) -> Any:
        """The same as ``get``, raising EntityNotFound where there is none."""
        return await self._run(get_one(target, fields, self._context))

    async def get_by(self, entity: type[E], /, **fields: Any) -> E | None:
        """The entity that holds a unique value: ``get_by(User, email="bobby@example.com")``; None where nobody does.

        Through the guard item, strongly consistent, without an index: two reads.

        Raises:
            UsageError: no unique constraint is made of exactly these fields.
            OwnerUnknown: the guard was written by hand and names no owner.
        """
        return await self._run(lookup.get_by(mapping_of(entity), fields, self._context))

    @overload
    async def exists(self, target: type[Any], /, **fields: Any) -> bool: ...
    @overload
    async def exists(self, target: Key[Any], /, *, consistent: bool | None = None) -> bool: ...
    async def exists(self, target: Any, /, **fields: Any) -> bool:
        """Whether ``get`` would find an entity."""
        return await self._run(get(target, fields, self._context)) is not None

    async def refresh(self, entity: E, /) -> E:
        """Read a loaded entity again, strongly consistent: the same object, or another if it is frozen.

        Raises:
            EntityNotFound: it is gone.
        """
        return await self._run(verbs.refresh(entity, self._context))

    # -- writing ---------------------------------------------------------------------------------------------------

    async def save(self, entity: E, /, *, condition: Condition | None = None, overwrite: bool = False) -> E:
        """Insert a new entity, or write what changed of a loaded one, in one request; returns it.

        ``overwrite`` replaces whatever is stored under its key, keeping guards and versions right.

        Raises:
            AlreadyExists, UniqueViolation: its key or a unique value is taken.
            StaleEntity: somebody saved or deleted it since it was loaded.
            ConditionFailed: the caller's condition does not hold.
            OutcomeUnknown: no answer came; see ``resume``.
        """
        await self._write(
            "save",
            commit.commit(
                [intent.Save(entity, block.checked_condition(entity, condition), overwrite)], self._context
            ),
        )
        return entity

    @overload
    async def update(
        self,
        target: Key[E],
        /,
        *changes: Change | Mapping[str, Any],
        condition: Condition | None = None,
        exactly_once: bool = False,
    ) -> E: ...
    @overload
    async def update(
        self,
        target: E,
        /,
        *changes: Change | Mapping[str, Any],
        condition: Condition | None = None,
        exactly_once: bool = False,
    ) -> E: ...
    async def update(
        self,
        target: Any,
        /,
        *changes: Change | Mapping[str, Any],
        condition: Condition | None = None,
        exactly_once: bool = False,
    ) -> Any:
        """Change some fields; returns the entity as stored now.

        ``update(Key(User, user_id="u1"), F.visits.add(1))`` or ``update(user, {"full_name": "B"})``. One UpdateItem
        without reading, unless a key, constraint, version or expiry depends on what is touched. A loaded entity is
        updated under its revision, in place unless frozen. ``exactly_once`` sends a transaction with a token, so that
        a lost answer can be repeated.

        Raises:
            EntityNotFound: nothing is stored under the key.
            ConditionFailed: the caller's condition does not hold.
            OutcomeUnknown: no answer came, and the stored item does not show this update; or it was made
                (``exactly_once``) and cannot be read back. ``error.problem`` says which.
        """
        edit = verbs.edit_of(target, changes, block.checked_condition(target, condition))
        return await self._write("update", verbs.update(edit, self._context, exactly_once=exactly_once))

    async def move(self, entity: E, /) -> E:
        """Store a loaded entity under the primary key its fields now give, with its guards, in one transaction."""
        await self._write("move", commit.commit([intent.Move(entity)], self._context))
        return entity

    async def delete(
        self, target: Key[Any] | Any, /, *, condition: Condition | None = None, exactly_once: bool = False
    ) -> None:
        """Delete a loaded entity, or the one under a key, and release its unique values.

        Raises:
            EntityNotFound: nothing is stored under the key.
            StaleEntity: somebody saved or deleted the loaded entity since.
            UsageError: the entity is new.
        """
        removal = intent.Deletion(target, block.checked_condition(target, condition))
        await self._write("delete", commit.commit([removal], self._context, exactly_once=exactly_once))

    @asynccontextmanager
    async def transaction(self, token: str | None = None) -> AsyncIterator[block.Transaction]:
        """A block whose writes are sent as one TransactWriteItems at its end, all or nothing.

        Nothing is sent if the block raises. With a token of the caller's own (1 to 36 characters), an equal block is
        applied once within ten minutes, in whatever process it runs again; equal is what the caller gives, whatever
        is stored meanwhile. A block that only deletes leaves nothing to know it by: it may be an EntityNotFound.

        Raises:
            PlanTooLarge: more than 100 actions or 4 MB; nothing was sent.
            SameItemTwice, UniqueViolation, StaleEntity, ...: as the single writes.
            TokenReused: the token was used with another content.
        """
        tx = block.Transaction()
        async with self._block(tx, token):
            yield tx
        block.run_hooks(tx.hooks)

    @asynccontextmanager
    async def _block(self, tx: block.Transaction, token: str | None) -> AsyncIterator[None]:
        mark = block.opened(self)
        try:
            yield
        finally:
            block.closed(mark)
            intents = tx.end()
        await self._run(commit.commit(intents, self._context, token))

    async def run(self, work: Callable[[block.Transaction], Awaitable[T]], /, *, attempts: int = 5) -> T:
        """Call ``work(tx)`` in a fresh transaction, again after StaleEntity or Contention; returns its result.

        ``work`` has to load what it changes: what it holds from an earlier attempt is stale.
        """
        pauses = self._context.retry.pauses(self._context.clock)
        for attempt in range(1, attempts + 1):
            tx = block.Transaction()
            try:
                async with self._block(tx, None):
                    result = await work(tx)
            except (StaleEntity, Contention):
                pause = next(pauses, None)
                if attempt == attempts or pause is None:
                    raise
                await self._run(_waiting(pause))
            else:
                # Outside of try: what a hook raises comes after the commit, and must not make it happen twice.
                block.run_hooks(tx.hooks)
                return result
        raise UsageError(problem=f"run(attempts={attempts}) makes no attempt", remedy="give 1 or more")

    def plan(self, entity: Any, /, *, condition: Condition | None = None) -> Plan:
        """What ``save(entity)`` would send, and why each action is there; no request is made."""
        return commit.planned(
            [intent.Save(entity, block.checked_condition(entity, condition))], self._context
        )

    async def resume(self, plan: Plan, /) -> bool:
        """Settle a plan whose outcome is unknown: True where it is in effect, False where it is not.

        A recent one is sent again, the same token and bytes; one of more than nine minutes is settled by reading.

        Raises:
            StoreError: DynamoDB refused it now, and nothing of it was written.
            OutcomeUnknown: there is still no answer.
        """
        return await self._write("resume", write.resume(plan, self._context, WINDOW_SECONDS))


def _waiting(seconds: float) -> Flow[None]:
    yield Pause(seconds)
