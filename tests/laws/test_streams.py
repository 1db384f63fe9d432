"""A stream is read once from end to end: a checkpoint says exactly what is done, and no bad record hides a good one."""

import asyncio
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm import AsyncSession, Session, tools
from dynaorm.streams import Unreadable, changes, handler
from dynaorm.testing import FakeClock
from dynaorm.transport import NoAnswer, Refusal
from tests.streams.events import FORMS
from tests.streams.mixed_records import Audit, Person, app, junk, kinds, record
from tests.streams.shards import Stream

Mark: TypeAlias = tuple[str, str, str]
"""What tells a change from all others of a stream: its sequence number, its kind and its class."""


def mark_of(change: Any) -> Mark:
    entity = change.key.entity
    return change.sequence, type(change).__name__, "" if entity is None else entity.__name__


def marks(records: list[Any], *, internal: bool = False) -> list[Mark]:
    return [mark_of(one) for one in changes({"Records": records}, app, internal=internal)]


def is_in_order(found: list[Any], within: list[Any]) -> bool:
    left = iter(within)
    return all(one in left for one in found)


# -- following a stream ------------------------------------------------------------------------------------------------

SURE = 4
"""After so many replies without a record, ``follow`` still asks an open shard again."""


@st.composite
def streams(draw: st.DrawFn) -> Stream:
    """Shards that split, with records of every kind, replies without records between them, and requests to repeat."""
    stream = Stream()
    stream.page, stream.shards_per_reply = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    for number in range(draw(st.integers(1, 4))):
        name = f"s{number}"
        stream.open(name, draw(st.sampled_from([None, *stream.shards])))
        for kind in draw(st.lists(kinds, max_size=4)):
            write(stream, name, kind)
    stream.closed |= draw(st.sets(st.sampled_from(sorted(stream.shards))))
    for name, numbers in stream.shards.items():
        most = 3 * SURE if name in stream.closed else SURE
        for place in range(len(numbers) + 1):
            stream.gaps[name, place] = draw(st.sampled_from([0, 0, 1, most]))
    stream.troubles["GetRecords"] = draw(st.lists(troubles, max_size=3))
    return stream


troubles: st.SearchStrategy[Exception] = st.sampled_from(
    [NoAnswer("slow"), Refusal("LimitExceededException"), Refusal("ExpiredIteratorException")]
)


def write(stream: Stream, name: str, kind: str) -> None:
    stream.write(name)
    number = stream.shards[name][-1]
    stream.records[number] = record(kind, number)


def lines_of(stream: Stream, *, internal: bool = False) -> dict[str, list[Mark]]:
    """The changes of each shard."""
    return {
        name: marks([stream.record(name, one) for one in numbers], internal=internal)
        for name, numbers in stream.shards.items()
    }


Take: TypeAlias = Callable[[Any], bool]
"""Takes a change, and says whether the worker stops after it."""


def follow(stream: Stream, take: Take, **options: Any) -> None:
    session = Session(transport=stream, clock=FakeClock(jitter=0))
    for change in tools.follow(session, app, **{"idle": 0, **options}):
        if take(change):
            return


def follow_async(stream: Stream, take: Take, **options: Any) -> None:
    async def main() -> None:
        session = AsyncSession(transport=stream, clock=FakeClock(jitter=0))  # type: ignore[arg-type]  # it needs no await
        async for change in tools.follow(session, app, **{"idle": 0, **options}):
            if take(change):
                return

    asyncio.run(main())


@pytest.mark.parametrize("worker", [follow, follow_async], ids=["sync", "async"])
@given(stream=streams(), data=st.data(), internal=st.booleans())
def test_workers_that_stop_anywhere_handle_every_change_once(
    worker: Callable[..., None], stream: Stream, data: st.DataObject, internal: bool
) -> None:
    handled: list[Mark] = []
    kept: list[str | None] = [None]
    may_stop = True

    def take(change: Any) -> bool:
        handled.append(mark_of(change))
        kept.append(change.checkpoint)
        return may_stop and data.draw(st.booleans(), "stops")

    for _ in range(data.draw(st.integers(0, 5), "workers")):
        worker(stream, take, after=kept[-1], internal=internal)
        if still_open := sorted(stream.shards.keys() - stream.closed):
            write(stream, data.draw(st.sampled_from(still_open), "shard"), data.draw(kinds, "kind"))
    may_stop = False
    worker(stream, take, after=kept[-1], internal=internal)

    lines = lines_of(stream, internal=internal)
    assert sorted(handled) == sorted(one for line in lines.values() for one in line)
    for name, parent in stream.parents.items():
        assert is_in_order([*(lines[parent] if parent is not None else []), *lines[name]], handled)


@given(stream=streams())
def test_workers_that_handle_one_change_each_come_to_the_end(stream: Stream) -> None:
    handled: list[Mark] = []
    kept: list[str | None] = [None]

    def take(change: Any) -> bool:
        handled.append(mark_of(change))
        kept.append(change.checkpoint)
        return True

    expected = sorted(one for line in lines_of(stream).values() for one in line)
    for _ in expected:
        follow(stream, take, after=kept[-1])
    assert sorted(handled) == expected
    assert len(set(kept)) == len(kept)


