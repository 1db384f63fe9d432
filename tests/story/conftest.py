"""Two DynamoDBs to tell a story on: raw items come from AWS's own client, and every call a session makes is heard.

The engines are strict moto, in this process, and ministack, in another. Sessions read a clock of the test's own.
"""

from collections.abc import Callable, Iterator
from typing import Any

import botocore.session
import pytest

from dynaorm import Session, Table
from dynaorm.flow.protocol.call import Call, Refusal, Reply, Transport
from dynaorm.testing.clock import FakeClock
from dynaorm.testing.endpoint import transport_to
from dynaorm.testing.faults import Fault, FaultyTransport
from dynaorm.testing.moto_engine import strict_moto
from dynaorm.transport.direct.transport import DirectTransport
from dynaorm.transport.pynamodb import PynamoTransport

REGION = "us-east-1"


class Engine:
    """One DynamoDB, and what a story needs of it.

    Attributes:
        client: AWS's own low-level client, which knows nothing of dynaorm.
        clock: the time of every session.
        calls: the calls of all sessions, in order.
        refusals: what DynamoDB refused of them.
    """

    def __init__(
        self, transport: Transport, client: Any, clock: FakeClock, name: Callable[[str], str]
    ) -> None:
        self.client = client
        self.clock = clock
        self.calls: list[Call] = []
        self.refusals: list[Refusal] = []
        self.name = name
        self._transport = transport
        self._tables: list[str] = []

    def create(self, *tables: Table) -> None:
        """Create tables; nothing of it is heard."""
        with self.session() as session:
            for table in tables:
                session.create_table(table)
                self._tables += dict.fromkeys([self.name(table.name), self.name(table.guards.name)])
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

    def raw(self, table: Table) -> list[dict[str, Any]]:
        """Every item of a table exactly as stored, in the order of their keys."""
        found = self.client.scan(TableName=self.name(table.name), ConsistentRead=True)["Items"]
        return sorted(found, key=lambda item: [str(item[key.name]) for key in table.keys])

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

    def put(self, table: Table, **item: Any) -> None:
        """Store an item by hand."""
        self.client.put_item(TableName=self.name(table.name), Item=item)

    def drop(self) -> None:
        """Delete the tables created here."""
        for name in dict.fromkeys(self._tables):
            self.client.delete_table(TableName=name)
        self.client.close()


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


# Made once, because it reads the service's description; moto was imported before it and answers its clients.
_AWS = botocore.session.get_session()


def _client(endpoint: str | None) -> Any:
    return _AWS.create_client("dynamodb", region_name=REGION, endpoint_url=endpoint)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(jitter=0.0)


@pytest.fixture
def moto(clock: FakeClock) -> Iterator[Engine]:
    """Strict moto in this process: tables and tokens have the very names of the documents."""
    with strict_moto(clock=clock):
        transport = PynamoTransport(region=REGION)
        engine = Engine(transport, _client(None), clock, str)
        yield engine
        engine.drop()
        transport.close()


@pytest.fixture
def ministack(
    ministack_endpoint: str, clock: FakeClock, unique_name: Callable[[str], str]
) -> Iterator[Engine]:
    """Ministack in another process, shared with other tests: tables and tokens have names of this test's own."""
    yield from _on_ministack(transport_to(ministack_endpoint), ministack_endpoint, clock, unique_name)


@pytest.fixture
def direct(ministack_endpoint: str, clock: FakeClock, unique_name: Callable[[str], str]) -> Iterator[Engine]:
    """The same over the direct transport."""
    transport = DirectTransport(endpoint=ministack_endpoint)
    yield from _on_ministack(transport, ministack_endpoint, clock, unique_name)


def _on_ministack(
    transport: DirectTransport | PynamoTransport,
    endpoint: str,
    clock: FakeClock,
    name: Callable[[str], str],
) -> Iterator[Engine]:
    engine = Engine(transport, _client(endpoint), clock, name)
    yield engine
    engine.drop()
    transport.close()


# What is told over both transports in every run; with DYNAORM_TRANSPORT=direct, everything on ministack is.
_OVER_BOTH = {
    "test_people",
    "test_sort_key_conditions",
    "test_unique_constraints",
    "test_versions",
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tell a story on either engine."""
    if "engine" in metafunc.fixturenames:
        direct = ["direct"] if metafunc.module.__name__.rpartition(".")[2] in _OVER_BOTH else []
        metafunc.parametrize("engine", ["moto", "ministack", *direct], indirect=True)


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Engine:
    """One of them."""
    found: Engine = request.getfixturevalue(request.param)
    return found
