"""The DynamoDB of one test: an engine, the tables of the test, and sessions on them."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from dynaorm.argument import check_kind
from dynaorm.description import classify, describe
from dynaorm.entity.table import Table, check_table
from dynaorm.flow.call import Call, Clock, Refusal, Transport
from dynaorm.layout.text import GOLDEN_WIDTH, render_text
from dynaorm.layout.view import view_of
from dynaorm.session._async.session import AsyncSession
from dynaorm.session.session import Session
from dynaorm.session.settings import check_transport, clock_of
from dynaorm.testing.faults import FaultyTransport
from dynaorm.testing.tables import assert_consistent, load_seeds
from dynaorm.testing.transports import WatchedTransport, Watcher
from dynaorm.transport.asynchronous import ThreadedTransport

P = ParamSpec("P")
S = TypeVar("S")


def _with_settings_of(
    made: Callable[P, S],  # noqa: ARG001 - only its type is of use
) -> Callable[[Callable[..., S]], "Callable[Concatenate[Store, P], S]"]:
    """Gives a method the arguments of what it makes, for type checkers."""
    return lambda method: method


class Store:
    """One DynamoDB, as a test sees it.

    Attributes:
        tables: the tables that ``create`` created.
        wire: the transport of every session: its ``calls`` are all that was sent, and its faults strike there.

    Args:
        engine: the transport to the DynamoDB.
        mark: a suffix for physical table names, if others use the same DynamoDB.
        clock: the clock of the sessions; the system's by default.

    Examples:
        >>> store = Store(PynamoTransport(region="eu-west-1"), mark="test")
        >>> store.create(app)
        >>> ada = store.session().save(User(user_id="9", email="ada@x.com"))
        >>> [call.operation for call in store.wire.calls]
        ['TransactWriteItems']
    """

    def __init__(self, engine: Transport, *, mark: str | None = None, clock: Clock | None = None) -> None:
        check_transport(engine)
        if mark is not None:
            check_kind("mark={}", mark, str, "a str")
        clock_of(clock)
        self.tables: tuple[Table, ...] = ()
        self._watched = WatchedTransport(engine, self._declared)
        self.wire = FaultyTransport(self._watched)
        self._engine = engine
        self._mark = mark
        self._clock = clock
        self._named: dict[str, str] = {}

    def name(self, declared: str) -> str:
        """The physical name of a declared table; if the DynamoDB is shared, only this test uses it.

        Args:
            declared: the declared name.

        Examples:
            >>> store = Store(PynamoTransport(region="eu-west-1"), mark="test")
            >>> store.create(app)
            >>> store.name("app")
            'app-test'
        """
        check_kind("name({})", declared, str, "a str", remedy="give the declared name of a table")
        physical = declared if self._mark is None else f"{declared}-{self._mark}"
        return self._named.setdefault(declared, physical)

    @_with_settings_of(Session)
    def session(self, **settings: Any) -> Session:
        """Another session on the same tables, as in another process; ``settings`` are those of ``Session``.

        Args:
            **settings: those of ``Session``.

        Examples:
            >>> store = Store(PynamoTransport(region="eu-west-1"), mark="test")
            >>> store.create(app)
            >>> store.session().exists(User, user_id="1")
            False
        """
        return Session(**{"transport": self.wire, "table_names": self.name, "clock": self._clock, **settings})

    @_with_settings_of(AsyncSession)
    def async_session(self, **settings: Any) -> AsyncSession:
        """Another asynchronous session on the same tables.

        Args:
            **settings: those of ``AsyncSession``.

        Examples:
            ```python
            async with store.async_session() as session: ...
            ```
        """
        wire = ThreadedTransport(self.wire)
        return AsyncSession(**{"transport": wire, "table_names": self.name, "clock": self._clock, **settings})

    def create(self, *tables: Table) -> None:
        """Create tables. No fault strikes, and the calls are not recorded.

        Examples:
            >>> store = Store(PynamoTransport(region="eu-west-1"), mark="test")
            >>> store.create(app)
        """
        for table in tables:
            check_table("create", table)
        with self.session(transport=self._engine) as session:
            for table in tables:
                session.create_table(table)
        self.tables += tables

    def seed(self, path: str | Path) -> list[Any]:
        """Save the entities of a file: ``load_seeds``. No fault strikes, and the calls are not recorded.

        Args:
            path: the file.

        Examples:
            ```python
            users = store.seed("tests/users.jsonl")
            ```
        """
        with self.session(transport=self._engine) as session:
            return load_seeds(session, path, *self.tables)

    def check(self) -> None:
        """Call ``assert_consistent`` on every table that still exists. No fault strikes. Raises AssertionError.

        Raises:
            AssertionError: with every finding.

        Examples:
            >>> store = Store(PynamoTransport(region="eu-west-1"), mark="test")
            >>> store.create(app)
            >>> store.check()
        """
        left = [table for table in self.tables if self._exists(table)]
        with self.session(transport=self._engine) as session:
            assert_consistent(session, *left)

    def text(self, *, width: int = GOLDEN_WIDTH, colour: bool = False) -> str:
        """What is stored in the tables that still exist, as ``dynaorm layout`` draws it. Secrets are masked.

        Args:
            width: the cells of a line.
            colour: write the codes that colour text in a terminal.

        Examples:
            >>> store = Store(PynamoTransport(region="eu-west-1"), mark="test")
            >>> store.create(app)
            >>> print(store.text(width=60))
            app (PK, SK)  ...
        """
        left = [table for table in self.tables if self._exists(table)]
        return "\n".join(self._drawn(table, width, colour=colour) for table in left)

    def watching(self, watcher: Watcher) -> AbstractContextManager[None]:
        """Call a function for each item that a write of a session changes, while the context lasts.

        Args:
            watcher: is called with each change.

        Examples:
            >>> store = Store(PynamoTransport(region="eu-west-1"), mark="test")
            >>> store.create(app)
            >>> with store.watching(lambda write: print(write.new["SK"]["S"])):
            ...     ticket = store.session().save(Ticket(project="p9", number=1))
            TICKET#000001
        """
        return self._watched.watching(watcher)

    def now(self) -> float:
        """The time of the sessions, in seconds since the Unix epoch.

        Examples:
            >>> store = Store(PynamoTransport(region="eu-west-1"), mark="test")
            >>> store.create(app)
            >>> store.now() > 0
            True
        """
        return time.time() if self._clock is None else self._clock.now()

    def drop(self) -> None:
        """Delete every table that a session used.

        Examples:
            >>> store = Store(PynamoTransport(region="eu-west-1"), mark="test")
            >>> store.create(app)
            >>> store.drop()
        """
        for name in self._named.values():
            self._ask("DeleteTable", name)

    def _drawn(self, table: Table, width: int, *, colour: bool) -> str:
        entries = [classify(item, home) for home in table.homes for item in self._items(home)]
        return render_text(view_of(describe(table), entries), width=width, colour=colour)

    def _items(self, table: Table) -> list[Any]:
        found: list[Any] = []
        request: dict[str, Any] = {"TableName": self.name(table.name), "ConsistentRead": True}
        while True:
            reply: Any = self._engine.call(Call("Scan", request))
            found += reply["Items"]
            if not reply.get("LastEvaluatedKey"):
                return found
            request["ExclusiveStartKey"] = reply["LastEvaluatedKey"]

    def _declared(self, physical: str) -> Table | None:
        known = (home for table in self.tables for home in table.homes)
        return next((one for one in known if self.name(one.name) == physical), None)

    def _exists(self, table: Table) -> bool:
        return self._ask("DescribeTable", self.name(table.name))

    def _ask(self, operation: str, name: str) -> bool:
        """Whether the table exists."""
        try:
            self._engine.call(Call(operation, {"TableName": name}))
        except Refusal as refusal:
            if refusal.code != "ResourceNotFoundException":
                raise
            return False
        return True