@given(stream=streams(), data=st.data())
def test_a_record_without_a_sequence_number_hides_no_other(stream: Stream, data: st.DataObject) -> None:
    lines = lines_of(stream)
    numbers = [one for some in stream.shards.values() for one in some]
    for number in data.draw(st.sets(st.sampled_from(numbers)) if numbers else st.just(set()), "nameless"):
        stream.records[number] = {"dynamodb": {}}
    named = sorted(one for line in lines_of(stream).values() for one in line if one[0])
    handled: list[Mark] = []
    kept: list[str | None] = [None]
    may_stop = True

    def take(change: Any) -> bool:
        handled.append(mark_of(change))
        kept.append(change.checkpoint)
        return may_stop and data.draw(st.booleans(), "stops")

    for _ in range(data.draw(st.integers(0, 4), "workers")):
        follow(stream, take, after=kept[-1])
    may_stop = False
    follow(stream, take, after=kept[-1])
    assert sorted(one for one in handled if one[0]) == named
    assert sum(map(len, lines.values())) == 0 or handled


@given(stream=streams(), idle=st.sampled_from([0, 0.5, 3, 100]))
def test_following_ends_after_every_record_and_the_idle_time(stream: Stream, idle: float) -> None:
    stream.troubles.clear()  # their pauses would count as idle time
    clock = FakeClock(jitter=0)
    began = clock.monotonic()
    handled = [mark_of(one) for one in tools.follow(Session(transport=stream, clock=clock), app, idle=idle)]
    assert sorted(handled) == sorted(one for line in lines_of(stream).values() for one in line)
    assert idle <= clock.monotonic() - began < idle + 1


# -- handling events ---------------------------------------------------------------------------------------------------


def event_of(form: str, records: list[Any]) -> Any:
    return records if form == "pipes" else {"Records": records}


def call(on: Any, event: Any) -> Any:
    return on(event, None)


def call_async(on: Any, event: Any) -> Any:
    return asyncio.run(on.handle(event))


def dispatch(on: Any, event: Any) -> Any:
    """What a worker does that follows a stream: it begins again with the change that failed."""
    try:
        for change in changes(event, app):
            on.dispatch(change)
    except RuntimeError:
        return {"batchItemFailures": [{"itemIdentifier": ""}]}
    return {"batchItemFailures": []}


def dispatch_async(on: Any, event: Any) -> Any:
    async def main() -> Any:
        try:
            for change in changes(event, app):
                await on.dispatch_async(change)
        except RuntimeError:
            return {"batchItemFailures": [{"itemIdentifier": ""}]}
        return {"batchItemFailures": []}

    return asyncio.run(main())


@pytest.mark.parametrize("is_async", [False, True], ids=["plain functions", "async functions"])
@pytest.mark.parametrize("answer", [call, call_async, dispatch, dispatch_async])
@given(data=st.data(), form=st.sampled_from(["lambda", "pipes", "kinesis"]))
def test_functions_get_every_change_in_order_until_they_succeed(
    answer: Callable[[Any, Any], Any], is_async: bool, data: st.DataObject, form: str
) -> None:
    event: Any = FORMS[form](
        *(record(kind, number) for number, kind in enumerate(data.draw(st.lists(kinds, max_size=5)), 1))
    )
    records = event if form == "pipes" else event["Records"]
    ids = [one["eventID"] if form == "pipes" else str(number) for number, one in enumerate(records, 1)]
    for place in data.draw(st.lists(st.integers(0, len(records)), max_size=2), "junk"):
        records.insert(place, None)
        ids.insert(place, "none")
    done: list[Mark] = []
    refused: list[Mark] = []

    def work(change: Any) -> None:
        if len(refused) < 4 and data.draw(st.booleans(), "fails"):
            refused.append(mark_of(change))
            raise RuntimeError("no room")
        done.append(mark_of(change))

    async def work_async(change: Any) -> None:
        await asyncio.sleep(0)
        work(change)

    on, function = handler(app), work_async if is_async else work
    for entity in (Person, Audit):
        on.any(entity)(function)
    on.unreadable(function)

    start = deliveries = 0
    while failures := answer(on, event_of(form, records[start:]))["batchItemFailures"]:
        # Lambda delivers the named record and all after it again, and the whole batch if the name is empty.
        (name,) = (one["itemIdentifier"] for one in failures)
        start = ids.index(name, start) if name else start
        deliveries += 1
        assert deliveries <= len(refused)
    assert deliveries == len(refused)
    expected = [mark_of(one) for one in changes(event_of(form, records), app)]
    assert is_in_order(expected, done)
    assert set(done) == set(expected)


@given(data=st.data(), form=st.sampled_from(["lambda", "get_records", "pipes", "kinesis"]))
def test_an_unreadable_record_takes_no_other_with_it(data: st.DataObject, form: str) -> None:
    event: Any = FORMS[form](
        *(record(kind, number) for number, kind in enumerate(data.draw(st.lists(kinds, max_size=5)), 1))
    )
    records: list[Any] = event if form == "pipes" else event["Records"]
    expected = [mark_of(one) for one in changes(event, app)]
    wrong = data.draw(st.lists(junk, max_size=3), "junk")
    for one in wrong:
        records.insert(data.draw(st.integers(0, len(records)), "place"), one)
    found = list(changes(event, app))
    unreadable = [
        one for one in found if isinstance(one, Unreadable) and any(one.record is each for each in wrong)
    ]
    others = [mark_of(one) for one in found if not any(one is each for each in unreadable)]
    assert others == expected
    assert len(unreadable) == len(wrong)
