"""A call of a session ends in its time, whatever happens to its requests, and says what is known then."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from math import inf, nan
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm import AsyncSession, Entity, F, Key, Retry, Session, Table
from dynaorm.errors import (
    BulkError,
    OutcomeUnknown,
    StoreError,
    Throttled,
    Unreachable,
    UsageError,
)
from dynaorm.flow.call import Call, NoAnswer, Refusal, Reply
from dynaorm.session import Attempt
from dynaorm.session.deadline import LEAST_SECONDS
from dynaorm.testing.clock import FakeClock
from tests.cast.people import User

app = Table("app")


Fate: TypeAlias = tuple[float, str]
"""What becomes of a request: the seconds until it is answered, and how."""


class Slow:
    """Answers each request after some seconds of a clock, or keeps silent for as long as the attempt may take."""

    def __init__(self, clock: FakeClock, *fates: Fate, then: Fate = (inf, "ok")) -> None:
        self.clock = clock
        self.fates = [*fates]
        self.then = then
        self.timeouts: list[float | None] = []

    def call(self, call: Call, /) -> Reply:
        self.timeouts.append(call.timeout)
        seconds, ending = self.fates.pop(0) if self.fates else self.then
        limit = 10.0 if call.timeout is None else min(10.0, call.timeout)
        self.clock.advance(min(limit, seconds))
        if ending == "not sent":
            raise NoAnswer("no connection", sent=False)
        if seconds > limit or ending == "lost":
            raise NoAnswer("silence")
        if ending == "throttled":
            raise Refusal("ThrottlingException")
        if ending == "left out":
            asked = call.request.get("RequestItems", {})
            return (
                {"UnprocessedKeys": asked}
                if call.operation == "BatchGetItem"
                else {"UnprocessedItems": asked}
            )
        return {"Items": []} if call.operation == "Query" else {}


VERBS: dict[str, Callable[[Session], object]] = {
    "get": lambda session: session.get(User, user_id="1"),
    "get_many": lambda session: session.get_many([Key(User, user_id=str(n)) for n in range(250)]),
    "get_many of one": lambda session: session.get_many([Key(User, user_id="1")]),
    "query": lambda session: session.query(User, user_id="1").all(),
    "insert": lambda session: session.save(User(user_id="1")),
    "insert of a unique value": lambda session: session.save(User(user_id="1", email="a")),
    "overwrite": lambda session: session.save(User(user_id="1"), overwrite=True),
    "update by key": lambda session: session.update(Key(User, user_id="1"), F.visits.add(1)),
    "save_many": lambda session: session.save_many([User(user_id=str(n)) for n in range(3)], concurrency=1),
    "bulk load": lambda session: session.bulk_load([Plain(user_id=str(n)) for n in range(30)]),
    "bulk load of one": lambda session: session.bulk_load([Plain(user_id="1")]),
    "run": lambda session: session.run(lambda tx: tx.save(User(user_id="1"))),
}


class Plain(Entity, table=app, pk="PLAIN#{user_id}", sk="PROFILE"):
    user_id: str


fates = st.tuples(
    st.sampled_from([0.01, 0.3, 0.9, 3.0, inf]),
    st.sampled_from(["ok", "lost", "throttled", "not sent", "left out"]),
)


@given(
    st.sampled_from([*VERBS]),
    st.lists(fates, max_size=6),
    fates,
    st.floats(0.1, 5),
    st.sampled_from([0.0, 0.5, 2.0, 540.0]),
)
def test_no_call_takes_longer_than_its_time(
    verb: str, script: list[Fate], then: Fate, timeout: float, seconds: float
) -> None:
    clock = FakeClock()
    transport = Slow(clock, *script, then=then)
    session = Session(transport=transport, clock=clock, timeout=timeout, retry=Retry(seconds=seconds))
    with suppress(StoreError):
        VERBS[verb](session)
    # 250 entities are read, and 30 loaded, in several requests that a thread each may send: their clock is one.
    assert clock.monotonic() <= timeout * (3 if verb in {"get_many", "bulk load"} else 1) + 1e-6
    assert all(one is not None and 0 < one <= timeout for one in transport.timeouts)


@given(
    st.sampled_from(["get", "get_many of one", "insert", "bulk load of one"]),
    st.lists(fates, max_size=6),
    fates,
    st.floats(0.1, 5),
)
def test_no_request_is_repeated_past_the_time_for_retries(
    verb: str, script: list[Fate], then: Fate, seconds: float
) -> None:
    clock = FakeClock()
    transport = Slow(clock, *script, then=then)
    session = Session(transport=transport, clock=clock, retry=Retry(seconds=seconds))
    with suppress(StoreError, BulkError):
        VERBS[verb](session)
    assert clock.monotonic() <= max(seconds, LEAST_SECONDS) + LEAST_SECONDS


def test_an_attempt_has_what_is_left_of_the_time_or_a_second() -> None:
    clock = FakeClock(jitter=0.0)
    transport = Slow(clock, (1.5, "lost"), then=(0.1, "ok"))
    Session(transport=transport, clock=clock, retry=Retry(seconds=2)).get(User, user_id="1")
    assert transport.timeouts == [2.0, 1.0]
    transport = Slow(clock, (1.5, "lost"), then=(0.1, "ok"))
    Session(transport=transport, clock=clock, timeout=2).get(User, user_id="1")
    assert transport.timeouts == [2.0, 0.5]


@pytest.mark.parametrize("verb", ["get_many of one", "bulk load of one"])
def test_unprocessed_keys_are_asked_for_in_the_same_time(verb: str) -> None:
    clock = FakeClock(jitter=0.0)
    transport = Slow(clock, (2.5, "left out"), then=(inf, "ok"))
    session = Session(transport=transport, clock=clock, retry=Retry(seconds=3))
    with suppress(StoreError, BulkError):
        VERBS[verb](session)
    assert transport.timeouts == [3.0, 1.0]


@pytest.mark.parametrize("retry", [Retry(), Retry(seconds=0), Retry(attempts=3)])
def test_without_a_limit_an_attempt_has_the_transports_own_time(retry: Retry) -> None:
    clock = FakeClock()
    transport = Slow(clock, then=(0.1, "ok"))
    Session(transport=transport, clock=clock, retry=retry).get(User, user_id="1")
    assert transport.timeouts == [None]


@pytest.mark.parametrize("verb", ["get", "query"])
def test_a_read_whose_time_is_over_is_unreachable(verb: str) -> None:
    clock = FakeClock()
    session = Session(transport=Slow(clock), clock=clock, timeout=2)
    with pytest.raises(Unreachable, match="no answer in 1 attempt"):
        VERBS[verb](session)
    assert clock.monotonic() == 2


@pytest.mark.parametrize("verb", ["insert", "insert of a unique value", "overwrite", "run"])
def test_a_write_whose_time_is_over_is_unknown_and_can_be_resumed(verb: str) -> None:
    clock = FakeClock()
    reads = 1 if verb == "overwrite" else 0
    transport = Slow(clock, *[(0.0, "ok")] * reads)
    session = Session(transport=transport, clock=clock, timeout=2)
    with pytest.raises(OutcomeUnknown) as caught:
        VERBS[verb](session)
    assert clock.monotonic() == 2
    transport.then = (0.1, "ok")
    assert session.resume(caught.value.plan)


@pytest.mark.parametrize("verb", ["insert", "insert of a unique value", "overwrite", "run"])
def test_a_write_that_was_never_sent_in_its_time_was_not_made(verb: str) -> None:
    clock = FakeClock()
    session = Session(transport=Slow(clock, then=(0.4, "not sent")), clock=clock, timeout=2)
    with pytest.raises(Unreachable):
        VERBS[verb](session)


def test_a_call_throttled_until_its_time_is_over_is_throttled() -> None:
    clock = FakeClock(jitter=0.9)
    session = Session(transport=Slow(clock, then=(0.1, "throttled")), clock=clock, timeout=2)
    with pytest.raises(Throttled):
        session.get(User, user_id="1")
    assert clock.monotonic() < 2


def test_a_timeout_says_whether_anything_was_sent() -> None:
    clock = FakeClock()
    session = Session(transport=Slow(clock, (0.1, "ok")), clock=clock, timeout=2)
    with pytest.raises(BulkError) as caught:
        session.save_many([User(user_id=str(n)) for n in range(3)], concurrency=1)
    (_, unknown), (_, unsent) = caught.value.failures
    assert isinstance(unknown, OutcomeUnknown)
    assert isinstance(unsent, Unreachable)
    assert "2 s of the session's timeout= are over" in str(unsent)


def test_each_call_of_a_session_has_the_whole_time() -> None:
    clock = FakeClock()
    transport = Slow(clock, then=(1.5, "ok"))
    session = Session(transport=transport, clock=clock, timeout=2)
    for _ in range(3):
        session.get(User, user_id="1")
    assert transport.timeouts == [2.0, 2.0, 2.0]


def test_what_a_call_is_there_to_wait_for_does_not_count() -> None:
    """CreateTable takes a minute, and each look at the table almost a second."""
    clock = FakeClock()

    class Creating(Slow):
        def call(self, call: Call, /) -> Reply:
            super().call(call)
            status = "ACTIVE" if clock.monotonic() > 60 else "CREATING"
            keys = [{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}]
            kinds = [{"AttributeName": name, "AttributeType": "S"} for name in ("PK", "SK")]
            return {"Table": {"TableStatus": status, "KeySchema": keys, "AttributeDefinitions": kinds}}

    transport = Creating(clock, then=(0.9, "ok"))
    Session(transport=transport, clock=clock, timeout=2).create_table(app)
    assert clock.monotonic() > 60
    assert {one for one in transport.timeouts if one is not None and one > 1} == {*transport.timeouts}


def test_attempts_are_observed_as_without_a_limit() -> None:
    clock = FakeClock()
    told: list[Attempt] = []
    transport = Slow(clock, then=(0.6, "lost"))
    session = Session(
        transport=transport, clock=clock, timeout=2, on_attempt=told.append, retry=Retry(base=0.1)
    )
    with pytest.raises(Unreachable):
        session.get(User, user_id="1")
    assert [one.number for one in told] == [1, 2, 3]
    assert len(transport.timeouts) == 3


@pytest.mark.parametrize("timeout", [0, -1, True, nan, inf, "2"])
@pytest.mark.parametrize("kind", [Session, AsyncSession])
def test_a_time_that_is_no_positive_number_is_refused(kind: Callable[..., object], timeout: Any) -> None:
    with pytest.raises(UsageError, match=r"timeout=.* is not a number above 0, at most 1,000,000; give "):
        kind(timeout=timeout)


def test_an_asynchronous_session_keeps_the_time_of_a_call() -> None:
    class Deaf:
        async def call(self, call: Call, /) -> Reply:
            await asyncio.Event().wait()
            raise AssertionError(call)

    async def main() -> None:
        session = AsyncSession(transport=Deaf(), timeout=0.3)
        with pytest.raises(Unreachable):
            await session.get(User, user_id="1")
        with pytest.raises(OutcomeUnknown):
            await session.save(User(user_id="1"))

    began = time.monotonic()
    asyncio.run(main())
    assert 0.6 <= time.monotonic() - began < 10
