"""Events in the forms that AWS documents, with the items that a test gives.

Sources: "Using AWS Lambda with Amazon DynamoDB" and "... with Amazon Kinesis" (AWS Lambda Developer Guide); "Record"
and "StreamRecord" (Amazon DynamoDB Streams API Reference); "Amazon DynamoDB stream as a source" and "Kinesis stream
as a source" (Amazon EventBridge User Guide); "Kinesis Data Streams for DynamoDB" (Amazon DynamoDB Developer Guide).
"""

import json
from base64 import b64encode
from datetime import UTC, datetime
from typing import Any

TTL: Any = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
ARN = "arn:aws:dynamodb:us-east-2:123456789012:table/{}/stream/2024-06-10T19:26:16.525"
AT = datetime(2016, 11, 18, 19, 9, tzinfo=UTC)

VIEWS: dict[str, tuple[str, ...]] = {
    "KEYS_ONLY": (),
    "NEW_IMAGE": ("NewImage",),
    "OLD_IMAGE": ("OldImage",),
    "NEW_AND_OLD_IMAGES": ("NewImage", "OldImage"),
}


def written(
    old: Any,
    new: Any,
    *,
    view: str = "NEW_AND_OLD_IMAGES",
    keys: tuple[str, ...] = ("PK", "SK"),
    sequence: int = 111,
    ttl: bool = False,
    table: str = "app",
) -> dict[str, Any]:
    """The record of one write in a Lambda event; ``old`` and ``new`` are items, or None for no item."""
    images = {"OldImage": old, "NewImage": new}
    return {
        "eventID": f"id-{sequence}",
        "eventName": "INSERT" if old is None else "REMOVE" if new is None else "MODIFY",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "us-east-2",
        "dynamodb": {
            "ApproximateCreationDateTime": AT.timestamp(),
            "Keys": {name: (new or old)[name] for name in keys},
            **{name: images[name] for name in VIEWS[view] if images[name] is not None},
            "SequenceNumber": str(sequence),
            "SizeBytes": 26,
            "StreamViewType": view,
        },
        **({"userIdentity": TTL} if ttl else {}),
        "eventSourceARN": ARN.format(table),
    }


def as_json(event: Any) -> Any:
    """An event as Lambda gives it: binary values are base64."""
    return json.loads(json.dumps(event, default=lambda value: b64encode(value).decode()))


def in_lambda(*records: Any) -> Any:
    return as_json({"Records": list(records)})


def in_get_records(*records: Any) -> Any:
    """A reply of boto3's GetRecords: times are datetimes, and the identity's members begin with capitals."""
    found = []
    for record in records:
        body = {**record["dynamodb"], "ApproximateCreationDateTime": AT}
        plain = {
            name: value for name, value in record.items() if name not in ("eventSourceARN", "userIdentity")
        }
        identity = {"userIdentity": {"PrincipalId": TTL["principalId"], "Type": TTL["type"]}}
        found.append({**plain, "dynamodb": body, **(identity if "userIdentity" in record else {})})
    return {"Records": found, "NextShardIterator": "next"}


def in_pipes(*records: Any) -> Any:
    return as_json(list(records))


def kinesis_data(record: Any, precision: str = "MILLISECOND") -> bytes:
    """A record of DynamoDB as it is in Kinesis: without sequence number and view, and with a finer time."""
    body = {
        name: value
        for name, value in record["dynamodb"].items()
        if name not in ("SequenceNumber", "StreamViewType")
    }
    body["ApproximateCreationDateTime"] = int(
        AT.timestamp() * {"MILLISECOND": 10**3, "MICROSECOND": 10**6}[precision]
    )
    body["ApproximateCreationDateTimePrecision"] = precision
    content = {
        **{name: record[name] for name in ("awsRegion", "eventID", "eventName", "eventSource")},
        "userIdentity": record.get("userIdentity"),
        "recordFormat": "application/json",
        "tableName": record["eventSourceARN"].partition("/")[2].partition("/")[0],
        "dynamodb": body,
    }
    return json.dumps(as_json(content)).encode()


def in_kinesis(*records: Any, precision: str = "MILLISECOND") -> Any:
    return {
        "Records": [
            {
                "kinesis": {
                    "kinesisSchemaVersion": "1.0",
                    "partitionKey": "1",
                    "sequenceNumber": record["dynamodb"]["SequenceNumber"],
                    "data": b64encode(kinesis_data(record, precision)).decode(),
                    "approximateArrivalTimestamp": 1545084650.987,
                },
                "eventSource": "aws:kinesis",
                "eventVersion": "1.0",
                "eventID": f"shardId-000000000006:{record['dynamodb']['SequenceNumber']}",
                "eventName": "aws:kinesis:record",
                "awsRegion": "us-east-2",
                "eventSourceARN": "arn:aws:kinesis:us-east-2:123456789012:stream/lambda-stream",
            }
            for record in records
        ]
    }


def in_kinesis_pipes(*records: Any) -> Any:
    """EventBridge Pipes put the members of ``kinesis`` at the top."""
    found = in_kinesis(*records, precision="MICROSECOND")["Records"]
    return [{**one["kinesis"], **{name: one[name] for name in one if name != "kinesis"}} for one in found]


def in_kinesis_get_records(*records: Any) -> Any:
    return {
        "Records": [
            {
                "SequenceNumber": one["dynamodb"]["SequenceNumber"],
                "Data": kinesis_data(one),
                "PartitionKey": "1",
            }
            for one in records
        ]
    }


FORMS = {
    "lambda": in_lambda,
    "get_records": in_get_records,
    "pipes": in_pipes,
    "kinesis": in_kinesis,
    "kinesis_pipes": in_kinesis_pipes,
    "kinesis_get_records": in_kinesis_get_records,
}
