"""A read is a plain filter: collections with ranges, values of a shard's field, projections, times of other writers."""

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dynaorm import (
    Entity,
    F,
    GlobalIndex,
    Index,
    Key,
    Session,
    Table,
    any_of,
)
from dynaorm.errors import DecodeError, InvalidCursor, UsageError
from dynaorm.flow.protocol.call import Call, Transport
from dynaorm.testing.clock import FakeClock
from dynaorm.testing.faults import FaultyTransport
from tests.cast import tables
from tests.cast.orders import Bag, Line, Order
from tests.cast.tickets import Job, Nightly

app = Table(
    "filtered",
    indexes=[
        GlobalIndex("GSI1"),
        GlobalIndex("ByTime", pk="kind", sk="created"),
    ],
)
T0 = datetime(2024, 5, 1, 10, 15, tzinfo=UTC)


class Event(Entity, table=app, pk="EVENT#{name}", sk="EVENT"):
    name: str
    kind: str
    created: datetime
    made_up = Index("GSI1", pk="KIND#{kind}", sk="{created}")
    by_time = Index("ByTime")


class Communication(Entity, table=app, pk="COMPLAINT#{complaint}", sk="COMM#{at:03d}"):
    complaint: str
    at: int


class Complaint(Entity, table=app, pk="COMPLAINT#{id}", sk="COMPLAINT#{id}"):
    id: str
    complaint: str = "what was said"


@pytest.fixture
def session(moto: Transport) -> Iterator[Session]:
    with Session(transport=moto, clock=FakeClock(T0.timestamp())) as session:
        session.create_table(app)
        session.create_table(tables.app)
        yield session


# -- item collections --------------------------------------------------------------------------------------------------


@pytest.fixture
def orders(session: Session) -> Session:
    for order in ("1", "10", "12", "2"):
        session.save(Order(cust="c", order=order))
        for n in (1, 9):
            session.save(Line(cust="c", order=order, n=n))
    return session


def shown(found: Any) -> list[tuple[Any, ...]]:
    return [(one.order, one.n) if isinstance(one, Line) else (one.order,) for one in found]


def test_a_collection_takes_fields_of_the_sort_key(orders: Session) -> None:
    found = orders.collection(Order, Line, cust="c", order="1")
    assert shown(found.all()) == [("1",), ("1", 1), ("1", 9)]
    assert found.all().requests == 1
    assert shown(orders.collection(Order, Line, cust="c", order="10", n=9).all()) == [("10",), ("10", 9)]


def test_a_field_of_a_collection_binds_the_classes_that_have_it(orders: Session) -> None:
    found = orders.collection(Order, Line, cust="c").ge(order="10").lt(order="2").all()
    assert shown(found) == [("10",), ("10", 1), ("10", 9), ("12",), ("12", 1), ("12", 9)]
    found = orders.collection(Order, Line, cust="c", order="10").gt(n=1).all()
    assert shown(found) == [("10",), ("10", 9)]


def test_any_of_in_a_collection_gives_each_entity_once(orders: Session) -> None:
    found = orders.collection(Order, Line, cust="c", order=any_of("2", "1"), n=9).all()
    assert shown(found) == [("1",), ("1", 9), ("2",), ("2", 9)]


def test_a_range_over_an_index_binds_every_class(orders: Session) -> None:
    query = orders.collection(Order.every, Line.every, zone="x").ge(rank=1)
    assert len(query.all()) == 12
    assert shown([query.first()]) == [("1",)]


def test_one_class_names_the_partition_of_all(session: Session) -> None:
    session.save(Complaint(id="c1"))
    session.save(Communication(complaint="c1", at=1))
    session.save(Complaint(id="c2"))
    wanted = [Communication(complaint="c1", at=1), Complaint(id="c1")]
    assert session.collection(Communication, Complaint, complaint="c1").all() == wanted
    assert session.collection(Communication, Complaint, id="c1").all() == wanted
    assert session.collection(Communication, Complaint, id="c1", complaint="c1").all() == wanted
    with pytest.raises(UsageError, match="complaint is not given"):
        session.collection(Communication, Complaint).all()


# -- shards and projections --------------------------------------------------------------------------------------------


