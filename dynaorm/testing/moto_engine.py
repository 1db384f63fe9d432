"""moto with dynaorm's DynamoDB: what botocore sends, and what is sent without it, reaches one engine.

Everything else that ``mock_aws`` answers is moto's. No engine answers TransactionConflict or throttles: use
``dynaorm.testing.faults``.
"""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, TypeAlias
from unittest.mock import patch

from moto import mock_aws
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.core.responses import BaseResponse
from moto.dynamodb.responses import DynamoHandler
from moto.dynamodbstreams.responses import DynamoDBStreamsHandler

from dynaorm.embedded.engine import Engine
from dynaorm.errors import UsageError
from dynaorm.flow.call import Call, Clock, NoAnswer, Reason, Refusal, Reply
from dynaorm.item.json_body import Body, decode_object, encode_body
from dynaorm.session.settings import clock_of

Answer: TypeAlias = tuple[int, Mapping[str, str], str | bytes]
"""A response of moto: HTTP status, headers, body."""

_HANDLERS: Final[tuple[type[BaseResponse], ...]] = (DynamoHandler, DynamoDBStreamsHandler)


@contextmanager
def strict_moto(*, clock: Clock | None = None) -> Iterator[None]:
    """Answer every DynamoDB request of this process in memory, by DynamoDB's rules; other requests to AWS as moto.

    Inside the block, ``Session(region=...)`` and boto3 need no endpoint and no credentials, and see the same tables.
    The tables of each Region and account are those of an embedded engine, as of ``Session(endpoint="memory:")``. A
    block inside another one shares its tables.

    Args:
        clock: the clock of DynamoDB, which forgets tokens after ten minutes; the system's by default.

    Examples:
        >>> from dynaorm.transport import Call, PynamoTransport
        >>> with strict_moto():
        ...     print(PynamoTransport(region="us-east-1").call(Call("ListTables", {}))["TableNames"])
        []
    """
    with mock_aws(), _blocks.block(clock_of(clock)):
        yield


class MotoTransport:
    """Reaches what moto answers inside a ``strict_moto`` block, without botocore.

    Args:
        region: the Region whose tables it reaches.
    """

    server = None

    def __init__(self, *, region: str) -> None:
        self._region = region

    def call(self, call: Call, /) -> Reply:
        """Answer a request. Raises as ``Engine.call``, and UsageError outside of a block."""
        return _blocks.engine(self._region, DEFAULT_ACCOUNT_ID).call(call)


class _OpenBlocks:
    """The ``strict_moto`` blocks that are open, one in another, and their engines by Region and account."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open = 0
        self._clock: Clock | None = None
        self._engines: dict[tuple[str, str], Engine] = {}

    @contextmanager
    def block(self, clock: Clock) -> Iterator[None]:
        with self._lock:
            self._open += 1
            if self._open == 1:
                self._clock, self._engines = clock, {}
        try:
            with (
                patch.multiple(DynamoHandler, **_PATCHED),
                patch.multiple(DynamoDBStreamsHandler, **_PATCHED),
            ):
                yield
        finally:
            with self._lock:
                self._open -= 1

    def engine(self, region: str, account: str) -> Engine:
        with self._lock:
            if not self._open:
                raise UsageError(
                    problem="no strict_moto block is open",
                    remedy="make the call inside of `with strict_moto():`",
                )
            engine = self._engines.get((region, account))
            if engine is None:
                engine = Engine(clock=self._clock, home=f"arn:aws:dynamodb:{region}:{account}:")
                self._engines[region, account] = engine
            return engine


_blocks: Final = _OpenBlocks()


def _answer(handler: BaseResponse) -> Answer:
    call = Call(handler._get_action(), decode_object(handler.body.encode()))
    try:
        reply = _blocks.engine(handler.region, handler.current_account).call(call)
    except Refusal as refusal:
        return 400, _headers(refusal.code), encode_body(_refused(refusal))
    except NoAnswer as problem:
        return 500, _headers("InternalServerError"), encode_body({"message": problem.reason})
    return 200, _headers(), reply.raw if isinstance(reply, Body) else encode_body(reply)


def _unparsed(_handler: BaseResponse, _request: object) -> None:
    """Moto parses each parameter by botocore's model, which nobody reads here."""


_PATCHED: Final[Mapping[str, Any]] = {"call_action": _answer, "parse_parameters": _unparsed}


def _headers(code: str = "") -> Mapping[str, str]:
    headers = {"Content-Type": "application/x-amz-json-1.0"}
    return {**headers, "X-Amzn-ErrorType": code} if code else headers


def _refused(refusal: Refusal) -> Mapping[str, Any]:
    content: dict[str, Any] = {"__type": f"com.amazonaws.dynamodb.v20120810#{refusal.code}"}
    if not refusal.reasons:
        content["message"] = refusal.message
        return content if refusal.item is None else {**content, "Item": refusal.item}
    return {**content, "Message": refusal.message, "CancellationReasons": [*map(_reason, refusal.reasons)]}


def _reason(reason: Reason | None) -> Mapping[str, Any]:
    if reason is None:
        return {"Code": "None"}
    content = {"Code": reason.code, "Message": reason.message}
    return content if reason.item is None else {**content, "Item": reason.item}
