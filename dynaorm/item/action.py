"""The four actions of a transaction as values, and what each looks like on the wire.

Equal actions render to equal dictionaries in equal order: a repeated request must be the same bytes. Nobody changes an
action; its class is not frozen, because every save makes several, and that would double what they cost.
"""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from dynaorm.item.condition import Condition, Or, render
from dynaorm.item.placeholder import Placeholders
from dynaorm.item.update import Change, render_update
from dynaorm.item.value import AttributeValue, Item
from dynaorm.record import record


@record(frozen=False)
class Put:
    """Store the whole item."""

    table: str
    item: Item
    condition: Condition | None = None


@record(frozen=False)
class Update:
    """Change parts of the item with this key."""

    table: str
    key: Item
    changes: tuple[Change, ...]
    condition: Condition | None = None


@record(frozen=False)
class Delete:
    """Delete the item with this key."""

    table: str
    key: Item
    condition: Condition | None = None


@record(frozen=False)
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


_Expression: TypeAlias = tuple[str, dict[str, str], dict[str, AttributeValue]]
"""The text of an expression, and the names and values of its placeholders."""


def operation_of(action: Action) -> str:
    """The operation that does the action alone; a check has none of its own, and needs a transaction."""
    return _OPERATIONS[type(action)]


def to_wire(action: Action) -> dict[str, dict[str, Any]]:
    """The action as TransactWriteItems takes it; what is inside ``Put`` is also the request of a PutItem."""
    if isinstance(action, Put):
        wire: dict[str, Any] = {"TableName": action.table, "Item": action.item}
    elif isinstance(action, Update):
        return {"Update": _update_wire(action)}
    else:
        wire = {"TableName": action.table, "Key": action.key}
    if action.condition is not None:
        text, names, values = _expression_of(action.condition)
        wire["ConditionExpression"] = text
        wire["ExpressionAttributeNames"] = {**names}
        if values:
            wire["ExpressionAttributeValues"] = {**values}
        wire["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    return {type(action).__name__: wire}


def _expression_of(condition: Condition) -> _Expression:
    """The expression of a condition that stands alone; made once, because all guards of an entity share one."""
    try:
        return condition._expression
    except AttributeError:
        placeholders = Placeholders()
        found = render(condition, placeholders), placeholders.names, placeholders.values
        object.__setattr__(condition, "_expression", found)
        return found


class Pattern:
    """Conditions that differ in one value alone: ``make`` makes them of it, and they are rendered once for all."""

    __slots__ = ("_make", "_names", "_slot", "_text")

    def __init__(self, make: Callable[[AttributeValue], Or]) -> None:
        self._make = make
        self._text, self._names, values = _expression_of(make({}))
        (self._slot,) = values

    def of(self, value: AttributeValue) -> Condition:
        """The condition of this value, its expression ready."""
        condition: Condition = self._make(value)
        condition._expression = self._text, self._names, {self._slot: value}
        return condition


def _update_wire(action: Update) -> dict[str, Any]:
    placeholders = Placeholders()
    wire: dict[str, Any] = {"TableName": action.table, "Key": action.key}
    if action.changes:
        wire["UpdateExpression"] = render_update(action.changes, placeholders)
    if action.condition is not None:
        wire["ConditionExpression"] = render(action.condition, placeholders)
    if placeholders.names:
        wire["ExpressionAttributeNames"] = placeholders.names
    if placeholders.values:
        wire["ExpressionAttributeValues"] = placeholders.values
    if action.condition is not None:
        wire["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    return wire
