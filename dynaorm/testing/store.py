"""The DynamoDB of one test: an engine, the tables of the test, and sessions on them."""

from pathlib import Path
from typing import Any

from dynaorm.entity.table import Table
from dynaorm.flow.protocol.call import Call, Clock, Refusal, Transport
from dynaorm.session._async.session import AsyncSession
from dynaorm.session.session import Session
from dynaorm.testing.consistency import assert_consistent
from dynaorm.testing.faults import FaultyTransport
from dynaorm.testing.seeds import load_seeds
from dynaorm.transport.threaded import ThreadedTransport


class Store:
    """One DynamoDB, as a test sees it.

    Attributes:
        tables: the tables that ``create`` created.
        wire: the transport of every session: its ``calls`` are all that was sent, and its faults strike there.

    Args:
        engine: the transport to the DynamoDB.
        mark: a suffix for physical table names, if others use the same DynamoDB.
        clock: the clock of the sessions; the system's by default.
    """

    def __init__(self, engine: Transport, *, mark: str | None = None, clock: Clock | None = None) -> None:
        self.tables: tuple[Table, ...] = ()
        self.wire = FaultyTransport(engine)
        self._engine = engine
        self._mark = mark
        self._clock = clock
        self._named: dict[str, str] = {}

    def name(self, declared: str) -> str:
        """The physical name of a declared table; if the DynamoDB is shared, only this test uses it."""
        physical = declared if self._mark is None else f"{declared}-{self._mark}"
        return self._named.setdefault(declared, physical)

    def session(self, **settings: Any) -> Session:
        """Another session on the same tables, as in another process; ``settings`` are those of ``Session``."""
        return Session(**{"transport": self.wire, "table_names": self.name, "clock": self._clock, **settings})

    def async_session(self, **settings: Any) -> AsyncSession:
        """Another asynchronous session on the same tables."""
        wire = ThreadedTransport(self.wire)
        return AsyncSession(**{"transport": wire, "table_names": self.name, "clock": self._clock, **settings})

    def create(self, *tables: Table) -> None:
        """Create tables. No fault strikes, and the calls are not recorded."""
        with self.session(transport=self._engine) as session:
            for table in tables:
                session.create_table(table)
        self.tables += tables

    def seed(self, path: str | Path) -> list[Any]:
        """Save the entities of a file: ``load_seeds``. No fault strikes, and the calls are not recorded."""
        with self.session(transport=self._engine) as session:
            return load_seeds(session, path, *self.tables)

    def check(self) -> None:
        """Call ``assert_consistent`` on every table that still exists. No fault strikes. Raises AssertionError."""
        left = [table for table in self.tables if self._exists(table)]
        with self.session(transport=self._engine) as session:
            assert_consistent(session, *left)

    def drop(self) -> None:
        """Delete every table that a session used."""
        for name in self._named.values():
            self._ask("DeleteTable", name)

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
