"""Nine programs' tables: dynaorm stores what they store, byte for byte, in no more requests than they need.

``test_libraries.py`` counts the requests of the owners' own libraries.
"""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from dynaorm import F, Key, Session, detached, inspect, tools
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import AlreadyExists, ConditionFailed, StaleEntity
from dynaorm.testing import FakeClock
from tests.owners import models
from tests.owners.models import (
    Cached,
    Checkpoint,
    Chunk,
    Credential,
    IcebergTable,
    Lock,
    Namespace,
    PendingWrite,
    Record,
    ShardLease,
    StoredEvent,
    StoredSnapshot,
    TaskResult,
    WebSession,
    idempotency,
    leases,
    locks,
)
from tests.owners.recorded import CHECKPOINT, RECORDED, STARTED, TTL, UNTIL
from tests.story.engine import Engine

HOUR = timedelta(hours=1)

Requests = Callable[..., list[str]]


@pytest.fixture
def requests(engine: Engine) -> Requests:
    """Does some work, and gives the operations that it sent."""

    def of(work: Callable[[], object]) -> list[str]:
        engine.forget()
        work()
        return engine.operations

    return of


def put(engine: Engine, name: str) -> Any:
    """Store an item as its owner does; return an entity of the same fields."""
    entity, item = RECORDED[name]
    engine.put(mapping_of(type(entity)).table, **item)
    return detached(entity)


# -- bytes -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RECORDED)
def test_an_entity_is_stored_as_its_owner_stores_it(engine: Engine, session: Session, name: str) -> None:
    entity, item = RECORDED[name]
    saved = session.save(detached(entity))
    table = mapping_of(type(entity)).table
    (stored,) = engine.raw(table)
    if "S" in stored.get(str(table.revision_attribute), {}):  # it is random, as that of the owner
        item = {**item, str(table.revision_attribute): {"S": inspect(saved).revision}}
    assert stored == item


@pytest.mark.parametrize("name", RECORDED)
def test_an_owner_s_item_is_read_as_the_entity_verified_and_left_as_it_is(
    engine: Engine, session: Session, name: str
) -> None:
    entity, item = RECORDED[name]
    table = mapping_of(type(entity)).table
    engine.put(table, **item, later={"S": "unknown to dynaorm"})
    (found,) = session.scan(type(entity))
    assert found == entity
    key = inspect(found).key
    assert key is not None
    assert session.get(key) == found
    session.save(found)
    assert list(tools.verify(session, table)) == []
    assert engine.raw(table) == [{**item, "later": {"S": "unknown to dynaorm"}}]


# -- Powertools: a record is taken once, or when its worker has died ---------------------------------------------------


def begin(session: Session, now: float) -> Record:
    """Take a record, as Powertools does: nobody has it, it has expired, or its Lambda function has timed out."""
    at = STARTED.fromtimestamp(now, STARTED.tzinfo)
    died = (F.status == "INPROGRESS") & F.in_progress.exists() & (F.in_progress < at)
    record = Record(id="f#1", expiration=at + HOUR, in_progress=at + timedelta(seconds=30))
    return session.save(record, replacing=died)


def test_a_call_runs_once_and_again_when_its_function_has_died(
    engine: Engine, session: Session, clock: FakeClock, requests: Requests
) -> None:
    assert requests(lambda: begin(session, clock.now())) == ["PutItem"]
    with pytest.raises(ConditionFailed) as busy:
        begin(session, clock.now())
    assert busy.value.stored.status == "INPROGRESS"
    clock.advance(31)
    assert requests(lambda: begin(session, clock.now())) == ["PutItem"]
    done = {"status": "COMPLETED", "data": "{}", "expiration": UNTIL}
    assert requests(lambda: session.update(Key(Record, id="f#1"), done)) == ["UpdateItem"]
    clock.advance(60)
    engine.forget()
    with pytest.raises(ConditionFailed) as earlier:
        begin(session, clock.now())
    assert earlier.value.stored.data == "{}"
    assert engine.operations == ["PutItem"]
    clock.advance(3600)
    assert requests(lambda: begin(session, clock.now())) == ["PutItem"]
    assert requests(lambda: session.delete(Key(Record, id="f#1"))) == ["DeleteItem"]
    assert engine.raw(idempotency) == []


# -- locks: one holder, whoever steals ---------------------------------------------------------------------------------


