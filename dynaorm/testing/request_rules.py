"""Rules for requests that DynamoDB enforces and moto does not, as functions of the request alone.

Each check raises ``Unacceptable`` with DynamoDB's message. The numbers are those of "Service, account, and
table quotas" and "Constraints" in the DynamoDB developer guide. Requests are in the low-level form, binary
values as bytes.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from dynaorm.item.size import ACTION_LIMIT, ITEM_LIMIT, TRANSACTION_LIMIT, item_size
from dynaorm.item.value import Item, number_text

TOKEN_LIMIT = 36
BATCH_WRITE_LIMIT = 25
NESTING_LIMIT = 32
"""Levels of a value, of which that of an attribute is the first: a text inside of 31 lists is accepted."""

ITEM_MAPS = frozenset({"Item", "Key", "ExpressionAttributeValues", "ExclusiveStartKey"})
"""The parameters that map names to attribute values, wherever they occur in a request."""

VALUE_PLACEHOLDER = re.compile(r":[A-Za-z0-9_]+")


class Unacceptable(Exception):
    """The request is refused with a ValidationException; this is its message."""


class UnacceptableAction(Exception):
    """A transaction is cancelled because of one action, with the reason ValidationError."""

    def __init__(self, index: int, message: str) -> None:
        super().__init__(index, message)
        self.index = index
        self.message = message


def actions_of(request: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The parameters of each action of a TransactWriteItems request, in order."""
    return [next(iter(action.values())) for action in request["TransactItems"]]


def check_transaction(request: Mapping[str, Any]) -> None:
    """Check the number of actions, the token and the size of a TransactWriteItems request.

    The limit of 4 MB is for the items, keys and values in the request; 50 Deletes of 100 KB items are accepted.
    """
    actions = actions_of(request)
    if not 1 <= len(actions) <= ACTION_LIMIT:
        raise Unacceptable(
            "1 validation error detected: Value at 'transactItems' failed to satisfy constraint: "
            f"Member must have length between 1 and {ACTION_LIMIT}"
        )
    if not 1 <= len(request.get("ClientRequestToken", "-")) <= TOKEN_LIMIT:
        raise Unacceptable(
            "1 validation error detected: Value at 'clientRequestToken' failed to satisfy constraint: "
            f"Member must have length between 1 and {TOKEN_LIMIT}"
        )
    sent = ("Item", "Key", "ExpressionAttributeValues")
    if sum(item_size(action.get(part, {})) for action in actions for part in sent) > TRANSACTION_LIMIT:
        raise Unacceptable("Collection size of all items in the transaction request cannot exceed 4 MB")


def check_batch_write(request: Mapping[str, Any], key_of: Callable[[str, Item], object]) -> None:
    """Check the number of requests of a BatchWriteItem, and that no two are for one item.

    ``key_of`` returns the key of an item in a table.
    """
    requests = [
        (table, each.get("PutRequest", {}).get("Item") or each.get("DeleteRequest", {}).get("Key") or {})
        for table, requests in request["RequestItems"].items()
        for each in requests
    ]
    if not 1 <= len(requests) <= BATCH_WRITE_LIMIT:
        raise Unacceptable(
            "1 validation error detected: Value at 'requestItems' failed to satisfy constraint: "
            f"Map value must satisfy constraint: [Member must have length between 1 and {BATCH_WRITE_LIMIT}]"
        )
    keys = [repr((table, key_of(table, attributes))) for table, attributes in requests]
    if len(set(keys)) < len(keys):
        raise Unacceptable("Provided list of item keys contains duplicates")


def check_item_sizes(request: object) -> None:
    """Check the size of every item that a request would store."""
    for name, attributes in _item_maps(request):
        if name == "Item" and item_size(attributes) > ITEM_LIMIT:
            raise Unacceptable("Item size has exceeded the maximum allowed size")


def check_values_used(request: Mapping[str, Any]) -> None:
    """Check that every value placeholder is used by an expression of the same action."""
    for action in actions_of(request) if "TransactItems" in request else [request]:
        expressions = " ".join(
            text for name, text in action.items() if name.endswith("Expression") and isinstance(text, str)
        )
        used = set(VALUE_PLACEHOLDER.findall(expressions))
        unused = sorted(set(action.get("ExpressionAttributeValues", ())) - used)
        if unused:
            raise Unacceptable(
                "Value provided in ExpressionAttributeValues unused in expressions: "
                f"keys: {{{', '.join(unused)}}}"
            )


def canonical(request: Any) -> Any:
    """The request with each number as DynamoDB stores it (``1.50`` as ``1.5``), after checking every value."""
    if isinstance(request, Mapping):
        return {
            name: _canonical_map(part, 1) if _is_item_map(name, part) else canonical(part)
            for name, part in request.items()
        }
    return [canonical(part) for part in request] if isinstance(request, list) else request


def _is_item_map(name: str, part: object) -> bool:
    return name in ITEM_MAPS and isinstance(part, Mapping)


def _item_maps(request: object) -> Iterator[tuple[str, Item]]:
    if isinstance(request, Mapping):
        for name, part in request.items():
            if _is_item_map(name, part):
                yield name, part
            else:
                yield from _item_maps(part)
    elif isinstance(request, list):
        for part in request:
            yield from _item_maps(part)


def _canonical_map(attributes: Mapping[str, Any], depth: int) -> dict[str, Any]:
    return {name: _canonical_value(value, depth) for name, value in attributes.items()}


def _canonical_value(value: Mapping[str, Any], depth: int) -> Mapping[str, Any]:
    if depth > NESTING_LIMIT:
        raise Unacceptable("Nesting Levels have exceeded supported limits")
    ((tag, content),) = value.items()
    match tag:
        case "N":
            return {"N": _canonical_number(content)}
        case "NS":
            return {"NS": _distinct([_canonical_number(number) for number in content])}
        case "SS" | "BS":
            return {tag: _distinct(content)}
        case "L":
            return {"L": [_canonical_value(element, depth + 1) for element in content]}
        case "M":
            return {"M": _canonical_map(content, depth + 1)}
        case _:
            return value


def _canonical_number(text: str) -> str:
    try:
        return number_text(Decimal(text))
    except InvalidOperation:
        raise Unacceptable(f"The parameter cannot be converted to a numeric value: {text}") from None
    except ValueError as problem:
        raise Unacceptable(f"Attempting to store a number that DynamoDB cannot: {problem}") from None


def _distinct(members: Iterable[Any]) -> list[Any]:
    members = list(members)
    if not members:
        raise Unacceptable("One or more parameter values were invalid: An set may not be empty")
    if len(set(members)) < len(members):
        raise Unacceptable(
            f"One or more parameter values were invalid: Input collection {members} contains duplicates."
        )
    return members
