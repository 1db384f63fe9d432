"""Computed and nested fields in keys: rendered by every write, and queried like fields."""

from datetime import UTC, date, datetime
from typing import Annotated

import pytest
from pydantic import computed_field

from dynaorm import (
    Aggregate,
    Entity,
    F,
    GlobalIndex,
    Index,
    Key,
    Session,
    Table,
    Transport,
    Unique,
    any_of,
)
from dynaorm.errors import (
    DecodeError,
    InvalidValue,
    UniqueViolation,
    UnknownField,
    UsageError,
)
from dynaorm.testing import FaultyTransport, assert_consistent
from tests.cast import tables
from tests.cast.events import Address, Event, Store
from tests.cast.seen import items

app = Table("computed", indexes=[GlobalIndex("GSI1"), GlobalIndex("GSI2", projection="KEYS_ONLY")])


JANUARY, FEBRUARY = datetime(2024, 1, 5, tzinfo=UTC), datetime(2024, 2, 5, tzinfo=UTC)


def test_a_computed_field_is_a_part_of_the_primary_key(session: Session, moto: Transport) -> None:
    event = session.save(Event(event_id="1", at=JANUARY))
    assert items(moto)["MONTH#2024-01 EVENT#1"]["SK"] == {"S": "EVENT#1"}
    assert "month" not in items(moto)["MONTH#2024-01 EVENT#1"]
    assert session.get(Event, month="2024-01", event_id="1") == event
    assert session.get(Key(Event, month="2024-02", event_id="1")) is None
    session.save(Event(event_id="2", at=FEBRUARY))
    assert [one.event_id for one in session.query(Event, month=any_of("2024-01", "2024-02"))] == ["1", "2"]
    with pytest.raises(UnknownField, match="did you mean 'month'"):
        session.query(Event, mnth="2024-01")
    session.delete(Key(Event, month="2024-02", event_id="2"))
    assert session.get_many([Key(Event, month="2024-01", event_id="1")]) == [event]


KEY = Key(Event, month="2024-01", event_id="1")


def test_a_nested_field_is_a_part_of_a_key(session: Session, wire: FaultyTransport) -> None:
    store = session.save(Store(store_id="1", address=Address(city="Oslo", street="Main")))
    session.save(Store(store_id="2"))
    assert cities(session) == ["1"]
    key = Key(Store, store_id="1")
    wire.calls.clear()
    session.update(key, F.note.set("x"))
    session.update(key, F.address.set(Address(city="Bern", street="High")))
    # The stored address may have members that no class knows.
    assert [call.operation for call in wire.calls] == ["UpdateItem", "GetItem", "UpdateItem"]
    assert (cities(session), cities(session, "Bern")) == ([], ["1"])
    session.update(key, F.address.city.set("Oslo"))
    assert cities(session) == ["1"]
    found = session.query(Store.by_street).begins_with(**{"address.city": "Os"}).all()
    assert [one.store_id for one in found] == ["1"]
    session.refresh(store)
    store.address = None
    session.save(store)
    assert cities(session) == []
    assert_consistent(session, tables.app)


def cities(session: Session, city: str = "Oslo") -> list[str]:
    assert_consistent(session, tables.app)
    return [store.store_id for store in session.query(Store.by_city, **{"address.city": city})]


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
        with pytest.raises(InvalidValue, match=f"^Broken.share.*: {problem}") as caught:
            session.save(Broken(name="b", size=size))
        assert (" = None" in str(caught.value), caught.value.has_value) == (False, size == 1)
    assert wire.calls == []
    with pytest.raises(InvalidValue, match="cannot be computed"):
        session.update(Key(Broken, name="a"), F.size.set(0))
    assert session.get_one(Broken, name="a").size == 10


class Monthly(Entity, table=app, pk="MONTHLY#{month}", sk="TOTAL"):
    month: str
    sales: int = 0
    amount: int = 0


class City(Entity, table=app, pk="TOWN#{name}", sk="TOTAL"):
    name: str
    sales: int = 0


class Sale(Entity, table=app, pk="SALE#{sale_id}", sk="SALE", unique={"slot": ("address.city", "day")}):
    sale_id: str
    at: datetime
    address: Address
    amount: int = 0
    label: str = ""
    in_month = Aggregate(Monthly, count="sales", sum={"amount": "amount"})
    in_city = Aggregate(City, count="sales", key={"name": "address.city"})

    @computed_field  # type: ignore[prop-decorator]  # mypy does not allow it on a property
    @property
    def month(self) -> str:
        return f"{self.at:%Y-%m}"

    @computed_field  # type: ignore[prop-decorator]  # mypy does not allow it on a property
    @property
    def day(self) -> date:
        return self.at.date()

    @computed_field  # type: ignore[prop-decorator]  # mypy does not allow it on a property
    @property
    def slug(self) -> Annotated[str | None, Unique()]:
        return self.label.lower().replace(" ", "-") or None


