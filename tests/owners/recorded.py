"""Items as their owners' libraries stored them, each with the entity that dynaorm reads from it."""

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from dynaorm import Entity
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
)

UNTIL: Final = datetime(2030, 5, 1, 13, tzinfo=UTC)
TTL: Final = {"N": "1903870800"}
MILLISECONDS: Final = {"N": "1903867200123"}
STARTED: Final = datetime(2030, 5, 1, 12, 0, 0, 123_000, tzinfo=UTC)
CHECKPOINT: Final = "1f1e7b35-d011-6c6a-bffe-7e79eeaf85f0"
REVISION: Final = {"S": "ac3e1de4-1bbe-4652-b4f2-89553b4c0a45"}


def item(**values: Any) -> dict[str, Any]:
    return {name: {"S": value} if isinstance(value, str) else value for name, value in values.items()}


RECORDED: Final[Mapping[str, tuple[Entity, dict[str, Any]]]] = {
    "Powertools, at work": (
        Record(id="f.main.pay#f2c3", expiration=UNTIL, in_progress=STARTED, validation="e4da"),
        item(
            id="f.main.pay#f2c3",
            status="INPROGRESS",
            expiration=TTL,
            in_progress_expiration=MILLISECONDS,
            validation="e4da",
        ),
    ),
    "Powertools, done": (
        Record(id="f.main.pay#f2c3", status="COMPLETED", expiration=UNTIL, data='{"paid": 5}'),
        item(id="f.main.pay#f2c3", status="COMPLETED", expiration=TTL, data='{"paid": 5}'),
    ),
    "python-dynamodb-lock": (
        Lock(lock_key="report", owner_name="w1", expiry_time=UNTIL),
        item(
            lock_key="report",
            sort_key="-",
            owner_name="w1",
            lease_duration={"N": "30"},
            record_version_number=REVISION,
            expiry_time=TTL,
        ),
    ),
    "Kinesis, a new lease": (
        ShardLease(key="shard-0"),
        item(
            leaseKey="shard-0",
            leaseCounter={"N": "0"},
            ownerSwitchesSinceCheckpoint={"N": "0"},
            checkpoint="TRIM_HORIZON",
            checkpointSubSequenceNumber={"N": "0"},
        ),
    ),
    "Kinesis, a lease of a child": (
        ShardLease(key="shard-1", owner="w1", parents=frozenset({"shard-0"})),
        item(
            leaseKey="shard-1",
            leaseCounter={"N": "0"},
            leaseOwner="w1",
            ownerSwitchesSinceCheckpoint={"N": "0"},
            checkpoint="TRIM_HORIZON",
            checkpointSubSequenceNumber={"N": "0"},
            parentShardId={"SS": ["shard-0"]},
        ),
    ),
    "Flask-Session": (
        WebSession(
            id="session:ZlzbCo",
            val=b"\x82\xaa_permanent\xc3\xa1n\x01",
            expiration=Decimal("1798167694.4119129180908203125"),
        ),
        item(
            id="session:ZlzbCo",
            val={"B": b"\x82\xaa_permanent\xc3\xa1n\x01"},
            expiration={"N": "1798167694.4119129180908203125"},
        ),
    ),
    "Celery, a result": (
        TaskResult(
            id="b'celery-task-meta-7b1d'",
            result=b'{"status": "SUCCESS", "result": 5}',
            timestamp=Decimal("1795489295.7826076"),
            ttl=UNTIL,
        ),
        item(
            id="b'celery-task-meta-7b1d'",
            result={"B": b'{"status": "SUCCESS", "result": 5}'},
            timestamp={"N": "1795489295.7826076"},
            ttl=TTL,
        ),
    ),
    "Celery, a chord": (
        TaskResult(id="chord-1", chord_count=2, timestamp=Decimal("1795489295.8059986")),
        item(id="chord-1", chord_count={"N": "2"}, timestamp={"N": "1795489295.8059986"}),
    ),
    "cachelib": (
        Cached(
            cache_key="a",
            created_at=datetime(2026, 11, 24, 3, 1, 34, 149363, tzinfo=UTC),
            response=b"!\x80\x05\x95\n",
            expiration_time=UNTIL,
        ),
        item(
            cache_key="a",
            created_at="2026-11-24T03:01:34.149363+00:00",
            response={"B": b"!\x80\x05\x95\n"},
            expiration_time=TTL,
        ),
    ),
    "cachelib, for ever": (
        Cached(cache_key="z", created_at=UNTIL, response=b"1"),
        item(cache_key="z", created_at="2030-05-01T13:00:00+00:00", response={"B": b"1"}),
    ),
    "LangGraph, a checkpoint": (
        Checkpoint(
            thread="t1", id=CHECKPOINT, parent="1f1e7b35", ref_key=f"CHUNK_t1##{CHECKPOINT}", ttl=UNTIL
        ),
        item(
            PK="CHECKPOINT_t1",
            SK=f"#{CHECKPOINT}",
            id=CHECKPOINT,
            ns="",
            type="msgpack",
            ref_loc="DYNAMODB",
            ref_key=f"CHUNK_t1##{CHECKPOINT}",
            parent_checkpoint_id="1f1e7b35",
            ttl=TTL,
        ),
    ),
    "LangGraph, a payload": (
        Chunk(of=f"t1##{CHECKPOINT}#task-1#0", payload=b"\xa1v", ttl=UNTIL),
        item(PK=f"CHUNK_t1##{CHECKPOINT}#task-1#0", SK="CHUNK", payload={"B": b"\xa1v"}, ttl=TTL),
    ),
    "LangGraph, a pending write": (
        PendingWrite(
            thread="t1",
            checkpoint_id=CHECKPOINT,
            task_id="task-1",
            idx=-3,
            channel="ch",
            ref_key=f"CHUNK_t1##{CHECKPOINT}#task-1#-3",
            ttl=UNTIL,
        ),
        item(
            PK=f"WRITES_t1##{CHECKPOINT}",
            SK="task-1#-3",
            task_id="task-1",
            channel="ch",
            idx={"N": "-3"},
            checkpoint_id=CHECKPOINT,
            type="msgpack",
            ref_loc="DYNAMODB",
            ref_key=f"CHUNK_t1##{CHECKPOINT}#task-1#-3",
            ttl=TTL,
        ),
    ),
    "PyIceberg, a namespace": (
        Namespace(namespace="sales", created=STARTED, updated=STARTED),
        item(
            identifier="NAMESPACE",
            namespace="sales",
            v=REVISION,
            created_at=MILLISECONDS,
            updated_at=MILLISECONDS,
        ),
    ),
    "PyIceberg, a table": (
        IcebergTable(
            namespace="sales", name="orders", created=STARTED, updated=STARTED, metadata="s3://b/m.json"
        ),
        item(
            identifier="sales.orders",
            namespace="sales",
            v=REVISION,
            created_at=MILLISECONDS,
            updated_at=MILLISECONDS,
            **{
                "p.table_type": "ICEBERG",
                "p.metadata_location": "s3://b/m.json",
                "p.previous_metadata_location": "",
            },
        ),
    ),
    "credstash": (
        Credential(
            name="db", number=1, key="d3JhcHBlZA==", contents="Fb9+VJv8Kg==", hmac=b"ddf5d5bd", comment="c"
        ),
        item(
            name="db",
            version="0000000000000000001",
            key="d3JhcHBlZA==",
            contents="Fb9+VJv8Kg==",
            hmac={"B": b"ddf5d5bd"},
            digest="SHA256",
            comment="c",
        ),
    ),
    "eventsourcing, an event": (
        StoredEvent(originator=UUID(int=7), number=1, topic="m:Opened", state=b"{}", created_at=UNTIL),
        item(
            originator_id="00000000-0000-0000-0000-000000000007",
            originator_version={"N": "1"},
            topic="m:Opened",
            state={"B": b"{}"},
            created_at=TTL,
        ),
    ),
    "eventsourcing, a snapshot": (
        StoredSnapshot(originator=UUID(int=7), number=9, topic="m:Account", state=b"{}", created_at=UNTIL),
        item(
            originator_id="00000000-0000-0000-0000-000000000007",
            originator_version={"N": "9"},
            topic="m:Account",
            state={"B": b"{}"},
            created_at=TTL,
        ),
    ),
}
