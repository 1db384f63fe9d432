"""Saving and deleting many: each entity is attempted by a plan of its own, a window at a time."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynaorm import Entity, Key, Retry, Session, Table, inspect
from dynaorm.errors import BulkError, EntityNotFound, OutcomeUnknown, UsageError
from dynaorm.flow.call import Call, NoAnswer, Refusal
from dynaorm.testing.clock import FakeClock
from dynaorm.testing.transports import ScriptedTransport

app = Table("bulk-write-app")


class Stock(Entity, table=app, pk="STOCK#{sku}", sk="S"):
    sku: str
    left: int = 0


TAKEN = Refusal("ConditionalCheckFailedException", item={"PK": {"S": "?"}, "SK": {"S": "?"}})


def key_in(call: Call) -> str:
    """Which item a plain write is about."""
    key = call.request.get("Item") or call.request["Key"]
    return str(key["PK"]["S"])


def answering(decide: Callable[[str], BaseException | None], calls: int = 1_000) -> ScriptedTransport:
    """Answers each write by its item, in whatever order they come."""

    def answer(call: Call) -> dict[str, Any]:
        trouble = decide(key_in(call)) if call.operation != "TransactWriteItems" else None
        if trouble is not None:
            raise trouble
        return {}

    return ScriptedTransport(*[answer] * calls)


def opened(
    decide: Callable[[str], BaseException | None] = lambda _: None,
) -> tuple[Session, ScriptedTransport]:
    transport = answering(decide)
    return Session(transport=transport, clock=FakeClock(), retry=Retry(attempts=2)), transport


def stock(count: int) -> list[Stock]:
    return [Stock(sku=str(number)) for number in range(count)]


def test_one_of_unknown_outcome_can_be_resumed() -> None:
    session, _ = opened(lambda key: NoAnswer("timeout") if key == "STOCK#1" else None)
    many = stock(3)
    with pytest.raises(BulkError) as caught:
        session.save_many(many)
    ((one, error),) = caught.value.failures
    assert one is many[1]
    assert isinstance(error, OutcomeUnknown)
    session = Session(transport=ScriptedTransport({}), clock=FakeClock())
    assert session.resume(error.plan)
    assert inspect(many[1]).loaded


def test_what_is_no_error_of_ours_is_raised_after_its_window() -> None:
    session, transport = opened(lambda key: OSError("no credentials") if key == "STOCK#1" else None)
    with pytest.raises(OSError, match="no credentials"):
        session.save_many(stock(3))
    assert len(transport.calls) == 3


def test_no_more_than_a_window_is_taken_before_it_is_saved_and_progress_is_told_after_each() -> None:
    session, transport = opened()
    most_ahead, told = 0, list[tuple[int, int | None]]()

    def given() -> Iterator[Stock]:
        nonlocal most_ahead
        for number, one in enumerate(stock(100), 1):
            most_ahead = max(most_ahead, number - len(transport.calls))
            yield one

    session.save_many(given(), concurrency=2, progress=lambda done, total: told.append((done, total)))
    assert most_ahead <= 32 + 1
    assert told == [(32, None), (64, None), (96, None), (100, None)]


def test_progress_knows_the_length_of_a_list_and_counts_failures() -> None:
    session, _ = opened(lambda key: TAKEN if key == "STOCK#0" else None)
    told: list[tuple[int, int | None]] = []
    with pytest.raises(BulkError):
        session.save_many(stock(17), concurrency=1, progress=lambda done, total: told.append((done, total)))
    assert told == [(16, 17), (17, 17)]


def test_of_nothing_nothing_is_sent() -> None:
    session, transport = opened()
    assert session.save_many([]) == []
    session.delete_many(iter([]))
    assert transport.calls == []


@pytest.mark.parametrize("per_transaction", [1, 10])
def test_what_is_given_twice_is_deleted_once_however_far_apart(per_transaction: int) -> None:
    session, transport = opened()
    keys = [Key(Stock, sku=str(number)) for number in range(700)]
    loaded, steps = session.save(Stock(sku="a")), list[int]()
    transport.calls.clear()
    session.delete_many(
        (one for one in [loaded, *keys, loaded, Key(Stock, sku="0")]),
        per_transaction=per_transaction,
        progress=lambda done, _: steps.append(done),
    )
    deleted = [action for call in transport.calls for action in call.request.get("TransactItems", [call])]
    assert len(deleted) == 701
    assert steps[-1] == 703  # all that was given is done


def test_what_cannot_be_deleted_is_told_with_its_key() -> None:
    gone = Refusal("ConditionalCheckFailedException")
    session, _ = opened(lambda key: gone if key == "STOCK#b" else None)
    absent, new = Key(Stock, sku="b"), Stock(sku="n")
    with pytest.raises(BulkError) as caught:
        session.delete_many([Key(Stock, sku="a"), absent, new])
    assert [(one, type(error)) for one, error in caught.value.failures] == [
        (absent, EntityNotFound),
        (new, UsageError),
    ]


@pytest.mark.parametrize("verb", ["save_many", "delete_many"])
def test_nothing_at_once_is_refused(verb: str) -> None:
    session, _ = opened()
    with pytest.raises(UsageError, match="concurrency=0"):
        getattr(session, verb)([Stock(sku="a")], concurrency=0)


@settings(max_examples=40)
@given(st.lists(st.integers(0, 30), max_size=60), st.sets(st.integers(0, 30)), st.integers(1, 3))
def test_always_all_are_attempted_and_exactly_the_refused_ones_are_told(
    given_: list[int], refused: set[int], concurrency: int
) -> None:
    session, transport = opened(lambda key: TAKEN if int(key.removeprefix("STOCK#")) in refused else None)
    objects = stock(31)
    told: list[int] = []
    try:
        session.save_many([objects[number] for number in given_], concurrency=concurrency)
    except BulkError as error:
        told = [int(one.sku) for one, _ in error.failures if isinstance(one, Stock)]
    assert set(told) == set(given_) & refused
    assert {int(one.sku) for one in objects if inspect(one).loaded} == set(given_) - refused
    assert {key_in(call) for call in transport.calls} == {f"STOCK#{number}" for number in given_}
