"""What an answer over HTTP means, in the words of a conversation: a reply, a Refusal, or NoAnswer.

Rule 1. Only HTTP 4xx with an error of DynamoDB's own is a Refusal: only then it is sure that nothing was written.
        "If a request returns an HTTP 500 status code, it may have succeeded or failed" (DynamoDB developer
        guide, Error handling).
Rule 2. An answer that was damaged, or is somebody else's, is no answer. DynamoDB sends the CRC-32 of each body as
        ``x-amz-crc32``; an answer without it, as some emulators give, is taken apart at once to see that it is JSON.
Rule 3. A reply that is whole is given as it came: who knows what is in it reads it faster than a parser of all JSON.
"""

from binascii import crc32
from collections.abc import Mapping
from typing import Any

from dynaorm.flow.protocol.call import NoAnswer, Reason, Refusal, Reply
from dynaorm.item.json_body import Body

SERVER_FAULTS = frozenset({"InternalServerError", "InternalFailure", "ServiceUnavailable"})
DAMAGED = "the reply does not match its checksum (x-amz-crc32)"


def reply_of(status: int, headers: Mapping[str, str], body: bytes) -> Reply:
    """The reply in an answer. ``headers`` are asked for by names in lower case.

    Raises:
        Refusal: DynamoDB said no.
        NoAnswer: the answer does not tell what became of the request.
    """
    checksum = headers.get("x-amz-crc32")
    if checksum is not None and checksum != str(crc32(body)):
        raise NoAnswer(DAMAGED)
    if status == 200 and checksum is not None and body.lstrip().startswith(b"{"):
        return Body(body)
    reply = Body(body)
    try:
        content: object = reply.content
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise NoAnswer(without_json(status))
    if status == 200:
        return reply
    code = str(content.get("__type", "")).rpartition("#")[2].partition(":")[0]
    message = content.get("message") or content.get("Message") or ""
    if status < 400 or (status < 500 and not code):
        raise NoAnswer(f"HTTP {status} without an error of DynamoDB's own: is the endpoint a DynamoDB?")
    raise failure(status, code, str(message), content, request_id=headers.get("x-amzn-requestid", ""))


def without_json(status: int) -> str:
    """The reason of a NoAnswer for a web page, or half of an answer."""
    return f"HTTP {status} without JSON: is the endpoint a DynamoDB?"


def failure(
    status: int, code: str, message: str, content: Mapping[str, Any], *, request_id: str
) -> Refusal | NoAnswer:
    """What an error of DynamoDB's own means; reasons and item are those of ``content``, binary values as bytes."""
    if status >= 500 or code in SERVER_FAULTS:
        return NoAnswer(f"HTTP {status} {code}: {message}")
    return Refusal(
        code,
        message,
        reasons=tuple(_reason(reason) for reason in content.get("CancellationReasons") or ()),
        item=content.get("Item"),
        request_id=request_id,
    )


def _reason(reason: Mapping[str, Any]) -> Reason | None:
    code = reason.get("Code", "None")
    if code == "None":
        return None
    return Reason(code, reason.get("Message") or "", reason.get("Item"))
