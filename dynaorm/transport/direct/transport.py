"""The direct transport: one attempt per call over connections of our own, without botocore's client.

It never steps aside, as the default transport does: event handlers of botocore, and moto's in-process mock, do not see
its calls.
"""

from __future__ import annotations

from typing import Protocol, Self

from dynaorm.flow.call import Call, Reply
from dynaorm.transport.answer import STREAM_READS
from dynaorm.transport.direct.settings import DirectSettings
from dynaorm.transport.http.connection import ConnectionPool
from dynaorm.transport.http.destination import Destination
from dynaorm.transport.http.exchange import RequestCodec
from dynaorm.transport.http.limits import Limits
from dynaorm.transport.http.route import route_to
from dynaorm.transport.process import prepared


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
