"""The methods that build a query. Synchronous and asynchronous queries share them, because they send nothing."""

from collections.abc import Iterable
from typing import Any, Generic, NoReturn, Self, TypeVar

from dynaorm.errors import UsageError
from dynaorm.failure import shown
from dynaorm.flow.call import Context
from dynaorm.flow.query import explain
from dynaorm.item.condition import Condition
from dynaorm.query.filter import filter_of
from dynaorm.query.query_spec import QuerySpec
from dynaorm.transport.process import NotPicklable

E = TypeVar("E")


def check_conditions(given: Iterable[object]) -> None:
    """Raises UsageError for what is no condition."""
    for one in given:
        if not isinstance(one, Condition):
            raise no_condition(f"filter({shown(one)})")


def no_condition(written: str) -> UsageError:
    """The error for an argument that is no condition; ``written``: as its caller writes it."""
    return UsageError(
        problem=f"{written} is not a condition", remedy='write one with F, such as F.status == "open"'
    )


class Chain(NotPicklable, Generic[E]):
    """A query under construction. It is immutable: every method returns a new query. No method here sends anything."""

    _spec: QuerySpec
    _context: Context

    def eq(self, **field: Any) -> Self:
        """A field of the key equals a value, as with a keyword of ``session.query``.

        Args:
            **field: the field with its value, or with several: ``any_of(...)``.

        Raises:
            UnknownField: the class has no such field.

        Examples:
            >>> session.query(Ticket, project="p1").eq(number=2).explain() != ""
            True
        """
        return self._with(self._spec.where(field))

    def lt(self, **field: Any) -> Self:
        """The next field of the sort key is less than a value. Combine it with ``ge`` for a half-open range.

        Args:
            **field: the field with the value.

        Raises:
            UnknownField: the class has no such field.
            UsageError: not exactly one field is given, or the query has a range already.

        Examples:
            >>> [ticket.number for ticket in session.query(Ticket, project="p1").lt(number=2)]
            [1]
        """
        return self._with(self._spec.bounded("<", field))

    def le(self, **field: Any) -> Self:
        """The next field of the sort key is at most a value.

        Args:
            **field: the field with the value.

        Raises:
            UnknownField: the class has no such field.
            UsageError: not exactly one field is given, or the query has a range already.

        Examples:
            >>> [ticket.number for ticket in session.query(Ticket, project="p1").le(number=1)]
            [1]
        """
        return self._with(self._spec.bounded("<=", field))

    def gt(self, **field: Any) -> Self:
        """The next field of the sort key is greater than a value.

        Args:
            **field: the field with the value.

        Raises:
            UnknownField: the class has no such field.
            UsageError: not exactly one field is given, or the query has a range already.

        Examples:
            >>> [ticket.number for ticket in session.query(Ticket, project="p1").gt(number=1)]
            [2]
        """
        return self._with(self._spec.bounded(">", field))

    def ge(self, **field: Any) -> Self:
        """The next field of the sort key is at least a value.

        Args:
            **field: the field with the value.

        Raises:
            UnknownField: the class has no such field.
            UsageError: not exactly one field is given, or the query has a range already.

        Examples:
            >>> [ticket.number for ticket in session.query(Ticket, project="p1").ge(number=2)]
            [2]
        """
        return self._with(self._spec.bounded(">=", field))

    def between(self, **field: Any) -> Self:
        """The next field of the sort key is between two values, both included.

        Args:
            **field: the field with ``(low, high)``.

        Raises:
            UnknownField: the class has no such field.
            UsageError: not exactly one field is given, or the query has a range already.

        Examples:
            >>> [ticket.number for ticket in session.query(Ticket, project="p1").between(number=(1, 5))]
            [1, 2]
        """
        return self._with(self._spec.bounded("between", field))

    def begins_with(self, **field: Any) -> Self:
        """The next field of the sort key begins with a text. The text is compared as stored: ``at="2018-08"``.

        Args:
            **field: the field with the text.

        Raises:
            UnknownField: the class has no such field.
            UsageError: not exactly one field is given, or the query has a range already.

        Examples:
            >>> [ticket.number for ticket in session.query(Ticket, project="p1").begins_with(number="00000")]
            [1, 2]
        """
        return self._with(self._spec.bounded("begins_with", field))

    def descending(self) -> Self:
        """Return entities from the end of the sort key to its beginning.

        Examples:
            >>> [ticket.number for ticket in session.query(Ticket, project="p1").descending()]
            [2, 1]
        """
        return self._with(self._spec.backwards())

    def limit(self, most: int, /) -> Self:
        """Return at most so many entities, counted after filters.

        Args:
            most: how many.

        Raises:
            UsageError: it is less than 1.

        Examples:
            >>> [ticket.number for ticket in session.query(Ticket, project="p1").limit(1)]
            [1]
        """
        return self._with(self._spec.limited(most))

    def filter(self, *conditions: Condition) -> Self:
        """Return only entities for which all conditions hold.

        DynamoDB filters items after reading them, so that filtered items consume read capacity, too.

        Args:
            *conditions: conditions made with ``F``.

        Raises:
            UnknownField: the class has no such field.
            InvalidValue: the field does not take the value.
            UsageError: a field is part of the queried key, or something is no condition.

        Examples:
            >>> [ticket.number for ticket in session.query(Ticket, project="p1").filter(F.status == "closed")]
            [2]
        """
        check_conditions(conditions)
        spec = self._spec.filtered(conditions)
        # For its errors alone: a filter that the class does not understand is refused here, not by the query's ending.
        filter_of(spec)
        return self._with(spec)

    def consistent(self) -> Self:
        """Read strongly consistent, which costs twice the read capacity.

        Raises:
            UsageError: the query reads a global index, which supports only eventually consistent reads.

        Examples:
            >>> [ticket.number for ticket in session.query(Ticket, project="p1").consistent()]
            [1, 2]
        """
        return self._with(self._spec.read_consistently())

    def expired(self) -> Self:
        """Include entities that have expired and that DynamoDB has not deleted yet.

        Examples:
            >>> [ticket.number for ticket in session.query(Ticket, project="p1").expired()]
            [1, 2]
        """
        return self._with(self._spec.with_expired())

    def explain(self) -> str:
        """Return the requests that the query will send, and what is done with the replies, in words. Sends nothing.

        Raises:
            UsageError: no key serves the fields.
            InvalidValue: a value cannot be part of the key.

        Examples:
            >>> print(session.query(Ticket, project="p1").explain())
            1 request, and more for each further page
            1. Query app: PK = 'PROJECT#p1' AND begins_with(SK, 'TICKET#')
        """
        return explain(self._spec, self._context)

    def _with(self, spec: QuerySpec) -> Self:
        # As ``copy`` does, in half the time.
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, _spec=spec)
        return other

    def __bool__(self) -> NoReturn:
        raise TypeError(f"{self!r} has not been sent; write .first() is not None, or .count() > 0")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._spec!r}>"
