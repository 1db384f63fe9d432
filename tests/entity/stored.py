"""What is stored while a session's tables are in this process."""

from typing import Any

from dynaorm import Session, Table
from dynaorm.item.value import Item
from dynaorm.transport import Call


def put(session: Session, table: Table, item: Item) -> None:
    session._transport.call(Call("PutItem", {"TableName": table.name, "Item": dict(item)}))


def items(session: Session, table: Table) -> list[dict[str, Any]]:
    """The items of a table, without their revisions."""
    found: list[dict[str, Any]] = session._transport.call(Call("Scan", {"TableName": table.name}))["Items"]
    return [
        {name: value for name, value in item.items() if name != table.revision_attribute} for item in found
    ]
