"""The engine answers random requests as ministack does, and refuses what ministack refuses."""

import re
from random import Random
from typing import Any, Final

import pytest

from dynaorm.embedded.engine import Engine
from dynaorm.transport import Call, Transport
from tests.embedded.answers import Answer, answer
from tests.embedded.random_requests import Requests

_REQUESTS: Final = 40
_STRICTER: Final = (
    # ministack does not check these rules of DynamoDB, or only in some operations.
    r"Two document paths",
    r"same data type for lower and upper",
    r"requires upper bound",
    r"redundant parentheses",
    r"non-primary key attribute",
    r"Aggregated size of the keys",
    r"ALL_ATTRIBUTES is not supported",
    r"does not project",
    r"Cannot update attribute",
    r"must be distinct from the remaining operands",
    r"ExpressionAttributeValues contains invalid value",
    r"document path provided in the update expression is invalid",
    r"operand in the update expression has an incorrect data type",
    # It checks duplicates after the conditions, and keys and names of TransactGetItems never.
    r"multiple operations on one item",
    r"TransactGetItems",
    r"TransactWriteItems.*key element does not match",
    r"BatchGetItem.*unused",
)
_LESS_STRICT: Final = "operator or function: begins_with, operand type"
"""ministack refuses ``begins_with`` of an attribute that is stored with another type. In DynamoDB, it is false."""


def difference(engine: Transport, other: Transport, operation: str, request: dict[str, Any]) -> str | None:
    """Where two engines answer differently; None if they do not, or if it is known which of them is right.

    Raises:
        StopIteration: it is known, but they have stored something else from here on.
    """
    ours = answer(engine, operation, request)
    told = f"{operation} {ours.message}"
    if ours.refused and any(re.search(rule, told) for rule in _STRICTER):
        return None
    theirs = answer(other, operation, request)
    if ours.content == theirs.content:
        return None
    if _LESS_STRICT in theirs.message:
        if ours.refused or operation in ("Query", "Scan"):
            return None
        raise StopIteration
    if _fails_twice(ours, theirs):
        return None
    return f"{operation} {request}\nengine: {ours}\nother:  {theirs}"


def _fails_twice(ours: Answer, theirs: Answer) -> bool:
    """Whether an action is invalid, and a condition fails or a token is taken: either may be reported."""
    both = f"{ours.refused} {theirs.refused}"
    return (
        bool(ours.refused and theirs.refused)
        and "Validation" in both
        and ("Condition" in both or "Idempotent" in both)
    )


def compare(seed: int, mark: str, other: Transport) -> list[str]:
    """The differences of a random table and random requests for it."""
    requests = Requests(Random(seed), mark)
    engine = Engine()
    found = []
    engine.call(Call("CreateTable", requests.create))
    other.call(Call("CreateTable", requests.create))
    try:
        for _ in range(_REQUESTS):
            operation, request = requests.request()
            if (problem := difference(engine, other, operation, request)) is not None:
                found.append(f"seed {seed}: {problem}\ntable: {requests.create}")
                break
    except StopIteration:
        pass
    finally:
        other.call(Call("DeleteTable", {"TableName": requests.table}))
    return found


@pytest.mark.parametrize("seed", range(6))
def test_random_requests_are_answered_and_refused_as_by_ministack(
    seed: int, ministack_line: tuple[Transport, Any], unique_name: Any
) -> None:
    assert compare(seed, unique_name("r"), ministack_line[0]) == []
