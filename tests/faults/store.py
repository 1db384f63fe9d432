"""One DynamoDB whose answers can be lost: sessions with faults below them, and the raw items beside them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from dynaorm import Plan, Retry, Session, Table
from dynaorm.errors import OutcomeUnknown
from dynaorm.testing import FakeClock, Fault, FaultyTransport
from dynaorm.transport import Call, Reply, Transport
from tests.raw_tables import RawTables


class Line(NamedTuple):
    """A session, and the wire below it: its ``calls`` are all that was sent, also what was lost."""

    session: Session
    wire: FaultyTransport


class Store(RawTables):
    """One DynamoDB, and the clock of every session on it."""

    items = RawTables.raw

    def __init__(
        self, transport: Transport, client: Any, clock: FakeClock, name: Callable[[str], str]
    ) -> None:
        super().__init__(client, clock, name)
        self.transport = transport

    def create(self, *tables: Table) -> "Store":
        for table in tables:
            self.line().session.create_table(table)
            self.created(table)
        return self

    def line(
        self,
        *faults: Fault,
        retry: Retry | None = None,
        below: Callable[[Transport], Transport] | None = None,
    ) -> Line:
        """Another session, as another process would have; ``below`` wraps the engine beneath the faults."""
        engine = self.transport if below is None else below(self.transport)
        wire = FaultyTransport(engine, *faults)
        session = Session(
            transport=wire, table_names=self.name, clock=self.clock, retry=Retry() if retry is None else retry
        )
        return Line(session, wire)

    def meanwhile(self, work: Callable[[], object], operation: str, at: int = 1) -> Fault:
        """Somebody else does something just before a call goes out, which is then made as ever."""

        def strike(call: Call, inner: Transport) -> Reply:
            work()
            return inner.call(call)

        return Fault("meanwhile", strike, at, 1, frozenset({operation}))

    def unknown(self, work: Callable[[], object]) -> Plan:
        """The plan of a write that ends with its outcome unknown."""
        with pytest.raises(OutcomeUnknown) as caught:
            work()
        assert isinstance(caught.value.plan, Plan)
        return caught.value.plan

    def keys(self, table: Table) -> list[str]:
        """The partition and sort key of every item, as ``"USER#1 PROFILE"``."""
        return [" ".join(item[name]["S"] for name in table.key_names) for item in self.raw(table)]
