"""What a query gives: a list, or a page with a cursor; both say what they cost."""

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from dynaorm.record import record

E = TypeVar("E")


class Results(list[E]):
    """The entities a query found, in key order.

    Attributes:
        requests: how many requests were answered.
        read_units: the read capacity units they consumed, as DynamoDB reports them.
    """

    def __init__(self, entities: Iterable[E], requests: int, read_units: float) -> None:
        super().__init__(entities)
        self.requests = requests
        self.read_units = read_units


@record
class Page(Generic[E]):
    """One page of a query.

    Attributes:
        entities: what was found, in key order.
        cursor: where the next page begins, URL-safe; None where nothing is left. It works for an equal query only,
            in any process.
        requests: how many requests were answered.
        read_units: the read capacity units they consumed, as DynamoDB reports them.
    """

    entities: list[E]
    cursor: str | None
    requests: int
    read_units: float

    def __iter__(self) -> Iterator[E]:
        return iter(self.entities)

    def __len__(self) -> int:
        return len(self.entities)