@pytest.fixture
def jobs(session: Session) -> Session:
    for number in range(8):
        session.save(Job(number=str(number)))
    session.save(Nightly(number="n1"))
    session.save(Nightly(number="n2", until=T0 + timedelta(days=1)))
    session.bulk_load([Job(number="old", until=T0 - timedelta(days=1))])
    return session


def test_any_of_the_field_of_the_shard_finds_all(jobs: Session) -> None:
    numbers = [str(number) for number in range(8)]
    found = jobs.query(Job.by_status, status="open", number=any_of(*numbers)).all()
    assert sorted(job.number for job in found) == numbers


@pytest.mark.parametrize("index", [Job.in_keys, Job.in_some], ids=["KEYS_ONLY", "INCLUDE"])
def test_counts_and_keys_of_a_projection_agree_with_the_query(jobs: Session, index: Any) -> None:
    attribute = index.index.attribute_name
    for one, wanted in ((Job, 10), (Nightly, 2)):
        source: Any = getattr(one, attribute)
        for query in (jobs.query(source, status="open"), jobs.scan(source)):
            found = query.all()
            assert len(found) == wanted
            assert query.count() == wanted
            assert [key.fields["number"] for key in query.keys().all()] == [job.number for job in found]
    assert jobs.query(index, status="open").expired().count() == 11


# -- values of other writers -------------------------------------------------------------------------------------------

SPELLINGS = (
    "2024-05-01T10:15:00.000000+0000",
    "2024-05-01T10:15:00+00:00",
    "2024-05-01T10:15:00Z",
    "2024-05-01T10:15Z",
    "2024-05-01T10:15:00.000Z",
    "2024-05-01T10:15:00.000000Z",
)
OFFSETS = ("2024-05-01T12:15:00+02:00", "2024-05-01 10:15:00+00:00", "2024-04-30T23:15:00-11:00")


def put(engine: Transport, text: str, *, made_up: bool) -> None:
    item = {
        "PK": {"S": f"EVENT#{text}".replace("%", "%25")},
        "SK": {"S": "EVENT"},
        "_type": {"S": "Event"},
        "name": {"S": text},
        "kind": {"S": "k"},
        "created": {"S": text},
        **({"GSI1PK": {"S": "KIND#k"}, "GSI1SK": {"S": text}} if made_up else {}),
    }
    engine.call(Call("PutItem", {"TableName": app.name, "Item": item}))


@pytest.mark.parametrize(
    ("index", "texts"),
    [(Event.made_up, SPELLINGS), (Event.by_time, SPELLINGS + OFFSETS)],
    ids=["made up", "own"],
)
def test_times_of_other_writers_are_compared_as_times(
    session: Session, moto: Transport, index: Any, texts: tuple[str, ...]
) -> None:
    for text in texts:
        put(moto, text, made_up=True)
    query = session.query(index, kind="k")
    second = timedelta(seconds=1)
    for found in (
        query.all(),
        query.ge(created=T0).all(),
        query.le(created=T0).all(),
        query.between(created=(T0, T0)).all(),
        query.gt(created=T0 - second).lt(created=T0 + second).all(),
        query.eq(created=T0).all(),
        query.ge(created=T0).keys().all(),
        session.scan(Event).filter(F.created == T0).all() if len(texts) > 6 else texts,
    ):
        assert len(found) == len(texts)
    for none in (
        query.gt(created=T0),
        query.lt(created=T0),
        query.eq(created=T0 + second),
        query.eq(created=T0 + second / 4),
    ):
        assert none.all() == []
        assert none.count() == 0
        assert none.keys().all() == []


def test_a_filter_compares_times_as_times(session: Session, moto: Transport) -> None:
    for text in SPELLINGS:
        put(moto, text, made_up=False)
    for condition, wanted in (
        (F.created == T0, 6),
        (F.created > T0, 0),
        (F.created >= T0, 6),
        (F.created != T0, 0),
        (~(F.created < T0), 6),
        (F.created.between(T0, T0), 6),
        (F.created.is_in([T0]), 6),
        ((F.created > T0) | (F.name == SPELLINGS[0]), 1),
    ):
        query = session.scan(Event).filter(condition)
        assert query.count() == wanted
        assert len(query.all()) == wanted


