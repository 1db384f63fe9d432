"""A stream is read shard by shard, parents first, without gaps, from any checkpoint, through every refusal."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm import Retry, Session, tools
from dynaorm.errors import (
    CheckpointExpired,
    InvalidCursor,
    TableNotFound,
    Unreachable,
    UsageError,
)
from dynaorm.testing import FakeClock
from dynaorm.transport import NoAnswer, Refusal
from tests.streams.shards import Stream, Thing, app


@pytest.fixture
def stream() -> Stream:
    return Stream()


def follow(stream: Stream, **options: Any) -> Iterator[Any]:
    session = Session(transport=stream, clock=FakeClock(jitter=0), retry=Retry(attempts=3))
    return tools.follow(session, app, **{"idle": 0, **options})


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


def test_a_shard_that_counted_as_read_is_asked_once_in_a_second(stream: Stream) -> None:
    stream.open("a", records=1)
    clock = FakeClock(jitter=0)
    found = tools.follow(Session(transport=stream, clock=clock), app)
    next(found)
    asked: list[int] = []
    for _ in range(3):
        stream.write("a")
        stream.calls.clear()
        next(found)
        asked.append(stream.calls.count("GetRecords"))
    assert asked == [1, 1, 1]
    stream.calls.clear()
    began = clock.monotonic()
    list(tools.follow(Session(transport=stream, clock=clock), app, idle=60))
    assert clock.monotonic() - began == 60
    assert stream.calls.count("GetRecords") <= 67


def test_resuming_inside_a_record_repeats_it_if_classes_changed(
    stream: Stream,
) -> None:
    stream.open("a", records=2)
    first, _ = follow(stream)
    inside = first.checkpoint.replace('"ended":[]', '"ended":[],"inside":{"a":1}')
    assert sequences(follow(stream, after=inside)) == [1, 2]
    del stream.shards["a"][0]
    with pytest.raises(CheckpointExpired):
        list(follow(stream, after=inside))


@pytest.mark.parametrize("records", ["x", 1, {"a": 1}])
def test_a_reply_whose_records_are_no_list_is_no_answer_of_dynamodb(
    stream: Stream, monkeypatch: pytest.MonkeyPatch, records: object
) -> None:
    stream.open("a", records=1)
    monkeypatch.setattr(stream, "_GetRecords", lambda _: {"Records": records, "NextShardIterator": "a|0|0"})
    with pytest.raises(Unreachable, match="is the endpoint a DynamoDB"):
        list(follow(stream))


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
        tools.follow(Session(transport=stream), Thing)  # type: ignore[call-overload]  # no table
    assert stream.calls == []
