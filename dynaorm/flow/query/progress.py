"""The progress of one key query: what was read of it, and what is buffered."""

from collections import deque
from dataclasses import field
from typing import Any

from dynaorm.flow.protocol.call import Reply
from dynaorm.flow.protocol.cost import ReadCost
from dynaorm.flow.protocol.paging import PageKeys
from dynaorm.item.value import Item
from dynaorm.query.key_query import KeyQuery
from dynaorm.record import record


@record(frozen=False)
class Progress:
    """The progress of one key query.

    Attributes:
        number: its number among the key queries of the walk.
        key_query: the partition or segment.
        later: what is read after ``key_query``, in key order; only where a walk begins at a cursor.
        read_to: the key after which the next page begins; None at the beginning.
        is_read: the last page has been read.
        pages: the number of pages read.
        scanned: the number of items that DynamoDB has read.
        buffered: read but not yet returned: entities, live items and index entries.
        unknown: items of no declared class, to be reported.
        cost: the requests and capacity used.
        page_keys: checks that no page ends where another one did; None until a page is not the last.
    """

    number: int
    key_query: KeyQuery
    later: tuple[KeyQuery, ...] = ()
    read_to: Item | None = None
    is_read: bool = False
    pages: int = 0
    scanned: int = 0
    buffered: deque[Any] = field(default_factory=deque)
    unknown: list[Item] = field(default_factory=list)
    cost: ReadCost = field(default_factory=ReadCost)
    page_keys: PageKeys[Item] | None = None

    @property
    def is_over(self) -> bool:
        return self.is_read and not self.buffered

    @property
    def is_waiting(self) -> bool:
        """Whether a page must be read before it has anything to return."""
        return not self.is_read and not self.buffered

    def advance(self, reply: Reply, count: int) -> None:
        """Record that a page of ``count`` items was read. Raises Unreachable if pages repeat."""
        self.cost.add(reply)
        self.pages += 1
        self.scanned += reply.get("ScannedCount", count)
        last = reply.get("LastEvaluatedKey")
        if last is not None:
            self.page_keys = self.page_keys or PageKeys()
            self.page_keys.checked(self.key_query.operation, last)
            if self.key_query.ends_at(last):
                last = None
        self.read_to = last
        self.is_read = self.read_to is None and not self.later
        if self.read_to is None and self.later:
            self.key_query, *later = self.later
            self.later = tuple(later)
