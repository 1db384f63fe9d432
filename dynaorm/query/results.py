"""The results of a query: a list, or a page with a cursor. Both report the requests and capacity they used."""

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from dynaorm.record import record

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
