"""Cursors and values of a query: cursors that depend on no order and no process, and values given in any form."""

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from dynaorm import F, Session, any_of
from dynaorm.errors import EntityNotFound, InvalidCursor, UsageError
from dynaorm.flow.call import Transport
from dynaorm.testing.clock import FakeClock
from dynaorm.testing.faults import FaultyTransport
from tests.cast import tables
from tests.cast.tickets import Job, Nightly

T0 = datetime(2024, 5, 1, 10, 15, tzinfo=UTC)


@pytest.fixture
def session(moto: Transport) -> Iterator[Session]:
    with Session(transport=moto, clock=FakeClock(T0.timestamp())) as session:
        session.create_table(tables.app)
        yield session


@pytest.fixture
def jobs(session: Session) -> Session:
    for number in range(8):
        session.save(Job(number=str(number)))
    session.save(Nightly(number="n1"))
    session.save(Nightly(number="n2", until=T0 + timedelta(days=1)))
    session.bulk_load([Job(number="old", until=T0 - timedelta(days=1))])
    return session


def test_one_is_the_only_one(jobs: Session) -> None:
    assert jobs.query(Job, number="3").one().number == "3"
    with pytest.raises(EntityNotFound, match=r"no entity for Key\(Job, number='33'\)"):
        jobs.query(Job, number="33").one()
    with pytest.raises(UsageError, match="several"):
        jobs.query(Job.in_keys, status="open").one()


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
from dynaorm.flow.query import fingerprint
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
