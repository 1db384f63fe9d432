"""A target that is made of its key is the entity that an upsert would store; if more would follow, it is not made."""

from datetime import datetime
from itertools import product
from typing import Annotated, Any, Final

import pytest
from pydantic import AfterValidator, Field

from dynaorm import Aggregate, CreatedAt, Entity, F, Key, Table, Unique
from dynaorm.entity.table import ident_of
from dynaorm.item.action import Update
from dynaorm.item.update import SetIfMissing
from dynaorm.plan.intent import Edit, Reads, Save
from dynaorm.plan.totals import TotalPurpose
from tests.plan.compiling import plan_of


def _of_the_hour(time: datetime | None) -> datetime | None:
    return time and time.replace(minute=0, second=0, microsecond=0)


TIMES: Final[dict[str, Any]] = {
    "the time": datetime | None,
    "the hour": Annotated[datetime | None, AfterValidator(_of_the_hour)],
}
MADE: Final[dict[str, Any]] = {
    "of nothing": lambda: [7],
    "of the time": lambda given: [given["created"].minute if given["created"] else 0],
}
CODES: Final = {"no code": None, "a code": "x"}
COUNTED: Final = {"counted nowhere": None, "counted": F.name == "a", "not counted": F.name == "b"}


@pytest.mark.parametrize(("kept", "factory", "held", "share"), list(product(TIMES, MADE, CODES, COUNTED)))
def test_a_target_is_made_as_an_upsert_stores_it_or_not(
    kept: str, factory: str, held: str, share: str
) -> None:
    table = Table("boxes")

    class Area(Entity, table=table, pk="AREA#{area}", sk="A"):
        area: str
        shelves: int = 0

    class Shelf(Entity, table=table, pk="SHELF#{name}", sk="S"):
        name: str
        area: str = "north"
        code: Annotated[str | None, Unique()] = CODES[held]
        created: Annotated[TIMES[kept], CreatedAt()] = None  # type: ignore[valid-type]  # one of several
        made_of: list[int] = Field(default_factory=MADE[factory])
        boxes: int = 0
        if share != "counted nowhere":
            in_area = Aggregate(Area, count="shelves", when=COUNTED[share])

    class Box(Entity, table=table, pk="BOX#{box}", sk="B"):
        box: str
        shelf: str
        on_shelf = Aggregate(Shelf, key={"name": "shelf"}, count="boxes")

    key = Key(Shelf, name="a")
    nothing = Reads({ident_of(table, key.primary_key): None})
    upsert = Edit(key, (F.area.set("north"),), read_first=True, creates=True)
    inserted, *followed = plan_of(upsert, reads=nothing).actions
    action = plan_of(Save(Box(box="1", shelf="a"))).actions[-1]
    assert action.purpose is TotalPurpose.ADD
    assert isinstance(action.action, Update)
    changes = {str(one.path[0]): one.value for one in action.action.changes if isinstance(one, SetIfMissing)}
    assert bool(changes) is not bool(followed)
    assert inserted.after is not None
    assert changes == {name: inserted.after[name] for name in changes}
    assert not changes or changes.keys() >= {"_type", "name", "created", "made_of"}
