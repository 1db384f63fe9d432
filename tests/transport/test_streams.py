"""Calls to DynamoDB Streams, over every transport: replies, refusals, and what is never sent."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dynaorm import AsyncSession, Entity, Session, Table, tools
from dynaorm.errors import UsageError
from dynaorm.transport import (
    AsyncDirectTransport,
    Call,
    DirectTransport,
    NoAnswer,
    PynamoTransport,
    Refusal,
    Transport,
)
from dynaorm.transport.pynamodb import StreamsTransport

app = Table("streamed", stream="NEW_AND_OLD_IMAGES")
NO_STREAM = "arn:aws:dynamodb:us-east-1:000000000000:table/none/stream/2024-01-01T00:00:00.000"


class Thing(Entity, table=app, pk="THING#{name}", sk="T"):
    name: str
    photo: bytes = b""


@pytest.fixture(scope="module")
def server(ministack_endpoint: str) -> Iterator[str]:
    with Session(endpoint=ministack_endpoint) as session:
        session.create_table(app)
        session.save(Thing(name="a", photo=b"\x00\xff"))
    yield ministack_endpoint
    PynamoTransport(endpoint=ministack_endpoint).call(Call("DeleteTable", {"TableName": app.name}))


TRANSPORTS: list[Callable[..., Any]] = [PynamoTransport, DirectTransport]


@pytest.mark.parametrize("kind", TRANSPORTS)
def test_a_session_follows_over_every_transport(server: str, kind: Callable[..., Any]) -> None:
    transport = kind(endpoint=server)
    with Session(transport=transport) as session:
        (change,) = tools.follow(session, app, idle=0)
        assert change == next(tools.follow(session, app, idle=0))
    transport.close()
    with Session(transport=transport) as session:
        assert [one.new for one in tools.follow(session, app, idle=0)] == [Thing(name="a", photo=b"\x00\xff")]  # type: ignore[union-attr]  # one insert
    transport.close()


@pytest.mark.parametrize("is_direct", [True, False])
def test_an_asynchronous_session_follows_over_every_transport(server: str, is_direct: bool) -> None:
    async def names() -> list[str]:
        if not is_direct:
            async with AsyncSession(endpoint=server) as session:
                return [str(one.key.fields["name"]) async for one in tools.follow(session, app, idle=0)]
        async with (
            AsyncDirectTransport(endpoint=server) as transport,
            AsyncSession(transport=transport) as session,
        ):
            return [str(one.key.fields["name"]) async for one in tools.follow(session, app, idle=0)]

    assert asyncio.run(names()) == ["a"]


@pytest.mark.parametrize("kind", TRANSPORTS)
def test_an_error_of_dynamodb_streams_is_a_refusal(server: str, kind: Callable[..., Any]) -> None:
    transport: Transport = kind(endpoint=server)
    with pytest.raises(Refusal) as caught:
        transport.call(Call("DescribeStream", {"StreamArn": NO_STREAM}))
    assert caught.value.code == "ResourceNotFoundException"


@pytest.mark.parametrize("kind", TRANSPORTS)
def test_a_server_that_is_not_there_got_nothing(kind: Callable[..., Any]) -> None:
    transport: Transport = kind(endpoint="http://127.0.0.1:9", region="eu-west-1")
    with pytest.raises(NoAnswer) as caught:
        transport.call(Call("DescribeStream", {"StreamArn": NO_STREAM}))
    assert not caught.value.sent


@pytest.mark.parametrize("kind", TRANSPORTS)
def test_a_wrong_endpoint_is_a_usage_error(kind: Callable[..., Any]) -> None:
    with pytest.raises(UsageError, match="is not an endpoint of DynamoDB"):
        kind(endpoint="nowhere", region="eu-west-1").call(Call("DescribeStream", {"StreamArn": NO_STREAM}))


def test_without_credentials_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    transport = StreamsTransport("eu-west-1", "http://127.0.0.1:9", None, (1, 1))
    with pytest.raises(UsageError, match="Unable to locate credentials"):
        transport.call(Call("DescribeStream", {"StreamArn": NO_STREAM}))
    transport.close()


def test_a_transport_that_sent_nothing_closes() -> None:
    StreamsTransport("eu-west-1", None, None, (1, 1)).close()
