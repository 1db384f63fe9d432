"""Computed and nested fields in keys: rendered by every write, and queried like fields."""

from datetime import UTC, datetime
from functools import cached_property
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, computed_field

from dynaorm import (
    CreatedAt,
    Entity,
    F,
    GlobalIndex,
    Index,
    Key,
    Session,
    Table,
    Transport,
    UpdatedAt,
    any_of,
)
from dynaorm.errors import InvalidValue, KeyChanged, UnknownField
from dynaorm.flow.protocol.call import Call
from dynaorm.item.value import Item
from dynaorm.testing import FaultyTransport, assert_consistent

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


class Store(Entity, table=app, pk="STORE#{store_id}", sk="STORE"):
    store_id: str
    address: Address | None = None
    note: str = ""
    by_city = Index("GSI1", pk="CITY#{address.city}", sk="{store_id}")
    by_street = Index("GSI2", pk="STREETS", sk="{address.city}#{address.street}")


class Bucketed(Entity, table=app, pk="B#{name}", sk="B"):
    name: str
    text: str = ""
    created: Annotated[datetime | None, CreatedAt()] = None
    changed: Annotated[datetime | None, UpdatedAt()] = None
    by_day = Index("GSI1", pk="DAY#{day}", sk="{changed}")

    @computed_field  # type: ignore[prop-decorator]  # mypy does not allow it on a property
    @property
    def day(self) -> str | None:
        return None if self.created is None else f"{self.created:%Y-%m-%d}"


JANUARY, FEBRUARY = datetime(2024, 1, 5, tzinfo=UTC), datetime(2024, 2, 5, tzinfo=UTC)


def stored(moto: Transport) -> dict[str, Item]:
    return {item["PK"]["S"]: item for item in moto.call(Call("Scan", {"TableName": "computed"}))["Items"]}


def test_a_computed_field_is_a_part_of_the_primary_key(session: Session, moto: Transport) -> None:
    event = session.save(Event(event_id="1", at=JANUARY))
    assert stored(moto)["MONTH#2024-01"]["SK"] == {"S": "EVENT#1"}
    assert "month" not in stored(moto)["MONTH#2024-01"]
    assert session.get(Event, month="2024-01", event_id="1") == event
    assert session.get(Key(Event, month="2024-02", event_id="1")) is None
    session.save(Event(event_id="2", at=FEBRUARY))
    assert [one.event_id for one in session.query(Event, month=any_of("2024-01", "2024-02"))] == ["1", "2"]
    with pytest.raises(UnknownField, match="did you mean 'month'"):
        session.query(Event, mnth="2024-01")
    session.delete(Key(Event, month="2024-02", event_id="2"))
    assert session.get_many([Key(Event, month="2024-01", event_id="1")]) == [event]


def test_a_change_of_a_computed_key_is_refused_and_moved(session: Session, moto: Transport) -> None:
    event = session.save(Event(event_id="1", at=JANUARY))
    for target in (event, KEY):
        with pytest.raises(KeyChanged, match=r"session\.move"):
            session.update(target, F.at.set(FEBRUARY))
    assert session.update(KEY, F.note.set("x")).note == "x"
    event = session.refresh(event)
    event.at = FEBRUARY
    with pytest.raises(KeyChanged) as caught:
        session.save(event)
    assert caught.value.fields == ("month",)
    session.move(event)
    assert [*stored(moto)] == ["MONTH#2024-02"]
    assert_consistent(session, app)


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


def test_a_nested_field_is_a_part_of_a_key(session: Session, wire: FaultyTransport) -> None:
    store = session.save(Store(store_id="1", address=Address(city="Oslo", street="Main")))
    session.save(Store(store_id="2"))
    assert cities(session) == ["1"]
    key = Key(Store, store_id="1")
    wire.calls.clear()
    session.update(key, F.note.set("x"))
    session.update(key, F.address.set(Address(city="Bern", street="High")))
    assert [call.operation for call in wire.calls] == ["UpdateItem", "UpdateItem"]
    assert (cities(session), cities(session, "Bern")) == ([], ["1"])
    session.update(key, F.address.city.set("Oslo"))
    assert cities(session) == ["1"]
    found = session.query(Store.by_street).begins_with(**{"address.city": "Os"}).all()
    assert [one.store_id for one in found] == ["1"]
    session.refresh(store)
    store.address = None
    session.save(store)
    assert cities(session) == []
    assert_consistent(session, app)


def cities(session: Session, city: str = "Oslo") -> list[str]:
    assert_consistent(session, app)
    return [store.store_id for store in session.query(Store.by_city, **{"address.city": city})]


def test_a_key_may_be_computed_from_a_time_that_the_session_keeps(session: Session, clock: Any) -> None:
    session.save(Bucketed(name="a"))
    clock.advance(86_400)
    session.save(Bucketed(name="b"))
    session.update(Key(Bucketed, name="a"), F.text.set("x"))
    day = session.get_one(Bucketed, name="a").day
    assert [one.name for one in session.query(Bucketed.by_day, day=day)] == ["a"]
    assert_consistent(session, app)


def test_a_function_that_fails_is_an_error_of_the_value(session: Session, wire: FaultyTransport) -> None:
    class Broken(Entity, table=app, pk="BROKEN#{name}", sk="X"):
        name: str
        size: int = 1
        by_share = Index("GSI1", pk="SHARES", sk="{share:02d}")

        @computed_field  # type: ignore[prop-decorator]  # mypy does not allow it on a property
        @property
        def share(self) -> int:
            return 100 // self.size

    session.save(Broken(name="a", size=10))
    wire.calls.clear()
    for size, problem in ((0, "cannot be computed .ZeroDivisionError"), (1, "has more than 2 digits")):
        with pytest.raises(InvalidValue, match=problem):
            session.save(Broken(name="b", size=size))
    assert wire.calls == []
    with pytest.raises(InvalidValue, match="cannot be computed"):
        session.update(Key(Broken, name="a"), F.size.set(0))
    assert session.get_one(Broken, name="a").size == 10
