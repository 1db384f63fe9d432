"""A stream is read shard by shard, parents first, without gaps, from any checkpoint, through every refusal."""

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm import Call, Entity, NoAnswer, Refusal, Reply, Retry, Session, Table, item_of
from dynaorm.errors import (
    CheckpointExpired,
    InvalidCursor,
    TableNotFound,
    Throttled,
    Unreachable,
    UsageError,
)
from dynaorm.testing import FakeClock
from tests.streams.events import written

app = Table("app")
ARN = "arn:aws:dynamodb:eu-west-1:123456789012:table/app/stream/1"


class Thing(Entity, table=app, pk="THING#{name}", sk="T"):
    name: str


class Stream:
    """DynamoDB Streams for one table, with shards that split, as its API reference describes it.

    Attributes:
        shards: the records of each shard, each with its parent.
        closed: the shards that get no more records.
        troubles: what the next calls are answered with, by operation.
    """

    def __init__(self) -> None:
        self.shards: dict[str, list[int]] = {}
        self.parents: dict[str, str | None] = {}
        self.closed: set[str] = set()
        self.status, self.page, self.shards_per_reply = "ENABLED", 2, 1
        self.calls: list[str] = []
        self.troubles: dict[str, list[Exception]] = {}
        self._numbers, self._expired = count(1), set[str]()

    def open(self, name: str, parent: str | None = None, records: int = 0) -> None:
        if parent is not None:
            self.closed.add(parent)
        self.shards[name], self.parents[name] = [], parent
        self.write(name, records)

    def write(self, name: str, records: int = 1) -> None:
        self.shards[name] += [next(self._numbers) for _ in range(records)]

    def trim(self, name: str) -> None:
        del self.shards[name], self.parents[name]

    def call(self, call: Call, /) -> Reply:
        self.calls.append(call.operation)
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
        shards = [
            {"ShardId": one, **({"ParentShardId": self.parents[one]} if self.parents[one] else {})}
            for one in some
        ]
        last = {"LastEvaluatedShardId": some[-1]} if names[start + self.shards_per_reply :] else {}
        return {"StreamDescription": {"StreamStatus": self.status, "Shards": shards, **last}}

    def _GetShardIterator(self, request: Any) -> Any:  # noqa: N802 - see above
        records = self.shards[request["ShardId"]]
        place = 0
        if request["ShardIteratorType"] == "AFTER_SEQUENCE_NUMBER":
            if int(request["SequenceNumber"]) not in records:
                raise Refusal("TrimmedDataAccessException", "The records are trimmed.")
            place = records.index(int(request["SequenceNumber"])) + 1
        return {"ShardIterator": f"{request['ShardId']}|{place}"}

    def _GetRecords(self, request: Any) -> Any:  # noqa: N802 - see above
        name, _, place = request["ShardIterator"].partition("|")
        end = int(place) + self.page
        found = self.shards[name][int(place) : end]
        reply: Any = {
            "Records": [written(None, item_of(Thing(name=f"{name}{one}")), sequence=one) for one in found]
        }
        if name not in self.closed or end < len(self.shards[name]):
            reply["NextShardIterator"] = f"{name}|{int(place) + len(found)}"
        return reply


@pytest.fixture
def stream() -> Stream:
    return Stream()


def follow(stream: Stream, **options: Any) -> Iterator[Any]:
    session = Session(transport=stream, clock=FakeClock(jitter=0), retry=Retry(attempts=3))
    return session.follow(app, **{"idle": 0, **options})


def sequences(changes: Iterator[Any]) -> list[int]:
    return [int(one.sequence) for one in changes]


@st.composite
def streams(draw: st.DrawFn) -> Stream:
    stream = Stream()
    stream.page, stream.shards_per_reply = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    for number in range(draw(st.integers(1, 5))):
        parents = [None, *stream.shards]
        stream.open(f"s{number}", draw(st.sampled_from(parents)), draw(st.integers(0, 4)))
    return stream


@given(stream=streams(), data=st.data())
def test_every_record_comes_once_after_those_of_the_parent_shard(stream: Stream, data: st.DataObject) -> None:
    found = sequences(follow(stream))
    assert sorted(found) == sorted(one for records in stream.shards.values() for one in records)
    for name, parent in stream.parents.items():
        line = [*(stream.shards[parent] if parent is not None else []), *stream.shards[name]]
        assert [one for one in found if one in line] == line


@given(stream=streams(), data=st.data())
def test_from_any_checkpoint_comes_all_that_was_not_handled(stream: Stream, data: st.DataObject) -> None:
    handled: list[int] = []
    checkpoint: str | None = None
    for _ in range(3):
        for change in follow(stream, after=checkpoint):
            handled.append(int(change.sequence))
            checkpoint = change.checkpoint
            if data.draw(st.booleans()):
                break
        name = data.draw(st.sampled_from(sorted(stream.shards.keys() - stream.closed) or [""]))
        if name:
            stream.write(name)
    handled += sequences(follow(stream, after=checkpoint))
    assert sorted(handled) == sorted(one for records in stream.shards.values() for one in records)


def test_a_reader_that_goes_on_finds_new_records_and_new_shards(stream: Stream) -> None:
    stream.open("a", records=1)
    found = follow(stream, idle=None)
    assert int(next(found).sequence) == 1
    stream.write("a")
    assert int(next(found).sequence) == 2
    stream.open("b", "a", 1)
    stream.open("c", records=1)
    assert {int(next(found).sequence), int(next(found).sequence)} == {3, 4}


