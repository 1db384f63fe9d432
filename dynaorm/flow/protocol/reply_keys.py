"""Checks that a reply has what everything that reads it relies on: above all, the keys of its items.

Rule 1. DynamoDB returns no item without its key attributes, each of the declared type. A server that does is not
        understood: its reply is no answer, and its items are not taken for absent ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from dynaorm.entity.received import received
from dynaorm.entity.table import Table
from dynaorm.entity.table_index import KeyAttribute, KeyKind
from dynaorm.errors import Unreachable
from dynaorm.failure import counted
from dynaorm.flow.protocol.call import Call, NoAnswer, Reply
from dynaorm.item.value import Item
from dynaorm.item.well_formed import is_item

_CONTENTS: Final[dict[KeyKind, type]] = {"S": str, "N": str, "B": bytes}


def check_keys(operation: str, items: Iterable[Any], keys: Sequence[KeyAttribute]) -> None:
    """Raise Unreachable if an item of a reply has not all of these attributes."""
    wanted = [(key.name, key.kind, _CONTENTS[key.kind]) for key in keys]
    for item in items:
        for name, kind, of_content in wanted:
            try:
                content = item[name][kind]
            except (KeyError, TypeError):
                content = None
            is_content = type(content) is of_content
            if not is_content or (kind == "N" and not _is_finite(content)):
                reason = f"an item without its key {name!r} of type {kind}"
                raise Unreachable(operation=operation, attempts=1, reason=reason)


def updated_item(call: Call, reply: Reply, table: Table) -> Item | None:
    """The item that an update returns, if the call asks for it. Raises NoAnswer without it: nothing is settled."""
    if "ReturnValues" not in call.request:
        return None
    item: Item | None = reply.get("Attributes")
    try:
        check_keys(call.operation, [item], table.keys)
    except Unreachable as trouble:
        raise NoAnswer(trouble.reason) from None
    return received(table, item)


def check_item(operation: str, item: Any) -> None:
    """Raise Unreachable if an item has anything, at any depth, that DynamoDB does not return."""
    if not is_item(item):
        reason = "an item with an attribute of the wrong type"
        raise Unreachable(operation=operation, attempts=1, reason=reason)


def part_of(operation: str, reply: Any, *path: str | int) -> Any:
    """A part of a reply that DynamoDB always gives. Raises Unreachable without it."""
    found = reply
    try:
        for name in path:
            found = found[name]
    except (LookupError, TypeError):
        where = ".".join(map(str, path))
        reason = f"a reply without {where}: is the endpoint a DynamoDB?"
        raise Unreachable(operation=operation, attempts=1, reason=reason) from None
    return found


def items_at_once(reply: Reply, tables: Sequence[Table]) -> list[Item | None]:
    """The items in a reply to TransactGetItems, None where there is none; ``tables``: that of each item.

    Raises:
        Unreachable: an item has not its key, or the reply has another number of answers.
    """
    responses = reply.get("Responses", ())
    if len(responses) != len(tables):
        reason = f"{counted(len(responses), 'answer')} to {counted(len(tables), 'key')}"
        raise Unreachable(operation="TransactGetItems", attempts=1, reason=reason)
    items: list[Item | None] = [one.get("Item") for one in responses]
    for item, table in zip(items, tables, strict=True):
        check_keys("TransactGetItems", [] if item is None else [item], table.keys)
    return [received(table, item) for item, table in zip(items, tables, strict=True)]


def _is_finite(text: str) -> bool:
    try:
        return Decimal(text).is_finite()
    except InvalidOperation:
        return False
