"""The methods that build a query: the same for every session, because none of them talks to DynamoDB."""

from copy import copy
from typing import Any, Generic, NoReturn, Self, TypeVar

from dynaorm.errors import UsageError
from dynaorm.flow.protocol.context import Context
from dynaorm.item.condition import Condition
from dynaorm.query.filter import filter_of
from dynaorm.query.query_spec import QuerySpec

E = TypeVar("E")


class Chain(Generic[E]):
    """A query being built. It never changes: every method gives another one. Nothing is sent before its ending."""

    _spec: QuerySpec
    _context: Context

    def eq(self, **field: Any) -> Self:
        """The field of the key is equal to a value, or one of ``any_of(...)``; the same as giving it in the call."""
        return self._with(self._spec.where(field))

    def lt(self, **field: Any) -> Self:
        """The next field of the sort key is less than a value; with ``ge`` a half-open range."""
        return self._with(self._spec.bounded("<", field))

    def le(self, **field: Any) -> Self:
        """The next field of the sort key is at most a value."""
        return self._with(self._spec.bounded("<=", field))

    def gt(self, **field: Any) -> Self:
        """The next field of the sort key is more than a value."""
        return self._with(self._spec.bounded(">", field))

    def ge(self, **field: Any) -> Self:
        """The next field of the sort key is at least a value."""
        return self._with(self._spec.bounded(">=", field))

    def between(self, **field: Any) -> Self:
        """The next field of the sort key is in ``(low, high)``, both included."""
        return self._with(self._spec.bounded("between", field))

    def begins_with(self, **field: Any) -> Self:
        """The next field of the sort key begins with a text: that of the field as rendered (``at="2018-08"``)."""
        return self._with(self._spec.bounded("begins_with", field))

    def descending(self) -> Self:
        """From the end of the sort key to its beginning."""
        return self._with(self._spec.backwards())

    def limit(self, most: int, /) -> Self:
        """At most so many entities, counted after filters."""
        return self._with(self._spec.limited(most))

    def filter(self, *conditions: Condition) -> Self:
        """Only entities for which these hold. They are judged after reading: the capacity is consumed all the same.

        Raises:
            UnknownField, InvalidValue: a field or value is not the class's.
            UsageError: a field is a key of what is asked.
        """
        for one in conditions:
            if not isinstance(one, Condition):
                raise UsageError(
                    problem=f"filter({one!r}) is no condition", remedy='write F.status == "open" and its like'
                )
        spec = self._spec.filtered(conditions)
        filter_of(spec)
        return self._with(spec)

    def consistent(self) -> Self:
        """Read strongly consistent, at twice the price. Raises UsageError for a global index, which cannot."""
        return self._with(self._spec.read_consistently())

    def expired(self) -> Self:
        """With entities that have expired and are not deleted yet."""
        return self._with(self._spec.with_expired())

    def _with(self, spec: QuerySpec) -> Self:
        other = copy(self)
        other._spec = spec
        return other

    def __bool__(self) -> NoReturn:
        raise TypeError(f"{self!r} has not been asked yet; ask it: .first() is not None, or .count() > 0")

    def __repr__(self) -> str:
        equal = "".join(f", {name}={value!r}" for name, value in self._spec.equal.items())
        return f"<{type(self).__name__} {self._spec}{equal}>"
