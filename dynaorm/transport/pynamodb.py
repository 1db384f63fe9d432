"""The transport over pynamodb: one attempt per call through its ``Connection.dispatch``, and nothing else.

Rule 1. Only ``dispatch`` is used. pynamodb's named methods re-order the actions of a transaction, and wrap errors in
        exceptions whose ``cause_response_code`` fails for lost answers.
Rule 2. The SDK's own retries are off: they would hide that an earlier attempt was not answered.
Rule 3. A client is created under a lock: botocore's session is not thread-safe while it does that.
"""

import json
import threading
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, Self

from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
    IncompleteReadError,
    ProxyConnectionError,
)
from botocore.exceptions import ConnectionError as BotocoreConnectionError
from botocore.session import Session as BotocoreSession
from pynamodb.connection import Connection

from dynaorm.argument import check_amount, check_count, check_texts
from dynaorm.errors import UsageError
from dynaorm.flow.call import Call, NoAnswer, Refusal, Reply
from dynaorm.record import replace
from dynaorm.transport.answer import STREAM_READS, reply_of
from dynaorm.transport.aws_configuration import failure_of, preparing
from dynaorm.transport.http.credentials import CredentialSource, GivenCredentials, checked_credentials
from dynaorm.transport.http.given_credentials import use_credentials
from dynaorm.transport.http.limits import LONGEST
from dynaorm.transport.process import NotPicklable, in_time, register
from dynaorm.transport.settings import Endpoint, endpoint_of, proxy_for, region_of, without_password

# What one attempt through botocore ended with: a reply, a Refusal, or NoAnswer.
#
# Rule 1. The bytes are judged by ``answer`` before botocore parses them, as over the direct transports. botocore uses
#         the checksum only to repeat, and parses invalid JSON as an empty reply: a cut GetItem would be an absent
#         item.
# Rule 2. botocore parses nothing of a reply but an error's code and message, for tools that listen to its events. It
#         would take several times as long as the JSON itself, and fail on members of the wrong type.
# Rule 3. An error before the request left, or while its connection was opened, is never ``sent``.

CONNECTION_ERRORS = (BotocoreConnectionError, HTTPClientError, IncompleteReadError)
"""What botocore raises when the network, not DynamoDB, ended the attempt."""

NOT_CONNECTED = (EndpointConnectionError, ConnectTimeoutError, ProxyConnectionError)

# Where the outcome is in the dict that botocore parses a reply to.
_OUTCOME = "dynaorm.outcome"

# Where endpoint discovery is enabled, botocore asks this by itself, and reads the answer.
_OWN_QUESTION = "DescribeEndpoints"


def judge_answer(**received: Any) -> None:
    """Judge an answer; for botocore's ``before-parse`` event. Raises NoAnswer."""
    response: dict[str, Any] = received["response_dict"]
    parsed: dict[str, Any] = received["customized_response_dict"]
    operation = received["operation_model"].name
    if operation == _OWN_QUESTION:
        return
    try:
        parsed[_OUTCOME] = reply_of(operation, response["status_code"], response["headers"], response["body"])
        response["body"] = b""
    except Refusal as refusal:
        parsed[_OUTCOME] = refusal
        response["body"] = json.dumps({"__type": refusal.code, "message": refusal.message}).encode()


def reply_in(parsed: Mapping[str, Any]) -> Reply:
    """The reply that ``judge_answer`` found."""
    reply: Reply = parsed[_OUTCOME]
    return reply


def refusal_in(error: BaseException | None) -> Refusal | None:
    """The refusal that ``judge_answer`` found; None for an error of another service, as one that gives credentials."""
    parsed: Mapping[str, Any] = error.response if isinstance(error, ClientError) else {}
    return parsed.get(_OUTCOME)


def no_answer_of(error: Exception) -> NoAnswer:
    """What one of ``CONNECTION_ERRORS`` means: sent, unless no connection was ever made."""
    # In urllib3's ``connect`` are TCP, the proxy's CONNECT and the TLS handshake. An SSLError does not say whether it
    # is of the handshake or of the answer. The tests run this with the urllib3 that is installed.
    sent = not isinstance(error, NOT_CONNECTED) and not any(
        has_left(cause, "connect") for cause in _causes(error)
    )
    return NoAnswer(f"{type(error).__name__}: {error}", sent=sent)


