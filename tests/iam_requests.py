"""What requests need of an IAM policy, and what a policy allows: pairs of an action and a table or index."""

from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeAlias

from dynaorm import Table
from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.flow.call import Call, Transport
from dynaorm.iam import iam_policy

Allowed: TypeAlias = set[tuple[str, str]]
"""Actions, each with the table or index it is about: ``("Query", "plain/index/GSI1")``."""

WHERE: Final[dict[str, Any]] = {"account": "123456789012", "region": "eu-west-1"}
PREFIX: Final = "arn:aws:dynamodb:eu-west-1:123456789012:table/"


def allowed(policy: dict[str, Any]) -> Allowed:
    return {
        (action.removeprefix("dynamodb:"), resource.removeprefix(PREFIX))
        for statement in policy["Statement"]
        for action in statement["Action"]
        for resource in statement["Resource"]
    }


def asked(call: Call) -> Iterator[tuple[str, str, Any]]:
    """What a request needs: action, resource, and the part of the request that names a partition key."""
    request = call.request
    if "TransactItems" in request:
        for action in request["TransactItems"]:
            ((kind, body),) = action.items()
            yield f"{kind}Item", body["TableName"], body
    elif "RequestItems" in request:
        for table, found in request["RequestItems"].items():
            bodies = [{"Key": key} for key in found["Keys"]] if isinstance(found, dict) else found
            for body in bodies:
                yield call.operation, table, body.get("PutRequest", body)
    else:
        index = f"/index/{request['IndexName']}" if "IndexName" in request else ""
        yield call.operation, f"{request['TableName']}{index}", request


class Recorder:
    """A transport that remembers what the requests of a test need."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.needed: Allowed = set()

    def call(self, call: Call, /) -> Any:
        self.needed |= {(action, resource) for action, resource, _ in asked(call)}
        return self._inner.call(call)

    def check(self, tables: Iterable[Table], *actions: Any) -> None:
        """The policy of all classes of some tables allows everything that was sent."""
        classes = [one.entity for table in tables for one in catalog_of(table).mappings.values()]
        denied = self.needed - allowed(iam_policy(*classes, **WHERE, actions=actions))
        assert not denied, denied
