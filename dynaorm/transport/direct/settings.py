"""What both direct transports are made with: where to send to, and limits."""

from __future__ import annotations

import threading
import warnings
from typing import TYPE_CHECKING, Any, Final

from dynaorm.argument import check_texts
from dynaorm.errors import UsageError
from dynaorm.late import late
from dynaorm.transport.botocore_hooks import moto_is_active
from dynaorm.transport.http.credentials import GivenCredentials, checked_credentials
from dynaorm.transport.http.destination import Destination, find_destination
from dynaorm.transport.http.limits import Limits
from dynaorm.transport.process import NotPicklable, register
from dynaorm.transport.settings import Endpoint, without_password

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
