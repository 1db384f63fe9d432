"""Which functions a change is for, and which unreadable records concern them.

Rule 1. A function for a class is also called for its subclasses.
Rule 2. An unreadable record goes to the functions for these. Without such a function, it is an error if it may be about
        a class that any function is for. Otherwise nobody asked for it, like the changes of other classes.
"""

from collections.abc import Callable, Iterator
from inspect import isasyncgenfunction, isgeneratorfunction
from typing import Any, Final, TypeAlias

from dynaorm.argument import check_function, check_kind
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.table import Table
from dynaorm.errors import UsageError
from dynaorm.failure import shown
from dynaorm.record import record
from dynaorm.streams.event import Changed, Deleted, Inserted, Internal, StreamChange, Unreadable, records_of
from dynaorm.streams.interpret import TableNames, interpreter

Function: TypeAlias = Callable[[Any], object]


_CHANGES: Final = (Inserted, Changed, Deleted, Unreadable, Internal)


@record
class Subscription:
    """A function, and the changes it is for.

    Attributes:
        kinds: the classes of these changes.
        entity: the class of the entities; None for unreadable records.
        function: takes the change.
    """

    kinds: tuple[type, ...]
    entity: type[Any] | None
    function: Function


@record
class Delivery:
    """One change, and what to do with it.

    Attributes:
        change: the change.
        functions: the functions to call with it, in their order.
        failure_id: what a partial batch response names, so that the record is delivered again. For a record without a
            name, it is the last one before it that has one, and empty without such a record: an empty name asks for
            the whole batch.
    """

    change: StreamChange
    functions: tuple[Function, ...]
    failure_id: str


class Subscriptions:
    """The functions for the changes of some tables."""

    def __init__(self, tables: tuple[Table, ...], table_names: TableNames | None) -> None:
        self._tables = tables
        self._changes_of = interpreter(tables, table_names)
        self._all: list[Subscription] = []

    def add(self, kinds: tuple[type, ...], entity: type[Any] | None, function: Function) -> None:
        """Add a function.

        Raises:
            UsageError: the class is not stored in one of the tables; or it is no function, or one with ``yield``, which
                would return without doing anything.
        """
        written = "the handler's function {}"
        check_function(written, function, takes=1)
        if isgeneratorfunction(function) or isasyncgenfunction(function):
            raise UsageError(
                problem=f"{written.format(shown(function))} is a generator, so calling it does nothing",
                remedy="give a function without yield",
            )
        if entity is not None and (table := mapping_of(entity).table) not in self._tables:
            known = ", ".join(map(repr, self._tables))
            raise UsageError(
                problem=f"{entity.__name__} is stored in {table}, and this handler is for {known}",
                remedy="give the handler all tables: handler(app, other)",
            )
        self._all.append(Subscription(kinds, entity, function))

    def deliveries(self, event: object) -> Iterator[Delivery]:
        """What to call for the records of an event, in order. Raises UsageError if it is no event of a stream."""
        failure_id = ""
        for one in records_of(event):
            failure_id = one.failure_id or failure_id
            for change in self._changes_of(one):
                if isinstance(change, Inserted | Changed | Deleted | Unreadable):
                    yield Delivery(change, self.functions(change), failure_id)

    def functions(self, change: StreamChange) -> tuple[Function, ...]:
        """The functions to call with a change, in their order. Raises UsageError for anything else."""
        check_kind(
            "{}", change, _CHANGES, "a change", remedy="give one of changes(...) or follow(session, ...)"
        )
        found = tuple(one.function for one in self._all if _is_for(one, change))
        # Rule 2.
        if not found and isinstance(change, Unreadable) and self._concerns(change):
            return (_raise,)
        return found

    def _concerns(self, change: Unreadable) -> bool:
        """Whether an unreadable record may be about a class that a function is for."""
        # A record without a key may be about any class.
        if not change.key.primary_key:
            return True
        if change.key.entity is None:
            return False
        # By families: the form of a key does not tell a class from its subclasses.
        root = mapping_of(change.key.entity).root
        return any(mapping_of(one.entity).root is root for one in self._all if one.entity is not None)


def _is_for(one: Subscription, change: StreamChange) -> bool:
    if not isinstance(change, one.kinds):
        return False
    return one.entity is None or (change.key.entity is not None and issubclass(change.key.entity, one.entity))


def _raise(change: Unreadable) -> None:
    raise change.error
