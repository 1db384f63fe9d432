"""What an answer over HTTP means: a reply, a Refusal, or NoAnswer.

Rule 1. Only HTTP 4xx with an error of DynamoDB's own is a Refusal: only then is it certain that nothing was written.
        "If a request returns an HTTP 500 status code, it may have succeeded or failed" (DynamoDB developer guide,
        Error handling).
Rule 2. A damaged answer is no answer. DynamoDB sends the CRC-32 of each body as ``x-amz-crc32``. An answer without it,
        as from some emulators, is parsed at once to see that it is valid.
Rule 3. The same holds for members of the wrong type: what is not an item is neither taken for one nor for absence.
Rule 4. A reply to a read whose checksum matches is returned as bytes, which the JSON reader parses fastest. If it then
        cannot be read, ``check_reply`` says whether it is invalid, which is ``Unreachable``. Replies to writes are
        small, and are checked here: a write whose reply is invalid may have been carried out.
"""

from __future__ import annotations

import re
from binascii import crc32
from collections.abc import Callable, Mapping
from types import UnionType
from typing import Any, Final, TypeAlias

from dynaorm.errors import Unreachable
from dynaorm.flow.call import READS, NoAnswer, Reason, Refusal, Reply
from dynaorm.item.json_body import Body, decode_object
from dynaorm.item.value import is_item, is_list_of
from dynaorm.remedies import is_of_the_request_itself

STREAM_READS = frozenset({"DescribeStream", "GetShardIterator", "GetRecords"})
"""The operations of DynamoDB Streams, which are sent to another endpoint."""
SERVER_FAULTS = frozenset({"InternalServerError", "InternalFailure", "ServiceUnavailable"})
_QUOTED = r"The Canonical String|Authorization=|\(hashed with|\bCredential=|\n"
DAMAGED = "the reply does not match its checksum (x-amz-crc32)"


def reply_of(operation: str, status: int, headers: Mapping[str, str], body: bytes) -> Reply:
    """The reply in an answer. ``headers`` are looked up by names in lower case.

    Raises:
        Refusal: DynamoDB said no.
        NoAnswer: the answer does not say what became of the request.
    """
    checksum, request_id = headers.get("x-amz-crc32"), headers.get("x-amzn-requestid", "")
    if checksum is not None and checksum != str(crc32(body)):
        raise NoAnswer(DAMAGED, request_id=request_id)
    if status == 200 and checksum is not None and operation in READS and body.lstrip().startswith(b"{"):
        return Body(body, request_id, _PARSES[operation])
    reply = Body(body, request_id)
    try:
        content = reply.content
    except ValueError:
        reason = f"HTTP {status} without JSON: is the endpoint a DynamoDB?"
        raise NoAnswer(reason, request_id=request_id) from None
    if status == 200:
        if name := _invalid_member(content, operation):
            raise NoAnswer(f"HTTP 200 with a member {name} of the wrong type", request_id=request_id)
        return reply
    raise failure_of(status, content, request_id)


def failure_of(status: int, content: Mapping[str, Any], request_id: str) -> Refusal | NoAnswer:
    """What an error means."""
    kind, said = content.get("__type"), content.get("message") or content.get("Message")
    code = kind.rpartition("#")[2].partition(":")[0] if isinstance(kind, str) else ""
    message = _without_headers(code, said) if isinstance(said, str) else ""
    if status >= 500 or code in SERVER_FAULTS:
        return NoAnswer(f"HTTP {status} {code}: {message}", request_id=request_id)
    if status < 400 or not code:
        reason = f"HTTP {status} without an error of DynamoDB's own: is the endpoint a DynamoDB?"
        return NoAnswer(reason, request_id=request_id)
    reasons, item = content.get("CancellationReasons"), content.get("Item")
    if not (item is None or is_item(item)) or not (reasons is None or _are_reasons(reasons)):
        return NoAnswer(f"HTTP {status} {code} with reasons of the wrong type", request_id=request_id)
    found = tuple(_reason(reason) for reason in reasons or ())
    return Refusal(code, message, reasons=found, item=item, request_id=request_id)


