"""moto with the parts of DynamoDB that transactions depend on: one request at a time, tokens, and limits.

moto 5.2.5 applies a transaction action by action and puts copies of the tables back when one fails, without a
lock: under threads, acknowledged writes are lost. It ignores ClientRequestToken, and most limits.
``strict_moto`` adds these around moto's own request handler, decides conditions as DynamoDB does
(``moto_conditions``), and makes each write as a whole (``moto_writes``). Items and update expressions stay moto's.

Remaining differences from DynamoDB: moto measures an Update by its own rule and refuses it as a whole; an Update may
give an index key a wrong type; numbers are added as Python does (``3.0``, 28 digits); there is no LastEvaluatedKey if
Limit ends exactly at the last item; ConsumedCapacity is not meaningful. No emulator answers TransactionConflict
or throttles: use ``dynaorm.testing.faults``.
"""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias
from unittest.mock import patch

from moto import mock_aws
from moto.core.serialize import BaseJSONSerializer
from moto.dynamodb.exceptions import ItemSizeTooLarge
from moto.dynamodb.models.dynamo_type import LimitedSizeDict
from moto.dynamodb.models.table import Table
from moto.dynamodb.models.utilities import dynamo_to_dict
from moto.dynamodb.responses import DynamoHandler

from dynaorm.flow.call import Clock
from dynaorm.item.size import ITEM_LIMIT, item_size
from dynaorm.item.value import Item
from dynaorm.record import record
from dynaorm.session.settings import clock_of
from dynaorm.testing import request_rules
from dynaorm.testing.moto_conditions import exact_conditions
from dynaorm.testing.moto_writes import whole_writes
from dynaorm.testing.request_rules import Unacceptable, UnacceptableAction

Answer: TypeAlias = tuple[int, Mapping[str, str], str | bytes]
"""A response of moto: HTTP status, headers, body."""

TOKEN_WINDOW = 600.0
"""Seconds for which a token is remembered after its request completed (TransactWriteItems API reference)."""


@contextmanager
def strict_moto(*, clock: Clock | None = None) -> Iterator[None]:
    """Answer every DynamoDB request of this process with moto, in memory, as strictly as DynamoDB would.

    Inside the block, ``Session(region=...)`` needs no endpoint and no credentials. Requests of several threads are
    answered one at a time, so that transactions are atomic. A ClientRequestToken is remembered for ten minutes after
    its request succeeded: the same bytes again succeed and change nothing, other bytes are an
    IdempotentParameterMismatchException (as in DynamoDB Local, maps with another order of keys are other bytes).

    Args:
        clock: the clock that measures the ten minutes; the system's by default.

    Examples:
        >>> from dynaorm.transport import Call, PynamoTransport
        >>> with strict_moto():
        ...     print(PynamoTransport(region="us-east-1").call(Call("ListTables", {}))["TableNames"])
        []
    """
    engine = _Engine(DynamoHandler.call_action, clock_of(clock))
    original_set, original_structure = (
        LimitedSizeDict.__setitem__,
        BaseJSONSerializer._serialize_type_structure,
    )

    def call_action(handler: DynamoHandler) -> Answer:
        return engine.answer(handler)

    def set_sized(attributes: LimitedSizeDict, name: str, value: Any) -> None:
        # moto refuses items from 405,000 bytes on, by a rougher count. It is asked first, because it is faster.
        try:
            original_set(attributes, name, value)
        except ItemSizeTooLarge:
            if item_size(dynamo_to_dict({**attributes, name: value})) > ITEM_LIMIT:
                raise
            dict.__setitem__(attributes, name, value)

    def structure(serializer: BaseJSONSerializer, *given: Any) -> None:
        # moto looks for each of the ten types of an attribute value, and for each part of it: most of a long answer.
        found, value, shape, name = given
        if shape.name == "AttributeValue":
            found[name] = _as_json(value, serializer._base64)
        else:
            original_structure(serializer, *given)

    with (
        patch.object(DynamoHandler, "call_action", call_action),
        patch.object(LimitedSizeDict, "__setitem__", set_sized),
        patch.object(BaseJSONSerializer, "_serialize_type_structure", structure),
        exact_conditions(),
        whole_writes(),
        mock_aws(),
    ):
        yield


def _as_json(value: Mapping[str, Any], base64: Callable[[Any], str]) -> dict[str, Any]:
    """An attribute value as moto holds it, in DynamoDB JSON."""
    ((tag, content),) = value.items()
    match tag:
        case "B":
            return {tag: base64(content)}
        case "BS":
            return {tag: [base64(one) for one in content]}
        case "L":
            return {tag: [_as_json(one, base64) for one in content]}
        case "M":
            return {tag: {name: _as_json(one, base64) for name, one in content.items()}}
    return {tag: content}


@record
class _Completed:
    """A transaction that succeeded under a token."""

    at: float
    body: object
    answer: Answer


