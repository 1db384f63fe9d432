"""What is stored in a table, and what a session sent."""

from dynaorm import Table
from dynaorm.testing import FaultyTransport
from dynaorm.transport import Call, Reply, Transport
from tests.cast.tables import app
from tests.dynamodb_json import Item


def items(moto: Transport, table: Table | str = app) -> dict[str, Item]:
    """Every item by its partition key; versions by partition and sort key."""
    name = table if isinstance(table, str) else table.name
    reply: Reply = moto.call(Call("Scan", {"TableName": name, "ConsistentRead": True}))
    return {
        " ".join(item[name]["S"] for name in ("PK", "SK", "lock") if name in item): item
        for item in reply["Items"]
    }


def put(moto: Transport, item: Item, table: Table = app) -> None:
    """Store an item as another program would."""
    moto.call(Call("PutItem", {"TableName": table.name, "Item": item}))


def operations(wire: FaultyTransport) -> list[str]:
    """The operations that were called since the last question."""
    found = [call.operation for call in wire.calls]
    wire.calls.clear()
    return found
