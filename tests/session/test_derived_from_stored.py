"""Guards and index keys follow from the values that are stored."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Annotated

from dynaorm import (
    Attribute,
    Entity,
    ExpiresAt,
    F,
    GlobalIndex,
    Index,
    Key,
    Session,
    Table,
    Unique,
)
from dynaorm.flow.protocol.call import Call, Transport
from dynaorm.item.value import Item
from dynaorm.testing.clock import FakeClock

app = Table("stored-app", indexes=[GlobalIndex("GSI1")])


def midnight(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


class Visit(Entity, table=app, pk="VISIT#{name}", sk="V"):
    name: str
    day: Annotated[datetime, Unique(normalize=midnight)]
    code: Annotated[
        str, Unique(), Attribute("code", encode=lambda it: {"S": it.lower()}, decode=lambda it: it["S"])
    ]
    until: Annotated[datetime | None, ExpiresAt(), Unique("until")] = None
    by_code = Index("GSI1", pk="CODE#{code}", sk="{until}")


def items(moto: Transport, table: Table = app) -> list[Item]:
    return list(moto.call(Call("Scan", {"TableName": table.name, "ConsistentRead": True}))["Items"])


def test_guards_and_index_keys_follow_from_the_stored_values(
    session: Session, moto: Transport, clock: FakeClock
) -> None:
    until = datetime.fromtimestamp(int(clock.now()) + 100, UTC) + timedelta(microseconds=7)
    east = datetime(2024, 1, 1, 5, tzinfo=timezone(timedelta(hours=10)))
    visit = session.save(Visit(name="v", day=east, code="ABC", until=until))
    main = next(item for item in items(moto) if item["SK"] == {"S": "V"})
    assert (main["GSI1PK"], main["GSI1SK"]["S"][-8:]) == ({"S": "CODE#abc"}, ".000000Z")
    updated = session.update(Key(Visit, name="v"), F.until.set(until), F.code.set("XYZ"))
    assert session.get_by(Visit, code="xyz") == updated
    main = next(item for item in items(moto) if item["SK"] == {"S": "V"})
    assert (main["GSI1PK"], main["GSI1SK"]["S"][-8:]) == ({"S": "CODE#xyz"}, ".000000Z")
    session.delete(session.refresh(visit))
    assert items(moto) == []
