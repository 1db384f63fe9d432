"""Carrying signed requests over aiohttp, whose sessions belong to the event loop that made them.

aiohttp repeats no POST by itself; it follows no redirect here, unpacks nothing and keeps no cookies.
"""

import asyncio
from io import BytesIO
from typing import Any
from weakref import WeakKeyDictionary

import aiohttp
from yarl import URL

from dynaorm.flow.protocol.call import Call, NoAnswer, Reply
from dynaorm.transport.direct.certificates import ssl_context
from dynaorm.transport.direct.credentials import Credentials, CredentialSource
from dynaorm.transport.direct.destination import Destination
from dynaorm.transport.direct.exchange import Exchange
from dynaorm.transport.direct.signed_request import SignedRequest

NOT_CONNECTED = (
    aiohttp.ClientConnectorError,
    aiohttp.ClientHttpProxyError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.InvalidURL,
)
"""What aiohttp raises before any request is sent."""

_LARGE = 1_048_576


class AiohttpConnections:
    """The connections of each event loop to one destination.

    Args:
        destination: where to.
        timeout: seconds in which more of an answer must come.
        connect_timeout: seconds to wait for a connection.
        size: how many connections a loop has at most.
    """

    def __init__(
        self, destination: Destination, *, timeout: float, connect_timeout: float, size: int
    ) -> None:
        proxy = destination.proxy
        self._url = URL(destination.endpoint.url, encoded=True)
        self._proxy = None if proxy is None else proxy.url
        own = {"Proxy-Authorization": proxy.authorization} if proxy and proxy.authorization else {}
        # What is encrypted is not for the proxy: it reads CONNECT alone.
        self._connect_headers, self._extra = (own, {}) if destination.endpoint.is_secure else ({}, own)
        self._timeout = aiohttp.ClientTimeout(total=None, sock_connect=connect_timeout, sock_read=timeout)
        self._size = size
        self._ssl = ssl_context(destination.ca_bundle) if destination.endpoint.is_secure else True
        self._credentials = destination.credentials
        self._exchange = Exchange(destination)
        self._sessions: WeakKeyDictionary[asyncio.AbstractEventLoop, aiohttp.ClientSession] = (
            WeakKeyDictionary()
        )

    async def call(self, call: Call, /) -> Reply:
        """Make one attempt. Raises Refusal and NoAnswer."""
        request = self._exchange.request(call, await _frozen(self._credentials))
        status, headers, body = await self._send(request)
        return self._exchange.reply(request, status, headers, body)

    async def close(self) -> None:
        """Close the connections of the running event loop."""
        session = self._sessions.pop(asyncio.get_running_loop(), None)
        if session is not None:
            await session.close()

    async def _send(self, request: SignedRequest) -> tuple[int, Any, bytes]:
        # aiohttp warns of large bodies in one piece, because writing them holds up the other tasks.
        body = BytesIO(request.body) if len(request.body) > _LARGE else request.body
        try:
            async with self._session().post(
                self._url,
                data=body,
                headers=request.headers | self._extra,
                allow_redirects=False,
                proxy=self._proxy,
                proxy_headers=self._connect_headers,
            ) as answer:
                return answer.status, answer.headers, await answer.read()
        except (aiohttp.ClientError, OSError, ValueError) as error:
            # ValueError: a host name that cannot be one, or an answer that aiohttp cannot read.
            sent = not isinstance(error, NOT_CONNECTED)
            raise NoAnswer(f"{type(error).__name__}: {error}", sent=sent) from error

    def _session(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        session = self._sessions.get(loop)
        if session is None:
            session = self._sessions[loop] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self._size, ssl=self._ssl),
                timeout=self._timeout,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
            )
        return session


async def _frozen(source: CredentialSource) -> Credentials:
    """The credentials of this moment. botocore's say whether asking for them would mean to fetch new ones."""
    refresh_needed = getattr(source, "refresh_needed", None)
    if refresh_needed is not None and refresh_needed():
        return await asyncio.to_thread(source.get_frozen_credentials)
    return source.get_frozen_credentials()