def has_left(error: BaseException, function: str) -> bool:
    """Whether an error passed through a function of this name."""
    frame: TracebackType | None = error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code.co_name == function:
            return True
        frame = frame.tb_next
    return False


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


class StreamsTransport:
    """Carries calls to DynamoDB Streams. Threads may share it. Nothing is opened before the first call."""

    def __init__(
        self,
        region: str | None,
        endpoint: str | None,
        profile: str | None,
        timeouts: tuple[float, float],
        *,
        credentials: CredentialSource | None = None,
    ) -> None:
        self._region = region
        self._endpoint = endpoint
        self._profile = profile
        self._timeouts = timeouts
        self._credentials = credentials
        self._opening = threading.Lock()
        self._client: Any = None
        register(self)

    def call(self, call: Call, /) -> Reply:
        """Make one attempt. Raises what the transports raise."""
        if call.timeout is not None:
            unlimited = replace(call, timeout=None)
            return in_time(call.timeout, lambda: self.call(unlimited))
        try:
            return reply_in((self._client or self._open())._make_api_call(call.operation, dict(call.request)))
        except CONNECTION_ERRORS as error:
            raise no_answer_of(error) from error
        except UsageError:
            raise
        except (BotoCoreError, ClientError, OSError, RuntimeError) as error:
            raise refusal_in(error) or failure_of(error) from error

    def close(self) -> None:
        """Close the pooled connections. A later call opens new ones."""
        with self._opening:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def reset_after_fork(self) -> object:
        """Make a client of this process with the next call."""
        self._opening = threading.Lock()
        client, self._client = self._client, None
        return client

    def _open(self) -> Any:
        with self._opening, preparing(self._endpoint):
            if self._client is None:
                proxy_for("http" if (self._endpoint or "").startswith("http:") else "https")
                session = BotocoreSession(profile=self._profile)
                use_credentials(session, self._credentials)
                session.register("before-parse.dynamodb-streams", judge_answer)
                region = region_of(
                    self._region, self._endpoint, lambda: session.get_config_variable("region")
                )
                self._client = session.create_client(
                    "dynamodbstreams",
                    region_name=region,
                    endpoint_url=self._endpoint,
                    config=_config(*self._timeouts),
                )
            return self._client


def _config(connect_timeout: float, read_timeout: float) -> Config:
    settings: dict[str, Any] = {
        "connect_timeout": connect_timeout,
        "read_timeout": read_timeout,
        "retries": {"total_max_attempts": 1},
    }
    if "account_id_endpoint_mode" in Config.OPTION_DEFAULTS:
        # moto knows only the endpoint of the Region.
        settings["account_id_endpoint_mode"] = "disabled"
    return Config(**settings)


