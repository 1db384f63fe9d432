"""The owners' own libraries and dynaorm take turns on one table. ``make test-owners`` installs the libraries.

Each test lets a library store items, reads them, stores copies that are equal byte for byte, changes what the library
stored, and lets the library go on. It counts the requests of both, and meets faults: a value that is taken, a lock that
was stolen, a lease that has ended, a worker that died.
"""

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import boto3
import pytest
from botocore.client import BaseClient

from dynaorm import Entity, Key, Table, detached, inspect, tools
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import AlreadyExists, StaleEntity
from dynaorm.testing import FakeClock, strict_moto, tables_of
from dynaorm.testing.moto_engine import MotoTransport
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
    StoredEvent,
    StoredSnapshot,
    TaskResult,
    WebSession,
)
from tests.raw_tables import REGION, PlainClient
from tests.story.engine import Engine

pytestmark = pytest.mark.filterwarnings("ignore")  # those of the libraries

HOUR = timedelta(hours=1)
WHERE = "make test-owners installs it"


def soon(**later: float) -> datetime:
    return datetime.fromtimestamp(int(time.time()), UTC) + timedelta(**later)


class Both:
    """One DynamoDB with the table of a library, and the requests of either side."""

    def __init__(self, engine: Engine, heard: list[str]) -> None:
        self.engine = engine
        self.session = engine.session()
        self._heard = heard

    def theirs(self, work: Callable[[], Any]) -> list[str]:
        """The operations that the library sends for some work."""
        self._heard.clear()
        work()
        return [*self._heard]

    def ours(self, work: Callable[[], Any]) -> list[str]:
        """The operations that dynaorm sends for some work."""
        self.engine.forget()
        work()
        return self.engine.operations

    def read(self, *classes: type[Entity]) -> list[Any]:
        """Every entity of a table; copies of them are stored as equal items, and nothing else is in the table."""
        table = mapping_of(classes[0]).table
        before = self.engine.raw(table)
        found = [entity for one in classes for entity in self.session.scan(one)]
        assert list(tools.verify(self.session, table)) == []
        for entity in found:
            self.session.delete(inspect(entity).key)
        assert self.engine.raw(table) == []
        for entity in found:
            self.session.save(detached(entity))
        assert self._unversioned(table, self.engine.raw(table)) == self._unversioned(table, before)
        for item in before:  # with the owner's revisions
            self.engine.put(table, **item)
        return found

    def _unversioned(self, table: Table, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        times = {"created_at", "updated_at"} if table is models.catalog else set()
        left_out = {table.revision_attribute, *times}  # what dynaorm sets anew
        return [{name: value for name, value in item.items() if name not in left_out} for item in items]


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> Iterator[Both]:
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    heard: list[str] = []
    client: Any = BaseClient
    send = client._make_api_call

    def heard_send(self: BaseClient, operation: str, request: Any) -> Any:
        heard.append(operation)
        return send(self, operation, request)

    monkeypatch.setattr(client, "_make_api_call", heard_send)
    clock = FakeClock(time.time())
    with strict_moto(clock=clock):
        transport = MotoTransport(region=REGION)
        engine = Engine(transport, PlainClient(transport), clock, str)
        engine.create(*tables_of(models))
        yield Both(engine, heard)


def test_powertools_and_dynaorm_run_a_call_once(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = pytest.importorskip("aws_lambda_powertools.utilities.idempotency", reason=WHERE)
    errors = pytest.importorskip("aws_lambda_powertools.utilities.idempotency.exceptions", reason=WHERE)
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
    session = both.session
    context = SimpleNamespace(get_remaining_time_in_millis=lambda: 30_000)
    config = tools.IdempotencyConfig(payload_validation_jmespath="amount", lambda_context=context)
    store = tools.DynamoDBPersistenceLayer(table_name=models.idempotency.name)
    seen: list[Record] = []

    @tools.idempotent_function(data_keyword_argument="order", persistence_store=store, config=config)
    def pay(*, order: dict[str, int]) -> dict[str, int]:
        seen.extend(both.read(Record))
        return {"paid": order["amount"]}

    order = {"id": 1, "amount": 5}
    pay(order=order)
    (record,) = both.read(Record)
    assert (seen[0].status, record.status, record.data) == ("INPROGRESS", "COMPLETED", '{"paid": 5}')
    assert both.theirs(lambda: pay(order=order)) == ["PutItem"]
    assert len(seen) == 1
    # dynaorm is refused as Powertools is, and the refusal holds the answer.
    again = detached(record, status="INPROGRESS", data=None)
    with pytest.raises(AlreadyExists) as earlier:
        session.save(again)
    assert earlier.value.stored.data == '{"paid": 5}'
    # A call that dynaorm has begun is busy for Powertools, until its function has died.
    for left, died in ((60, False), (-60, True)):
        mine = detached(again, in_progress=soon(seconds=left))
        assert both.ours(partial(session.save, mine, overwrite=True)) == ["PutItem"]
        if died:
            assert pay(order=order) == {"paid": 5}
        else:
            with pytest.raises(errors.IdempotencyAlreadyInProgressError):
                pay(order=order)
    done = {"status": "COMPLETED", "data": '{"paid": 7}', "expiration": soon(hours=1)}
    assert both.ours(lambda: session.update(Key(Record, id=record.id), done)) == ["UpdateItem"]
    assert pay(order=order) == {"paid": 7}
    # What has expired is begun again, by either.
    session.update(Key(Record, id=record.id), {"expiration": soon(seconds=-60)})
    assert both.ours(lambda: session.save(detached(again, expiration=soon(hours=1)))) == ["PutItem"]


def test_the_lock_client_and_dynaorm_never_hold_one_lock(both: Both) -> None:
    library = pytest.importorskip("python_dynamodb_lock.python_dynamodb_lock", reason=WHERE)
    session = both.session
    client = library.DynamoDBLockClient(
        boto3.resource("dynamodb"),
        owner_name="theirs",
        heartbeat_period=HOUR,  # the test beats
        lease_duration=timedelta(seconds=0.25),
    )
    taken: list[Any] = []
    short = {"retry_period": timedelta(seconds=0.1), "retry_timeout": timedelta(seconds=1)}

    def take() -> None:
        taken.append(client.acquire_lock("report", **short))

    assert both.theirs(take) == ["GetItem", "PutItem"]
    (lock,) = both.read(Lock)
    with pytest.raises(AlreadyExists) as held:
        session.save(detached(lock, owner_name="ours"))
    assert held.value.stored.owner_name == "theirs"
    # Their heartbeat makes our view stale; ours steals the lock, and makes theirs fail.
    lock = session.get_one(Lock, lock_key="report")
    assert both.theirs(lambda: client._send_heartbeat(taken[0])) == ["UpdateItem"]
    lock.owner_name = "ours"
    with pytest.raises(StaleEntity) as beaten:
        session.save(lock)
    lock = beaten.value.stored
    assert both.ours(lambda: session.update(lock, {"owner_name": "ours"})) == ["UpdateItem"]
    client._send_heartbeat(taken[0])
    assert taken[0].status == library.DynamoDBLock.INVALID
    # A lease that nobody renews ends, and they take it over; then ours is the one that is stale.
    assert both.ours(lambda: session.touch(lock)) == ["UpdateItem"]
    take()
    assert session.get_one(Lock, lock_key="report").owner_name == "theirs"
    with pytest.raises(StaleEntity):
        session.touch(lock)
    assert both.theirs(lambda: client.release_lock(taken[1])) == ["DeleteItem"]
    assert both.ours(lambda: session.save(detached(lock))) == ["PutItem"]
    with pytest.raises(library.DynamoDBLockError):
        client.acquire_lock(
            "report", retry_period=timedelta(seconds=0.1), retry_timeout=timedelta(seconds=0.1)
        )


def test_flask_and_dynaorm_share_web_sessions(both: Both) -> None:
    flask = pytest.importorskip("flask", reason=WHERE)
    library = pytest.importorskip("flask_session", reason=WHERE)
    pytest.importorskip("flask_session.dynamodb", reason=WHERE)
    session = both.session
    app = flask.Flask("visits")
    app.config.update(SESSION_TYPE="dynamodb", SESSION_DYNAMODB=boto3.resource("dynamodb"))
    library.Session(app)

    @app.route("/")
    def visit() -> str:
        flask.session["n"] = flask.session.get("n", 0) + 1
        return str(flask.session["n"])

    browser = app.test_client()
    assert both.theirs(lambda: browser.get("/")) == ["UpdateItem"]
    (mine,) = both.read(WebSession)
    assert both.theirs(lambda: browser.get("/")) == ["GetItem", "UpdateItem"]
    # The library writes without a condition, and so may we: one UpdateItem, with or without an item.
    key, changes = Key(WebSession, id=mine.id), {"val": mine.val, "expiration": mine.expiration}
    assert both.ours(lambda: session.upsert(key, changes)) == ["UpdateItem"]
    assert browser.get("/").text == "2"
    assert both.ours(lambda: session.delete(key)) == ["DeleteItem"]
    assert browser.get("/").text == "1"


def test_celery_and_dynaorm_share_results_and_count_chords(both: Both) -> None:
    celery = pytest.importorskip("celery", reason=WHERE)
    session = both.session
    app = celery.Celery("tasks", backend=f"dynamodb://@{REGION}/{models.results.name}?ttl_seconds=3600")
    backend = app.backend
    _ = backend.client
    assert both.theirs(lambda: backend.store_result("7b1d", 5, "SUCCESS")) == ["GetItem", "PutItem"]
    backend.client.put_item(**backend._prepare_init_count_request("chord-1"))
    assert both.theirs(lambda: backend.incr("chord-1")) == ["UpdateItem"]
    chord, result = sorted(both.read(TaskResult), key=lambda one: one.chord_count is None)
    counted: list[int] = []
    key = Key(TaskResult, id=chord.id)
    assert both.ours(lambda: counted.append(session.next_number(key, "chord_count"))) == ["UpdateItem"]
    assert (chord.chord_count, counted, backend.incr("chord-1")) == (1, [2], 3)
    changed = detached(result, result=result.result.replace(b'"result": 5', b'"result": 7'))
    assert both.ours(lambda: session.save(changed, overwrite=True)) == ["PutItem"]
    backend._cache.clear()
    assert backend.get_result("7b1d") == 7
    assert both.ours(lambda: session.delete(Key(TaskResult, id=result.id))) == ["DeleteItem"]


def test_cachelib_and_dynaorm_share_a_cache(both: Both) -> None:
    library = pytest.importorskip("cachelib.dynamodb", reason=WHERE)
    session = both.session
    cache = library.DynamoDbCache(table_name=models.cache.name)
    assert both.theirs(lambda: cache.set("a", {"x": 1}, timeout=600)) == ["PutItem"]
    cache.set("z", 1, timeout=0)
    found = {one.cache_key: one for one in both.read(Cached)}
    assert sorted(found) == ["a", "z"]
    mine = detached(found["a"], cache_key="b")
    assert both.ours(lambda: session.save(mine)) == ["PutItem"]
    assert (cache.get("b"), cache.add("b", 2)) == ({"x": 1}, False)
    with pytest.raises(AlreadyExists):
        session.save(detached(mine))
    # What has expired is absent for both, and either adds it again.
    adds: list[Callable[[], Any]] = [lambda: cache.add("b", 2), lambda: session.save(detached(mine))]
    for add in adds:
        session.save(detached(mine, expiration_time=soon(seconds=-60)), overwrite=True)
        assert (cache.get("b"), session.get(Cached, cache_key="b")) == (None, None)
        add()
        assert cache.get("b") is not None


def test_langgraph_and_dynaorm_share_checkpoints(both: Both) -> None:
    library = pytest.importorskip("langgraph_checkpoint_aws", reason=WHERE)
    base = pytest.importorskip("langgraph.checkpoint.base", reason=WHERE)
    session = both.session
    saver = library.DynamoDBSaver(models.checkpoints.name, ttl_seconds=3600)
    thread = {"configurable": {"thread_id": "t1", "checkpoint_ns": ""}}
    first = base.empty_checkpoint()
    made: list[Any] = []

    def put(config: Any, checkpoint: Any) -> None:
        made.append(saver.put(config, checkpoint, {"source": "loop", "step": 0}, {}))

    assert both.theirs(lambda: put(thread, first)) == ["PutItem", "PutItem"]
    saver.put_writes(made[0], [("ch", "v"), ("__error__", "bad")], "task-1")
    put(made[0], base.empty_checkpoint())
    both.read(Checkpoint, PendingWrite, Chunk)
    latest: list[Any] = []
    of_thread = session.query(Checkpoint, thread="t1", ns="").descending()
    assert both.ours(lambda: latest.append(of_thread.first())) == ["Query"]
    assert latest[0].id == saver.get_tuple(thread).checkpoint["id"]
    assert latest[0].parent == first["id"]
    assert both.ours(lambda: latest.append(session.get(Chunk, of=latest[0].ref_key[6:]))) == ["GetItem"]
    assert both.theirs(lambda: saver.get_tuple(thread)) == ["Query", "GetItem", "Query"]
    writes = session.query(PendingWrite, thread="t1", ns="", checkpoint_id=first["id"])
    assert sorted(one.channel for one in writes) == ["__error__", "ch"]
    # dynaorm goes back by one checkpoint, and the library goes on from there.
    with session.transaction() as tx:
        tx.delete(latest[0])
        tx.delete(latest[1])
    assert saver.get_tuple(thread).checkpoint["id"] == first["id"]
    assert len(saver.get_tuple(thread).pending_writes) == 2


def test_pyiceberg_and_dynaorm_share_a_catalog(both: Both) -> None:
    library = pytest.importorskip("pyiceberg.catalog.dynamodb", reason=WHERE)
    errors = pytest.importorskip("pyiceberg.exceptions", reason=WHERE)
    session = both.session
    catalog = library.DynamoDbCatalog("c", **{"dynamodb.region": REGION})
    assert both.theirs(lambda: catalog.create_namespace("sales", {"owner": "ada"})) == ["PutItem"]
    made = library._get_create_table_item("sales", "orders", {}, "s3://b/1.json")
    catalog._put_dynamo_item(made, "attribute_not_exists(identifier)")
    sales, orders = both.read(Namespace, IcebergTable)
    assert (sales.namespace, orders.metadata) == ("sales", "s3://b/1.json")
    assert both.ours(lambda: session.save(Namespace(namespace="hr"))) == ["PutItem"]
    with pytest.raises(errors.NamespaceAlreadyExistsError):
        catalog.create_namespace("hr")
    with pytest.raises(AlreadyExists):
        session.save(Namespace(namespace="sales"))
    assert sorted(catalog.list_namespaces()) == [("hr",), ("sales",)]
    of_sales = session.query(IcebergTable.of_namespace, namespace="sales").keys()
    names: list[str] = []
    assert both.ours(lambda: names.extend(key.fields["name"] for key in of_sales)) == ["Query"]
    assert both.theirs(lambda: catalog.list_tables("sales")) == ["Query"]
    assert [("sales", name) for name in names] == catalog.list_tables("sales")


class Wraps:
    """A key service that wraps nothing: only what is stored matters here."""

    def generate_data_key(self, **_: Any) -> dict[str, bytes]:
        return {"Plaintext": b"k" * 64, "CiphertextBlob": b"wrapped"}

    def decrypt(self, **_: Any) -> dict[str, bytes]:
        return {"Plaintext": b"k" * 64}


def test_credstash_and_dynaorm_share_versions_of_secrets(both: Both) -> None:
    library = pytest.importorskip("credstash", reason=WHERE)
    session = both.session
    tools = {"kms": Wraps(), "dynamodb": boto3.resource("dynamodb")}

    def put(version: int) -> list[str]:
        return both.theirs(lambda: library.putSecret("db", f"secret {version}", version=version, **tools))

    assert put(9) == ["PutItem"]
    (ninth,) = both.read(Credential)
    tenth = detached(ninth, number=10)
    assert both.ours(lambda: session.save(tenth)) == ["PutItem"]
    assert library.getSecret("db", **tools) == "secret 9"
    with pytest.raises(library.botocore.exceptions.ClientError, match="ConditionalCheckFailed"):
        put(10)
    put(11)
    versions = session.query(Credential, name="db").descending().consistent()
    found: list[Any] = []
    assert both.ours(lambda: found.append(versions.first())) == ["Query"]
    assert both.theirs(lambda: library.getSecret("db", **tools)) == ["Query"]
    assert found[0].number == 11
    assert both.ours(lambda: session.delete(found[0])) == ["DeleteItem"]
    assert library.getSecret("db", **tools) == "secret 9"


def test_eventsourcing_and_dynaorm_share_events_and_snapshots(both: Both) -> None:
    library = pytest.importorskip("eventsourcing_dynamodb.recorders", reason=WHERE)
    persistence = pytest.importorskip("eventsourcing.persistence", reason=WHERE)
    session, originator = both.session, UUID(int=7)
    recorders = {
        table: library.DynamoAggregateRecorder(table.name, boto3.resource("dynamodb"))
        for table in (models.events, models.snapshots)
    }

    def put(table: Table, *events: tuple[int, bytes]) -> list[str]:
        stored = [persistence.StoredEvent(originator, number, "m:Paid", state) for number, state in events]
        return both.theirs(lambda: recorders[table].insert_events(stored))

    def states(**options: Any) -> list[bytes]:
        return [bytes(one.state) for one in recorders[models.events].select_events(originator, **options)]

    assert put(models.events, (1, b"a"), (2, b"b")) == ["BatchWriteItem"]
    found = {one.number: one for one in both.read(StoredEvent)}
    # We hear that another one was faster; they replace what it stored.
    mine = detached(found[2], state=b"mine")
    with pytest.raises(AlreadyExists) as taken:
        session.save(mine)
    assert taken.value.stored.state == b"b"
    put(models.events, (2, b"theirs"))
    assert states() == [b"a", b"theirs"]
    # All events of a decision, or none.
    third, fourth = detached(mine, number=3), detached(mine, number=4)
    with pytest.raises(AlreadyExists), session.transaction() as tx:
        tx.save(detached(mine))
        tx.save(third)
    assert states(gt=2) == []
    assert both.ours(lambda: session.save_many([third, fourth])) == ["PutItem", "PutItem"]
    assert states(gt=2) == [b"mine", b"mine"]
    # The newest snapshot, and the events since: one Query each, where theirs asks on after its limit.
    put(models.snapshots, (1, b"s1"), (3, b"s3"))
    snapshot = session.query(StoredSnapshot, originator=originator).descending()
    since = session.query(StoredEvent, originator=originator).gt(number=3)
    read: list[Any] = []
    assert both.ours(lambda: read.extend([snapshot.first(), *since])) == ["Query", "Query"]
    assert [(one.number, one.state) for one in read] == [(3, b"s3"), (4, b"mine")]
    both.read(StoredSnapshot)
    newest = recorders[models.snapshots].select_events
    assert both.theirs(lambda: newest(originator, desc=True, limit=1)).count("Query") > 1
