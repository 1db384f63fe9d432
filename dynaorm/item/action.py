"""The four actions of a transaction as values, and what each looks like on the wire.

Equal actions render to equal dictionaries in equal order: a repeated request must be the same bytes.
"""

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from dynaorm.item.condition import Condition, render
from dynaorm.item.placeholder import Placeholders
from dynaorm.item.update import Change, render_update
from dynaorm.item.value import Item


@dataclass(frozen=True, slots=True)
class Put:
    """Store the whole item."""

    table: str
    item: Item
    condition: Condition | None = None


@dataclass(frozen=True, slots=True)
class Update:
    """Change parts of the item with this key."""

    table: str
    key: Item
    changes: tuple[Change, ...]
    condition: Condition | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete the item with this key."""

    table: str
    key: Item
    condition: Condition | None = None


@dataclass(frozen=True, slots=True)
class ConditionCheck:
    """Write nothing, and refuse the transaction unless the condition holds."""

    table: str
    key: Item
    condition: Condition


Action: TypeAlias = Put | Update | Delete | ConditionCheck
"""One action on one item, its condition and changes resolved."""

_OPERATIONS: Final[dict[type[Action], str]] = {
    Put: "PutItem",
    Update: "UpdateItem",
    Delete: "DeleteItem",
    ConditionCheck: "TransactWriteItems",
}


def operation_of(action: Action) -> str:
    """The operation that does the action alone; a check has none of its own, and needs a transaction."""
    return _OPERATIONS[type(action)]


def to_wire(action: Action) -> dict[str, dict[str, Any]]:
    """The action as TransactWriteItems takes it; what is inside ``Put`` is also the request of a PutItem."""
    placeholders = Placeholders()
    if isinstance(action, Put):
        wire: dict[str, Any] = {"TableName": action.table, "Item": action.item}
    else:
        wire = {"TableName": action.table, "Key": action.key}
        if isinstance(action, Update) and action.changes:
            wire["UpdateExpression"] = render_update(action.changes, placeholders)
    if action.condition is not None:
        wire["ConditionExpression"] = render(action.condition, placeholders)
    if placeholders.names:
        wire["ExpressionAttributeNames"] = placeholders.names
    if placeholders.values:
        wire["ExpressionAttributeValues"] = placeholders.values
    if action.condition is not None:
        wire["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    return {type(action).__name__: wire}
