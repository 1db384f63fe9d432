"""Calls to DynamoDB Streams, a service with an endpoint of its own. All transports use botocore's client for it.

A follower makes about one call per shard and second, so this client need not be fast. It finds endpoint, proxy,
certificates and credentials as the transports do.
"""

import threading
from typing import Any

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.session import Session as BotocoreSession

from dynaorm.errors import UsageError
from dynaorm.flow.protocol.call import Call, Reply
from dynaorm.record import replace
from dynaorm.transport.attempt_time import in_time
from dynaorm.transport.aws_configuration import failure_of, preparing
from dynaorm.transport.botocore_outcome import (
    CONNECTION_ERRORS,
    judge_answer,
    no_answer_of,
    refusal_in,
    reply_in,
)
from dynaorm.transport.http.credentials import CredentialSource
from dynaorm.transport.http.given_credentials import use_credentials
from dynaorm.transport.process import owned
from dynaorm.transport.proxy import proxy_for
from dynaorm.transport.region import region_of


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
        owned(self)

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

    def leave_to_parent(self) -> object:
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
