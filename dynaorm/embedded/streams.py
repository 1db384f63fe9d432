"""The streams of tables: a record for each change of an item, and the operations that read them.

A stream is one shard.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from dynaorm.embedded import rules
from dynaorm.embedded.database import Database, operation
from dynaorm.embedded.shape import Layout
from dynaorm.flow.call import Refusal, Reply
from dynaorm.item.json_body import decode_body, encode_body
from dynaorm.item.size import MB, item_size
from dynaorm.item.value import Item

_SHARD: Final = "shardId-00000000000000000000-00000001"
_SECONDS: Final = 24 * 3600.0
_MOST_RECORDS: Final = 1000
_DIGITS: Final = 21
_FIRST_AND_LAST: Final = 'SELECT MIN(number), COALESCE(MAX(number), 0) FROM ":records"'


def record_of(
    number: int, view: str, key_names: Iterable[str], *, before: Item | None, after: Item | None
) -> Any:
    """The record of a change in a stream with a view, but for its time and its table."""
    some = after or before or {}
    images: dict[str, Item] = {"Keys": {name: some[name] for name in key_names}}
    for side, item in (("New", after), ("Old", before)):
        if item is not None and side.upper() in view.split("_"):
            images[f"{side}Image"] = item
    return {
        "eventID": f"{number:032x}",
        "eventName": "INSERT" if before is None else "REMOVE" if after is None else "MODIFY",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "us-east-1",
        "dynamodb": {
            **images,
            "SequenceNumber": str(number).zfill(_DIGITS),
            "SizeBytes": sum(map(item_size, images.values())),
            "StreamViewType": view,
        },
    }


def record_change(db: Database, layout: Layout, before: Item | None, after: Item | None) -> None:
    """Add the record of a change to the stream of its table."""
    arn, number = layout.description["LatestStreamArn"], db.execute(_FIRST_AND_LAST).fetchone()[1] + 1
    record = record_of(number, layout.view or "", layout.base.names, before=before, after=after)
    record["awsRegion"] = db.home.split(":")[3]
    record["dynamodb"]["ApproximateCreationDateTime"] = int(db.now())
    db.execute('INSERT INTO ":records" VALUES (?, ?, ?, ?)', number, arn, db.now(), encode_body(record))


def open_stream(db: Database, layout: Layout) -> None:
    """Remember the stream that a table has now, also after it is disabled."""
    description = layout.description
    stream = {
        "StreamArn": description["LatestStreamArn"],
        "StreamLabel": description["LatestStreamLabel"],
        "StreamViewType": layout.view,
        "CreationRequestDateTime": db.now(),
        "TableName": layout.name,
        "KeySchema": description["KeySchema"],
    }
    db.execute('INSERT INTO ":streams" VALUES (?, ?)', stream["StreamArn"], json.dumps(stream))


@operation("", "TableName Limit")
def list_streams(db: Database, request: Mapping[str, Any]) -> Reply:
    """Answer a ListStreams."""
    rows = db.execute('SELECT description FROM ":streams" ORDER BY arn')
    streams = [json.loads(description) for (description,) in rows]
    return {
        "Streams": [
            {name: stream[name] for name in ("StreamArn", "TableName", "StreamLabel")}
            for stream in streams
            if request.get("TableName") in (None, stream["TableName"])
        ]
    }


@operation("StreamArn", "Limit ExclusiveStartShardId")
def describe_stream(db: Database, request: Mapping[str, Any]) -> Reply:
    """Answer a DescribeStream."""
    arn = request["StreamArn"]
    stream, is_open = _stream(db, arn)
    first, last = db.execute(f"{_FIRST_AND_LAST} WHERE arn = ?", arn).fetchone()
    numbers = {"StartingSequenceNumber": str(first or 1).zfill(_DIGITS)}
    if not is_open:
        numbers["EndingSequenceNumber"] = str(last or 1).zfill(_DIGITS)
    shards = [{"ShardId": _SHARD, "SequenceNumberRange": numbers}]
    status = "ENABLED" if is_open else "DISABLED"
    shown = [] if request.get("ExclusiveStartShardId") else shards
    return {"StreamDescription": {**stream, "StreamStatus": status, "Shards": shown}}


@operation("StreamArn ShardId ShardIteratorType", "SequenceNumber")
def get_shard_iterator(db: Database, request: Mapping[str, Any]) -> Reply:
    """Answer a GetShardIterator. An iterator names the stream and the number of the last record before it."""
    arn = request["StreamArn"]
    _stream(db, arn)
    if request["ShardId"] != _SHARD:
        raise rules.not_found(f": Shard: {request['ShardId']} not found")
    kinds = ("TRIM_HORIZON", "LATEST", "AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER")
    kind = rules.choice(request, "ShardIteratorType", *kinds)
    last = 0
    if kind == "LATEST":
        last = db.execute(_FIRST_AND_LAST).fetchone()[1]
    elif kind != "TRIM_HORIZON":
        last = int(request["SequenceNumber"])
        first = db.execute(f"{_FIRST_AND_LAST} WHERE arn = ?", arn).fetchone()[0]
        if first is not None and last < first:
            what = "The requested sequence number is past the trim point"
            raise Refusal("TrimmedDataAccessException", what)
        last -= kind == "AT_SEQUENCE_NUMBER"
    return {"ShardIterator": f"{arn}|{last}"}


@operation("ShardIterator", "Limit", writes=True)
def get_records(db: Database, request: Mapping[str, Any]) -> Reply:
    """Answer a GetRecords."""
    arn, bar, text = request["ShardIterator"].rpartition("|")
    if not bar or not text.isdecimal():
        raise rules.invalid("Invalid ShardIterator")
    _, is_open = _stream(db, arn)
    db.execute('DELETE FROM ":records" WHERE at < ?', db.now() - _SECONDS)
    records: list[Any] = []
    last, size = int(text), 0
    limit = min(request.get("Limit") or _MOST_RECORDS, _MOST_RECORDS)
    wanted = 'SELECT number, record FROM ":records" WHERE arn = ? AND number > ? ORDER BY number LIMIT ?'
    for number, record in db.execute(wanted, arn, last, limit):
        size += len(record)
        if records and size > MB:
            break
        last = number
        records.append(decode_body(record))
    following = {"NextShardIterator": f"{arn}|{last}"} if records or is_open else {}
    return {"Records": records, **following}


def _stream(db: Database, arn: str) -> tuple[Mapping[str, Any], bool]:
    """The stream, and whether it is open. Raises Refusal if there is none."""
    row = db.execute('SELECT description FROM ":streams" WHERE arn = ?', arn).fetchone()
    if row is None:
        raise rules.not_found(f": Stream: {arn} not found")
    stream = json.loads(row[0])
    layout = db.find_table(stream["TableName"])
    is_open = layout is not None and layout.view and layout.description["LatestStreamArn"] == arn
    return stream, bool(is_open)
