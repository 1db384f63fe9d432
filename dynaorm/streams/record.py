"""One record of a stream: the item before and after a write, in one form for all sources.

Sources: "Record" and "StreamRecord" (Amazon DynamoDB Streams API Reference); "Using Kinesis Data Streams to capture
changes to DynamoDB" and "DynamoDB Streams and Time to Live" (Amazon DynamoDB Developer Guide).
"""

from collections.abc import Mapping
from dataclasses import field
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeAlias, cast

from dynaorm.entity.stored_entity import checked_item
from dynaorm.errors import UsageError
from dynaorm.failure import shown
from dynaorm.item.value import Item
from dynaorm.record import record

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
