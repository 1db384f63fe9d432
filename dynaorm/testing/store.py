"""What the plugin's fixtures share in one test: an engine, the test's tables in it, and sessions on both."""

from typing import Any

from dynaorm.entity.table import Table
from dynaorm.flow.protocol.call import Call, Clock, Refusal, Transport
from dynaorm.session._async.session import AsyncSession
from dynaorm.session.session import Session
from dynaorm.testing.consistency import assert_consistent
from dynaorm.testing.faults import FaultyTransport
from dynaorm.transport.threaded import ThreadedTransport


class Store:
    """One DynamoDB, as a test sees it.

    Attributes:
        tables: the tables that ``create`` made.
        wire: what every session sends goes through it; its ``calls`` are all that was sent, its faults strike there.

    Args:
        engine: the way to the DynamoDB.
        mark: what physical table names end with, where others use the same DynamoDB; None where nobody does.
        clock: the time of the sessions; the system's by default.
    """

    def __init__(self, engine: Transport, *, mark: str | None = None, clock: Clock | None = None) -> None:
        self.tables: tuple[Table, ...] = ()
        self.wire = FaultyTransport(engine)
        self._engine = engine
        self._mark = mark
        self._clock = clock
        self._named: dict[str, str] = {}

    def name(self, declared: str) -> str:
        """The physical name of a declared table: of this test's own where the DynamoDB is shared."""
        physical = declared if self._mark is None else f"{declared}-{self._mark}"
        return self._named.setdefault(declared, physical)

    def session(self, **settings: Any) -> Session:
        """Another session on the same tables, as another process would have; ``settings`` are those of ``Session``."""
        return Session(**{"transport": self.wire, "table_names": self.name, "clock": self._clock, **settings})

    def async_session(self, **settings: Any) -> AsyncSession:
        """The same, asynchronous."""
        wire = ThreadedTransport(self.wire)
        return AsyncSession(**{"transport": wire, "table_names": self.name, "clock": self._clock, **settings})

    def create(self, *tables: Table) -> None:
        """Create tables; no fault strikes, and nothing of it is among the calls."""
        with self.session(transport=self._engine) as session:
            for table in tables:
                session.create_table(table)
        self.tables += tables

    def check(self) -> None:
        """``assert_consistent`` of every table that still exists; no fault strikes. Raises AssertionError."""
        left = [table for table in self.tables if self._exists(table)]
        with self.session(transport=self._engine) as session:
            assert_consistent(session, *left)

    def drop(self) -> None:
        """Delete every table that a session here had a name for."""
        for name in self._named.values():
            self._ask("DeleteTable", name)

    def _exists(self, table: Table) -> bool:
        return self._ask("DescribeTable", self.name(table.name))

    def _ask(self, operation: str, name: str) -> bool:
        """Whether there is a table to ask it of."""
        try:
            self._engine.call(Call(operation, {"TableName": name}))
        except Refusal as refusal:
            if refusal.code != "ResourceNotFoundException":
                raise
            return False
        return True
