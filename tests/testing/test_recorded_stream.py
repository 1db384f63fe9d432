"""The events of a stream for the writes of a test are those that a handler gets from AWS."""

import json
from collections.abc import Iterator
from typing import Annotated, Any

import pytest

from dynaorm import Entity, F, Key, Session, Table, Unique
from dynaorm.errors import EntityNotFound
from dynaorm.streams import Changed, Deleted, Inserted, changes, handler
from dynaorm.testing import FakeClock, Store, lost_answer, stream_events, throttle
from dynaorm.transport import Transport

app = Table("recorded", stream="NEW_AND_OLD_IMAGES")
other = Table("recorded-other")
keys_only = Table("recorded-keys", stream="KEYS_ONLY")


class User(Entity, table=app, pk="USER#{user_id}", sk="U"):
    user_id: str
    email: Annotated[str, Unique()]
    visits: int = 0


class Note(Entity, table=other, pk="NOTE#{note}", sk="N"):
    note: str


class Hit(Entity, table=keys_only, pk="HIT#{hit}", sk="H"):
    hit: str


class Blob(Entity, table=Table("recorded-blobs"), pk="BLOB#{owner}", sk="B"):
    owner: str
    content: bytes


@pytest.fixture(params=[None, "mark"], ids=["names", "marked names"])
def store(request: pytest.FixtureRequest, moto: Transport) -> Iterator[Store]:
    """A store; with a mark, its tables have other names than they are declared with."""
    found = Store(moto, mark=request.param, clock=FakeClock())
    found.create(app, other, keys_only, Blob.__dynaorm_mapping__.table)  # type: ignore[attr-defined]  # it is mapped
    yield found
    found.drop()


@pytest.fixture
def session(store: Store) -> Iterator[Session]:
    with store.session() as session:
        yield session


def bobby() -> User:
    return User(user_id="u1", email="bobby@x.com")


def test_a_handler_gets_the_changes_of_a_block(store: Store, session: Session) -> None:
    found: list[Any] = []
    on = handler(app)
    on.any(User)(found.append)
    with stream_events(store) as event:
        user = session.save(bobby())
        user.visits = 1
        session.save(user)
        session.delete(user)
    assert on(event, None) == {"batchItemFailures": []}
    inserted, changed, deleted = found
    assert [type(one) for one in found] == [Inserted, Changed, Deleted]
    assert inserted.new == bobby()
    assert (changed.old.visits, changed.new.visits) == (0, 1)
    assert deleted.old.visits == 1
    assert json.loads(json.dumps(event)) == event


def test_a_record_has_the_images_of_its_item_before_and_after(store: Store, session: Session) -> None:
    with stream_events(store, app) as event:
        session.save(bobby())
    main, guard = event["Records"]
    assert (main["eventName"], main["eventSource"]) == ("INSERT", "aws:dynamodb")
    assert main["dynamodb"]["Keys"] == {"PK": {"S": "USER#u1"}, "SK": {"S": "U"}}
    assert main["dynamodb"]["NewImage"]["email"] == {"S": "bobby@x.com"}
    assert "OldImage" not in main["dynamodb"]
    assert main["dynamodb"]["ApproximateCreationDateTime"] == 1_704_067_200.0
    assert ":table/recorded/stream/" in main["eventSourceARN"]
    assert guard["dynamodb"]["Keys"]["PK"] == {"S": "email#bobby@x.com"}
    assert guard["dynamodb"]["SequenceNumber"] > main["dynamodb"]["SequenceNumber"]


def test_a_write_that_changes_nothing_has_no_record(store: Store, session: Session) -> None:
    user = session.save(bobby())
    with stream_events(store) as event:
        session.save(user)
        with pytest.raises(EntityNotFound):
            session.delete(Key(Note, note="none"))
    assert event == {"Records": []}


def test_a_refused_write_has_no_record_and_a_lost_answer_has_one(store: Store, session: Session) -> None:
    store.wire.inject(throttle(at=1), lost_answer(at=2))
    with stream_events(store) as event:
        session.save(Note(note="n"))
    assert [one["eventName"] for one in event["Records"]] == ["INSERT"]
    assert store.wire.pending == ()


def test_writes_outside_the_block_and_in_other_tables_are_left_out(store: Store, session: Session) -> None:
    session.save(Note(note="before"))
    with stream_events(store, other) as event:
        session.save(Note(note="during"))
        session.save(bobby())
    session.save(Note(note="after"))
    (change,) = changes(event, other)
    assert change.key == Key(Note, note="during")


def test_batches_and_transactions_are_written_item_by_item(store: Store, session: Session) -> None:
    with stream_events(store, other) as event:
        session.bulk_load([Note(note="a"), Note(note="b")])
        with session.transaction() as tx:
            tx.save(Note(note="c"))
            tx.delete(Key(Note, note="a"))
    found = [(one["eventName"], one["dynamodb"]["Keys"]["PK"]["S"]) for one in event["Records"]]
    assert sorted(found[:2]) == [("INSERT", "NOTE#a"), ("INSERT", "NOTE#b")]
    assert found[2:] == [("INSERT", "NOTE#c"), ("REMOVE", "NOTE#a")]


def test_the_view_of_the_table_decides_about_images(store: Store, session: Session) -> None:
    with stream_events(store) as event:
        session.save(Hit(hit="h"))
        session.save(Blob(owner="o", content=b"\xff"))
    hit, blob = event["Records"]
    assert hit["dynamodb"]["StreamViewType"] == "KEYS_ONLY"
    assert "NewImage" not in hit["dynamodb"]
    assert blob["dynamodb"]["NewImage"]["content"] == {"B": "/w=="}


def test_deletions_can_be_those_of_expired_items(store: Store, session: Session) -> None:
    user = session.save(bobby())
    with stream_events(store, expired=True) as event:
        session.update(user, F.visits.add(1))
        session.delete(Key(User, user_id="u1"))
    found = list(changes(event, app))
    assert [isinstance(one, Deleted) and one.expired for one in found] == [False, True]