def test_a_key_that_the_template_does_not_render_is_reported_by_a_range(
    session: Session, moto: Transport
) -> None:
    item = {
        "PK": {"S": "CUST#c"},
        "SK": {"S": "ORDER#1#ITEM#8"},
        "_type": {"S": "Line"},
        "cust": {"S": "c"},
        "order": {"S": "1"},
        "n": {"N": "8"},
        "rank": {"N": "1"},
        "zone": {"S": "x"},
    }
    moto.call(Call("PutItem", {"TableName": tables.app.name, "Item": item}))
    query = session.query(Line, cust="c", order="1").ge(n=8)
    with pytest.raises(DecodeError, match="ITEM#8"):
        query.all()
    told: list[DecodeError] = []
    lenient = Session(transport=moto, on_decode_error=told.append)
    assert lenient.query(Line, cust="c", order="1").ge(n=8).all() == []
    assert [one.key["SK"] for one in told] == [{"S": "ORDER#1#ITEM#8"}]


# -- cursors and sets of values ----------------------------------------------------------------------------------------


def test_a_cursor_does_not_depend_on_the_order_of_values(jobs: Session) -> None:
    one = jobs.query(Job.in_keys, status=any_of("open", "closed")).filter(F.number.is_in(["3", "4", "5"]))
    other = jobs.query(Job.in_keys, status=any_of("closed", "open", "open")).filter(
        F.number.is_in({"5", "4", "3"})
    )
    cursor = one.page(2).cursor
    assert [job.number for job in other.page(2, after=cursor)] == ["5"]
    with pytest.raises(InvalidCursor):
        jobs.query(Job.in_keys, status=any_of("open", "done")).page(2, after=cursor)


def test_a_cursor_is_short_however_many_partitions_are_merged(jobs: Session) -> None:
    statuses = [f"status-{number}" for number in range(48)]
    for number, status in enumerate(statuses):
        jobs.save(Job(number=f"m{number:02d}", rank=number, status=status))
    query = jobs.query(Job.by_status, status=any_of(*statuses))
    first = query.page(20)
    assert first.cursor is not None
    assert len(first.cursor) < 1024
    second = query.page(30, after=first.cursor)
    assert [job.number for job in (*first, *second)] == [f"m{number:02d}" for number in range(48)]


def test_values_are_given_one_by_one_or_as_one_collection(jobs: Session) -> None:
    numbers = [job.number for job in jobs.query(Job.in_keys, status=any_of(["open", "x"])).all()]
    assert numbers == [job.number for job in jobs.query(Job.in_keys, status=any_of("open", "x")).all()]
    assert len(numbers) == 10
    scan = jobs.scan(Job)
    assert (
        scan.filter(F.number.is_in("1", "2")).count() == scan.filter(F.number.is_in(["1", "2"])).count() == 2
    )
    assert scan.filter(F.number.is_in(f"{number}" for number in range(250))).count() == 8


def test_one_of_no_values_is_nothing_and_sends_nothing(wire: FaultyTransport) -> None:
    session = Session(transport=wire)
    session.create_table(tables.app)
    before = len(wire.calls)
    assert session.scan(Job).filter(F.number.is_in([])).all() == []
    assert session.scan(Job).filter((F.number == "1") & F.status.is_in()).count() == 0
    assert session.query(Job.in_keys, status=any_of([])).all() == []
    assert len(wire.calls) == before


CURSOR = """
from dynaorm import F
from dynaorm.flow.query.query import fingerprint
from dynaorm.query.filter import filter_of
from dynaorm.query.query_spec import scanned
from tests.cast.tickets import Job
spec = scanned(Job, 1).filtered([F.number.is_in({"a", "b", "c", "d"})])
print(fingerprint(spec, filter_of(spec), str))
"""


def test_a_cursor_is_the_same_in_every_process() -> None:
    found = {
        subprocess.run(
            [sys.executable, "-c", CURSOR],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(found) == 1


def test_keys_name_the_class_that_is_stored(jobs: Session) -> None:
    assert jobs.query(Nightly.in_keys, status="open").keys().all() == [
        Key(Nightly, number="n1"),
        Key(Nightly, number="n2"),
    ]


def test_a_set_can_be_compared_with_none(session: Session) -> None:
    session.save(Bag(name="none"))
    session.save(Bag(name="some", tags={"a"}))
    assert [one.name for one in session.scan(Bag).filter(F.tags == None)] == ["none"]  # noqa: E711 - a condition
    assert [one.name for one in session.scan(Bag).filter(F.tags != None)] == ["some"]  # noqa: E711 - a condition
