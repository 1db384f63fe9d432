"""How connections reach a destination: which host to connect to, through which proxy, and what TLS must verify."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from dynaorm.record import record
from dynaorm.transport.http.certificates import ssl_context
from dynaorm.transport.http.destination import Destination
from dynaorm.transport.http.exchange import SignedRequest
from dynaorm.transport.http.http_answer import HttpAnswer

if TYPE_CHECKING:
    import ssl


@record
class Route:
    """What every connection to one destination has in common.

    Messages are views, because the ``repr`` of bytes would show credentials in a traceback.

    Attributes:
        name: the endpoint's host and port, for messages.
        host: the host to connect to: the proxy's if there is one.
        port: its port.
        tls: what TLS verifies; None without TLS.
        tls_host: the name that the server's certificate must have.
        connect: the CONNECT request that opens a tunnel through a proxy; empty without a tunnel.
        target: the target of a request's first line.
        extra: header lines for a proxy that reads the requests.
        keeps_alive: whether idle connections send TCP's own probes.
    """

    name: str
    host: str
    port: int
    tls: ssl.SSLContext | None
    tls_host: str
    connect: memoryview = field(repr=False)
    target: str
    extra: str = field(repr=False)
    keeps_alive: bool

    def message(self, request: SignedRequest) -> memoryview:
        """A request as it is sent."""
        return memoryview(request.message(self.target, self.extra))


def route_to(destination: Destination) -> Route:
    """The route to a destination. Raises UsageError if its certificates cannot be read."""
    endpoint, proxy = destination.endpoint, destination.proxy
    # First, because it may raise an error: no local variable has the proxy's password yet.
    tls = ssl_context(destination.ca_bundle) if endpoint.is_secure else None
    host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
    authorization = f"Proxy-Authorization: {proxy.authorization}\r\n" if proxy and proxy.authorization else ""
    target, connect, extra = endpoint.path, "", ""
    if proxy is not None and endpoint.is_secure:
        connect = (
            f"CONNECT {host}:{endpoint.port} HTTP/1.1\r\nHost: {host}:{endpoint.port}\r\n{authorization}\r\n"
        )
    elif proxy is not None:
        target, extra = endpoint.url, authorization
    return Route(
        name=endpoint.authority,
        host=(proxy or endpoint).host,
        port=(proxy or endpoint).port,
        tls=tls,
        tls_host=endpoint.host,
        connect=memoryview(connect.encode("ascii")),
        target=target,
        extra=extra,
        keeps_alive=destination.keeps_alive,
    )


def check_tunnel(answer: HttpAnswer) -> None:
    """Raise ConnectionError unless the proxy has opened the tunnel."""
    if not 200 <= answer.status < 300:
        raise ConnectionError(f"the proxy answered CONNECT with HTTP {answer.status}")