def test_a_lock_is_taken_kept_stolen_and_given_back(
    engine: Engine, session: Session, requests: Requests
) -> None:
    put(engine, "python-dynamodb-lock")
    lock = session.get_one(Lock, lock_key="report")
    beat = {"expiry_time": UNTIL + HOUR}
    assert requests(lambda: session.update(lock, beat)) == ["UpdateItem"]
    seen = inspect(lock).revision
    rival = session.get_one(Lock, lock_key="report")
    rival.owner_name = "w2"
    assert requests(lambda: session.save(rival)) == ["UpdateItem"]
    (item,) = engine.raw(locks)
    assert item["record_version_number"]["S"] not in {seen, None}
    with pytest.raises(StaleEntity) as stolen:
        session.touch(lock)
    assert stolen.value.stored == rival
    with pytest.raises(StaleEntity):
        session.delete(lock)
    assert requests(lambda: session.delete(rival)) == ["DeleteItem"]
    assert requests(lambda: session.save(detached(lock))) == ["PutItem"]
    with pytest.raises(AlreadyExists) as taken:
        session.save(detached(rival))
    assert taken.value.stored == lock


# -- leases of shards: a counter that each write raises ----------------------------------------------------------------


def test_each_step_of_a_lease_is_one_request_and_raises_its_counter(
    engine: Engine, session: Session, requests: Requests
) -> None:
    put(engine, "Kinesis, a new lease")
    lease = session.get_one(ShardLease, key="shard-0")
    steps = [
        lambda: session.update(lease, F.owner.set("w1"), F.switches.add(1)),
        lambda: session.touch(lease),
        lambda: session.update(lease, {"checkpoint": "4959", "sub_sequence": 2}),
        lambda: session.update(lease, F.owner.remove()),
    ]
    for number, step in enumerate(steps, start=1):
        assert requests(step) == ["UpdateItem"]
        assert inspect(lease).revision == str(number)
    assert engine.raw(leases) == [
        {
            **RECORDED["Kinesis, a new lease"][1],
            "leaseCounter": {"N": "4"},
            "ownerSwitchesSinceCheckpoint": {"N": "1"},
            "checkpoint": {"S": "4959"},
            "checkpointSubSequenceNumber": {"N": "2"},
        }
    ]
    engine.client.update_item(  # as Kinesis's library renews a lease
        TableName=leases.name,
        Key={"leaseKey": {"S": "shard-0"}},
        UpdateExpression="SET leaseCounter = :new, leaseOwner = :me",
        ConditionExpression="leaseCounter = :old",
        ExpressionAttributeValues={":new": {"N": "5"}, ":old": {"N": "4"}, ":me": {"S": "w2"}},
    )
    with pytest.raises(StaleEntity) as lost:
        session.touch(lease)
    assert lost.value.stored.owner == "w2"


# -- sessions, results and a cache: one item under one key -------------------------------------------------------------


def test_a_web_session_is_written_without_a_read_whether_it_is_there_or_not(
    engine: Engine, session: Session, requests: Requests
) -> None:
    key = Key(WebSession, id="session:a")
    for val in (b"one", b"two"):
        visit = {"val": val, "expiration": Decimal("1798167694.5")}
        assert requests(lambda visit=visit: session.upsert(key, visit)) == ["UpdateItem"]
        assert session.get_one(key).val == val
    assert requests(lambda: session.get(key)) == ["GetItem"]
    assert requests(lambda: session.delete(key)) == ["DeleteItem"]


def test_results_are_overwritten_and_chords_are_counted_in_one_request_each(
    engine: Engine, session: Session, requests: Requests
) -> None:
    result = RECORDED["Celery, a result"][0]
    for _ in range(2):
        assert requests(lambda: session.save(detached(result), overwrite=True)) == ["PutItem"]
    chord = put(engine, "Celery, a chord")
    numbers: list[int] = []
    counting = Key(TaskResult, id=chord.id)
    assert requests(lambda: numbers.append(session.next_number(counting, "chord_count"))) == ["UpdateItem"]
    assert numbers == [3]


def test_a_cached_value_is_added_where_none_is_or_its_time_is_over(
    engine: Engine, session: Session, clock: FakeClock, requests: Requests
) -> None:
    cached = put(engine, "cachelib")
    with pytest.raises(AlreadyExists) as earlier:
        session.save(detached(cached, response=b"2"))
    assert earlier.value.stored.response == cached.response
    clock.advance(3600)
    assert session.get(Cached, cache_key="a") is None
    assert requests(lambda: session.save(detached(cached, expiration_time=None))) == ["PutItem"]
    assert requests(lambda: session.save(detached(cached), overwrite=True)) == ["PutItem"]


# -- checkpoints: the latest of a thread, its payload and its writes ---------------------------------------------------


