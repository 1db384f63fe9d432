"""Pruning deletes the oldest versions first, purging the tombstone last; both survive a crash at any point."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dynaorm import Session, tools
from dynaorm.errors import (
    Contention,
    EntityNotFound,
    OutcomeUnknown,
    StaleEntity,
    StoreError,
    Throttled,
    UnexpectedRefusal,
    Unreachable,
    UsageError,
)
from dynaorm.flow.call import Call, Refusal, Reply, Transport
from dynaorm.testing.clock import FakeClock
from dynaorm.testing.faults import Fault, FaultyTransport, conflict, lost_answer, throttle
from tests.flow.documents import KEY, Document, numbers, seeded, stored_sorts, written

# -- pruning -----------------------------------------------------------------------------------------------------------


def test_prune_by_age_keeps_what_is_younger_and_always_the_newest(session: Session, clock: FakeClock) -> None:
    written(session, 4, clock)
    start = datetime.fromtimestamp(clock.start, UTC)
    assert tools.prune(session, KEY, older_than=start + timedelta(hours=2)) == 2
    assert numbers(session) == [4, 3]
    assert tools.prune(session, KEY, older_than=start + timedelta(days=9)) == 1
    assert numbers(session) == [4]


def test_prune_by_age_makes_no_hole_where_a_clock_went_backwards(session: Session, moto: Transport) -> None:
    base = FakeClock()
    for text, seconds in (("1", 100), ("2", 5000), ("3", 200), ("4", 6000)):
        with Session(transport=moto, clock=FakeClock(base.start + seconds)) as other:
            document = other.get(KEY) or Document(doc_id="d")
            document.text = text
            other.save(document)
    assert tools.prune(session, KEY, older_than=datetime.fromtimestamp(base.start + 1000, UTC)) == 1
    assert numbers(session) == [4, 3, 2]


@pytest.mark.parametrize("options", [{}, {"keep": 1, "older_than": datetime.now(UTC)}])
def test_prune_has_to_be_told_one_thing(session: Session, options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="either keep="):
        tools.prune(session, KEY, **options)


def test_pruning_what_never_was_finds_nothing(session: Session) -> None:
    with pytest.raises(EntityNotFound):
        tools.prune(session, KEY, keep=1)


class Killed(BaseException):
    """The process ends here, as far as the code under test can see."""


class Mortal:
    """A transport whose process ends at the n-th call of an operation, before or after it was made."""

    def __init__(self, inner: Transport, operation: str, at: int, *, after: bool) -> None:
        self._inner, self._operation, self._left, self._after = inner, operation, at, after

    def call(self, call: Call, /) -> Reply:
        self._left -= call.operation == self._operation
        if self._left == 0 and call.operation == self._operation:
            if self._after:
                self._inner.call(call)
            raise Killed
        return self._inner.call(call)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("at", [1, 2, 3])
def test_pruning_killed_anywhere_leaves_no_hole_and_can_be_called_again(
    session: Session, moto: Transport, at: int, after: bool
) -> None:
    written(session, 5)
    with pytest.raises(Killed):
        tools.prune(Session(transport=Mortal(moto, "DeleteItem", at, after=after)), KEY, keep=2)
    left = numbers(session)
    assert left == list(range(5, 5 - len(left), -1))
    assert len(left) == 5 - (at if after else at - 1)
    tools.prune(session, KEY, keep=2)
    assert numbers(session) == [5, 4]


@pytest.mark.parametrize(
    ("fault", "error", "said"),
    [
        (throttle(at=1, times=10, operation="DeleteItem"), Throttled, "nothing was written"),
        (
            throttle(at=2, times=10, operation="DeleteItem"),
            Throttled,
            "at least 1 version was deleted; call",
        ),
        (
            conflict(at=3, times=10, operation="DeleteItem"),
            Contention,
            "at least 2 versions were deleted; call",
        ),
        (
            lost_answer(at=1, times=10, operation="DeleteItem"),
            Unreachable,
            "at least 0 versions were deleted; call",
        ),
    ],
    ids=["before the first", "after the first", "after the second", "perhaps the first"],
)
def test_pruning_that_dynamodb_stops_says_what_it_deleted(
    session: Session, moto: Transport, fault: Fault, error: type[StoreError], said: str
) -> None:
    written(session, 5)
    with pytest.raises(error, match=said):
        tools.prune(Session(transport=FaultyTransport(moto, fault), clock=FakeClock()), KEY, keep=2)


@pytest.mark.parametrize(
    ("trouble", "remedy"),
    [
        (lambda: Refusal("AccessDeniedException", "no"), "allow it: dynaorm.iam.iam_policy"),
        (lambda: UsageError(problem="The credentials have expired", remedy="log in again"), "log in again"),
    ],
    ids=["a permission", "credentials"],
)
@pytest.mark.parametrize("at", [1, 3])
def test_pruning_that_may_not_go_on_says_what_it_deleted_and_what_to_do(
    session: Session, moto: Transport, trouble: Callable[[], Exception], remedy: str, at: int
) -> None:
    def strike(*_: object) -> Reply:
        raise trouble()

    written(session, 5)
    fault = Fault("stopped", strike, at, 1, frozenset({"DeleteItem"}))
    with pytest.raises((UnexpectedRefusal, UsageError), match=remedy) as stopped:
        tools.prune(Session(transport=FaultyTransport(moto, fault), clock=FakeClock()), KEY, keep=2)
    assert ("; 2 versions were deleted; call it again" in str(stopped.value)) is (at == 3)


# -- purging -----------------------------------------------------------------------------------------------------------


def test_purge_needs_a_tombstone(session: Session) -> None:
    document = written(session, 2)
    with pytest.raises(UsageError, match="is not deleted"):
        tools.purge(session, document)
    assert numbers(session) == [2, 1]


def test_purge_leaves_nothing_and_then_numbers_begin_anew(session: Session, moto: Transport) -> None:
    session.delete(written(session, 3))
    assert tools.purge(session, KEY) == 3
    assert stored_sorts(moto) == set()
    with pytest.raises(EntityNotFound):
        tools.purge(session, KEY)
    session.save(Document(doc_id="d"))
    assert numbers(session) == [1]


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("at", [1, 2])
def test_purging_killed_between_steps_keeps_the_tombstone_to_the_end(
    session: Session, moto: Transport, at: int, after: bool
) -> None:
    seeded(session, moto, 105)
    session.delete(KEY)
    with pytest.raises(Killed):
        tools.purge(Session(transport=Mortal(moto, "TransactWriteItems", at, after=after)), KEY)
    gone = at == 2 and after
    assert ("v0_D" in stored_sorts(moto)) is not gone
    if gone:
        assert stored_sorts(moto) == set()
        return
    with pytest.raises(UsageError):
        tools.prune(session, KEY)
    tools.purge(session, KEY)
    assert stored_sorts(moto) == set()


class Meddling:
    """A transport that lets somebody else act before the n-th transaction."""

    def __init__(self, inner: Transport, act: Any) -> None:
        self._inner, self._act = inner, act

    def call(self, call: Call, /) -> Reply:
        if call.operation == "TransactWriteItems" and self._act is not None:
            act, self._act = self._act, None
            act()
        return self._inner.call(call)


def test_an_entity_created_anew_while_it_is_purged_keeps_its_history(
    session: Session, moto: Transport
) -> None:
    session.delete(written(session, 2))
    transport = Meddling(moto, lambda: session.save(Document(doc_id="d", text="anew")))
    with pytest.raises(StaleEntity):
        tools.purge(Session(transport=transport), KEY)
    assert numbers(session) == [3, 2, 1]
    assert session.get_one(KEY).text == "anew"


def test_a_purge_without_an_answer_is_unknown_and_can_be_called_again(
    session: Session, moto: Transport
) -> None:
    session.delete(written(session, 2))
    faulty = FaultyTransport(moto, lost_answer(at=1, times=10, operation="TransactWriteItems"))
    with pytest.raises(OutcomeUnknown):
        tools.purge(Session(transport=faulty, clock=FakeClock()), KEY)
    with pytest.raises(EntityNotFound):
        tools.purge(session, KEY)
    assert stored_sorts(moto) == set()
