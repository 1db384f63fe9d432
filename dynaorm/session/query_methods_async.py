"""``query``, ``collection`` and ``scan``: a session's methods that begin a query. They only build."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload

from dynaorm.entity.index import IndexOf
from dynaorm.flow.protocol.call import Flow
from dynaorm.flow.protocol.context import Context
from dynaorm.late import late

if TYPE_CHECKING:
    from dynaorm.query import query_spec
    from dynaorm.session import query_async as queries
else:
    late(globals(), query_spec="dynaorm.query.query_spec", queries="dynaorm.session.query_async")

E = TypeVar("E")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
T = TypeVar("T")

Asked: TypeAlias = type[E] | IndexOf[E]


class AsyncQueryMethods(ABC):
    """What can be asked of a session."""

    _context: Context

    @abstractmethod
    async def _run(self, flow: Flow[T], /) -> T: ...

    def query(self, source: Asked[E], /, **fields: Any) -> queries.AsyncQuery[E]:
        """A query by key: of a class (``query(Ticket, project="p1")``) or of an index (``query(Ticket.by_status,
        status="open")``); each keyword is a field and its value, or ``any_of(...)`` several.

        The fields of the partition key have to be given, the leading ones of the sort key may be.

        Raises:
            UnknownField: a keyword is no field of the class.
        """
        return queries.AsyncQuery(query_spec.queried(source, fields), self._context, self._run)

    @overload
    def collection(self, first: Asked[A], /, **fields: Any) -> queries.AsyncCollection[A, tuple[list[A]]]: ...
    @overload
    def collection(
        self, first: Asked[A], second: Asked[B], /, **fields: Any
    ) -> queries.AsyncCollection[A | B, tuple[list[A], list[B]]]: ...
    @overload
    def collection(
        self, first: Asked[A], second: Asked[B], third: Asked[C], /, **fields: Any
    ) -> queries.AsyncCollection[A | B | C, tuple[list[A], list[B], list[C]]]: ...
    @overload
    def collection(
        self, first: Asked[A], second: Asked[B], third: Asked[C], fourth: Asked[D], /, **fields: Any
    ) -> queries.AsyncCollection[A | B | C | D, tuple[list[A], list[B], list[C], list[D]]]: ...
    @overload
    def collection(
        self, first: Asked[Any], /, *others: Asked[Any], **fields: Any
    ) -> queries.AsyncCollection[Any, tuple[list[Any], ...]]: ...
    def collection(self, first: Any, /, *others: Any, **fields: Any) -> queries.AsyncCollection[Any, Any]:
        """The entities of several classes in one item collection, in one query: classes of one table whose partition
        keys render alike, or their places in one index. ``.split()`` gives one list for each class.

        Raises:
            UnknownField: a keyword is a field of none of the classes.
            UsageError: they are not in one table or index.
        """
        return queries.AsyncCollection(
            query_spec.collected((first, *others), fields), self._context, self._run
        )

    def scan(self, source: Asked[E], /, *, segments: int = 1) -> queries.AsyncQuery[E]:
        """Every entity of a class, or of its place in an index, in no order: reads the whole table.

        ``segments``: into how many parts the table is divided, which are read at once (Scan's ``TotalSegments``).
        """
        return queries.AsyncQuery(query_spec.scanned(source, segments), self._context, self._run)
