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
from typing import Any, Final, TypeGuard

from dynaorm.errors import UsageError
from dynaorm.streams.record import StreamRecord, record_of, text_of

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
        problem=f"this is no event of a DynamoDB stream: {problem}",
        remedy="give a Lambda event, a reply of GetRecords, or the list of records of EventBridge Pipes",
    )
