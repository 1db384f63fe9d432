"""What one attempt through botocore ended with: a reply, a Refusal, or NoAnswer.

Rule 1. The bytes are judged by ``answer`` before botocore parses them, as over the direct transports. botocore uses the
        checksum only to repeat, and parses invalid JSON as an empty reply: a cut GetItem would be an absent item.
Rule 2. botocore parses nothing of a reply but an error's code and message, for tools that listen to its events. It
        would take several times as long as the JSON itself, and fail on members of the wrong type.
Rule 3. An error before the request left, or while its connection was opened, is never ``sent``.
"""

import json
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any

from botocore.exceptions import (
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
    IncompleteReadError,
    ProxyConnectionError,
)
from botocore.exceptions import ConnectionError as BotocoreConnectionError

from dynaorm.flow.call import NoAnswer, Refusal, Reply
from dynaorm.transport.answer import reply_of

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
        has_left(one, "connect") for one in _causes(error)
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
