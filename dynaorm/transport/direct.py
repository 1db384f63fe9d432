"""The direct transport: one attempt per call over connections of our own, without botocore."""

from __future__ import annotations

import threading
import warnings
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

from dynaorm.argument import check_texts
from dynaorm.errors import UsageError
from dynaorm.flow.call import Call, Reply
from dynaorm.late import late
from dynaorm.transport.answer import STREAM_READS
from dynaorm.transport.botocore_hooks import moto_is_active
from dynaorm.transport.http.connection import ConnectionPool
from dynaorm.transport.http.credentials import GivenCredentials, checked_credentials
from dynaorm.transport.http.destination import Destination, find_destination
from dynaorm.transport.http.exchange import RequestCodec
from dynaorm.transport.http.limits import Limits
from dynaorm.transport.http.route import route_to
from dynaorm.transport.process import NotPicklable, prepared, register
from dynaorm.transport.settings import Endpoint, without_password

# What both direct transports are made with: where to send to, and limits.

if TYPE_CHECKING:
    from dynaorm.transport import pynamodb
else:
    late(
        globals(),
        pynamodb="dynaorm.transport.pynamodb",
    )


# How the host names of AWS's own endpoints end (partitions.json of the AWS SDKs).
_OF_AWS: Final = (".amazonaws.com", ".amazonaws.com.cn", ".amazonaws.eu", ".api.aws")


class DirectSettings(NotPicklable):
    """The arguments of a direct transport. Nothing is read from the environment before ``find_destination``."""

    _opened: Any = None
    """What carries the calls; None before the first."""

    def __init__(
        self,
        region: str | None = None,
        endpoint: str | None = None,
        profile: str | None = None,
        *,
        credentials: GivenCredentials | None = None,
        timeout: float = 10.0,
        connect_timeout: float = 5.0,
        pool_size: int = 50,
    ) -> None:
        check_texts(region=region, endpoint=endpoint, profile=profile)
        self._opening = threading.Lock()
        self._stream_transport: pynamodb.StreamsTransport | None = None
        self._server: Endpoint | None = None
        self._limits = Limits(timeout, connect_timeout, pool_size)
        self._credentials = checked_credentials(credentials)
        self.region = region
        self.endpoint = endpoint
        self.profile = profile
        self.timeout = timeout
        self.connect_timeout = connect_timeout
        self.pool_size = pool_size
        register(self)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(region={self.region!r}, endpoint={without_password(self.endpoint)!r}, "
            f"profile={self.profile!r})"
        )

    @property
    def server(self) -> Endpoint | None:
        """The server that requests are sent to; None before the first call."""
        return self._server

    def reset_after_fork(self) -> object:
        """Find the destination anew with the next call, and open connections of this process."""
        self._opening = threading.Lock()
        opened, self._opened = self._opened, None
        return opened

    @property
    def _streams(self) -> pynamodb.StreamsTransport:
        """The transport for calls to DynamoDB Streams."""
        with self._opening:
            if self._stream_transport is None:
                timeouts = (self.connect_timeout, self.timeout)
                self._stream_transport = pynamodb.StreamsTransport(
                    self.region, self.endpoint, self.profile, timeouts, credentials=self._credentials
                )
            return self._stream_transport

    def _find_destination(self) -> Destination | pynamodb.PynamoTransport:
        """The destination; the transport over pynamodb where a proxy is in the way that only botocore can talk to."""
        destination = find_destination(self.region, self.endpoint, self.profile, self._credentials)
        _refuse_under_moto(destination.endpoint.host)
        self._server = destination.endpoint
        if destination.proxy is None or destination.proxy.scheme == "http":
            return destination
        warnings.warn(
            f"the proxy {destination.proxy.url} is not one of plain HTTP: calls go over pynamodb and botocore, which "
            "is slower; set HTTPS_PROXY to an http:// URL (requests stay encrypted through it), or NO_PROXY",
            stacklevel=5,
        )
        return self._over_pynamodb()

    def _over_pynamodb(self) -> pynamodb.PynamoTransport:
        return pynamodb.PynamoTransport(
            region=self.region,
            endpoint=self.endpoint,
            profile=self.profile,
            credentials=self._credentials,
            connect_timeout=self.connect_timeout,
            read_timeout=self.timeout,
            max_pool_connections=self.pool_size,
        )


