"""The class that most tests of a session use, and what is stored and sent."""

from typing import Annotated

from dynaorm import Call, Entity, GlobalIndex, Index, Key, Reply, Table, Transport, Unique
from dynaorm.item.value import Item
from dynaorm.testing.faults import FaultyTransport

app = Table("sync-app", indexes=[GlobalIndex("GSI1")])


class User(Entity, table=app, pk="USER#{user_id}", sk="U"):
    user_id: str
    email: Annotated[str | None, Unique(normalize=str.casefold)] = None
    phone: Annotated[str | None, Unique()] = None
    name: str = ""
    team: str | None = None
    by_team = Index("GSI1", pk="TEAM#{team}", sk="{user_id}")


USER = Key(User, user_id="1")


def items(moto: Transport, table: str = "sync-app") -> dict[str, Item]:
    """Every item by its partition key; versions by partition and sort key."""
    reply: Reply = moto.call(Call("Scan", {"TableName": table, "ConsistentRead": True}))
    return {
        " ".join(item[name]["S"] for name in ("PK", "SK", "lock") if name in item): item
        for item in reply["Items"]
    }


def operations(wire: FaultyTransport) -> list[str]:
    found = [call.operation for call in wire.calls]
    wire.calls.clear()
    return found
