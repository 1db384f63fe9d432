"""Events: the records in what Lambda, GetRecords, Kinesis and EventBridge Pipes deliver.

| source | form of the event |
|---|---|
| Lambda, from DynamoDB Streams | ``{"Records": [{"dynamodb": {...}, "eventName": ...}]}`` |
| Lambda, from Kinesis Data Streams | ``{"Records": [{"kinesis": {"data": base64}}]}`` |
| GetRecords of DynamoDB Streams | the first, with bytes for binary values and datetimes for times |
| GetRecords of Kinesis | ``{"Records": [{"Data": bytes}]}`` |
| EventBridge Pipes | a list of records: the first, or those of Kinesis with ``data`` at the top |

Rule 1. Whatever stands in the place of a record is one, with a ``problem`` if it cannot be read. It takes no other
        record with it.
Rule 2. What has no list of records is no event. Neither is one whose records all name another source, such as a
        queue: then it is the function that gets the wrong events.
"""

import json
from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime
from typing import Any, Final, Generic, Literal, NoReturn, TypeAlias, TypeGuard, TypeVar, cast

from dynaorm.entity.classify import checked_item
from dynaorm.entity.key import Key
from dynaorm.errors import DecodeError, UsageError
from dynaorm.failure import shown
from dynaorm.item.value import Item
from dynaorm.record import record

# What a stream says about one entity: it was inserted, changed or deleted, or its record cannot be read.

E = TypeVar("E")


@record
class Inserted(Generic[E]):
    """An entity was stored where there was none. A versioned entity may have been deleted before.

    Attributes:
        new_or_none: the entity as stored; None if the stream carries no new images.
        key: the key of the entity.
        sequence: the sequence number of the stream record.
        at: about when it was written (UTC); None if the record does not say.
        checkpoint: where ``dynaorm.tools.follow`` can continue after this change; None for other sources.

    Examples:
        >>> from dynaorm.testing import Store
        >>> store = Store(PynamoTransport(region="eu-west-1"))
        >>> store.create(app)
        >>> with stream_events(store) as event, store.session() as writing:
        ...     ada = writing.save(User(user_id="9", email="ada@x.com"))
        >>> [change] = changes(event, app)
        >>> change.new.email
        'ada@x.com'
    """

    new_or_none: E | None
    key: Key[E]
    sequence: str
    at: datetime | None
    checkpoint: str | None = field(default=None, repr=False)

    @property
    def new(self) -> E:
        """The entity as stored. Raises UsageError if the stream carries no new images."""
        return self.new_or_none if self.new_or_none is not None else _without("new", self.key)


@record
class Changed(Generic[E]):
    """A stored entity was written again. ``old`` and ``new`` are of the same class.

    Attributes:
        old_or_none: the entity before; None if the stream carries no old images, or if it cannot be read.
        new_or_none: the entity as stored; None if the stream carries no new images.
        fields_or_none: the fields whose values differ; None if one of the two is not known. It is empty if only
            attributes changed that no field knows, such as the revision.
        totals_only: whether only fields changed that an ``Aggregate`` maintains; None if that is not known.
        key: the key of the entity.
        sequence: the sequence number of the stream record.
        at: about when it was written (UTC); None if the record does not say.
        old_error: why the entity before cannot be read.
        checkpoint: where ``dynaorm.tools.follow`` can continue after this change; None for other sources.

    Examples:
        >>> from dynaorm.testing import Store
        >>> store = Store(PynamoTransport(region="eu-west-1"))
        >>> store.create(app)
        >>> with stream_events(store) as event, store.session() as writing:
        ...     liz = writing.update(Key(User, user_id="1"), F.visits.add(1))
        >>> [change] = changes(event, app)
        >>> change.fields, change.old.visits, change.new.visits
        (..., 0, 1)
    """

    old_or_none: E | None
    new_or_none: E | None
    fields_or_none: frozenset[str] | None
    totals_only: bool | None
    key: Key[E]
    sequence: str
    at: datetime | None
    old_error: DecodeError | None = None
    checkpoint: str | None = field(default=None, repr=False)

    @property
    def old(self) -> E:
        """The entity before. Raises UsageError if the stream carries no old images, DecodeError if it is not valid."""
        return self.old_or_none if self.old_or_none is not None else _without("old", self.key, self.old_error)

    @property
    def new(self) -> E:
        """The entity as stored. Raises UsageError if the stream carries no new images."""
        return self.new_or_none if self.new_or_none is not None else _without("new", self.key)

    @property
    def fields(self) -> frozenset[str]:
        """The fields whose values differ. Raises the errors of ``old`` and ``new``."""
        if self.fields_or_none is None:
            # One of the two is not known, and its property raises the error that says why.
            _ = self.old, self.new
        assert self.fields_or_none is not None  # both are known
        return self.fields_or_none


