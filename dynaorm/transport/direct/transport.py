"""The direct transport: one attempt per call over connections of our own, without botocore on the way.

It costs a fraction of the default transport's CPU time. What it does not have are botocore's hooks: no event
handlers, and moto's in-process mock does not see its calls.
"""

import threading
import warnings
from typing import TYPE_CHECKING, Protocol, Self

from dynaorm.errors import UsageError
from dynaorm.flow.protocol.call import Call, Reply
from dynaorm.late import late
from dynaorm.transport.direct.connection import ConnectionPool
from dynaorm.transport.direct.destination import Destination, find_destination
from dynaorm.transport.direct.exchange import Exchange
from dynaorm.transport.direct.proxy import Proxy

if TYPE_CHECKING:
    from dynaorm.transport import pynamodb
else:
    late(globals(), pynamodb="dynaorm.transport.pynamodb")


class DirectTransport:
    """Carries calls to DynamoDB over a pool of connections that threads may share.

    Nothing is opened or read from the environment before the first call. Credentials, region, endpoint, proxy and CA
    bundle are found as botocore finds them; credentials that expire are refreshed by it.

    Args:
        region: the AWS region; without it ``AWS_REGION``, ``AWS_DEFAULT_REGION``, then the profile's own;
            beside an endpoint, ``us-east-1``.
        endpoint: the URL of a DynamoDB that is not AWS's own for the region, such as an emulator.
        profile: the profile of the AWS configuration files to take credentials and region from.
        timeout: seconds in which the answer, or the next 64 KB of it, must come. AWS asks for at least one second
            with TransactWriteItems.
        connect_timeout: seconds to wait for a connection.
        pool_size: how many connections to keep open; more threads than this open short-lived ones.

    Raises:
        UsageError: a number that makes no sense.

    Example::

        with DirectTransport(region="eu-west-1") as transport, Session(transport=transport) as session: ...
    """

    def __init__(
        self,
        region: str | None = None,
        endpoint: str | None = None,
        profile: str | None = None,
        *,
        timeout: float = 10.0,
        connect_timeout: float = 5.0,
        pool_size: int = 50,
    ) -> None:
        check_limits(timeout, connect_timeout, pool_size)
        self.region = region
        self.endpoint = endpoint
        self.profile = profile
        self.timeout = timeout
        self.connect_timeout = connect_timeout
        self.pool_size = pool_size
        self._opening = threading.Lock()
        self._opened: _Opened | None = None

    def __repr__(self) -> str:
        return (
            f"DirectTransport(region={self.region!r}, endpoint={self.endpoint!r}, profile={self.profile!r})"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call(self, call: Call, /) -> Reply:
        """Make one attempt, and give DynamoDB's reply in its low-level form, binary values as bytes.

        Raises:
            Refusal: DynamoDB answered with an error of its own (HTTP 4xx).
            NoAnswer: a timeout, a dropped connection, a damaged reply, or HTTP 5xx.
            UsageError: no AWS region is known.
        """
        return (self._opened or self._open()).call(call)

    def close(self) -> None:
        """Close the pooled connections. A later call opens new ones."""
        with self._opening:
            opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()

    def _open(self) -> "_Opened":
        with self._opening:
            if self._opened is None:
                destination = find_destination(self.region, self.endpoint, self.profile)
                if can_go_through(destination.proxy):
                    self._opened = _Direct(destination, self)
                else:
                    self._opened = pynamodb.PynamoTransport(
                        region=self.region,
                        endpoint=self.endpoint,
                        profile=self.profile,
                        connect_timeout=self.connect_timeout,
                        read_timeout=self.timeout,
                        max_pool_connections=self.pool_size,
                    )
            return self._opened


def check_limits(timeout: float, connect_timeout: float, pool_size: int) -> None:
    """Raise UsageError for numbers that make no sense."""
    if timeout <= 0 or connect_timeout <= 0 or pool_size < 1:
        raise UsageError(
            problem=f"{timeout=}, {connect_timeout=}, {pool_size=} cannot be kept",
            remedy="use timeouts above 0 and a pool_size of at least 1",
        )


def can_go_through(proxy: Proxy | None) -> bool:
    """Whether there is no proxy, or one that is spoken to in plain HTTP. Warns where there is another."""
    if proxy is None or proxy.scheme == "http":
        return True
    warnings.warn(
        f"the proxy {proxy.url} is not one of plain HTTP: calls go over the default transport, which is slower; "
        "set HTTPS_PROXY to an http:// URL (what goes through it is encrypted all the same), or NO_PROXY",
        stacklevel=4,
    )
    return False


class _Opened(Protocol):
    def call(self, call: Call, /) -> Reply: ...

    def close(self) -> None: ...


class _Direct:
    def __init__(self, destination: Destination, limits: DirectTransport) -> None:
        self._credentials = destination.credentials
        self._exchange = Exchange(destination)
        self._pool = ConnectionPool(
            destination,
            timeout=limits.timeout,
            connect_timeout=limits.connect_timeout,
            size=limits.pool_size,
        )

    def call(self, call: Call, /) -> Reply:
        request = self._exchange.request(call, self._credentials.get_frozen_credentials())
        answer = self._pool.send(request)
        return self._exchange.reply(request, answer.status, answer.headers, answer.body)

    def close(self) -> None:
        self._pool.close()
