"""What botocore reports of one attempt, in the words of a conversation: a Refusal, or NoAnswer.

Rule 1. Only HTTP 4xx with DynamoDB's JSON is a Refusal: only then it is sure that nothing was written.
        "If a request returns an HTTP 500 status code, it may have succeeded or failed" (DynamoDB developer
        guide, Error handling).
Rule 2. A reply that was damaged, or is somebody else's, is no answer. botocore looks at the checksum only to
        repeat, and reads what is no JSON as an empty reply: a cut GetItem would be an absent item, and a web
        server's page a successful write. So bytes are looked at before botocore takes them apart.
Rule 3. botocore walks every attribute value of a reply through its shapes, which costs several times what JSON does. So
        its parser is given none of a successful reply: the bytes themselves are. Errors are left to it.
Rule 4. An error that is neither (no credentials, no such profile, a value botocore cannot serialise) is the
        caller's, and passes as it is.
"""

import binascii
import json
import ssl
from collections.abc import Iterator, Mapping
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

from dynaorm.flow.protocol.call import NoAnswer, Refusal, Reply
from dynaorm.item.json_body import Body
from dynaorm.transport.answer import DAMAGED, failure, without_json

CONNECTION_ERRORS = (BotocoreConnectionError, HTTPClientError, IncompleteReadError)
"""What botocore raises when the network, not DynamoDB, ended the attempt."""

NOT_CONNECTED = (EndpointConnectionError, ConnectTimeoutError, ProxyConnectionError)

# Where the bytes of a reply lie in what botocore makes of it.
_BODY = "dynaorm.body"


def failure_of(error: ClientError) -> Refusal | NoAnswer:
    """What an error reply means; reasons and item are as DynamoDB sent them, binary values as bytes."""
    response: Mapping[str, Any] = error.response
    code = response.get("Error", {}).get("Code", "")
    message = response.get("Error", {}).get("Message", "")
    metadata = response.get("ResponseMetadata", {})
    return failure(
        metadata.get("HTTPStatusCode", 400),
        code,
        message,
        response,
        request_id=metadata.get("RequestId", ""),
    )


def no_answer_of(error: Exception) -> NoAnswer:
    """What one of ``CONNECTION_ERRORS`` means: sent, unless no connection was ever made."""
    sent = not isinstance(error, NOT_CONNECTED) and not _certificate_refused(error)
    return NoAnswer(f"{type(error).__name__}: {error}", sent=sent)


def check_reply(**received: Any) -> None:
    """Raise NoAnswer for a reply that is not DynamoDB's, whole; for botocore's ``before-parse`` event.

    DynamoDB sends the CRC-32 of each body as ``x-amz-crc32``. A reply without it, as some emulators give,
    need only be a JSON object.
    """
    response: Mapping[str, Any] = received["response_dict"]
    checksum = response["headers"].get("x-amz-crc32")
    if checksum is None:
        if not _is_object(response["body"]):
            raise NoAnswer(without_json(response["status_code"]))
    elif checksum != str(binascii.crc32(response["body"])):
        raise NoAnswer(DAMAGED)


def _is_object(body: bytes) -> bool:
    try:
        return isinstance(json.loads(body), dict)
    except (ValueError, RecursionError):
        return False


def keep_body(**received: Any) -> None:
    """Keep the body of a successful reply from botocore's parser; for botocore's ``before-parse`` event.

    What does not look like a JSON object is left to it.
    """
    response: dict[str, Any] = received["response_dict"]
    kept: dict[str, Any] = received["customized_response_dict"]
    body = response["body"]
    if response["status_code"] < 300 and isinstance(body, bytes) and body.startswith(b"{"):
        kept[_BODY] = body
        response["body"] = b""


def reply_of(parsed: Mapping[str, Any]) -> Reply:
    """The reply: the body that was kept, or, of a botocore before 1.35, which has no such event, what it parsed."""
    body: bytes | None = parsed.get(_BODY)
    return parsed if body is None else Body(body)


def _certificate_refused(error: BaseException) -> bool:
    """Whether the TLS handshake ended at the certificate, which is before any request is sent."""
    return any(isinstance(cause, ssl.SSLCertVerificationError) for cause in _causes(error))


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__