def _without_headers(code: str, message: str) -> str:
    """A message without what it repeats of the signed headers: a session token, an access key, a signature.

    Services quote "The Canonical String for this request", or the header Authorization.
    """
    if not is_of_the_request_itself(code):
        return message
    return re.split(_QUOTED, message, maxsplit=1)[0].rstrip()


def _reason(reason: Mapping[str, Any]) -> Reason | None:
    code = reason.get("Code") or "None"
    return None if code == "None" else Reason(code, reason.get("Message") or "", reason.get("Item"))


class _Parse:
    """Parses the replies to a read when they are first looked into."""

    def __init__(self, operation: str) -> None:
        self._operation = operation

    def __call__(self, body: bytes) -> dict[str, Any]:
        """What it says. Raises Unreachable if it is not JSON, or a member of it is not the list or map it must be."""
        try:
            content = decode_object(body)
        except ValueError as error:
            raise self._unreachable(f"no JSON: {error}") from None
        self.check(content, deeply=False)
        return content

    def check(self, content: dict[str, Any], *, deeply: bool = True) -> None:
        """Raise Unreachable if anything in it, at any depth, is of the wrong type."""
        if name := _invalid_member(content, self._operation, deeply=deeply):
            raise self._unreachable(f"a member {name} of the wrong type")

    def _unreachable(self, reason: str) -> Unreachable:
        return Unreachable(operation=self._operation, attempts=1, reason=reason)


_PARSES: Final = {operation: _Parse(operation) for operation in READS}


def check_reply(reply: object) -> None:
    """Raise Unreachable if a reply is invalid: for whoever failed to read it, because checking all would cost much."""
    if isinstance(reply, Body) and isinstance(reply.parse, _Parse):
        reply.parse.check(reply.content)


# -- the types of members ----------------------------------------------------------------------------------------------


def _invalid_member(content: dict[str, Any], operation: str, *, deeply: bool = True) -> str:
    """The name of a member of the wrong type; "" if there is none."""
    for name, value in content.items():
        kind, is_valid = _MEMBERS.get(f"{operation}.{name}") or _MEMBERS.get(name) or (object, None)
        try:
            if not isinstance(value, kind) or (deeply and is_valid is not None and not is_valid(value)):
                return name
        except RecursionError:  # DynamoDB nests 32 levels at most
            return name
    return ""


def _is_map_of(is_valid: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and all(map(is_valid, value.values()))


def _is_reason(value: object) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("Code"), str | None)
        and isinstance(value.get("Message"), str | None)
        and _may_have_item(value)
    )


def _may_have_item(value: object) -> bool:
    return isinstance(value, dict) and (value.get("Item") is None or is_item(value["Item"]))


def _is_capacity(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("CapacityUnits", 0), int | float)


def _are_keys(value: object) -> bool:
    return isinstance(value, dict) and _are_items(value.get("Keys"))


_Check: TypeAlias = tuple[type | UnionType, Callable[[Any], bool] | None]

_are_items = is_list_of(lambda value: is_item(value) and value != {})
_are_reasons = is_list_of(_is_reason)

_MEMBERS: Mapping[str, _Check] = {
    "Attributes": (dict, is_item),
    "BatchGetItem.Responses": (dict, _is_map_of(_are_items)),
    "ConsumedCapacity": (
        dict | list,
        lambda value: all(map(_is_capacity, value if isinstance(value, list) else [value])),
    ),
    "Count": (int, None),
    "Item": (dict, is_item),
    "Items": (list, _are_items),
    "LastEvaluatedKey": (dict, is_item),
    "Records": (list, is_list_of(lambda one: isinstance(one, dict))),
    "ScannedCount": (int, None),
    "ShardIterator": (str, None),
    "StreamDescription": (dict, None),
    "Table": (dict, None),
    "TableDescription": (dict, None),
    "TableNames": (list, None),
    "TimeToLiveDescription": (dict, None),
    "TransactGetItems.Responses": (list, is_list_of(_may_have_item)),
    "UnprocessedItems": (dict, _is_map_of(lambda value: isinstance(value, list))),
    "UnprocessedKeys": (dict, _is_map_of(_are_keys)),
}
