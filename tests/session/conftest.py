"""A strict moto, one for each module and emptied for each test, and what was sent to it."""

from collections.abc import Iterator

import pytest

from dynaorm.flow.protocol.call import Call, Transport
from dynaorm.testing.clock import FakeClock
from dynaorm.testing.faults import FaultyTransport
from dynaorm.testing.moto_engine import strict_moto
from dynaorm.transport.pynamodb import PynamoTransport


@pytest.fixture
def clock() -> FakeClock:
    """The time of a test's sessions."""
    return FakeClock()


@pytest.fixture(scope="module")
def engine(credentials: None) -> Iterator[Transport]:
    """The way to a DynamoDB in this process."""
    with strict_moto():
        transport = PynamoTransport(region="eu-west-1")
        yield transport
        transport.close()


@pytest.fixture
def moto(engine: Transport) -> Iterator[Transport]:
    """The same, empty."""
    yield engine
    for name in engine.call(Call("ListTables", {}))["TableNames"]:
        engine.call(Call("DeleteTable", {"TableName": name}))


@pytest.fixture
def wire(moto: Transport) -> FaultyTransport:
    """The same, remembering every call; without faults."""
    return FaultyTransport(moto)
