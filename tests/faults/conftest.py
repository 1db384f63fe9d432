"""A DynamoDB whose answers can be lost: sessions with faults below them, and AWS's own client beside them."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import botocore.session
import pytest

from dynaorm import Plan, Retry, Session, Table
from dynaorm.errors import OutcomeUnknown
from dynaorm.flow.protocol.call import Call, Reply, Transport
from dynaorm.testing.clock import FakeClock
from dynaorm.testing.endpoint import transport_to
from dynaorm.testing.faults import Fault, FaultyTransport
from dynaorm.testing.moto_engine import strict_moto
from dynaorm.transport.pynamodb import PynamoTransport

REGION = "us-east-1"


class Line(NamedTuple):
    """A session, and the wire below it: its ``calls`` are all that was sent, also what was lost."""

    session: Session
    wire: FaultyTransport


class Store:
    """One DynamoDB, and the clock of everybody who talks to it."""

    def __init__(
        self, transport: Transport, client: Any, clock: FakeClock, name: Callable[[str], str]
    ) -> None:
        self.transport = transport
        self.client = client
        self.clock = clock
        self.name = name
        self._created: list[str] = []

    def create(self, *tables: Table) -> None:
        for table in tables:
            self.line().session.create_table(table)
            self._created.append(self.name(table.name))

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

    def items(self, table: Table) -> list[dict[str, Any]]:
        """Every item as stored, in the order of their keys."""
        found = self.client.scan(TableName=self.name(table.name), ConsistentRead=True)["Items"]
        return sorted(found, key=lambda item: [str(item[name]) for name in table.key_names])

    def keys(self, table: Table) -> list[str]:
        """The partition and sort key of every item, as ``"USER#1 PROFILE"``."""
        return [" ".join(item[name]["S"] for name in table.key_names) for item in self.items(table)]

    def put(self, table: Table, **item: Any) -> None:
        """Store an item by hand."""
        self.client.put_item(TableName=self.name(table.name), Item=item)

    def remove(self, table: Table, partition: str, sort: str) -> None:
        """Delete an item by hand, as TTL or a console does."""
        key = dict(zip(table.key_names, ({"S": partition}, {"S": sort}), strict=True))
        self.client.delete_item(TableName=self.name(table.name), Key=key)

    def close(self) -> None:
        for name in self._created:
            self.client.delete_table(TableName=name)


def aws_client(endpoint: str | None) -> Any:
    return botocore.session.get_session().create_client("dynamodb", region_name=REGION, endpoint_url=endpoint)


@pytest.fixture(scope="session")
def moto_line(credentials: None) -> Iterator[tuple[Transport, Any]]:
    """A transport and AWS's client, made once: they reach whatever moto answers at the time."""
    transport, client = PynamoTransport(region=REGION), aws_client(None)
    yield transport, client
    transport.close()
    client.close()


@pytest.fixture(scope="session")
def ministack_line(ministack_endpoint: str) -> Iterator[tuple[Transport, Any]]:
    transport, client = transport_to(ministack_endpoint), aws_client(ministack_endpoint)
    yield transport, client
    transport.close()
    client.close()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def moto_store(clock: FakeClock, moto_line: tuple[Transport, Any]) -> Iterator[Store]:
    with strict_moto(clock=clock):
        yield Store(*moto_line, clock, str)


@pytest.fixture
def ministack_store(
    clock: FakeClock, ministack_line: tuple[Transport, Any], unique_name: Callable[[str], str]
) -> Iterator[Store]:
    store = Store(*ministack_line, clock, unique_name)
    yield store
    store.close()


@pytest.fixture(params=["moto_store", "ministack_store"])
def store(request: pytest.FixtureRequest) -> Store:
    """Either engine."""
    found: Store = request.getfixturevalue(request.param)
    return found
