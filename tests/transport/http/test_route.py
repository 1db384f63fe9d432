"""The way to a destination: straight, through a proxy that reads, or through a tunnel."""

import pytest

from dynaorm.transport.http.destination import Destination
from dynaorm.transport.http.http_answer import HttpAnswer
from dynaorm.transport.http.route import Route, check_tunnel, route_to
from dynaorm.transport.settings import Proxy, endpoint_of
from tests.transport.http.pools import KEYS, request

PROXY = Proxy("http://p:3128", "http", "p", 3128, "Basic QUJD")


def route(url: str, proxy: Proxy | None) -> Route:
    return route_to(Destination(endpoint_of(url), "us-east-1", KEYS, None, proxy))


@pytest.mark.parametrize(
    ("url", "proxy", "first", "connect", "target", "extra"),
    [
        ("http://a/x", None, ("a", 80), b"", "/x", ""),
        ("https://a", None, ("a", 443), b"", "/", ""),
        ("http://a/x", PROXY, ("p", 3128), b"", "http://a/x", "Proxy-Authorization: Basic QUJD\r\n"),
        (
            "https://[::1]:8443/x",
            PROXY,
            ("p", 3128),
            b"CONNECT [::1]:8443 HTTP/1.1\r\nHost: [::1]:8443\r\nProxy-Authorization: Basic QUJD\r\n\r\n",
            "/x",
            "",
        ),
    ],
)
def test_where_to_connect_and_what_to_say(
    url: str, proxy: Proxy | None, first: tuple[str, int], connect: bytes, target: str, extra: str
) -> None:
    found = route(url, proxy)
    assert ((found.host, found.port), bytes(found.connect), found.target, found.extra) == (
        first,
        connect,
        target,
        extra,
    )
    assert (found.tls is not None) is url.startswith("https")
    assert bytes(found.message(request())).startswith(f"POST {target} HTTP/1.1\r\n".encode())


def test_a_tunnel_that_the_proxy_refuses_is_an_error() -> None:
    check_tunnel(HttpAnswer(200, {}, b"", False))
    for status in (302, 407, 502):
        with pytest.raises(ConnectionError, match=f"HTTP {status}"):
            check_tunnel(HttpAnswer(status, {}, b"", False))
