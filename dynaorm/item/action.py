"""The four actions of a transaction as values, and the requests they become.

Equal actions become equal dictionaries in equal order, because a repeated request must have the same bytes. Its
``repr`` shows no values, which may be secret.
"""

from collections.abc import Callable
from dataclasses import field
from typing import Any, Final, TypeAlias, final

from dynaorm.item.condition import Condition, Or, render
from dynaorm.item.path import Placeholders
from dynaorm.item.update import Change, render_update
from dynaorm.item.value import AttributeValue, Item
from dynaorm.record import record


@final
@record(quick=True)
class Put:
    """Store the whole item."""

    table: str
    item: Item = field(repr=False)
    condition: Condition | None = field(default=None, repr=False)


@final
@record(quick=True)
class Update:
    """Change parts of the item with this key."""

    table: str
    key: Item = field(repr=False)
    changes: tuple[Change, ...] = field(repr=False)
    condition: Condition | None = field(default=None, repr=False)


@final
@record(quick=True)
class Delete:
    """Delete the item with this key."""

    table: str
    key: Item = field(repr=False)
    condition: Condition | None = field(default=None, repr=False)


@final
@record(quick=True)
class ConditionCheck:
    """Write nothing; DynamoDB refuses the transaction unless the condition holds."""

    table: str
    key: Item = field(repr=False)
    condition: Condition = field(repr=False)


Action: TypeAlias = Put | Update | Delete | ConditionCheck
"""One action on one item. Its condition and changes are resolved."""

_OPERATIONS: Final[dict[type[Action], str]] = {
    Put: "PutItem",
    Update: "UpdateItem",
    Delete: "DeleteItem",
    ConditionCheck: "TransactWriteItems",
}


_Expression: TypeAlias = tuple[str, dict[str, str], dict[str, AttributeValue]]
"""The text of an expression, and the names and values of its placeholders."""


def operation_of(action: Action) -> str:
    """The operation that performs the action alone. A check needs TransactWriteItems."""
    return _OPERATIONS[type(action)]


def to_wire(action: Action) -> dict[str, dict[str, Any]]:
    """The action as TransactWriteItems takes it. The value under ``Put`` is also the request of a PutItem."""
    if type(action) is Put:
        wire: dict[str, Any] = {"TableName": action.table, "Item": action.item}
    elif type(action) is Update:
        return {"Update": _update_wire(action)}
    else:
        wire = {"TableName": action.table, "Key": action.key}
    if action.condition is not None:
        text, names, values = _expression_of(action.condition)
        wire["ConditionExpression"] = text
        wire["ExpressionAttributeNames"] = {**names}
        if values:
            wire["ExpressionAttributeValues"] = {**values}
        # The item in the refusal says who was there first: another writer, or this very write, whose answer was lost.
        wire["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    return {type(action).__name__: wire}


def _expression_of(condition: Condition) -> _Expression:
    """The expression of a condition, with placeholders of its own. It is kept, because guards share a condition."""
    try:
        return condition._expression
    except AttributeError:
        placeholders = Placeholders()
        found = render(condition, placeholders), placeholders.names, placeholders.values
        object.__setattr__(condition, "_expression", found)
        return found


class Pattern:
    """Conditions that differ only in one value. The expression is rendered once and used for all of them."""

    __slots__ = ("_make", "_names", "_placeholder", "_text")

    def __init__(self, make: Callable[[AttributeValue], Or]) -> None:
        self._make = make
        self._text, self._names, values = _expression_of(make({}))
        (self._placeholder,) = values

    def of(self, value: AttributeValue) -> Condition:
        """The condition with this value; its expression is not rendered again."""
        condition: Condition = self._make(value)
        condition._expression = self._text, self._names, {self._placeholder: value}
        return condition


def _update_wire(action: Update) -> dict[str, Any]:
    # One for both expressions, because a request has one map of names and one of values; so this condition is not kept.
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
