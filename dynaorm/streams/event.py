"""Events: the records in what Lambda, GetRecords, Kinesis and EventBridge Pipes deliver.

| source | form of the event |
|---|---|
| Lambda, from DynamoDB Streams | ``{"Records": [{"dynamodb": {...}, "eventName": ...}]}`` |
| Lambda, from Kinesis Data Streams | ``{"Records": [{"kinesis": {"data": base64}}]}`` |
| GetRecords of DynamoDB Streams | the first, with bytes for binary values and datetimes for times |
| GetRecords of Kinesis | ``{"Records": [{"Data": bytes}]}`` |
| EventBridge Pipes | a list of records: the first, or those of Kinesis with ``data`` at the top |
"""

import json
from base64 import b64decode
from collections.abc import Mapping, Sequence

from dynaorm.errors import UsageError
from dynaorm.failure import shown
from dynaorm.streams.record import StreamRecord, record_of


def records_of(event: object) -> list[StreamRecord]:
    """The records of an event, in order.

    Raises:
        UsageError: it is no event of a stream.
    """
    if isinstance(event, Mapping):
        found = event.get("Records")
        if isinstance(found, Sequence) and not isinstance(found, str):
            return [_record(raw) for raw in found]
        if "dynamodb" in event:
            return [_record(event)]
        raise _no_event(f"it has {', '.join(map(str, event)) or 'nothing'}, and no Records")
    if isinstance(event, Sequence) and not isinstance(event, str | bytes):
        return [_record(raw, is_piped=True) for raw in event]
    raise _no_event(f"it is of type {type(event).__name__}")


def _record(raw: object, *, is_piped: bool = False) -> StreamRecord:
    if not isinstance(raw, Mapping):
        raise _no_event(f"one of its records is {shown(raw)}")
    # EventBridge Pipes names records by their eventID, Lambda by their sequence number.
    failure_id = str(raw["eventID"]) if is_piped and "eventID" in raw else None
    if "dynamodb" in raw:
        return record_of(raw, raw, failure_id=failure_id)
    kinesis = raw.get("kinesis", raw)
    if isinstance(kinesis, Mapping):
        sequence = str(kinesis.get("sequenceNumber") or kinesis.get("SequenceNumber") or "")
        for name in ("data", "Data"):
            if name in kinesis:
                return record_of(raw, _content(kinesis[name]), sequence=sequence, failure_id=failure_id)
    raise _no_event(f"one of its records comes from {raw.get('eventSource', 'an unknown source')!r}")


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
