"""A strict moto for all laws."""

from collections.abc import Iterator
from typing import Any

import pytest

from dynaorm.flow.protocol.call import Call, Transport
from dynaorm.item.json_body import Body, encode_body
from dynaorm.testing.moto_engine import strict_moto
from dynaorm.transport.pynamodb import PynamoTransport


@pytest.fixture(scope="module")
def engine(credentials: None) -> Iterator[Transport]:
    """The way to a DynamoDB in this process."""
    with strict_moto():
        transport = PynamoTransport(region="eu-west-1")
        yield transport
        transport.close()


class AsBytes:
    """Gives every answer as the bytes of its body, as the direct transports do."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    def call(self, call: Call, /) -> Any:
        return Body(encode_body(self._inner.call(call)))


@pytest.fixture(scope="module", params=[False, True], ids=["items", "bytes"])
def transport(engine: Transport, request: pytest.FixtureRequest) -> Transport:
    """Answers as dicts, and as bytes, which take another way through the code."""
    return AsBytes(engine) if request.param else engine
