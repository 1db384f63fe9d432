"""``handler``: a Lambda handler that calls functions with the changes in an event, and reports the first failure."""

import logging
import threading
import weakref
from collections.abc import Callable
from inspect import isawaitable, iscoroutine
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from dynaorm.entity.table import Table
from dynaorm.errors import UsageError
from dynaorm.late import late
from dynaorm.streams.event import Changed, Deleted, Inserted, StreamChange, Unreadable
from dynaorm.streams.interpret import TableNames
from dynaorm.streams.subscription import Delivery, Function, Subscriptions
from dynaorm.transport.process import register

if TYPE_CHECKING:
    import asyncio
else:
    late(globals(), asyncio="asyncio")

E = TypeVar("E")
R = TypeVar("R")

_logger = logging.getLogger("dynaorm")


class BatchItemFailure(TypedDict):
    """A record that failed."""

    itemIdentifier: str


class BatchResponse(TypedDict):
    """A partial batch response: the record from which the event is delivered again, if there is one."""

    batchItemFailures: list[BatchItemFailure]


def handler(*tables: Table, table_names: TableNames | None = None) -> "StreamHandler":
    """A handler for the events of some tables' streams, without functions.

    Args:
        *tables: the tables. With one table and no ``table_names``, every record is taken as one of it.
        table_names: physical table names, as for ``Session``.

    Raises:
        UsageError: no table is given.

    Examples:
        >>> from dynaorm.testing import Store
        >>> store = Store(PynamoTransport(region="eu-west-1"))
        >>> store.create(app)
        >>> with stream_events(store) as event, store.session() as writing:
        ...     ada = writing.save(User(user_id="9", email="ada@x.com"))
        >>> on = handler(app)
        >>> @on.inserted(User)
        ... def greet(change: Inserted[User]) -> None:
        ...     print(change.new.email)
        >>> on(event)
        ada@x.com
        {'batchItemFailures': []}
    """
    return StreamHandler(Subscriptions(tables, table_names))


