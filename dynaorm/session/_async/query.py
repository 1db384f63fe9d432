# Generated from dynaorm/session/query.py by `make async`. Replacement that file, not this one.
"""``AsyncQuery`` and ``AsyncCollection``: queries that are iterated page by page, or ended by a method."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Generic, Protocol, TypeVar

from dynaorm.entity.key import Key
from dynaorm.flow import query as endings
from dynaorm.flow.call import Context, Flow
from dynaorm.query.key_query import keys_alone
from dynaorm.query.query_spec import QuerySpec
from dynaorm.query.results import Page, Results, Row
from dynaorm.session.chain import Chain

E = TypeVar("E")
S = TypeVar("S")
T = TypeVar("T")


class AsyncRunFlow(Protocol):
    """Runs a flow of a method of the session to its end."""

    async def __call__(self, method: str, flow: Flow[T], /) -> T: ...


class AsyncQuery(Chain[E]):
    """A query: immutable, lazy, and sent anew each time you iterate or end it.

    ``session.query`` makes one. A loop over it reads page by page. A query that cannot be answered raises its error
    before anything is sent: ``UsageError`` for fields that do not fit a key of the class, with the index that they fit
    if there is one, and ``InvalidValue`` for a value that cannot be part of the key.

    Examples:
        >>> [ticket.number async for ticket in session.query(Ticket, project="p1").ge(number=2)]
        [2]
    """

    def __init__(self, spec: QuerySpec, context: Context, run: AsyncRunFlow) -> None:
        self._spec = spec
        self._context = context
        self._run = run

    async def __aiter__(self) -> AsyncIterator[E]:
        walk = endings.walk_of(self._spec, self._context)
        while not walk.is_over:
            for one in await self._run(self._spec.method, walk.more()):
                yield one

    async def all(self) -> Results[E]:
        """Return all entities in key order: a list with ``.requests`` and ``.read_units``.

        Raises:
            DecodeError: an item does not fit its class, and the session has no ``on_decode_error``.
            StoreError: DynamoDB refused a request, or did not answer.

        Examples:
            >>> found = await session.query(Ticket, project="p1").all()
            >>> len(found), found.requests
            (2, 1)
        """
        return await self._run(self._spec.method, endings.all_of(self._spec, self._context))

    async def first(self) -> E | None:
        """Return the first entity, or None.

        Raises:
            DynaormError: as for ``all``.

        Examples:
            >>> await session.query(Ticket, project="p1").first()
            Ticket(project='p1', number=1, status='open')
        """
        return await self._run(self._spec.method, endings.first_of(self._spec, self._context))

    async def one(self) -> E:
        """Return the only entity.

        Raises:
            EntityNotFound: there is none.
            UsageError: there are several.
            DynaormError: as for ``all``.

        Examples:
            >>> await session.query(Ticket.by_status, status="closed").one()
            Ticket(project='p1', number=2, status='closed')
        """
        found: E = await self._run(self._spec.method, endings.one_of(self._spec, self._context))
        return found

    async def count(self) -> int:
        """Return the number of entities. Consumes the read capacity of all of them, but transfers no content.

        So it includes an item that does not fit its class, which ``all`` reports.

        Raises:
            StoreError: DynamoDB refused a request, or did not answer.

        Examples:
            >>> await session.query(Ticket, project="p1").count()
            2
        """
        return await self._run(self._spec.method, endings.count_of(self._spec, self._context))

    async def page(
        self,
        size: int,
        /,
        *,
        after: str | None = None,
        before: str | None = None,
        read_at_most: int | None = None,
    ) -> Page[E]:
        """Return the next entities after a cursor, with the cursor for the following page.

        Args:
            size: how many entities.
            after: the ``cursor`` of a page; the answer is the page after it.
            before: the ``previous`` of a page; the answer is the page before it, in the same order. A scan has no
                order, so it only goes on.
            read_at_most: the most items that DynamoDB reads for the page. A page with a rare filter may then be short
                or empty and still have a cursor. With several partitions, at least one item of each is read.

        Raises:
            InvalidCursor: the cursor is damaged or belongs to another query; nothing was sent.
            DynaormError: as for ``all``.

        Examples:
            >>> page = await session.query(Ticket, project="p1").page(1)
            >>> rest = await session.query(Ticket, project="p1").page(1, after=page.cursor)
            >>> [ticket.number for ticket in page], [ticket.number for ticket in rest]
            ([1], [2])
        """
        return await self._run(
            self._spec.method,
            endings.page_of(
                self._spec, self._context, size, after=after, before=before, read_at_most=read_at_most
            ),
        )

    def keys(self) -> AsyncQuery[Key[E]]:
        """Return the same query for keys instead of entities. Whole items are fetched only if needed.

        So it includes the key of an item that does not fit its class, which the query for entities reports.

        Examples:
            >>> await session.query(Ticket.by_status, status="open").keys().first()
            Key(Ticket, project='p1', number=1)
        """
        return AsyncQuery(keys_alone(self._spec), self._context, self._run)

    def values(self, *names: str) -> AsyncQuery[Row]:
        """Return the same query for the values of some fields, one ``Row`` for each entity.

        The values are those that the whole entity would have. Only their attributes are transferred, and from an index
        that has them, no whole item is fetched; a class with rules about several fields is read whole. The read
        capacity of a table or a whole index stays the same.

        Args:
            *names: the fields.

        Raises:
            UnknownField: a class has no such field.
            UsageError: no field is named, or one twice.

        Examples:
            >>> row = await session.query(Ticket, project="p1").values("number", "status").first()
            >>> row.number, row.status
            (1, 'open')
        """
        return AsyncQuery(self._spec.of_values(names), self._context, self._run)


class AsyncCollection(AsyncQuery[E], Generic[E, S]):
    """A query over the entities of several classes in one item collection. ``session.collection`` makes one.

    Examples:
        >>> [type(one).__name__ async for one in session.collection(User, Order, user_id="1")]
        ['Order', 'User']
    """

    async def split(self) -> S:
        """Return all entities, as one list for each class, in the order of the classes.

        Raises:
            DynaormError: as for ``all``.

        Examples:
            >>> users, orders = await session.collection(User, Order, user_id="1").split()
            >>> orders
            [Order(user_id='1', number=1)]
        """
        found: Any = endings.split(self._spec, await self.all())
        result: S = found
        return result