@record
class Deleted(Generic[E]):
    """A stored entity was deleted.

    Attributes:
        old_or_none: the entity before; None if the stream carries no old images, or if it cannot be read.
        expired: whether DynamoDB deleted it by TTL.
        key: the key of the entity.
        sequence: the sequence number of the stream record.
        at: about when it was deleted (UTC); None if the record does not say.
        old_error: why the entity before cannot be read.
        checkpoint: where ``dynaorm.tools.follow`` can continue after this change; None for other sources.

    Examples:
        >>> from dynaorm.testing import Store
        >>> store = Store(PynamoTransport(region="eu-west-1"))
        >>> store.create(app)
        >>> with stream_events(store) as event, store.session() as writing:
        ...     writing.delete(Key(Ticket, project="p1", number=1))
        >>> [change] = changes(event, app)
        >>> change.old.status, change.expired
        ('open', False)
    """

    old_or_none: E | None
    expired: bool
    key: Key[E]
    sequence: str
    at: datetime | None
    old_error: DecodeError | None = None
    checkpoint: str | None = field(default=None, repr=False)

    @property
    def old(self) -> E:
        """The entity before. Raises UsageError if the stream carries no old images, DecodeError if it is not valid."""
        return self.old_or_none if self.old_or_none is not None else _without("old", self.key, self.old_error)


@record
class Unreadable:
    """A record does not say what happened to an entity.

    Its item is not valid for its class or is of no class, or what stands in the place of the record is none.

    Attributes:
        record: the record as it was given; a mapping, unless it is no record at all.
        error: what is wrong.
        key: the key of the item, with its class if its form names one.
        sequence: the sequence number of the stream record; empty if it has none.
        at: about when it was written (UTC); None if the record does not say.
        checkpoint: where ``dynaorm.tools.follow`` can continue after this record; None for other sources.

    Examples:
        >>> [change] = changes([{"eventName": "INSERT"}], app)
        >>> type(change).__name__
        'Unreadable'
    """

    record: Any = field(repr=False)
    error: DecodeError
    key: Key[Any]
    sequence: str
    at: datetime | None
    checkpoint: str | None = field(default=None, repr=False)


@record
class Internal:
    """An item was written that is no entity, such as a guard item or a version item.

    Attributes:
        kind: ``"guard"``, ``"version"``, ``"tombstone"`` or ``"token"``.
        old: the item before; None if there was none, or if the stream carries no old images.
        new: the item as stored; None if there is none, or if the stream carries no new images.
        key: the key of the item, without a class.
        sequence: the sequence number of the stream record.
        at: about when it was written (UTC); None if the record does not say.
        checkpoint: where ``dynaorm.tools.follow`` can continue after this record; None for other sources.

    Examples:
        >>> from dynaorm.testing import Store
        >>> store = Store(PynamoTransport(region="eu-west-1"))
        >>> store.create(app)
        >>> with stream_events(store) as event, store.session() as writing:
        ...     ada = writing.save(User(user_id="9", email="ada@x.com"))
        >>> [change.kind for change in changes(event, app, internal=True) if isinstance(change, Internal)]
        ['guard']
    """

    kind: str
    old: Item | None = field(repr=False)
    new: Item | None = field(repr=False)
    key: Key[Any]
    sequence: str
    at: datetime | None
    checkpoint: str | None = field(default=None, repr=False)


StreamChange: TypeAlias = Inserted[Any] | Changed[Any] | Deleted[Any] | Unreadable
"""What a record of a stream means for an entity."""

