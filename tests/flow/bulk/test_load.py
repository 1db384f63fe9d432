"""Loading in bulk: every entity is stored or reported, if items are unprocessed, refused or without an answer."""

from collections.abc import Iterator
from typing import Annotated, Any

import pytest

from dynaorm import Entity, Unique, inspect
from dynaorm.errors import (
    BulkError,
    InvalidValue,
    ItemTooLarge,
    OutcomeUnknown,
    TableNotFound,
    Throttled,
    UnexpectedRefusal,
    Unreachable,
    UsageError,
)
from dynaorm.flow.call import Call, NoAnswer, Refusal
from dynaorm.testing.transports import Answer
from tests.flow.bulk.events import (
    DONE,
    REFUSED,
    SILENCE,
    Event,
    app,
    events,
    failures,
    ids,
    leaving,
    opened,
    puts,
)


class User(Entity, table=app, pk="USER#{user_id}", sk="U"):
    user_id: str
    email: Annotated[str, Unique()]


class Audit(Entity, table=app, pk="AUDIT#{audit_id}", sk="A", versioned=True):
    audit_id: str


# -- what is sent ------------------------------------------------------------------------------------------------------


def test_25_items_are_sent_in_one_request_and_the_entities_are_loaded_with_revisions_of_their_own() -> None:
    session, transport, _ = opened(DONE, DONE, DONE)
    many = events(60)
    assert session.bulk_load(many, concurrency=1) == 60
    assert [ids(call) for call in transport.calls] == [[*range(25)], [*range(25, 50)], [*range(50, 60)]]
    sent = {int(item["event_id"]["N"]): item["_rev"]["S"] for call in transport.calls for item in puts(call)}
    assert [inspect(one).revision for one in many] == [sent[one.event_id] for one in many]
    assert len(set(sent.values())) == 60


def test_no_more_than_a_window_is_taken_before_it_is_loaded_and_progress_is_told_after_each() -> None:
    session, transport, _ = opened(*[DONE] * 5)
    most_ahead, told = 0, list[tuple[int, int | None]]()

    def given() -> Iterator[Event]:
        nonlocal most_ahead
        for number, one in enumerate(events(120), 1):
            most_ahead = max(most_ahead, number - sum(len(puts(call)) for call in transport.calls))
            yield one

    assert session.bulk_load(given(), concurrency=1, progress=lambda *each: told.append(each)) == 120
    assert most_ahead <= 50 + 1
    assert told == [(50, None), (100, None), (120, None)]


# -- what is refused before --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("entity", [User(user_id="u", email="e"), Audit(audit_id="a")])
def test_a_guarded_or_versioned_class_is_refused_before_anything_is_sent(entity: Any) -> None:
    session, _, _ = opened()
    with pytest.raises(UsageError, match="save_many"):
        session.bulk_load([*events(200), entity], concurrency=1)


def test_of_an_iterator_it_is_refused_before_its_window_is_sent() -> None:
    session, transport, _ = opened(DONE, DONE)
    with pytest.raises(UsageError, match="save_many"):
        session.bulk_load(iter([*events(60), User(user_id="u", email="e")]), concurrency=1)
    assert [number for call in transport.calls for number in ids(call)] == list(range(50))


def test_what_cannot_be_stored_fails_alone() -> None:
    session, transport, _ = opened(DONE)
    good = events(2)
    broken = Event.model_construct(event_id=7, text=5)
    large = Event(event_id=8, text="x" * 409_600)
    with pytest.raises(BulkError) as caught:
        session.bulk_load([good[0], broken, large, good[1]])
    assert failures(caught.value) == [(broken, InvalidValue), (large, ItemTooLarge)]
    assert ids(transport.calls[0]) == [0, 1]
    assert [inspect(one).loaded for one in (*good, broken, large)] == [True, True, False, False]


# -- what is left unprocessed, throttled or not answered ---------------------------------------------------------------


def test_unprocessed_items_are_sent_again_after_a_pause_and_only_those() -> None:
    session, transport, clock = opened(leaving(1, 2), leaving(2), DONE)
    many = events(3)
    session.bulk_load(many)
    assert [ids(call) for call in transport.calls] == [[0, 1, 2], [1, 2], [2]]
    assert len(clock.pauses) == 2
    assert all(inspect(one).loaded for one in many)


