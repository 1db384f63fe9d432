"""The transport over pynamodb for asynchronous sessions."""

from typing import Self

from dynaorm.transport.asynchronous import ThreadedTransport
from dynaorm.transport.http.credentials import GivenCredentials
from dynaorm.transport.pynamodb import PynamoTransport


class AsyncPynamoTransport(ThreadedTransport):
    """Carries calls of asynchronous sessions to DynamoDB through pynamodb, each in a worker thread.

    A cancelled call continues in its thread: whether it was carried out is not known.

    Args:
        region: as for ``PynamoTransport``, like all that follow.
        endpoint: another endpoint.
        profile: a profile of the AWS configuration files.
        credentials: credentials of your own.
        connect_timeout: seconds for opening a connection.
        read_timeout: seconds for an answer.
        max_pool_connections: how many calls may be under way at once.

    Examples:
        ```python
        async with (
            AsyncPynamoTransport(region="eu-west-1") as transport,
            AsyncSession(transport=transport) as session,
        ): ...
        ```
    """

    def __init__(
        self,
        *,
        region: str | None = None,
        endpoint: str | None = None,
        profile: str | None = None,
        credentials: GivenCredentials | None = None,
        connect_timeout: float = 5.0,
        read_timeout: float = 10.0,
        max_pool_connections: int = 50,
    ) -> None:
        inner = PynamoTransport(
            region=region,
            endpoint=endpoint,
            profile=profile,
            credentials=credentials,
            connect_timeout=connect_timeout,
            read_timeout=read_timeout,
            max_pool_connections=max_pool_connections,
        )
        self._shown = repr(inner)
        super().__init__(inner)

    def __repr__(self) -> str:
        return f"Async{self._shown}"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()