class PynamoTransport(NotPicklable):
    """Carries calls to DynamoDB through pynamodb, over a pool of connections that threads may share.

    Nothing is opened or read from the environment before the first call.

    Args:
        region: the AWS region; without it ``AWS_REGION``, ``AWS_DEFAULT_REGION``, then the profile's own;
            beside an endpoint, ``us-east-1``.
        endpoint: the URL of a DynamoDB that is not AWS's own for the region, such as an emulator.
        profile: the profile of the AWS configuration files to take credentials and region from.
        credentials: anything with ``get_frozen_credentials()``, asked for each request, in the place of those that
            are configured.
        connect_timeout: seconds to wait for a connection.
        read_timeout: seconds of each wait for bytes of an answer. AWS asks for at least one second with
            TransactWriteItems.
        max_pool_connections: how many connections to keep open; more threads than these open short-lived
            ones.

    Raises:
        UsageError: a limit is not positive, or not finite.

    Examples:
        ```python
        with PynamoTransport(region="eu-west-1") as transport, Session(transport=transport) as session: ...
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
        check_texts(region=region, endpoint=endpoint, profile=profile)
        check_amount("connect_timeout={}", connect_timeout, most=LONGEST)
        check_amount("read_timeout={}", read_timeout, most=LONGEST)
        check_count("max_pool_connections={}", max_pool_connections)
        self.region = region
        self.endpoint = endpoint
        self.profile = profile
        self.connect_timeout = connect_timeout
        self.read_timeout = read_timeout
        self.max_pool_connections = max_pool_connections
        self._opening = threading.Lock()
        self._connection: _OneClient | None = None
        self._credentials = checked_credentials(credentials)
        timeouts = (connect_timeout, read_timeout)
        self._streams = StreamsTransport(region, endpoint, profile, timeouts, credentials=self._credentials)
        register(self)

    def __repr__(self) -> str:
        endpoint = without_password(self.endpoint)
        return f"PynamoTransport(region={self.region!r}, {endpoint=}, profile={self.profile!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def server(self) -> Endpoint | None:
        """The server that requests are sent to; None before the first call."""
        connection = self._connection
        return None if connection is None else connection.server

    def call(self, call: Call, /) -> Reply:
        """Make one attempt, and give DynamoDB's reply in its low-level form, binary values as bytes.

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
        if call.timeout is not None:
            unlimited = replace(call, timeout=None)
            return in_time(call.timeout, lambda: self.call(unlimited))
        try:
            connection = self._connection or self._open()
            # A copy, because pynamodb and botocore may add to what they are given, and a call is repeated.
            parsed = connection.dispatch(call.operation, dict(call.request))
        except CONNECTION_ERRORS as error:
            raise no_answer_of(error) from error
        except UsageError:
            raise
        except (BotoCoreError, ClientError, OSError, RuntimeError) as error:
            # pynamodb's VerboseClientError keeps only code and message; the refusal is in botocore's own error.
            raise refusal_in(error.__cause__) or refusal_in(error) or failure_of(error) from error
        return reply_in(parsed)

    def close(self) -> None:
        """Close the pooled connections. A later call opens new ones.

        Examples:
            ```python
            transport.close()
            ```
        """
        with self._opening:
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        self._streams.close()

    def reset_after_fork(self) -> object:
        """Make a client of this process with the next call."""
        self._opening = threading.Lock()
        connection, self._connection = self._connection, None
        return connection

    def _open(self) -> "_OneClient":
        with self._opening, preparing(self.endpoint):
            if self._connection is None:
                # botocore would take one that is no URL for an unanswered request, and show its password.
                proxy_for("http" if (self.endpoint or "").startswith("http:") else "https")
                session = BotocoreSession(profile=self.profile)
                use_credentials(session, self._credentials)
                session.register("before-parse.dynamodb", judge_answer)
                session.set_default_client_config(Config(user_agent=_user_agent(session)))
                connection = _OneClient(
                    session,
                    region=region_of(
                        self.region, self.endpoint, lambda: session.get_config_variable("region")
                    ),
                    host=self.endpoint,
                    connect_timeout_seconds=self.connect_timeout,
                    read_timeout_seconds=self.read_timeout,
                    max_retry_attempts=0,
                    # Said outright, because a pynamodb settings file of the machine may say otherwise.
                    retry_configuration="LEGACY",
                    max_pool_connections=self.max_pool_connections,
                )
                connection.client  # noqa: B018 - made here, where what is wrong with the configuration is told
                self._connection = connection
            return self._connection


def _user_agent(session: BotocoreSession) -> str:
    """The User-Agent header. botocore composes one twice per request unless it is told, a tenth of a small call."""
    application = session.get_config_variable("user_agent_appid")
    return f"{session.user_agent()} lib/dynaorm" + (f" app/{application}" if application else "")


class _OneClient(Connection):
    """pynamodb's connection over our botocore session; it makes one client however many threads ask."""

    def __init__(self, session: BotocoreSession, **settings: Any) -> None:
        self._botocore_session = session
        self._creating = threading.Lock()
        super().__init__(**settings)

    def __repr__(self) -> str:
        # pynamodb's own makes a client, which with wrong settings fails again.
        return f"<a connection of pynamodb in {self.region}>"

    @property
    def server(self) -> Endpoint | None:
        return None if self._client is None else endpoint_of(self._client.meta.endpoint_url)

    @property
    def session(self) -> BotocoreSession:
        return self._botocore_session

    @property
    def client(self) -> Any:
        with self._creating:
            return super().client

    def close(self) -> None:
        """Close the client, if there is one: with wrong settings it could not be made."""
        if self._client is not None:
            self._client.close()

    def get_consumed_capacity_map(self, return_consumed_capacity: str) -> dict[str, str]:  # noqa: ARG002 - pynamodb's signature
        """Nothing: a request says itself what it wants, and DescribeTimeToLive has no such parameter."""
        return {}