AnyChange: TypeAlias = StreamChange | Internal
"""The same, and the writes of items that are no entities (``internal=True``)."""


def _without(which: str, key: Key[Any], error: DecodeError | None = None) -> NoReturn:
    if error is not None:
        raise error
    raise UsageError(
        problem=f"the stream carries no {which} image of {key!r}",
        remedy="switch the stream to NEW_AND_OLD_IMAGES, or read the entity with session.get(change.key)",
    )


# One record of a stream: the item before and after a write, in one form for all sources.
#
# Sources: "Record" and "StreamRecord" (Amazon DynamoDB Streams API Reference); "Using Kinesis Data Streams to capture
# changes to DynamoDB" and "DynamoDB Streams and Time to Live" (Amazon DynamoDB Developer Guide).


WriteKind: TypeAlias = Literal["INSERT", "MODIFY", "REMOVE"]

_KINDS: Final = ("INSERT", "MODIFY", "REMOVE")
_TTL_PRINCIPAL: Final = "dynamodb.amazonaws.com"


@record
class StreamRecord:
    """One write of one item.

    Attributes:
        kind: what the write did to the item.
        key: the primary key of the item.
        old: the item before; None if there was none, or if the stream carries no old images.
        new: the item as stored; None if there is none, or if the stream carries no new images.
        expired: whether DynamoDB deleted the item by TTL.
        problem: what is wrong with the record; then the other attributes may be empty.
        table: the physical name of the table; empty if the record does not say.
        at: about when it was written.
        sequence: its sequence number; empty if the record has none.
        failure_id: what a partial batch response names it by; empty if the record has no name.
        raw: the record as it was given.
    """

    kind: WriteKind
    key: Item
    old: Item | None
    new: Item | None
    expired: bool
    problem: str
    table: str
    at: datetime | None
    sequence: str
    failure_id: str
    raw: Any = field(repr=False)


def record_of(
    raw: object, content: object, *, sequence: str = "", failure_id: str | None = None
) -> StreamRecord:
    """The record in its JSON form.

    Args:
        raw: the record as it was given.
        content: the part of it that has ``eventName`` and ``dynamodb``; anything else is a problem of the record.
        sequence: the sequence number, if the content has none, as in Kinesis.
        failure_id: what a partial batch response names it by; default the sequence number.
    """
    body = content.get("dynamodb") if isinstance(content, Mapping) else None
    if not isinstance(content, Mapping) or not isinstance(body, Mapping):
        content, body, problem = {}, {}, "it is not a record of a DynamoDB stream"
    else:
        problem = ""
    kind = content.get("eventName")
    if not problem and kind not in _KINDS:
        problem = f"its eventName {shown(kind)} is none of {', '.join(_KINDS)}"
    images: dict[str, Item | None] = {}
    for name in ("Keys", "OldImage", "NewImage"):
        try:
            images[name] = None if (given := body.get(name)) is None else checked_item(given, name)
        except UsageError as error:
            images[name], problem = None, problem or error.problem
    if not problem and images["Keys"] is None:
        problem = "it has no Keys"
    sequence = sequence or text_of(body.get("SequenceNumber"))
    return StreamRecord(
        kind=cast("WriteKind", kind if kind in _KINDS else "MODIFY"),
        key=images["Keys"] or {},
        old=images["OldImage"],
        new=images["NewImage"],
        expired=_is_by_ttl(content.get("userIdentity")),
        problem=problem,
        table=_table_of(content),
        at=_time_of(body.get("ApproximateCreationDateTime")),
        sequence=sequence,
        failure_id=sequence if failure_id is None else failure_id,
        raw=raw,
    )


def text_of(given: object) -> str:
    """The name of something in a record; empty for what names nothing. Some tools write sequence numbers as numbers."""
    return str(given) if isinstance(given, str | int) else ""


def _is_by_ttl(identity: object) -> bool:
    """Whether TTL deleted the item. Lambda's events spell the members in lower case, GetRecords in upper case."""
    if not isinstance(identity, Mapping):
        return False
    named = {str(name).lower(): value for name, value in identity.items()}
    return named.get("type") == "Service" and named.get("principalid") == _TTL_PRINCIPAL


