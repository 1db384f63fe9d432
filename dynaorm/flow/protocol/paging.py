"""The keys at which the pages of one read end.

Rule 1. DynamoDB gives no LastEvaluatedKey twice in one read. A server that does would be read for ever.
Rule 2. One earlier key is remembered: that of the last page whose number is a power of two. So a circle of pages is
        noticed after at most three rounds, however long it is (R. P. Brent's method).
"""

from typing import Generic, TypeVar

from dynaorm.errors import Unreachable

K = TypeVar("K")


class PageKeys(Generic[K]):
    """Checks the LastEvaluatedKey of each page of a read, or the LastEvaluatedShardId."""

    __slots__ = ("_pages", "_remember_at", "_remembered")

    def __init__(self) -> None:
        self._pages = 0
        self._remember_at = 1
        self._remembered: K | None = None

    def checked(self, operation: str, key: K | None) -> K | None:
        """The key after which to read the next page; None after the last one. Raises Unreachable if it came before."""
        if key is None:
            return None
        if key == self._remembered:
            reason = f"page {self._pages + 1} ends where an earlier page ended: is the endpoint a DynamoDB?"
            raise Unreachable(operation=operation, attempts=1, reason=reason)
        self._pages += 1
        if self._pages == self._remember_at:
            self._remembered, self._remember_at = key, self._remember_at * 2
        return key
