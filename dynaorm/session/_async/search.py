# Generated from dynaorm/session/search.py by `make async`. Replacement that file, not this one.
"""``AsyncSearch``: finds the entities whose vectors are nearest to a given one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Generic, NoReturn, TypeVar

from dynaorm.entity.key import Key
from dynaorm.flow import search
from dynaorm.flow.call import Context
from dynaorm.item.condition import Condition
from dynaorm.query.results import Match, Results
from dynaorm.query.search_spec import SearchSpec
from dynaorm.session._async.query import AsyncRunFlow
from dynaorm.session.chain import check_conditions
from dynaorm.transport.process import NotPicklable

E = TypeVar("E")


class AsyncSearch(NotPicklable, Generic[E]):
    """A search for the nearest entities: immutable, lazy, and sent anew each time you iterate or end it.

    ``session.search`` makes one. It sends one SearchVectors for each partition, and one BatchGetItem for the whole
    items. Guard items, versions and expired entities are never among the matches.

    Examples:
        ```python
        async for match in session.search(Paper.semantic, [0.1, 0.9, 0.2], k=3, tenant="a"):
            print(match.score, match.entity.title)
        ```
    """

    def __init__(self, spec: SearchSpec, context: Context, run: AsyncRunFlow) -> None:
        self._spec = spec
        self._context = context
        self._run = run

    async def __aiter__(self) -> AsyncIterator[Match[E]]:
        for one in await self.all():
            yield one

    async def all(self) -> Results[Match[E]]:
        """Return all matches, the nearest first: a list with ``.requests`` and ``.read_units`` (of the items).

        Raises:
            UsageError: the fields do not name a partition of the index; nothing was sent.
            DecodeError: an item does not fit its class, and the session has no ``on_decode_error``.
            StoreError: DynamoDB refused a request, or did not answer.

        Examples:
            ```python
            matches = await session.search(Paper.semantic, [0.1, 0.9, 0.2], k=3, tenant="a").all()
            ```
        """
        return await self._run("search", search.matches_of(self._spec, self._context))

    async def first(self) -> Match[E] | None:
        """Return the nearest match, or None.

        Raises:
            DynaormError: as for ``all``.

        Examples:
            ```python
            match = await session.search(Paper.semantic, [0.1, 0.9, 0.2], tenant="a").first()
            ```
        """
        found = await self._run("search", search.matches_of(self._spec.limited(1), self._context))
        return found[0] if found else None

    def filter(self, *conditions: Condition) -> AsyncSearch[E]:
        """Return the same search among the entities for which all conditions hold.

        DynamoDB filters before it takes the nearest ones, so that the matches are as many as without a filter.

        Args:
            *conditions: equalities of fields whose attributes are in ``VectorIndex(filters=...)``.

        Raises:
            UnknownField: the class has no such field.
            InvalidValue: the field does not take the value.
            UsageError: it is another condition, or none.

        Examples:
            ```python
            books = session.search(Paper.semantic, [0.1, 0.9, 0.2], tenant="a").filter(F.category == "book")
            ```
        """
        check_conditions(conditions)
        return AsyncSearch(self._spec.filtered(conditions), self._context, self._run)

    def keys(self) -> AsyncSearch[Key[E]]:
        """Return the same search for keys instead of entities. Whole items are fetched only if needed.

        Examples:
            ```python
            keys = [match.entity async for match in session.search(Paper.semantic, [0.1, 0.9, 0.2], tenant="a").keys()]
            ```
        """
        return AsyncSearch(self._spec.of_keys(), self._context, self._run)

    def explain(self) -> str:
        """Return the requests that the search will send, in words. Sends nothing.

        Raises:
            UsageError: the fields do not name a partition of the index.

        Examples:
            ```python
            print(session.search(Paper.semantic, [0.1, 0.9, 0.2], k=3, tenant="a").explain())
            ```
        """
        return search.explain(self._spec, self._context)

    def __bool__(self) -> NoReturn:
        raise TypeError(f"{self!r} has not been sent; write .first() is not None")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._spec!r}>"
