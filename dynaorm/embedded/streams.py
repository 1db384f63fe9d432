"""The streams of tables: a record for each change of an item, and the operations that read them.

A stream is one shard.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from dynaorm.embedded.refusal import invalid, not_found
from dynaorm.embedded.shape import Layout
from dynaorm.embedded.work import Work, choice
from dynaorm.flow.call import Refusal, Reply
from dynaorm.item.json_body import decode_body, encode_body
from dynaorm.item.size import MB, item_size
from dynaorm.item.value import Item

_IMAGES: Final[Mapping[str, tuple[str, ...]]] = {
    "KEYS_ONLY": (),
    "NEW_IMAGE": ("NewImage",),
    "OLD_IMAGE": ("OldImage",),
    "NEW_AND_OLD_IMAGES": ("NewImage", "OldImage"),
}
_SHARD: Final = "shardId-00000000000000000000-00000001"
_SECONDS: Final = 24 * 3600.0
_MOST_RECORDS: Final = 1000
_DIGITS: Final = 21


def record_change(work: Work, layout: Layout, before: Item | None, after: Item | None) -> None:
    """Add the record of a change to the stream of its table."""
    arn, view = layout.description["LatestStreamArn"], layout.view or ""
    (last,) = work.execute('SELECT COALESCE(MAX(number), 0) FROM ":records"').fetchone()
    some = before if after is None else after
    assert some is not None
    images: dict[str, Item] = {"Keys": {name: some[name] for name in layout.base.names}}
    sides = (("NewImage", after), ("OldImage", before))
    images |= {name: item for name, item in sides if item is not None and name in _IMAGES[view]}
    number = last + 1
    content = {
        "eventID": f"{number:032x}",
        "eventName": "INSERT" if before is None else "REMOVE" if after is None else "MODIFY",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": work.home.split(":")[3],
        "dynamodb": {
            "ApproximateCreationDateTime": int(work.now()),
            **images,
            "SequenceNumber": str(number).zfill(_DIGITS),
            "SizeBytes": sum(map(item_size, images.values())),
            "StreamViewType": view,
        },
    }
    work.execute('INSERT INTO ":records" VALUES (?, ?, ?, ?)', number, arn, work.now(), encode_body(content))


def open_stream(work: Work, layout: Layout) -> None:
    """Remember the stream that a table has now, also after it is disabled."""
    description = layout.description
    stream = {
        "StreamArn": description["LatestStreamArn"],
        "StreamLabel": description["LatestStreamLabel"],
        "StreamViewType": layout.view,
        "CreationRequestDateTime": work.now(),
        "TableName": layout.name,
        "KeySchema": description["KeySchema"],
    }
    work.execute('INSERT INTO ":streams" VALUES (?, ?)', stream["StreamArn"], json.dumps(stream))


def list_streams(work: Work, request: Mapping[str, Any]) -> Reply:
    """Answer a ListStreams."""
    streams = [json.loads(row[0]) for row in work.execute('SELECT description FROM ":streams" ORDER BY arn')]
    wanted = request.get("TableName")
    return {
        "Streams": [
            {name: stream[name] for name in ("StreamArn", "TableName", "StreamLabel")}
            for stream in streams
            if wanted in (None, stream["TableName"])
        ]
    }


def describe_stream(work: Work, request: Mapping[str, Any]) -> Reply:
    """Answer a DescribeStream."""
    arn = request["StreamArn"]
    stream = _stream(work, arn)
    is_open = _is_open(work, stream)
    first, last = work.execute(
        'SELECT MIN(number), MAX(number) FROM ":records" WHERE arn = ?', arn
    ).fetchone()
    numbers = {"StartingSequenceNumber": str(first or 1).zfill(_DIGITS)}
    if not is_open:
        numbers["EndingSequenceNumber"] = str(last or 1).zfill(_DIGITS)
    shards = [{"ShardId": _SHARD, "SequenceNumberRange": numbers}]
    return {
        "StreamDescription": {
            **stream,
            "StreamStatus": "ENABLED" if is_open else "DISABLED",
            "Shards": [] if request.get("ExclusiveStartShardId") else shards,
        }
    }


def get_shard_iterator(work: Work, request: Mapping[str, Any]) -> Reply:
    """Answer a GetShardIterator. An iterator names the stream and the number of the last record before it."""
    arn = request["StreamArn"]
    _stream(work, arn)
    if request["ShardId"] != _SHARD:
        raise not_found(f"Requested resource not found: Shard: {request['ShardId']} not found")
    kinds = ("TRIM_HORIZON", "LATEST", "AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER")
    kind = choice(request, "ShardIteratorType", *kinds)
    if kind == "TRIM_HORIZON":
        last = 0
    elif kind == "LATEST":
        (last,) = work.execute('SELECT COALESCE(MAX(number), 0) FROM ":records"').fetchone()
    else:
        number = int(request["SequenceNumber"])
        (first,) = work.execute('SELECT MIN(number) FROM ":records" WHERE arn = ?', arn).fetchone()
        if first is not None and number < first:
            raise Refusal(
                "TrimmedDataAccessException", "The requested sequence number is past the trim point"
            )
        last = number - (kind == "AT_SEQUENCE_NUMBER")
    return {"ShardIterator": f"{arn}|{last}"}


def get_records(work: Work, request: Mapping[str, Any]) -> Reply:
    """Answer a GetRecords."""
    arn, bar, text = request["ShardIterator"].rpartition("|")
    if not bar or not text.isdecimal():
        raise invalid("Invalid ShardIterator")
    stream = _stream(work, arn)
    work.execute('DELETE FROM ":records" WHERE at < ?', work.now() - _SECONDS)
    records: list[Any] = []
    last, size = int(text), 0
    rows = work.execute(
        'SELECT number, record FROM ":records" WHERE arn = ? AND number > ? ORDER BY number LIMIT ?',
        arn,
        last,
        min(request.get("Limit") or _MOST_RECORDS, _MOST_RECORDS),
    )
    for number, record in rows:
        size += len(record)
        if records and size > MB:
            break
        last = number
        records.append(decode_body(record))
    goes_on = bool(records) or _is_open(work, stream)
    return {"Records": records, **({"NextShardIterator": f"{arn}|{last}"} if goes_on else {})}


def _is_open(work: Work, stream: Mapping[str, Any]) -> bool:
    layout = work.database.layout(work.connection, stream["TableName"])
    return (
        layout is not None
        and layout.view is not None
        and layout.description["LatestStreamArn"] == stream["StreamArn"]
    )


def _stream(work: Work, arn: str) -> dict[str, Any]:
    row = work.execute('SELECT description FROM ":streams" WHERE arn = ?', arn).fetchone()
    if row is None:
        raise not_found(f"Requested resource not found: Stream: {arn} not found")
    stream: dict[str, Any] = json.loads(row[0])
    return stream
