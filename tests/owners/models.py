"""The tables of ten published programs, declared as they are, with items as their owners store them.

The items were recorded from the owners' own libraries, of the versions in the extra ``owners``. ``test_libraries.py``
runs these libraries beside dynaorm. That of Kinesis's leases is in Java; its items follow its serializer.
"""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

from dynaorm import (
    Attribute,
    CreatedAt,
    Entity,
    ExpiresAt,
    GlobalIndex,
    Index,
    InKey,
    NumberKey,
    NumberRevision,
    Table,
    UpdatedAt,
)
from dynaorm.codecs import EPOCH_MILLISECONDS, EPOCH_SECONDS, PYTHON_ISO

PLAIN: dict[str, Any] = {"type_attribute": None, "escape": False}


# -- Powertools for AWS Lambda: records of idempotent calls ------------------------------------------------------------

idempotency = Table("idempotency", pk="id", sk=None, revision_attribute=None, **PLAIN)


class Record(Entity, table=idempotency):
    id: str
    status: str = "INPROGRESS"
    expiration: Annotated[datetime, ExpiresAt()]
    in_progress: Annotated[datetime | None, Attribute("in_progress_expiration", codec=EPOCH_MILLISECONDS)] = (
        None
    )
    data: str | None = None
    validation: str | None = None


# -- python-dynamodb-lock, after Amazon's lock client for Java ---------------------------------------------------------

locks = Table(
    "DynamoDBLockTable",
    pk="lock_key",
    sk="sort_key",
    revision_attribute="record_version_number",
    **PLAIN,
)


class Lock(Entity, table=locks):
    lock_key: str
    sort_key: str = "-"
    owner_name: str
    lease_duration: Decimal = Decimal(30)
    expiry_time: Annotated[datetime, ExpiresAt()]


# -- Amazon Kinesis Client Library: leases of shards -------------------------------------------------------------------

leases = Table(
    "leases", pk="leaseKey", sk=None, revision_attribute=NumberRevision("leaseCounter", start=-1), **PLAIN
)


class ShardLease(Entity, table=leases):
    key: Annotated[str, Attribute("leaseKey")]
    owner: Annotated[str | None, Attribute("leaseOwner")] = None
    switches: Annotated[int, Attribute("ownerSwitchesSinceCheckpoint")] = 0
    checkpoint: str = "TRIM_HORIZON"
    sub_sequence: Annotated[int, Attribute("checkpointSubSequenceNumber")] = 0
    parents: Annotated[frozenset[str], Attribute("parentShardId")] = frozenset()


# -- Flask-Session: web sessions ---------------------------------------------------------------------------------------

sessions = Table("Sessions", pk="id", sk=None, revision_attribute=None, **PLAIN)


class WebSession(Entity, table=sessions):
    id: str
    val: bytes
    expiration: Decimal  # the library stores fractions of a second


# -- Celery: results of tasks, and counters of chords ------------------------------------------------------------------

results = Table("celery", pk="id", sk=None, revision_attribute=None, **PLAIN)


class TaskResult(Entity, table=results):
    id: str
    result: bytes | None = None
    chord_count: int | None = None
    timestamp: Decimal
    ttl: Annotated[datetime | None, ExpiresAt()] = None


# -- cachelib: a cache -------------------------------------------------------------------------------------------------

cache = Table("python-cache", pk="cache_key", sk=None, revision_attribute=None, **PLAIN)


class Cached(Entity, table=cache):
    cache_key: str
    created_at: Annotated[datetime, Attribute(codec=PYTHON_ISO)]
    response: bytes
    expiration_time: Annotated[datetime | None, ExpiresAt()] = None


# -- LangGraph: checkpoints of threads, their payloads, and pending writes ---------------------------------------------

checkpoints = Table("langgraph", revision_attribute=None, **PLAIN)


class Checkpoint(Entity, table=checkpoints, pk="CHECKPOINT_{thread}", sk="{ns}#{id}"):
    thread: Annotated[str, InKey()]
    ns: str = ""
    id: str
    type: str = "msgpack"
    ref_loc: str = "DYNAMODB"
    ref_key: str
    parent: Annotated[str | None, Attribute("parent_checkpoint_id")] = None
    ttl: Annotated[datetime | None, ExpiresAt()] = None


class PendingWrite(
    Entity, table=checkpoints, pk="WRITES_{thread}#{ns}#{checkpoint_id}", sk="{task_id}#{idx!s}"
):
    thread: Annotated[str, InKey()]
    ns: Annotated[str, InKey()] = ""
    checkpoint_id: str
    task_id: str
    idx: int
    channel: str
    type: str = "msgpack"
    ref_loc: str = "DYNAMODB"
    ref_key: str
    ttl: Annotated[datetime | None, ExpiresAt()] = None


class Chunk(Entity, table=checkpoints, pk="CHUNK_{of:raw}", sk="CHUNK"):
    of: Annotated[str, InKey()]
    payload: bytes
    ttl: Annotated[datetime | None, ExpiresAt()] = None


# -- PyIceberg: a catalog of namespaces and tables ---------------------------------------------------------------------

catalog = Table(
    "iceberg",
    pk="identifier",
    sk="namespace",
    indexes=[GlobalIndex("namespace-identifier", pk="namespace", sk="identifier", projection="KEYS_ONLY")],
    revision_attribute="v",
    **PLAIN,
)
Created = Annotated[datetime | None, CreatedAt(), Attribute("created_at", codec=EPOCH_MILLISECONDS)]
Updated = Annotated[datetime | None, UpdatedAt(), Attribute("updated_at", codec=EPOCH_MILLISECONDS)]


class Namespace(Entity, table=catalog, pk="NAMESPACE", sk="{namespace}"):
    namespace: str
    created: Created = None
    updated: Updated = None


class IcebergTable(Entity, table=catalog, pk="{namespace}.{name}", sk="{namespace}"):
    namespace: str
    name: Annotated[str, InKey()]
    created: Created = None
    updated: Updated = None
    table_type: Annotated[str, Attribute("p.table_type")] = "ICEBERG"
    metadata: Annotated[str, Attribute("p.metadata_location")]
    previous: Annotated[str, Attribute("p.previous_metadata_location")] = ""
    of_namespace = Index("namespace-identifier")


# -- credstash: versions of encrypted secrets --------------------------------------------------------------------------

credentials = Table("credential-store", pk="name", sk="version", revision_attribute=None, **PLAIN)


class Credential(Entity, table=credentials, sk="{number:019d}"):
    name: str
    number: Annotated[int, InKey()]
    key: str
    contents: str
    hmac: bytes
    digest: str = "SHA256"
    comment: str | None = None


# -- eventsourcing-dynamodb: events of aggregates, and snapshots in a table of their own -------------------------------

EVENTS: dict[str, Any] = {"pk": "originator_id", "sk": NumberKey("originator_version"), **PLAIN}
events = Table("stored_events", revision_attribute=None, **EVENTS)
snapshots = Table("stored_snapshots", revision_attribute=None, **EVENTS)


class Stored(Entity):
    originator: Annotated[UUID, Attribute("originator_id")]
    number: Annotated[int, Attribute("originator_version")]
    topic: str
    state: bytes
    created_at: Annotated[datetime, Attribute(codec=EPOCH_SECONDS)]


class StoredEvent(Stored, table=events):
    pass


class StoredSnapshot(Stored, table=snapshots):
    pass
