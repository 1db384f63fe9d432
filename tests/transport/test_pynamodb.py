"""What only the default transport does: it has botocore's hooks, and one client however many threads ask."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing
from types import MappingProxyType
from typing import Any

import pytest
from botocore.session import Session as BotocoreSession

from dynaorm.errors import UsageError
from dynaorm.transport import AsyncPynamoTransport, Call, PynamoTransport
from dynaorm.transport.settings import endpoint_of
from tests.transport.each_transport import replies_to_threads
from tests.transport.unruly import Unruly

GET = Call("GetItem", {"TableName": "app", "Key": {"PK": {"S": "a"}}})


@pytest.fixture
def transport(server: Unruly) -> Iterator[PynamoTransport]:
    with closing(PynamoTransport(endpoint=server.endpoint)) as transport:
        yield transport


def test_a_transport_says_where_it_goes() -> None:
    transport = PynamoTransport(region="eu-west-1", endpoint="http://localhost:8000", profile="shop")
    assert repr(transport) == (
        "PynamoTransport(region='eu-west-1', endpoint='http://localhost:8000', profile='shop')"
    )


@pytest.mark.parametrize("kind", [PynamoTransport, AsyncPynamoTransport])
@pytest.mark.parametrize(
    "limit", [{"connect_timeout": 0}, {"read_timeout": float("nan")}, {"max_pool_connections": 0}]
)
def test_a_limit_that_ends_no_wait_is_refused(kind: Callable[..., object], limit: dict[str, float]) -> None:
    with pytest.raises(UsageError, match=f"{next(iter(limit))}="):
        kind(**limit)


def test_asynchronous_sessions_can_choose_pynamodb_too(server: Unruly) -> None:
    async def work() -> None:
        async with AsyncPynamoTransport(endpoint=server.endpoint) as transport:
            shown = f"AsyncPynamoTransport(region=None, endpoint={server.endpoint!r}, profile=None)"
            assert repr(transport) == shown
            assert await transport.call(GET) == {}
            assert transport.server == endpoint_of(server.endpoint)

    asyncio.run(work())
    assert server.requests[0].headers["user-agent"].startswith("Botocore/")


def test_a_request_says_what_sent_it(
    server: Unruly, transport: PynamoTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    transport.call(GET)
    agent = server.requests[0].headers["user-agent"].split()
    assert agent[0].startswith("Botocore/")
    assert "lib/dynaorm" in agent
    transport.close()
    monkeypatch.setenv("AWS_SDK_UA_APP_ID", "shop")
    transport.call(GET)
    # Other libraries of the process (Powertools) add words of their own.
    named = server.requests[1].headers["user-agent"].split()
    assert [word for word in named if word != "app/shop"] == agent
    assert "app/shop" in named


def test_a_request_is_left_as_it_was(server: Unruly, transport: PynamoTransport) -> None:
    request = {"TableName": "app", "Key": {"PK": {"S": "a"}}}
    transport.call(Call("GetItem", MappingProxyType(request)))
    assert server.requests[0].content == request == {"TableName": "app", "Key": {"PK": {"S": "a"}}}


def test_eight_threads_at_a_cold_transport_make_one_client(
    server: Unruly, transport: PynamoTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    create_client = BotocoreSession.create_client

    def counted(session: BotocoreSession, service: str, *args: Any, **options: Any) -> Any:
        made.append(service)
        return create_client(session, service, *args, **options)

    monkeypatch.setattr(BotocoreSession, "create_client", counted)
    assert replies_to_threads(transport, GET) == [{}] * 8
    assert made == ["dynamodb"]