def test_retries_count_from_the_last_item_that_was_stored() -> None:
    session, transport, _ = opened(*[leaving(*range(number, 6)) for number in range(1, 7)], attempts=2)
    assert session.bulk_load(events(6)) == 6
    assert len(transport.calls) == 6


def test_items_that_stay_unprocessed_are_throttled_and_the_others_are_loaded() -> None:
    session, transport, _ = opened(*[leaving(1)] * 3)
    many = events(2)
    with pytest.raises(BulkError) as caught:
        session.bulk_load(many)
    assert failures(caught.value) == [(many[1], Throttled)]
    assert "UnprocessedItems" in str(caught.value)
    assert [inspect(one).loaded for one in many] == [True, False]
    assert [ids(call) for call in transport.calls] == [[0, 1], [1], [1]]


def test_an_answer_that_names_something_else_leaves_everything_to_be_sent_again() -> None:
    strange = {
        "UnprocessedItems": {
            "bulk-load-app": [{"PutRequest": {"Item": {"PK": {"S": "?"}, "SK": {"S": "?"}}}}]
        }
    }
    session, transport, _ = opened(strange, DONE)
    session.bulk_load(events(2))
    assert [ids(call) for call in transport.calls] == [[0, 1], [0, 1]]


@pytest.mark.parametrize(
    "trouble",
    [Refusal("ProvisionedThroughputExceededException"), SILENCE, NoAnswer("refused", sent=False)],
)
def test_a_throttled_or_unanswered_request_is_sent_again(trouble: Answer) -> None:
    session, transport, clock = opened(trouble, DONE)
    many = events(2)
    session.bulk_load(many)
    assert transport.calls[0] == transport.calls[1]
    assert len(clock.pauses) == 1
    assert all(inspect(one).loaded for one in many)


@pytest.mark.parametrize(
    ("trouble", "error"),
    [
        (Refusal("ThrottlingException"), Throttled),
        (NoAnswer("refused", sent=False), Unreachable),
        (SILENCE, OutcomeUnknown),
    ],
)
def test_when_retries_are_spent_every_item_of_the_request_is_told(trouble: Answer, error: type) -> None:
    session, _, _ = opened(trouble, trouble, trouble, DONE)
    many = events(26)
    with pytest.raises(BulkError) as caught:
        session.bulk_load(many, concurrency=1)
    assert failures(caught.value) == [(one, error) for one in many[:25]]
    assert inspect(many[25]).loaded


# -- refusals ----------------------------------------------------------------------------------------------------------


def test_a_request_refused_because_of_an_item_is_taken_apart_and_only_that_item_fails() -> None:
    def refusing(call: Call) -> dict[str, Any]:
        if 1 in ids(call):
            raise REFUSED
        return {}

    session, transport, _ = opened(*[refusing] * 4)
    many = events(3)
    with pytest.raises(BulkError, match="replace Event\\(event_id=1\\)") as caught:
        session.bulk_load(many)
    assert failures(caught.value) == [(many[1], UnexpectedRefusal)]
    assert [ids(call) for call in transport.calls] == [[0, 1, 2], [0], [1], [2]]
    assert [inspect(one).loaded for one in many] == [True, False, True]


def test_a_missing_table_ends_the_load_and_is_named() -> None:
    session, transport, _ = opened(*[Refusal("ResourceNotFoundException")] * 2)
    many = events(200)
    with pytest.raises(TableNotFound, match="bulk-load-app"):
        session.bulk_load(many, concurrency=1)
    assert len(transport.calls) == 2
    assert not any(inspect(one).loaded for one in many)


def test_what_failed_before_is_the_cause_of_what_ends_the_load() -> None:
    session, _, _ = opened(Refusal("AccessDeniedException"))
    broken = Event.model_construct(event_id=7, text=5)
    with pytest.raises(UnexpectedRefusal, match="AccessDenied") as caught:
        session.bulk_load([broken, Event(event_id=1)])
    assert isinstance(caught.value.__cause__, BulkError)