class _Engine:
    """moto's handler with a lock, remembered tokens, and the checks of ``request_rules``."""

    def __init__(self, moto: Callable[[DynamoHandler], Any], clock: Clock) -> None:
        self._moto = moto
        self._clock = clock
        self._one_at_a_time = threading.Lock()
        self._completed: dict[tuple[str, str, str], _Completed] = {}

    def answer(self, handler: DynamoHandler) -> Answer:
        with self._one_at_a_time:
            operation = handler.get_endpoint_name(handler.headers)
            try:
                _check(operation, handler)
                handler.params = request_rules.canonical(handler.params)
            except Unacceptable as problem:
                return _error("ValidationException", {"message": str(problem)})
            except UnacceptableAction as problem:
                return _cancelled(len(handler.params["TransactItems"]), problem)
            if operation == "UpdateTable" and "AttributeDefinitions" in handler.params:
                handler.params = _with_known_attributes(handler)
            token = handler.params.get("ClientRequestToken")
            if operation == "TransactWriteItems" and token is not None:
                return self._once((handler.current_account, handler.region, token), handler)
            return self._ask(handler)

    def _once(self, key: tuple[str, str, str], handler: DynamoHandler) -> Answer:
        earlier = self._completed.get(key)
        if earlier is None or self._clock.monotonic() - earlier.at >= TOKEN_WINDOW:
            body = handler.body
            answer = self._ask(handler)
            if answer[0] == 200:
                self._completed[key] = _Completed(self._clock.monotonic(), body, answer)
            return answer
        if earlier.body != handler.body:
            return _error(
                "IdempotentParameterMismatchException",
                {"Message": "The request uses the same client token as a previous, non-identical request"},
            )
        return earlier.answer

    def _ask(self, handler: DynamoHandler) -> Answer:
        answer: Answer = self._moto(handler)
        return answer


def _check_transaction(request: Mapping[str, Any], table_of: Callable[[str], Table]) -> None:
    request_rules.check_transaction(request)
    request_rules.check_values_used(request)
    for index, action in enumerate(request_rules.actions_of(request)):
        problem = _wrong_type(table_of(action["TableName"]), action.get("Item") or action["Key"])
        if problem is not None:
            raise UnacceptableAction(index, problem)


def _check(operation: str | None, handler: DynamoHandler) -> None:
    request: Mapping[str, Any] = handler.params

    def table_of(name: str) -> Table:
        return handler.dynamodb_backend.get_table(name)

    match operation:
        case "TransactWriteItems":
            _check_transaction(request, table_of)
        case "BatchWriteItem":
            request_rules.check_batch_write(request, lambda name, item: _key(table_of(name), item))
        case "PutItem":
            request_rules.check_values_used(request)
            problem = _wrong_type(table_of(request["TableName"]), request["Item"])
            if problem is not None:
                raise Unacceptable(problem)
        case "CreateTable" | "UpdateTable" if not {"VectorIndexes", "VectorIndexUpdates"}.isdisjoint(request):
            raise Unacceptable("moto has no vector indexes")
        case "UpdateItem" | "DeleteItem" | "Query" | "Scan":
            request_rules.check_values_used(request)
            _check_index(request, table_of)
    request_rules.check_item_sizes(request)


def _check_index(request: Mapping[str, Any], table_of: Callable[[str], Table]) -> None:
    """Moto answers as if the table were missing."""
    name = request.get("IndexName")
    if name is None:
        return
    table = table_of(request["TableName"])
    if all(name != one.name for one in (*table.indexes, *table.global_indexes)):
        raise Unacceptable(f"The table does not have the specified index: {name}")


def _with_known_attributes(handler: DynamoHandler) -> dict[str, Any]:
    """DynamoDB keeps the definitions of other key attributes (Developer Guide, "Create a GSI"). moto forgets them."""
    request: dict[str, Any] = handler.params
    known = handler.dynamodb_backend.get_table(request["TableName"]).attr
    merged = {one["AttributeName"]: one for one in [*known, *request["AttributeDefinitions"]]}
    return {**request, "AttributeDefinitions": [*merged.values()]}


def _key(table: Table, attributes: Item) -> object:
    return attributes.get(table.hash_key_attr), attributes.get(table.range_key_attr or "")


def _wrong_type(table: Table, attributes: Item) -> str | None:
    """The problem of the first key attribute whose type differs from the declared one, as DynamoDB words it."""
    for declared in table.attr:
        name, expected = declared["AttributeName"], declared["AttributeType"]
        value = attributes.get(name)
        if value is not None and expected not in value:
            return (
                f"One or more parameter values were invalid: Type mismatch for key {name} "
                f"expected: {expected} actual: {next(iter(value))}"
            )
    return None


def _error(code: str, content: Mapping[str, Any]) -> Answer:
    body = json.dumps({"__type": f"com.amazonaws.dynamodb.v20120810#{code}", **content})
    return (
        400,
        {"status": "400", "Content-Type": "application/x-amz-json-1.0", "X-Amzn-ErrorType": code},
        body,
    )


def _cancelled(actions: int, problem: UnacceptableAction) -> Answer:
    reasons = [{"Code": "None"} for _ in range(actions)]
    reasons[problem.index] = {"Code": "ValidationError", "Message": problem.message}
    codes = ", ".join(reason["Code"] for reason in reasons)
    message = f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]"
    return _error("TransactionCanceledException", {"Message": message, "CancellationReasons": reasons})