OSLO, BERN = Address(city="Oslo"), Address(city="Bern")


def test_computed_and_nested_fields_are_unique(session: Session, moto: Transport) -> None:
    sale = session.save(Sale(sale_id="1", at=JANUARY, address=OSLO, label="Big One"))
    key = {"S": "slug#big-one"}
    assert items(moto, app)["slug#big-one slug#big-one"] == {
        "PK": key,
        "SK": key,
        "owner": {"M": {"PK": {"S": "SALE#1"}, "SK": {"S": "SALE"}}},
    }
    assert "slot#Oslo#2024-01-05 slot#Oslo#2024-01-05" in items(moto, app)
    assert session.get_by(Sale, slug="big-one") == sale
    assert session.get_by(Sale, **{"address.city": "Oslo", "day": date(2024, 1, 5)}) == sale
    for taken in (
        Sale(sale_id="2", at=FEBRUARY, address=OSLO, label="BIG ONE"),
        Sale(sale_id="2", at=JANUARY, address=OSLO),
    ):
        with pytest.raises(UniqueViolation):
            session.save(taken)
    session.update(Key(Sale, sale_id="1"), {"label": "Small One", "address": BERN})
    assert session.get_by(Sale, slug="big-one") is None
    assert {name.split()[0] for name in items(moto, app) if name.startswith("sl")} == {
        "slot#Bern#2024-01-05",
        "slug#small-one",
    }
    with pytest.raises(InvalidValue, match=r"Sale.day = 'x'"):
        session.get_by(Sale, **{"address.city": "Oslo", "day": "x"})
    with pytest.raises(UnknownField, match="did you mean 'slug'"):
        session.get_by(Sale, slag="x")
    assert_consistent(session, app)


def test_a_filter_on_computed_fields_is_a_filter_in_python(session: Session, wire: FaultyTransport) -> None:
    events = [
        Event(event_id=str(number), at=JANUARY, score=score, note=note)
        for number, (score, note) in enumerate([(1, "a"), (10, "a"), (12, "b"), (-1, "a"), (3, "b")])
    ]
    session.bulk_load(events)
    for condition, wanted in {
        F.rank == "gold": "12",
        (F.rank == "gold") & (F.note == "a"): "1",
        (F.rank == "gold") | (F.note == "b"): "124",
        F.rank != "tin": "123",
        F.rank == None: "3",  # noqa: E711
        ~F.rank.exists(): "3",
        F.rank.begins_with("t"): "04",
        F.month.is_in("2024-01", "2024-02"): "01234",
        F.month < F.rank: "0124",
    }.items():
        query = session.query(Event, month="2024-01").filter(condition)
        assert "".join(one.event_id for one in query) == wanted
        assert query.count() == len(wanted)
        assert [key.fields["event_id"] for key in query.keys().all()] == [*wanted]
    wire.calls.clear()
    assert session.query(Event.by_rank).filter(F.month == "2024-01", F.note == "b").count() == 2
    (call,) = wire.calls
    assert call.request["FilterExpression"] == "#n1 = :v1"  # what is stored is filtered by DynamoDB
    assert [
        tuple(row) for row in session.query(Event, month="2024-01").limit(2).values("event_id", "rank")
    ] == [
        ("0", "tin"),
        ("1", "gold"),
    ]


def test_a_computed_field_is_refused_where_dynamodb_would_have_to_look_at_it(session: Session) -> None:
    event = session.save(Event(event_id="1", at=JANUARY))
    for call in (
        lambda: session.save(event, condition=F.rank == "tin"),
        lambda: session.update(KEY, F.note.set("x"), condition=F.rank == "tin"),
        lambda: session.update(KEY, F.rank.set("tin")),
        lambda: session.query(Event, month="2024-01").filter(F.rank.first == "t").all(),
    ):
        with pytest.raises(UsageError, match="rank"):
            call()


def test_a_filter_whose_function_fails_is_reported(session: Session, moto: Transport) -> None:
    class Shared(Entity, table=app, pk="SHARED", sk="{name}"):
        name: str
        size: int = 1

        @computed_field  # type: ignore[prop-decorator]  # mypy does not allow it on a property
        @property
        def share(self) -> int:
            return 100 // self.size

    problems: list[DecodeError] = []
    remedy = "correct the function, or the fields that it looks at"
    with Session(transport=moto, on_decode_error=problems.append) as reporting:
        reporting.bulk_load([Shared(name=str(size), size=size) for size in (0, 1, 2)])
        assert [one.name for one in reporting.query(Shared).filter(F.share > 50)] == ["1"]
        assert [problem.problems for problem in problems] == [
            ("share: cannot be computed (ZeroDivisionError: integer division or modulo by zero); " + remedy,)
        ]
