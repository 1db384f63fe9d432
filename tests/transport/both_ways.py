"""What the default transport sends both ways, over its own connections and through botocore, and what is compared."""

from collections.abc import Callable
from typing import Any, TypeAlias

from dynaorm.errors import Unreachable, UsageError
from dynaorm.transport import Call, NoAnswer, Refusal
from tests.transport.each_transport import Closable
from tests.transport.unruly import Request

KEY = {"PK": {"S": "a"}}
CALLS = [
    Call("GetItem", {"TableName": "app", "Key": KEY}),
    Call("PutItem", {"TableName": "app", "Item": {**KEY, "b": {"B": b"\xff"}, "n": {"N": "1"}}}),
    Call(
        "Query",
        {
            "TableName": "app",
            "KeyConditionExpression": "PK = :p",
            "ExpressionAttributeValues": {":p": KEY["PK"]},
        },
    ),
    Call("BatchGetItem", {"RequestItems": {"app": {"Keys": [KEY]}, "other": {"Keys": [KEY]}}}),
    Call("BatchWriteItem", {"RequestItems": {"app": [{"PutRequest": {"Item": KEY}}]}}),
    Call(
        "TransactWriteItems",
        {
            "TransactItems": [
                {"Put": {"TableName": "app", "Item": KEY}},
                {"Delete": {"TableName": "b", "Key": KEY}},
            ],
            "ClientRequestToken": "t",
        },
    ),
    Call("TransactGetItems", {"TransactItems": [{"Get": {"TableName": "app", "Key": KEY}}]}),
    Call("DescribeTable", {"TableName": "app"}),
    Call("ListTables", {}),
]
GET, PUT = CALLS[:2]

# botocore counts attempts for AWS's statistics, and writes JSON with blanks; the time differs from call to call, and
# each names itself.
NOT_COMPARED = {"amz-sdk-invocation-id", "amz-sdk-request", "content-length", "user-agent", "x-amz-date"}


Run: TypeAlias = Callable[[], Any]

EachWay: TypeAlias = Callable[[Run], tuple[Any, Any]]
"""Runs something twice: over own connections, then through botocore."""


class Wrapped:
    """A function that another library has put around one of botocore's."""

    def __init__(self, own: Callable[..., Any]) -> None:
        self.own = own

    def __get__(self, one: Any, _: type | None = None) -> Callable[..., Any]:
        return lambda *args, **options: self.own(one, *args, **options)


def seen(request: Request) -> tuple[Any, ...]:
    """What of a request must be equal, whoever sends it."""
    headers = {name: value for name, value in request.headers.items() if name not in NOT_COMPARED}
    authorization = headers.pop("authorization")
    return request.line, headers, request.content, authorization.partition(", SignedHeaders=")[0]


def outcome_of(transport: Closable, call: Call) -> Any:
    """A reply or failure as something to compare."""
    try:
        return dict(transport.call(call))
    except Refusal as refused:
        return vars(refused)
    except NoAnswer as lost:
        return lost.sent
    except (UsageError, Unreachable) as error:
        return str(error)
