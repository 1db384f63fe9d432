"""The fields that cannot hold a time that sessions keep."""

from datetime import datetime
from typing import Annotated

from dynaorm import CreatedAt, Entity, Table, UpdatedAt
from dynaorm.entity.mapping.mapping import mapping_of

app = Table("kept")


def test_the_fields_that_a_session_keeps_are_known() -> None:
    class Thing(Entity, table=Table("app"), pk="THING#{name}", sk="T"):
        name: str
        made: Annotated[datetime | None, CreatedAt()] = None
        seen: Annotated[datetime | None, UpdatedAt()] = None
        born: Annotated[datetime | None, CreatedAt()] = None

    assert [*mapping_of(Thing).kept] == ["made", "born", "seen"]
