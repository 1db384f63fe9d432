"""DynamoDB Streams for one table, as its API reference describes it: shards that split, close, and answer with nothing.

Sources: "GetRecords", "GetShardIterator", "Shard" and "SequenceNumberRange" (Amazon DynamoDB Streams API Reference).
"""

from itertools import count
from typing import Any

from dynaorm import Entity, Table, item_of
from dynaorm.transport import Call, Refusal, Reply
from tests.streams.events import in_get_records, written

app = Table("app")
ARN = "arn:aws:dynamodb:eu-west-1:123456789012:table/app/stream/1"

MOST = 5000
"""So many calls are more than any test needs."""


class Thing(Entity, table=app, pk="THING#{name}", sk="T"):
    name: str


class Stream:
    """The stream of a table.

    Attributes:
        shards: the sequence numbers of the records of each shard.
        parents: the parent of each shard.
        records: the records that are not inserts of a ``Thing``, by sequence number.
        closed: the shards that get no more records.
        gaps: how many replies without records come before the record at a place of a shard.
        troubles: what the next calls are answered with, by operation.
    """

    def __init__(self) -> None:
        self.shards: dict[str, list[int]] = {}
        self.parents: dict[str, str | None] = {}
        self.records: dict[int, Any] = {}
        self.closed: set[str] = set()
        self.gaps: dict[tuple[str, int], int] = {}
        self.status, self.page, self.shards_per_reply = "ENABLED", 2, 1
        self.calls: list[str] = []
        self.troubles: dict[str, list[Exception]] = {}
        self._numbers = count(1)

    def open(self, name: str, parent: str | None = None, records: int = 0) -> None:
        if parent is not None:
            self.closed.add(parent)
        self.shards[name], self.parents[name] = [], parent
        self.write(name, records)

    def write(self, name: str, records: int = 1) -> None:
        self.shards[name] += [next(self._numbers) for _ in range(records)]

    def trim(self, name: str) -> None:
        del self.shards[name], self.parents[name]

    def record(self, shard: str, number: int) -> Any:
        return self.records.get(number) or written(
            None, item_of(Thing(name=f"{shard}{number}")), sequence=number
        )

    def call(self, call: Call, /) -> Reply:
        self.calls.append(call.operation)
        assert len(self.calls) < MOST, "this stream is asked without end"
        if waiting := self.troubles.get(call.operation):
            raise waiting.pop(0)
        answer: Reply = getattr(self, f"_{call.operation}")(call.request)
        return answer

    def _DescribeTable(self, request: Any) -> Any:  # noqa: N802 - the name of the operation
        assert request == {"TableName": "app"}
        return {"Table": {"TableStatus": "ACTIVE", "LatestStreamArn": ARN}}

    def _DescribeStream(self, request: Any) -> Any:  # noqa: N802 - see above
        assert request["StreamArn"] == ARN
        names = list(self.shards)
        start = names.index(request["ExclusiveStartShardId"]) + 1 if "ExclusiveStartShardId" in request else 0
        some = names[start : start + self.shards_per_reply]
        last = {"LastEvaluatedShardId": some[-1]} if names[start + self.shards_per_reply :] else {}
        shards = [self._described(one) for one in some]
        return {"StreamDescription": {"StreamStatus": self.status, "Shards": shards, **last}}

    def _described(self, name: str) -> Any:
        parent = {"ParentShardId": self.parents[name]} if self.parents[name] else {}
        end = {"EndingSequenceNumber": "9" * 21} if name in self.closed else {}
        return {
            "ShardId": name,
            "SequenceNumberRange": {"StartingSequenceNumber": "0" * 21, **end},
            **parent,
        }

    def _GetShardIterator(self, request: Any) -> Any:  # noqa: N802 - see above
        records = self.shards[request["ShardId"]]
        place, kind = 0, request["ShardIteratorType"]
        if kind in ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"):
            if int(request["SequenceNumber"]) not in records:
                raise Refusal("TrimmedDataAccessException", "The records are trimmed.")
            place = records.index(int(request["SequenceNumber"])) + (kind == "AFTER_SEQUENCE_NUMBER")
        else:
            assert kind == "TRIM_HORIZON"
        return {"ShardIterator": f"{request['ShardId']}|{place}|0"}

    def _GetRecords(self, request: Any) -> Any:  # noqa: N802 - see above
        name, start, gap = request["ShardIterator"].split("|")
        place = int(start)
        if int(gap) < self.gaps.get((name, place), 0):
            return {"Records": [], "NextShardIterator": f"{name}|{place}|{int(gap) + 1}"}
        records = self.shards[name]
        end = min(place + self.page, len(records))
        # A reply ends before the next portion without records.
        end = next((one for one in range(place + 1, end) if self.gaps.get((name, one))), end)
        reply = in_get_records(*(self.record(name, one) for one in records[place:end]))
        del reply["NextShardIterator"]
        is_at_end = end == len(records) and (end == place or not self.gaps.get((name, end)))
        if name not in self.closed or not is_at_end:
            reply["NextShardIterator"] = f"{name}|{end}|0"
        return reply
