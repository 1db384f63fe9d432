"""A strict moto for all laws."""

from collections.abc import Iterator

import pytest

from dynaorm.flow.protocol.call import Transport
from dynaorm.testing.moto_engine import strict_moto
from dynaorm.transport.pynamodb import PynamoTransport


@pytest.fixture(scope="module")
def engine(credentials: None) -> Iterator[Transport]:
    """The way to a DynamoDB in this process."""
    with strict_moto():
        transport = PynamoTransport(region="eu-west-1")
        yield transport
        transport.close()
