"""One DynamoDB to tell a story on: its raw items, and every call that a session makes."""

from collections.abc import Callable
from typing import Any

from dynaorm import Session, Table
from dynaorm.testing import FakeClock, Fault, FaultyTransport
from dynaorm.transport import Call, Refusal, Reply, Transport
from tests.raw_tables import RawTables


class Engine(RawTables):
    """One DynamoDB, and what a story needs of it.

    Attributes:
        calls: the calls of all sessions, in order.
        refusals: the calls that DynamoDB refused.
    """

    def __init__(
        self, transport: Transport, client: Any, clock: FakeClock, name: Callable[[str], str]
    ) -> None:
        super().__init__(client, clock, name)
        self.calls: list[Call] = []
        self.refusals: list[Refusal] = []
        self._transport = transport

    def create(self, *tables: Table) -> None:
        """Create tables; nothing of it is heard."""
        with self.session() as session:
            for table in tables:
                session.create_table(table)
                self.created(table)
        self.forget()

    def session(self, *faults: Fault, before: tuple[str, Callable[[], object]] | None = None) -> Session:
        """Another session; ``before=("PutItem", work)`` does something just before its first call of that kind."""
        transport = _Heard(FaultyTransport(self._transport, *faults), self, before)
        return Session(transport=transport, table_names=self.name, clock=self.clock)

    def forget(self) -> None:
        """Forget the calls heard so far."""
        self.calls.clear()
        self.refusals.clear()

    @property
    def operations(self) -> list[str]:
        """The operations called so far."""
        return [call.operation for call in self.calls]

    @property
    def reasons(self) -> list[str | None]:
        """Why the last transaction was cancelled: a code or None for each of its actions, in the order sent."""
        return [None if reason is None else reason.code for reason in self.refusals[-1].reasons]

    def sent(self, table: Table) -> list[tuple[str, str]]:
        """What the last call would do: for each of its actions its kind, and the partition key it is about."""
        call = self.calls[-1]
        actions = call.request.get("TransactItems", [{call.operation.removesuffix("Item"): call.request}])
        found = []
        for action in actions:
            ((kind, body),) = action.items()
            key = body.get("Item") or body["Key"]
            found.append((kind, str(key[table.pk.name]["S"])))
        return found

    def items(self, table: Table) -> list[dict[str, Any]]:
        """The same, with the revision of each item that has one masked as ``{"S": "*"}``: it is random."""
        items = self.raw(table)
        for item in items:
            if "_rev" in item:
                assert list(item["_rev"]) == ["S"]
                assert item["_rev"]["S"]
                item["_rev"] = {"S": "*"}
        return items

    def guards(self, table: Table) -> dict[str, str]:
        """Every guard item of a table with the keys PK and SK: its key and its owner's PK; none holds more."""
        found = {}
        for item in self.raw(table):
            if item["PK"] == item["SK"]:
                assert item.keys() == {"PK", "SK", "owner"}
                assert item["owner"]["M"].keys() == {"PK", "SK"}
                found[str(item["PK"]["S"])] = str(item["owner"]["M"]["PK"]["S"])
        return found


class _Heard:
    """A transport whose calls and refusals an engine hears."""

    def __init__(
        self, inner: Transport, engine: Engine, before: tuple[str, Callable[[], object]] | None
    ) -> None:
        self._inner = inner
        self._engine = engine
        self._before = before

    def call(self, call: Call, /) -> Reply:
        if self._before is not None and self._before[0] == call.operation:
            (_, work), self._before = self._before, None
            work()
        self._engine.calls.append(call)
        try:
            return self._inner.call(call)
        except Refusal as refusal:
            self._engine.refusals.append(refusal)
            raise
