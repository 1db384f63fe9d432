"""The transport that tests take to a DynamoDB in another process is the one the environment names."""

import asyncio
import socket
from collections.abc import Callable

import pytest

from dynaorm.errors import UsageError
from dynaorm.session.settings import close_async_transport
from dynaorm.testing.ministack import async_transport_to, transport_to
from dynaorm.transport import (
    AsyncDirectTransport,
    AsyncPynamoTransport,
    Call,
    DirectTransport,
    PynamoTransport,
)
from dynaorm.transport.asynchronous import AsyncDefaultTransport
from dynaorm.transport.default import DefaultTransport

LIST = Call("ListTables", {})


@pytest.mark.parametrize(
    ("named", "kind", "async_kind"),
    [
        (None, DefaultTransport, AsyncDefaultTransport),
        ("", DefaultTransport, AsyncDefaultTransport),
        ("default", DefaultTransport, AsyncDefaultTransport),
        ("pynamodb", PynamoTransport, AsyncPynamoTransport),
        ("direct", DirectTransport, AsyncDirectTransport),
    ],
)
def test_the_environment_names_the_transport_and_it_gets_there(
    named: str | None,
    kind: type,
    async_kind: type,
    ministack_endpoint: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("DYNAORM_TRANSPORT", raising=False)
    if named is not None:
        monkeypatch.setenv("DYNAORM_TRANSPORT", named)
    transport, async_transport = transport_to(ministack_endpoint), async_transport_to(ministack_endpoint)
    assert (type(transport), type(async_transport)) == (kind, async_kind)
    assert "TableNames" in transport.call(LIST)
    transport.close()

    async def ask() -> None:
        assert "TableNames" in await async_transport.call(LIST)
        await close_async_transport(async_transport)

    asyncio.run(ask())


@pytest.mark.parametrize("make", [transport_to, async_transport_to])
def test_a_name_that_no_transport_has_is_refused(
    make: Callable[[str], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DYNAORM_TRANSPORT", "urllib3")
    with pytest.raises(UsageError, match=r"DYNAORM_TRANSPORT is 'urllib3'.*default, direct or pynamodb"):
        make("http://127.0.0.1:1")


@pytest.mark.parametrize("make", [transport_to, async_transport_to])
def test_an_endpoint_that_never_answers_is_told_before_the_first_request(make: Callable[..., object]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(
            UsageError,
            match=rf"nothing answers at {url} within 0.1 seconds .*TimeoutError.*--dynaorm-endpoint",
        ):
            make(url, greeting=0.1)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1", "somewhere", "http://[", "gopher://127.0.0.1", "me:secret@host"]
)
def test_where_no_server_is_nothing_answers(url: str) -> None:
    with pytest.raises(UsageError, match="nothing answers at ") as caught:
        transport_to(url)
    assert "secret" not in str(caught.value)
