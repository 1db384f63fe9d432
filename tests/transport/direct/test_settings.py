"""Both direct transports are made alike, and leave to botocore a proxy that is itself encrypted."""

import warnings

import pytest
from moto import mock_aws

from dynaorm.errors import UsageError
from dynaorm.transport import AsyncDirectTransport, Call, DirectTransport, NoAnswer
from tests.transport.each_transport import TRANSPORTS
from tests.transport.unruly import Unruly


@pytest.mark.parametrize("kind", [DirectTransport, AsyncDirectTransport])
def test_a_transport_says_where_it_goes(kind: type[DirectTransport | AsyncDirectTransport]) -> None:
    transport = kind("eu-west-1", "http://localhost:8000", "shop", timeout=2, pool_size=3)
    assert repr(transport) == (
        f"{kind.__name__}(region='eu-west-1', endpoint='http://localhost:8000', profile='shop')"
    )
    assert (transport.timeout, transport.connect_timeout, transport.pool_size) == (2, 5, 3)
    with pytest.raises(UsageError, match="give a number above 0, at most 1,000,000"):
        kind(timeout=0)


@pytest.mark.parametrize("kind", ["direct", "async"])
def test_through_a_proxy_that_is_itself_encrypted_calls_go_over_the_default_transport(
    kind: str, server: Unruly, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "https://proxy.invalid:3128")
    transport = TRANSPORTS[kind](endpoint=server.endpoint)
    with (
        pytest.warns(UserWarning, match=r"https://proxy\.invalid:3128 is not one of plain HTTP"),
        pytest.raises(NoAnswer, match="ProxyConnectionError"),
    ):
        transport.call(Call("ListTables", {}))
    with warnings.catch_warnings(), pytest.raises(NoAnswer):
        transport.call(Call("ListTables", {}))
    transport.close()


@pytest.mark.parametrize("kind", ["direct", "async"])
def test_under_moto_nothing_is_sent_to_the_real_aws(
    kind: str, server: Unruly, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", server.endpoint)  # a request to AWS would arrive here
    transport, local = TRANSPORTS[kind](region="eu-west-1"), TRANSPORTS[kind](endpoint=server.endpoint)
    with mock_aws():
        for _ in range(2):
            with pytest.raises(
                UsageError, match=r"nothing was sent to dynamodb\.eu-west-1\.amazonaws\.com; test over"
            ):
                transport.call(Call("ListTables", {}))
        assert server.requests == []
        assert local.call(Call("ListTables", {})) == {}
    with pytest.raises(NoAnswer):  # the server is no proxy
        transport.call(Call("ListTables", {}))
    assert [request.line.split()[0] for request in server.requests] == ["POST", "CONNECT"]
    transport.close()
    local.close()