class StreamHandler:
    """A Lambda handler that calls your functions with the changes in an event.

    Give each function the changes that it is for. A function for a class is also called for its subclasses. It may be
    asynchronous::

        on = handler(app)

        @on.inserted(User)
        def index(change: Inserted[User]) -> None: ...

        lambda_handler = on

    Calling the handler with an event calls the functions in the order of the records, and for each record in the order
    in which they were added. The first exception ends it and is logged at ERROR by the logger ``dynaorm``. The answer
    names that record in ``batchItemFailures``. Lambda then delivers it and all records after it again, if the event
    source mapping has ``ReportBatchItemFailures``; without this setting, Lambda drops them. A record without a sequence
    number cannot be named: the answer names the last one before it that has one, or asks for the whole batch.

    An ``Unreadable`` record fails likewise, unless a function is given to ``unreadable``, or the key of its item shows
    that it is of a class that no function is for.

    Create it with ``handler``.

    Examples:
        >>> from dynaorm.testing import Store
        >>> store = Store(PynamoTransport(region="eu-west-1"))
        >>> store.create(app)
        >>> with stream_events(store) as event, store.session() as writing:
        ...     ada = writing.save(User(user_id="9", email="ada@x.com"))
        >>> on = handler(app)
        >>> @on.any(User)
        ... def index(change) -> None:
        ...     print(type(change).__name__)
        >>> on(event)
        Inserted
        {'batchItemFailures': []}
    """

    def __init__(self, subscriptions: Subscriptions) -> None:
        self._subscriptions = subscriptions
        self._running = threading.Lock()
        self._runner: asyncio.Runner | None = None
        self._closing: weakref.finalize[..., StreamHandler] | None = None
        register(self)

    def inserted(
        self, entity: type[E], /
    ) -> Callable[[Callable[[Inserted[E]], R]], Callable[[Inserted[E]], R]]:
        """Add a function for inserted entities. Raises UsageError if the class is of another table.

        Args:
            entity: the class; its subclasses belong to it.

        Examples:
            >>> on = handler(app)
            >>> @on.inserted(User)
            ... def index(change) -> None: ...
        """
        return self._adding((Inserted,), entity)

    def changed(self, entity: type[E], /) -> Callable[[Callable[[Changed[E]], R]], Callable[[Changed[E]], R]]:
        """Add a function for changed entities. Raises UsageError if the class is of another table.

        Args:
            entity: the class; its subclasses belong to it.

        Examples:
            >>> on = handler(app)
            >>> @on.changed(User)
            ... def index(change) -> None: ...
        """
        return self._adding((Changed,), entity)

    def deleted(self, entity: type[E], /) -> Callable[[Callable[[Deleted[E]], R]], Callable[[Deleted[E]], R]]:
        """Add a function for deleted entities. Raises UsageError if the class is of another table.

        Args:
            entity: the class; its subclasses belong to it.

        Examples:
            >>> on = handler(app)
            >>> @on.deleted(User)
            ... def index(change) -> None: ...
        """
        return self._adding((Deleted,), entity)

    def any(
        self, entity: type[E], /
    ) -> Callable[
        [Callable[[Inserted[E] | Changed[E] | Deleted[E]], R]],
        Callable[[Inserted[E] | Changed[E] | Deleted[E]], R],
    ]:
        """Add a function for all changes of entities. Raises UsageError if the class is of another table.

        Args:
            entity: the class; its subclasses belong to it.

        Examples:
            >>> on = handler(app)
            >>> @on.any(User)
            ... def index(change) -> None: ...
        """
        return self._adding((Inserted, Changed, Deleted), entity)

    def unreadable(self, function: Callable[[Unreadable], R], /) -> Callable[[Unreadable], R]:
        """Add a function for unreadable records, of all classes and of none. If it returns, the record is done.

        Args:
            function: is called with each of them.

        Examples:
            >>> on = handler(app)
            >>> @on.unreadable
            ... def report(record: Unreadable) -> None:
            ...     print(record.error)
            >>> for change in changes([{"eventName": "INSERT"}], app):
            ...     on.dispatch(change)
            Cannot load ...
        """
        self._subscriptions.add((Unreadable,), None, function)
        return function

    def _adding(self, kinds: tuple[type, ...], entity: type[Any]) -> Callable[[Any], Any]:
        def add(function: Function) -> Function:
            self._subscriptions.add(kinds, entity, function)
            return function

        return add

    def __call__(self, event: object, _context: object = None, /) -> BatchResponse:
        """Handle an event, and return the partial batch response. Asynchronous functions run in a loop of the handler.

        Raises:
            UsageError: the event is no event of a stream; or a function is asynchronous, and an event loop is running
                in this thread, where you can await ``handle``.
        """
        for delivery in self._subscriptions.deliveries(event):
            try:
                for function in delivery.functions:
                    self._finish(function(delivery.change), "await on.handle(event)")
            except _InsideLoop:
                raise
            except Exception as failure:  # noqa: BLE001 - whatever a function raises is a failure of the record
                return _failed(delivery, failure)
        return {"batchItemFailures": []}

    async def handle(self, event: object, _context: object = None, /) -> BatchResponse:
        """Handle an event in the running event loop, as calling the handler does.

        Args:
            event: as for ``changes``.
            _context: what Lambda gives beside the event; it is not used.

        Examples:
            ```python
            answer = await on.handle(event)
            ```
        """
        for delivery in self._subscriptions.deliveries(event):
            try:
                for function in delivery.functions:
                    if isawaitable(outcome := function(delivery.change)):
                        await outcome
            except Exception as failure:  # noqa: BLE001 - whatever a function raises is a failure of the record
                return _failed(delivery, failure)
        return {"batchItemFailures": []}

    def dispatch(self, change: StreamChange, /) -> None:
        """Call the functions for one change, such as one of ``dynaorm.tools.follow``. Raises what they raise.

        Raises:
            DecodeError: the change is ``Unreadable``, and no function is given to ``unreadable``.
            UsageError: a function is asynchronous, and an event loop is running in this thread, where you can await
                ``dispatch_async``.

        Examples:
            >>> from dynaorm.testing import Store
            >>> store = Store(PynamoTransport(region="eu-west-1"))
            >>> store.create(app)
            >>> with stream_events(store) as event, store.session() as writing:
            ...     ada = writing.save(User(user_id="9", email="ada@x.com"))
            >>> on = handler(app)
            >>> @on.inserted(User)
            ... def greet(change: Inserted[User]) -> None:
            ...     print(change.new.email)
            >>> for change in changes(event, app):
            ...     on.dispatch(change)
            ada@x.com
        """
        for function in self._subscriptions.functions(change):
            self._finish(function(change), "await on.dispatch_async(change)")

    async def dispatch_async(self, change: StreamChange, /) -> None:
        """Call the functions for one change in the running event loop, as ``dispatch`` does.

        Examples:
            ```python
            async for change in follow(session, app):
                await on.dispatch_async(change)
            ```
        """
        for function in self._subscriptions.functions(change):
            if isawaitable(outcome := function(change)):
                await outcome

    def reset_after_fork(self) -> object:
        """Take a loop of this process when it is needed."""
        # A thread of the parent may have held the lock at the fork; it would never be released here.
        self._running = threading.Lock()
        if self._closing is not None:
            # The child shares the loop's ``epoll`` object with its parent, so it must not close the loop (Rule 2 of
            # ``process``).
            self._closing.detach()
        runner, self._runner = self._runner, None
        return runner

    def _finish(self, outcome: object, awaiting: str) -> None:
        """Run what an asynchronous function returned, in a loop that stays for the next events.

        ``awaiting``: what does the same in a running loop.
        """
        if not isawaitable(outcome):
            return
        if _is_in_loop():
            if iscoroutine(outcome):
                # Otherwise Python would warn that it was never awaited.
                outcome.close()
            raise _InsideLoop(
                problem="a function of this handler is asynchronous, and an event loop is running in this thread",
                remedy=f"write {awaiting}",
            )

        # A runner takes coroutines only, and the function may have returned any awaitable.
        async def finished() -> None:
            await outcome

        # A runner runs one coroutine at a time, and threads may share the handler.
        with self._running:
            if self._runner is None:
                self._runner = asyncio.Runner()
                self._closing = weakref.finalize(self, _close, self._runner)
            self._runner.run(finished())


class _InsideLoop(UsageError):
    """The caller is to await what it calls. No record is at fault."""


def _is_in_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _close(runner: "asyncio.Runner") -> None:
    """Close the runner of a handler that nobody uses any more.

    The garbage collector may ask for it while a loop runs in this thread, in which no other loop can be run to its end.
    """
    if _is_in_loop():
        runner.get_loop().close()
    else:
        runner.close()


def _failed(delivery: Delivery, failure: Exception) -> BatchResponse:
    _logger.error(
        "Handling the change of %r failed; deliver record %s and those after it again",
        delivery.change.key,
        delivery.failure_id,
        exc_info=failure,
    )
    return {"batchItemFailures": [{"itemIdentifier": delivery.failure_id}]}