def test_the_latest_checkpoint_its_payload_and_its_writes_are_one_request_each(
    engine: Engine, session: Session, requests: Requests
) -> None:
    for name in ("LangGraph, a checkpoint", "LangGraph, a payload", "LangGraph, a pending write"):
        put(engine, name)
    later = detached(RECORDED["LangGraph, a checkpoint"][0], id="2f", ref_key="CHUNK_t1##2f")
    payload = Chunk(of="t1##2f", payload=b"{}", ttl=UNTIL)
    assert requests(lambda: session.save_many([later, payload])) == ["PutItem", "PutItem"]
    of_thread = session.query(Checkpoint, thread="t1", ns="")
    found: list[Any] = []
    assert requests(lambda: found.append(of_thread.descending().first())) == ["Query"]
    assert found == [later]
    assert requests(lambda: found.append(session.get(Chunk, of="t1##2f"))) == ["GetItem"]
    assert found[1] == payload
    writes = session.query(PendingWrite, thread="t1", ns="", checkpoint_id=CHECKPOINT)
    assert requests(lambda: found.append(writes.one().idx)) == ["Query"]
    assert found[2] == -3
    assert [one.id for one in of_thread] == [CHECKPOINT, "2f"]


# -- a catalog: tables of a namespace, swapped by their version --------------------------------------------------------


def test_a_table_is_committed_if_nobody_else_committed(
    engine: Engine, session: Session, clock: FakeClock, requests: Requests
) -> None:
    for name in ("PyIceberg, a namespace", "PyIceberg, a table"):
        put(engine, name)
    namespaces = session.query(Namespace)
    assert requests(namespaces.all) == ["Query"]
    names: list[str] = []
    tables = session.query(IcebergTable.of_namespace, namespace="sales").keys()
    assert requests(lambda: names.extend(key.fields["name"] for key in tables)) == ["Query"]
    assert names == ["orders"]
    mine, theirs = (session.get_one(IcebergTable, namespace="sales", name="orders") for _ in range(2))
    clock.advance(1)
    for one in (mine, theirs):
        one.previous, one.metadata = one.metadata, f"s3://b/{'mine' if one is mine else 'theirs'}.json"
    assert requests(lambda: session.save(mine)) == ["UpdateItem"]
    assert (mine.created, mine.updated) == (STARTED, STARTED + timedelta(seconds=1))
    with pytest.raises(StaleEntity) as raced:
        session.save(theirs)
    assert raced.value.stored == mine
    assert requests(lambda: session.delete(mine)) == ["DeleteItem"]
    with pytest.raises(AlreadyExists):
        session.save(Namespace(namespace="sales"))


# -- secrets: the highest version --------------------------------------------------------------------------------------


def test_the_highest_version_of_a_secret_is_one_request(
    engine: Engine, session: Session, requests: Requests
) -> None:
    first = put(engine, "credstash")
    assert requests(lambda: session.save(detached(first, number=10, comment=None))) == ["PutItem"]
    versions = session.query(Credential, name="db").descending().consistent()
    found: list[Credential | None] = []
    assert requests(lambda: found.append(versions.first())) == ["Query"]
    assert [None if one is None else one.number for one in found] == [10]
    with pytest.raises(AlreadyExists):
        session.save(first)


# -- events: the next number is taken once, and a snapshot spares reading the events before it -------------------------


def test_events_and_the_newest_snapshot_are_one_request_each(
    engine: Engine, session: Session, requests: Requests
) -> None:
    first, snapshot = put(engine, "eventsourcing, an event"), put(engine, "eventsourcing, a snapshot")
    later = [detached(first, number=number) for number in (9, 10, 11)]
    assert requests(lambda: session.save(later[0])) == ["PutItem"]
    with pytest.raises(AlreadyExists):
        session.save(detached(later[0]))
    assert requests(lambda: session.bulk_load(later[1:])) == ["BatchWriteItem"]
    newest = session.query(StoredSnapshot, originator=first.originator).descending()
    since = session.query(StoredEvent, originator=first.originator).gt(number=snapshot.number)
    found: list[Any] = []
    assert requests(lambda: found.extend([newest.first(), *since])) == ["Query", "Query"]
    assert [one.number for one in found] == [9, 10, 11]


def test_every_table_of_the_ten_has_items_that_were_recorded() -> None:
    declared = {
        one
        for one in vars(models).values()
        if isinstance(one, type) and one.__module__ == models.__name__ and one is not models.Stored
    }
    assert {type(entity) for entity, _ in RECORDED.values()} == declared
    assert all(item.get("expiration", TTL) for _, item in RECORDED.values())