def _table_of(content: Mapping[str, Any]) -> str:
    """The physical name of the table: that of a record in Kinesis, or the one in the stream's ARN."""
    if isinstance(name := content.get("tableName"), str):
        return name
    _, found, rest = str(content.get("eventSourceARN") or "").partition(":table/")
    return rest.partition("/")[0] if found else ""


def _time_of(given: object) -> datetime | None:
    """A time in seconds, or, in Kinesis, in milliseconds or microseconds; its magnitude says which."""
    if isinstance(given, datetime):
        # AWS gives times in UTC. Python would take one without a zone for local time.
        return given.astimezone(UTC) if given.tzinfo is not None else given.replace(tzinfo=UTC)
    if not isinstance(given, int | float):
        return None
    unit = next((unit for unit in (1e6, 1e3) if given >= _LATEST * unit / 1e3), 1.0)
    try:
        return datetime.fromtimestamp(given / unit, UTC)
    except (ValueError, OverflowError, OSError):
        return None


_LATEST: Final = 1e11
"""No time in a record is so large: in seconds, it is the year 5138. In milliseconds, it is 1973."""


_STREAMS: Final = ("aws:dynamodb", "aws:kinesis")


def records_of(event: object) -> list[StreamRecord]:
    """The records of an event, in order.

    Raises:
        UsageError: it is no event of a stream.
    """
    if isinstance(event, Mapping):
        found = event.get("Records")
        if _is_list(found):
            return _records(found)
        if "dynamodb" in event:
            return [record_in(event)]
        raise _no_event(f"it has {', '.join(map(str, event)) or 'nothing'}, and no Records")
    if _is_list(event):
        return _records(event, is_piped=True)
    raise _no_event(f"it is of type {type(event).__name__}")


def record_in(raw: object, *, is_piped: bool = False) -> StreamRecord:
    """One record of an event, of any form."""
    if not isinstance(raw, Mapping):
        return record_of(raw, None)
    # EventBridge Pipes names records by their eventID, Lambda by their sequence number.
    failure_id = (text_of(raw.get("eventID")) or None) if is_piped else None
    if (kinesis := _kinesis_in(raw)) is None:
        return record_of(raw, raw, failure_id=failure_id)
    sequence = text_of(kinesis.get("sequenceNumber") or kinesis.get("SequenceNumber"))
    data = kinesis["data"] if "data" in kinesis else kinesis["Data"]
    return record_of(raw, _content(data), sequence=sequence, failure_id=failure_id)


def _kinesis_in(raw: Mapping[Any, Any]) -> Mapping[Any, Any] | None:
    """The part of a record of Kinesis that has the data; None for other records."""
    kinesis = raw.get("kinesis", raw)
    is_found = (
        "dynamodb" not in raw and isinstance(kinesis, Mapping) and ("data" in kinesis or "Data" in kinesis)
    )
    return kinesis if is_found else None


def _records(found: Sequence[object], *, is_piped: bool = False) -> list[StreamRecord]:
    sources = [_other_source(raw) for raw in found]
    # Rule 2.
    if sources and all(sources):
        raise _no_event(f"its records come from {sources[0]!r}")
    return [record_in(raw, is_piped=is_piped) for raw in found]


def _other_source(raw: object) -> str:
    """The source that a record names, if it is no stream. Amazon SNS writes the name of the member with a capital."""
    if not isinstance(raw, Mapping) or "dynamodb" in raw or _kinesis_in(raw) is not None:
        return ""
    source = text_of(raw.get("eventSource") or raw.get("EventSource"))
    return "" if source in _STREAMS else source


def _is_list(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)


def _content(data: object) -> object:
    """The JSON in the data of a Kinesis record; None if it is anything else."""
    try:
        return json.loads(data if isinstance(data, bytes) else b64decode(str(data), validate=True))
    except (ValueError, RecursionError):
        return None


def _no_event(problem: str) -> UsageError:
    return UsageError(
        problem=f"this is not an event of a DynamoDB stream: {problem}",
        remedy="give a Lambda event, a reply of GetRecords, or the list of records of EventBridge Pipes",
    )
