"""Law 3: an index keyed by the table's own keys has entries of tombstones, too, and no read shows one."""

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Annotated, Any, Final

import pytest

from dynaorm import Entity, ExpiresAt, GlobalIndex, Index, Session, Table, inspect
from dynaorm.testing import FakeClock
from dynaorm.transport import Transport

PROJECTIONS: Final[dict[str, Any]] = {
    "keys": "KEYS_ONLY",
    "type": ("_type",),
    "deletion": ("deleted",),
    "expiry": ("until",),
    "both": ("deleted", "until"),
    "all": "ALL",
}
numbers: Final = count()
NOON: Final = datetime(2024, 1, 1, 12, tzinfo=UTC)


def keys_of(entities: list[Any]) -> list[Any]:
    return [inspect(one).key for one in entities]


@pytest.mark.parametrize("name", PROJECTIONS)
def test_keys_in_an_index_on_own_keys_are_those_of_entities(name: str, transport: Transport) -> None:
    table = Table(
        f"own-keys-{next(numbers)}",
        indexes=[GlobalIndex("Own", pk="PK", sk="SK", projection=PROJECTIONS[name])],
    )

    class Draft(Entity, table=table, pk="DESK#{desk}", sk="DRAFT#{number}", versioned=True):
        desk: str
        number: str
        beside = Index("Own")

    class Reminder(Entity, table=table, pk="DESK#{desk}", sk="REMINDER#{number}"):
        desk: str
        number: str
        until: Annotated[datetime | None, ExpiresAt()] = None
        beside = Index("Own")

    with Session(transport=transport, clock=FakeClock(NOON.timestamp())) as session:
        session.create_table(table)
        drafts = session.save_many([Draft(desk="a", number="1"), Draft(desk="a", number="2")])
        session.delete(drafts[0])
        live = Reminder(desk="a", number="1")
        over = Reminder(desk="a", number="2", until=NOON - timedelta(hours=1))
        session.save_many([live, over])
        for classes in ((Draft,), (Reminder,), (Draft, Reminder)):
            query = session.collection(*(one.beside for one in classes), desk="a")
            stored = [one for one in (live, over, drafts[1]) if isinstance(one, classes)]
            found = [one for one in stored if one is not over]
            assert query.all() == found
            assert query.keys().all() == keys_of(found)
            assert query.expired().all() == stored
            assert query.expired().keys().all() == keys_of(stored)
            assert query.expired().count() == len(stored)