def test_it_ends_after_so_many_seconds_without_a_record(stream: Stream) -> None:
    stream.open("a", records=1)
    clock = FakeClock(jitter=0)
    began, session = clock.monotonic(), Session(transport=stream, clock=clock)
    assert len(list(session.follow(app, idle=5))) == 1
    assert clock.monotonic() - began == 5


def test_it_ends_when_the_caller_says_so(stream: Stream) -> None:
    stream.open("a", records=9)
    handled: list[Any] = []
    for change in follow(stream, idle=None, stop=lambda: len(handled) >= 3):
        handled.append(change)  # noqa: PERF402 - the length decides when it stops
    assert len(handled) == 4
    assert list(follow(stream, stop=lambda: True)) == []


def test_it_ends_with_a_stream_that_was_disabled(stream: Stream) -> None:
    stream.open("a", records=3)
    stream.closed.add("a")
    stream.status = "DISABLED"
    assert sequences(follow(stream, idle=None)) == [1, 2, 3]


def test_an_expired_iterator_is_replaced(stream: Stream) -> None:
    stream.open("a", records=4)
    found = follow(stream)
    assert [int(next(found).sequence), int(next(found).sequence)] == [1, 2]
    stream.troubles["GetRecords"] = [Refusal("ExpiredIteratorException")]
    assert sequences(found) == [3, 4]


@pytest.mark.parametrize(
    "trouble", [Refusal("LimitExceededException"), Refusal("ThrottlingException"), NoAnswer("HTTP 500")]
)
@pytest.mark.parametrize("operation", ["DescribeStream", "GetShardIterator", "GetRecords"])
def test_every_request_is_repeated(stream: Stream, operation: str, trouble: Exception) -> None:
    stream.open("a", records=3)
    stream.troubles[operation] = [trouble, trouble]
    assert sequences(follow(stream)) == [1, 2, 3]
    stream.troubles[operation] = [trouble] * 50
    with pytest.raises(Exception, match=r"DynamoDB|no answer"):
        list(follow(stream))


def test_a_list_of_shards_that_never_ends_is_an_error(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream.open("s1", records=1)
    described = {"StreamStatus": "ENABLED", "Shards": [{"ShardId": "s1"}], "LastEvaluatedShardId": "s1"}
    monkeypatch.setattr(stream, "_DescribeStream", lambda _: {"StreamDescription": described})
    with pytest.raises(Unreachable, match="is the endpoint a DynamoDB"):
        list(follow(stream))
    assert stream.calls.count("DescribeStream") == 2


def test_throttling_has_an_end(stream: Stream) -> None:
    stream.open("a")
    stream.troubles["GetRecords"] = [Refusal("ThrottlingException")] * 9
    with pytest.raises(Throttled):
        list(follow(stream))


def test_records_that_are_gone_are_an_error(stream: Stream) -> None:
    stream.open("a", records=2)
    first, second = follow(stream)
    del stream.shards["a"][0]
    with pytest.raises(CheckpointExpired, match=r"'app' may no longer have all.*The records are trimmed; "):
        list(follow(stream, after=first.checkpoint))
    stream.open("b", "a")
    stream.open("c", "b", 1)
    assert sequences(follow(stream, after=second.checkpoint)) == [3]
    stream.trim("a")
    with pytest.raises(CheckpointExpired, match="the shard a is gone"):
        list(follow(stream, after=second.checkpoint))
    assert sequences(follow(stream)) == [3]


def test_a_reader_that_is_too_slow_gets_an_error(stream: Stream) -> None:
    stream.open("a", records=4)
    found = follow(stream)
    next(found)
    stream.troubles["GetRecords"] = [Refusal("TrimmedDataAccessException", "Trimmed")]
    with pytest.raises(CheckpointExpired, match="Trimmed"):
        list(found)


def test_a_checkpoint_of_another_stream_has_expired(stream: Stream) -> None:
    stream.open("a", records=1)
    (change,) = follow(stream)
    with pytest.raises(CheckpointExpired, match="another stream"):
        list(follow(stream, after=change.checkpoint.replace("stream/1", "stream/0")))


def test_without_a_stream_the_error_says_how_to_get_one(stream: Stream) -> None:
    class Plain(Stream):
        def _DescribeTable(self, request: Any) -> Any:  # noqa: ARG002, N802 - see above
            return {"Table": {"TableStatus": "ACTIVE"}}

    with pytest.raises(UsageError, match=r"has no stream; declare Table\(..., stream='NEW_AND_OLD_IMAGES'\)"):
        list(follow(Plain()))


def test_a_table_that_does_not_exist_is_an_error(stream: Stream) -> None:
    stream.troubles["DescribeTable"] = [Refusal("ResourceNotFoundException")]
    with pytest.raises(TableNotFound):
        list(follow(stream))


def test_arguments_are_checked_before_the_first_request(stream: Stream) -> None:
    with pytest.raises(InvalidCursor):
        follow(stream, after="x")
    with pytest.raises(UsageError, match="takes a Table"):
        Session(transport=stream).follow(Thing)  # type: ignore[call-overload]  # no table
    assert stream.calls == []
