"""An index of a computed field follows every way to write."""

from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from pydantic import BaseModel, computed_field

from dynaorm import (
    Entity,
    F,
    GlobalIndex,
    Index,
    Key,
    Session,
    Table,
)
from dynaorm.testing import assert_consistent

app = Table("computed", indexes=[GlobalIndex("GSI1"), GlobalIndex("GSI2", projection="KEYS_ONLY")])


class Address(BaseModel):
    city: str
    street: str = ""


class Event(Entity, table=app, pk="MONTH#{month}", sk="EVENT#{event_id}"):
    event_id: str
    at: datetime
    score: int = 0
    note: str = ""
    by_rank = Index("GSI1", pk="RANKS", sk="{rank}#{event_id}")

    @computed_field  # type: ignore[prop-decorator]  # mypy does not allow it on a property
    @property
    def month(self) -> str:
        return f"{self.at:%Y-%m}"

    @computed_field  # type: ignore[prop-decorator]  # mypy does not allow it on a property
    @cached_property
    def rank(self) -> str | None:
        return None if self.score < 0 else "gold" if self.score >= 10 else "tin"


JANUARY, FEBRUARY = datetime(2024, 1, 5, tzinfo=UTC), datetime(2024, 2, 5, tzinfo=UTC)


KEY = Key(Event, month="2024-01", event_id="1")


def test_an_index_follows_every_write(session: Session) -> None:
    event = session.save(Event(event_id="1", at=JANUARY))
    assert ranks(session) == ["tin"]
    assert event.rank == "tin"  # cached from now on
    event.score = 10
    session.save(event)
    assert ranks(session) == ["gold"]
    session.update(KEY, F.score.add(-5))
    assert ranks(session) == ["tin"]
    session.update(KEY, F.score.set(-1))
    assert ranks(session) == []
    session.save(Event(event_id="1", at=JANUARY, score=11), overwrite=True)
    session.bulk_load([Event(event_id="2", at=JANUARY, score=12)])
    assert [one.score for one in session.query(Event.by_rank).begins_with(rank="go")] == [11, 12]
    assert session.query(Event.by_rank, rank="gold").ge(event_id="2").count() == 1
    assert_consistent(session, app)


def ranks(session: Session) -> list[Any]:
    found = [one.rank for one in session.query(Event.by_rank)]
    assert_consistent(session, app)
    return found


OSLO, BERN = Address(city="Oslo"), Address(city="Bern")
