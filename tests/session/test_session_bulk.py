"""Reading and writing many entities at once, on strict moto and on ministack."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dynaorm import (
    Key,
    Session,
    inspect,
)
from dynaorm.errors import (
    BulkError,
    SessionClosed,
    StaleEntity,
    UnexpectedRefusal,
    UniqueViolation,
    UsageError,
)
from dynaorm.flow.protocol.call import Call, Refusal, Reply, Transport
from dynaorm.item.value import Item
from dynaorm.testing.clock import FakeClock
from dynaorm.testing.endpoint import transport_to
from dynaorm.testing.faults import Fault, FaultyTransport
from dynaorm.transport.direct.transport import DirectTransport
from tests.cast.documents import Page
from tests.cast.events import Entry, Upload
from tests.cast.people import User
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


@pytest.fixture
def stored(wire: FaultyTransport, unique_name: Callable[[str], str]) -> Callable[[], list[Item]]:
    """Every item of ``app``, revisions aside, in the order of their keys."""

    def scan() -> list[Item]:
        found = wire.call(Call("Scan", {"TableName": unique_name(app.name), "ConsistentRead": True}))["Items"]
        items = [{name: value for name, value in item.items() if name != "_rev"} for item in found]
        return sorted(items, key=lambda item: (item["PK"]["S"], item["SK"]["S"]))

    return scan


def events(count: int) -> list[Upload]:
    return [Upload(event_id=f"{number:04d}", kind="k" if number % 2 else None) for number in range(count)]


def requests(wire: FaultyTransport, operation: str) -> int:
    return sum(call.operation == operation for call in wire.calls)


# -- bulk_load and get_many --------------------------------------------------------------------------------------------


def test_what_is_loaded_comes_back(session: Session, wire: FaultyTransport) -> None:
    many = events(310)
    lines = [Entry(source="s", at=number) for number in range(-20, 20)]
    assert session.bulk_load([*many, *lines]) == 350
    assert requests(wire, "BatchWriteItem") == len(wire.calls) == 15
    wire.calls.clear()
    keys: list[Key[Any]] = [Key(Upload, event_id=one.event_id) for one in many]
    keys += [Key(Entry, source="s", at=one.at) for one in lines]
    found = session.get_many(reversed([*keys, Key(Upload, event_id="none")]))
    assert found == [None, *reversed(lines), *reversed(many)]
    assert requests(wire, "BatchGetItem") == len(wire.calls) == 5
    assert [inspect(one).revision for one in found[1:]] == [
        inspect(one).revision for one in reversed([*many, *lines])
    ]


def test_a_load_replaces_all_of_what_is_stored_and_its_former_holder_is_stale(
    session: Session, stored: Callable[[], list[Item]]
) -> None:
    before = session.save(Upload(event_id="1", kind="k", data="old"))
    session.bulk_load([Upload(event_id="1")])
    assert stored() == [
        {"PK": {"S": "EVENT#1"}, "SK": {"S": "E"}, "_type": {"S": "Upload"}, "event_id": {"S": "1"}}
    ]
    before.kind = "other"
    with pytest.raises(StaleEntity):
        session.save(before)


def as_an_unknown_index(call: Call, inner: Transport) -> Reply:
    """Refuses one item, as an index does that the class does not declare, and whose key has another type there."""
    if "EVENT#odd" in repr(call.request):
        raise Refusal("ValidationException", "Type mismatch for Index Key")
    return inner.call(call)


def test_an_item_that_dynamodb_refuses_fails_alone(session: Session, wire: FaultyTransport) -> None:
    writes = frozenset({"PutItem", "BatchWriteItem"})
    wire.inject(Fault("as_an_unknown_index", as_an_unknown_index, times=99, operations=writes))
    many = [*events(30), Upload(event_id="odd")]
    with pytest.raises(BulkError) as caught:
        session.bulk_load(many, concurrency=1)
    ((one, error),) = caught.value.failures
    assert (one, type(error)) == (many[-1], UnexpectedRefusal)
    found = session.get_many([Key(Upload, event_id=one.event_id) for one in many])
    assert found == [*many[:-1], None]


# -- save_many and delete_many -----------------------------------------------------------------------------------------


def test_many_are_saved_with_guards_and_versions_and_deleted_with_them(
    session: Session, stored: Callable[[], list[Item]]
) -> None:
    users = [User(user_id=str(number), email=f"{number}@x") for number in range(40)]
    audits = [Page(name=str(number)) for number in range(3)]
    given: list[Any] = [*users, *audits]
    assert session.save_many(given) == given
    assert len(stored()) == 40 * 2 + 3 * 2
    assert session.get_by(User, email="7@x") == users[7]
    for audit in audits:
        audit.text = "passed"
    session.save_many(given)
    assert [version.number for version in session.history(audits[0])] == [2, 1]
    session.delete_many([*users[:20], *[Key(User, user_id=one.user_id) for one in users[20:]]])
    assert {item["PK"]["S"].partition("#")[0] for item in stored()} == {"TEXT"}


def test_of_many_that_claim_one_value_exactly_one_is_saved(session: Session) -> None:
    users = [User(user_id=str(number), email="a@x") for number in range(20)]
    with pytest.raises(BulkError) as caught:
        session.save_many(users)
    losers = {id(one) for one, error in caught.value.failures if isinstance(error, UniqueViolation)}
    (winner,) = [one for one in users if id(one) not in losers]
    assert session.get_by(User, email="a@x") == winner


# -- the session's own rules -------------------------------------------------------------------------------------------


def test_writing_many_inside_an_open_block_is_refused_and_reading_is_not(session: Session) -> None:
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
