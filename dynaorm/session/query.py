"""Queries: iterated page by page, or asked for at once."""

from collections.abc import Iterator
from typing import Any, Generic, Protocol, TypeVar

from dynaorm.entity.key import Key
from dynaorm.flow.protocol.call import Flow
from dynaorm.flow.protocol.context import Context
from dynaorm.flow.query import query as endings
from dynaorm.query.key_query import keys_alone
from dynaorm.query.query_spec import QuerySpec
from dynaorm.query.results import Page, Results
from dynaorm.session.chain import Chain

E = TypeVar("E")
S = TypeVar("S")
T = TypeVar("T")


class RunFlow(Protocol):
    """Runs a flow to its end."""

    def __call__(self, flow: Flow[T], /) -> T: ...


class Query(Chain[E]):
    """A query: immutable, lazy, and asked anew each time it is iterated or ended.

    ``for ticket in session.query(Ticket, project="p1").ge(number=10): ...`` reads page by page as it goes on.

    Raises (when asked, before anything is sent):
        UsageError: no key of the class serves the fields; it names the index that would.
        InvalidValue: a value cannot be part of the key.
    """

    def __init__(self, spec: QuerySpec, context: Context, run: RunFlow) -> None:
        self._spec = spec
        self._context = context
        self._run = run

    def __iter__(self) -> Iterator[E]:
        walk = endings.walk_of(self._spec, self._context)
        while not walk.is_over:
            yield from self._run(walk.more())

    def all(self) -> Results[E]:
        """Everything that is found, in key order: a list with ``.requests`` and ``.read_units``."""
        return self._run(endings.all_of(self._spec, self._context))

    def first(self) -> E | None:
        """The first; None where nothing is found."""
        return self._run(endings.first_of(self._spec, self._context))

    def one(self) -> E:
        """The only one.

        Raises:
            EntityNotFound: nothing is found.
            UsageError: several are found.
        """
        return self._run(endings.one_of(self._spec, self._context))  # type: ignore[no-any-return]  # flows know no E

    def count(self) -> int:
        """How many are found. Every one of them is read, without its content."""
        return self._run(endings.count_of(self._spec, self._context))

    def page(self, size: int, /, *, after: str | None = None, read_at_most: int | None = None) -> Page[E]:
        """The next ``size`` entities after a cursor, with the cursor of the page that follows.

        ``read_at_most``: the most items that DynamoDB reads for the page. A page with a rare filter may then be short
        or empty and still have a cursor. With several partitions, at least one item of each is read.

        Raises:
            InvalidCursor: it is damaged, or another query's; nothing was sent.
        """
        return self._run(
            endings.page_of(self._spec, self._context, size, after=after, read_at_most=read_at_most)
        )

    def keys(self) -> "Query[Key[E]]":
        """The same query, giving keys instead of entities; whole items are not fetched for an index that has none."""
        return Query(keys_alone(self._spec), self._context, self._run)


class Collection(Query[E], Generic[E, S]):
    """A query over the entities of several classes in one item collection."""

    def split(self) -> S:
        """Everything that is found, one list for each class, in the order the classes were named."""
        found: Any = endings.split(self._spec, self.all())
        result: S = found
        return result
