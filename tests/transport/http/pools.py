"""The pools that one test is run over: for threads, and for event loops that run during calls only."""

import asyncio
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

import pytest

from dynaorm.transport import NoAnswer
from dynaorm.transport.http.async_connection import AsyncConnectionPool
from dynaorm.transport.http.connection import ConnectionPool
from dynaorm.transport.http.credentials import FixedCredentials
from dynaorm.transport.http.destination import Destination
from dynaorm.transport.http.exchange import SignedRequest, Signer
from dynaorm.transport.http.http_answer import HttpAnswer
from dynaorm.transport.http.limits import Limits
from dynaorm.transport.http.route import Route, route_to
from dynaorm.transport.settings import endpoint_of, proxy_of
from tests.transport.unruly import response

KEYS = FixedCredentials("KEY", "secret")


class Pool(Protocol):
    """A pool of connections."""

    def send(self, request: SignedRequest) -> HttpAnswer: ...

    def close(self) -> None: ...


NewLoop: TypeAlias = Callable[[], asyncio.AbstractEventLoop]

LOOPS: Final[dict[str, NewLoop]] = {"async": asyncio.new_event_loop}
if sys.platform != "win32":
    import uvloop

    LOOPS["uvloop"] = uvloop.new_event_loop


class AsyncPoolInTurn:
    """The pool of an event loop for a synchronous test."""

    def __init__(self, new_loop: NewLoop, route: Route, limits: Limits) -> None:
        self._runner = asyncio.Runner(loop_factory=new_loop)
        self._pool = AsyncConnectionPool(route, limits)

    def send(self, request: SignedRequest) -> HttpAnswer:
        return self._runner.run(self._pool.send(request))

    def close(self) -> None:
        self._runner.run(self._pool.close())
        self._runner.close()


POOLS: dict[str, Callable[[Route, Limits], Pool]] = {
    "threads": ConnectionPool,
    **{name: partial(AsyncPoolInTurn, new_loop) for name, new_loop in LOOPS.items()},
}

OpenPool: TypeAlias = Callable[..., Pool]


def route_of(url: str, ca_bundle: Path | None = None) -> Route:
    """The route to an endpoint, through the environment's proxy."""
    endpoint = endpoint_of(url)
    bundle = None if ca_bundle is None else str(ca_bundle)
    return route_to(Destination(endpoint, "us-east-1", KEYS, bundle, proxy_of(endpoint)))


def limits(**changed: Any) -> Limits:
    """Limits that no test reaches, but for some."""
    return Limits(**{"timeout": 10.0, "connect_timeout": 10.0, "pool_size": 10, **changed})


def request(body: bytes = b"{}") -> SignedRequest:
    """A signed request with this body."""
    return Signer(endpoint_of("http://localhost"), "us-east-1").sign("GetItem", body, KEYS, 1.7e9)


CONTENT = {"Item": {"PK": {"S": "a" * 100}}}
BODY = response(CONTENT).partition(b"\r\n\r\n")[2]
ANOTHERS = response({"Item": {"PK": {"S": "another's"}}})


def send(pool: Pool, body: bytes = b"{}") -> HttpAnswer:
    """The answer to a request with this body."""
    return pool.send(request(body))


def silence(pool: Pool, body: bytes = b"{}") -> NoAnswer:
    """Why a request with this body has none."""
    with pytest.raises(NoAnswer) as caught:
        send(pool, body)
    return caught.value