def _refuse_under_moto(host: str) -> None:
    """Raise UsageError if moto mocks AWS in this process, and requests would go to the real one."""
    if host.endswith(_OF_AWS) and moto_is_active():
        raise UsageError(
            problem=f"moto's mock_aws is active, but answers no direct transport: nothing was sent to {host}",
            remedy="test over the default transport, as Session(region=...) and the fixture dynaorm_session do, or "
            "give the endpoint= of an emulator",
        )


# The direct transport: one attempt per call over connections of our own, without botocore's client.
#
# It never steps aside, as the default transport does: event handlers of botocore, and moto's in-process mock, do not
# see its calls.


class DirectTransport(DirectSettings):
    """Carries calls to DynamoDB over a pool of connections that threads may share.

    Nothing is opened or read from the environment before the first call. Credentials, Region, endpoint, proxy and CA
    bundle are found as botocore finds them; botocore refreshes credentials that expire.

    Args:
        region: the AWS Region; without it ``AWS_REGION``, ``AWS_DEFAULT_REGION``, then the profile's own;
            beside an endpoint, ``us-east-1``.
        endpoint: the URL of a DynamoDB that is not AWS's own for the Region, such as an emulator.
        profile: the profile of the AWS configuration files to take credentials and Region from.
        credentials: anything with ``get_frozen_credentials()``, asked for each request, in the place of those that
            are configured.
        timeout: seconds for sending a request and receiving all of its answer; each megabyte has one second more.
            AWS asks for at least one second with TransactWriteItems.
        connect_timeout: seconds until a connection is open, proxy and TLS included.
        pool_size: how many connections to keep open; more threads than this open short-lived ones.

    Raises:
        UsageError: a limit is not positive, or not finite.

    Examples:
        ```python
        with DirectTransport(region="eu-west-1") as transport, Session(transport=transport) as session: ...
        ```
    """

    _opened: _Opened | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call(self, call: Call, /) -> Reply:
        """Make one attempt, and return DynamoDB's reply in its low-level form, binary values as bytes.

        Args:
            call: the request.

        Raises:
            Refusal: DynamoDB answered with an error of its own (HTTP 4xx).
            NoAnswer: a timeout, a dropped connection, a damaged reply, or HTTP 5xx.
            UsageError: the AWS configuration is incomplete or wrong; nothing was sent.

        Examples:
            ```python
            reply = transport.call(Call("ListTables", {}))
            ```
        """
        if call.operation in STREAM_READS:
            return self._streams.call(call)
        carrier = self._opened
        if carrier is None:
            # Looking for credentials and a Region may read files and ask services.
            opened, call = prepared(call, self._open)
            carrier = opened
        return carrier.call(call)

    def close(self) -> None:
        """Close the pooled connections. A later call opens new ones.

        Examples:
            ```python
            transport.close()
            ```
        """
        with self._opening:
            opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()
        if self._stream_transport is not None:
            self._stream_transport.close()

    def _open(self) -> _Opened:
        with self._opening:
            if self._opened is None:
                found = self._find_destination()
                self._opened = _Direct(found, self._limits) if isinstance(found, Destination) else found
            return self._opened


class _Opened(Protocol):
    def call(self, call: Call, /) -> Reply: ...

    def close(self) -> None: ...


class _Direct:
    def __init__(self, destination: Destination, limits: Limits) -> None:
        self._exchange = RequestCodec(destination)
        self._pool = ConnectionPool(route_to(destination), limits)

    def call(self, call: Call, /) -> Reply:
        if call.timeout is not None and self._exchange.may_block:
            given, call = prepared(call, self._exchange.credentials)
        else:
            given = self._exchange.credentials()
        request = self._exchange.request(call, given)
        return self._exchange.reply(call.operation, request, self._pool.send(request, call.timeout))

    def close(self) -> None:
        self._pool.close()
