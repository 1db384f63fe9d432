"""The results of a query: a list, or a page with a cursor. Both report the requests and capacity they used."""

from collections.abc import Iterable, Iterator
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.mapping.validate import attributes_of, values_in
from dynaorm.failure import MASK
from dynaorm.item.value import Item
from dynaorm.query.filter import mappings_of
from dynaorm.query.query_spec import QuerySpec
from dynaorm.record import record


class Row(tuple[Any, ...]):
    """The values of some fields of an entity, in the order asked for: ``row.email``, ``row[0]``, ``email, _ = row``.

    Examples:
        >>> row = session.query(Ticket, project="p1").values("number", "status").first()
        >>> row.status, row[0]
        ('open', 1)
    """

    __slots__ = ()
    _names: ClassVar[tuple[str, ...]] = ()
    _hidden: ClassVar[frozenset[str]] = frozenset()

    if TYPE_CHECKING:

        def __getattr__(self, name: str, /) -> Any: ...

    def __repr__(self) -> str:
        pairs = zip(self._names, self, strict=True)
        texts = (f"{name}={MASK if name in self._hidden else repr(value)}" for name, value in pairs)
        return f"Row({', '.join(texts)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _row, (self._names, self._hidden, tuple(self))


@cache
def _class_of(names: tuple[str, ...], hidden: frozenset[str]) -> type[Row]:
    members = {name: property(itemgetter(place)) for place, name in enumerate(names)}
    return type("Row", (Row,), {**members, "__slots__": (), "_names": names, "_hidden": hidden})


def _row(names: tuple[str, ...], hidden: frozenset[str], values: Iterable[Any]) -> Row:
    return _class_of(names, hidden)(values)


def row_of(mapping: EntityMapping, item: Item, names: tuple[str, ...]) -> Row:
    """The row of an item that has at least the attributes of these fields. Raises DecodeError."""
    return _row(names, mapping.secrets.fields.intersection(names), values_in(mapping, item, names))


def attributes_of_rows(spec: QuerySpec) -> frozenset[str] | None:
    """The attributes that the results of a query follow from; None for whole items."""
    if spec.keys_only:
        return frozenset()
    if not spec.names:
        return None
    found: set[str] = set()
    for mapping in mappings_of(spec):
        if (attributes := attributes_of(mapping, spec.names)) is None:
            return None
        found |= attributes
    return frozenset(found)


E = TypeVar("E")


class Results(list[E]):
    """The entities a query found, in key order.

    Attributes:
        requests: the number of requests that were answered.
        read_units: the read capacity units that DynamoDB reported.

    Examples:
        >>> tickets = session.query(Ticket, project="p1").all()
        >>> len(tickets), tickets.requests
        (2, 1)
    """

    def __init__(self, entities: Iterable[E], requests: int, read_units: float) -> None:
        super().__init__(entities)
        self.requests = requests
        self.read_units = read_units


@record
class Match(Generic[E]):
    """An entity that a search found.

    Attributes:
        entity: the entity, or its key.
        score: how near it is, as DynamoDB computes it from 32-bit floats. For the distances ``cosine`` (0 to 2) and
            ``euclidean``, less is nearer; for ``dot_product``, more is.

    Examples:
        >>> Match(Key(User, user_id="2"), 0.25).score
        0.25
    """

    entity: E
    score: float


@record
class Page(Generic[E]):
    """One page of a query.

    Attributes:
        entities: the entities of the page, in key order.
        cursor: continues with the next page; URL-safe, and None after the last page. It works in any process, but
            only for an equal query.
        requests: the number of requests that were answered.
        read_units: the read capacity units that DynamoDB reported.
        previous: goes back to the page before, with ``page(size, before=...)``; None on the first page.

    Examples:
        >>> page = session.query(Ticket, project="p1").page(1)
        >>> [ticket.number for ticket in page.entities]
        [1]
        >>> [ticket.number for ticket in session.query(Ticket, project="p1").page(1, after=page.cursor).entities]
        [2]
    """

    entities: list[E]
    cursor: str | None
    requests: int
    read_units: float
    previous: str | None = None

    def __iter__(self) -> Iterator[E]:
        return iter(self.entities)

    def __len__(self) -> int:
        return len(self.entities)
