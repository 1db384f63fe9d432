"""Reading and writing many entities at once, in memory and on ministack."""

import threading
from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dynaorm import Key, Session
from dynaorm.errors import SessionClosed, UsageError
from dynaorm.flow.call import Call, Transport
from dynaorm.testing.clock import FakeClock
from dynaorm.testing.faults import FaultyTransport
from dynaorm.testing.ministack import transport_to
from dynaorm.transport.direct import DirectTransport
from tests.cast.events import Upload
from tests.cast.people import Member, Team
from tests.cast.tables import app, log


@pytest.fixture(params=["moto", "ministack", "direct"])
def engine(request: pytest.FixtureRequest) -> Iterator[Transport]:
    """Either engine, ministack over both transports."""
    if request.param == "moto":
        yield request.getfixturevalue("moto")
        return
    endpoint = request.getfixturevalue("ministack_endpoint")
    transport = DirectTransport(endpoint=endpoint) if request.param == "direct" else transport_to(endpoint)
    yield transport
    transport.close()


@pytest.fixture
def wire(engine: Transport) -> FaultyTransport:
    return FaultyTransport(engine)


@pytest.fixture
def session(wire: FaultyTransport, clock: FakeClock, unique_name: Callable[[str], str]) -> Iterator[Session]:
    """A session with tables of its own."""
    with Session(transport=wire, clock=clock, table_names=unique_name) as session:
        session.create_table(app)
        session.create_table(log)
        wire.calls.clear()
        yield session
    for table in (app, log):
        wire.call(Call("DeleteTable", {"TableName": unique_name(table.name)}))


def events(count: int) -> list[Upload]:
    return [Upload(event_id=f"{number:04d}", kind="k" if number % 2 else None) for number in range(count)]


# -- the session's own rules -------------------------------------------------------------------------------------------


def test_writing_many_in_an_open_block_is_refused(session: Session) -> None:
    with session.transaction():
        for verb in ("save_many", "delete_many", "bulk_load"):
            with pytest.raises(UsageError, match=rf"session\.{verb}\(\)"):
                getattr(session, verb)([Upload(event_id="1")])
        assert session.get_many([Key(Upload, event_id="1")]) == [None]


def test_a_closed_session_does_nothing(session: Session) -> None:
    session.close()
    with pytest.raises(SessionClosed):
        session.bulk_load([Upload(event_id="1")])


def test_progress_is_told_where_the_method_was_called(session: Session) -> None:
    told: list[tuple[int, int | None, str]] = []

    def note(done: int, total: int | None) -> None:
        told.append((done, total, threading.current_thread().name))

    session.bulk_load(iter(events(110)), concurrency=2, progress=note)
    here = threading.current_thread().name
    assert told == [(100, None, here), (110, None, here)]


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 15), st.integers(0, 9)), max_size=40), st.integers(1, 3))
def test_always_a_load_leaves_what_saving_one_after_another_would(
    session: Session, pairs: list[tuple[int, int]], concurrency: int
) -> None:
    keys = [Key(Upload, event_id=str(number)) for number in range(16)]
    there = [key for key, one in zip(keys, session.get_many(keys), strict=True) if one is not None]
    session.delete_many(there)
    session.bulk_load(
        [Upload(event_id=str(number), data=data) for number, data in pairs], concurrency=concurrency
    )
    last = dict(pairs)
    assert [one.data if one else None for one in session.get_many(keys)] == [last.get(n) for n in range(16)]


@pytest.mark.parametrize("step", [1, -1])
@pytest.mark.parametrize("count", [1, 3, 40])
def test_targets_of_totals_are_saved_before_what_is_counted_in_them(
    session: Session, count: int, step: int
) -> None:
    teams = [Team(team=f"t{number}", goal=7) for number in range(count)]
    members = [Member(name=f"m{number}", team=f"t{number}") for number in range(count)]
    session.save_many([*teams, *members][::step])
    assert {(one.goal, one.members) for one in session.scan(Team)} == {(7, 1)}
