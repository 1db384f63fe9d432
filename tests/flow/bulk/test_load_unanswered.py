"""Loading in bulk without answers: entities are unsettled, and nothing is sent again much later."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynaorm import Entity, Retry, Session, Table, inspect
from dynaorm.entity.state import unsettled_of
from dynaorm.errors import BulkError, OutcomeUnknown, UsageError
from dynaorm.flow.call import Call, NoAnswer, Refusal
from dynaorm.item.value import Item
from dynaorm.plan.plan import Plan
from dynaorm.testing.clock import FakeClock
from dynaorm.testing.transports import Answer, ScriptedTransport
from tests.flow.bulk.events import DONE, REFUSED, SILENCE, Event, events, failures, ids, leaving, opened, puts

bare = Table("unanswered-bare", type_attribute=None, revision_attribute=None)


class Reading(Entity, table=bare, pk="R#{name}", sk="R"):
    name: str
    n: int = 0


def unknown(*entities: Any, then: Answer = SILENCE) -> tuple[OutcomeUnknown, ScriptedTransport]:
    session, transport, _ = opened(SILENCE, then, then)
    with pytest.raises(BulkError) as caught:
        session.bulk_load(entities)
    error = caught.value.failures[-1][1]
    assert isinstance(error, OutcomeUnknown)
    assert "does no harm" in str(error)
    return error, transport


def test_the_next_load_settles_it_first_and_where_that_fails_only_that_one_is_not_loaded() -> None:
    one, two = Event(event_id=1), Event(event_id=2)
    unknown(one)
    session, transport, _ = opened(*[SILENCE] * 3, DONE)
    with pytest.raises(BulkError) as caught:
        session.bulk_load([one, two])
    assert failures(caught.value) == [(one, OutcomeUnknown)]
    assert [call.operation for call in transport.calls] == ["GetItem"] * 3 + ["BatchWriteItem"]
    session, transport, _ = opened({}, DONE)
    session.bulk_load([one])
    assert inspect(one).loaded


def test_without_revisions_the_stored_values_tell() -> None:
    one = Reading(name="a", n=1)
    error, before = unknown(one)
    assert isinstance(error.plan, Plan)
    session, _, _ = opened({"Item": puts(before.calls[0])[0]})
    assert session.resume(error.plan)


def test_a_refusal_after_an_unanswered_attempt_proves_nothing() -> None:
    error, _ = unknown(Event(event_id=1), then=REFUSED)
    assert "ValidationException" in error.reason


def test_what_was_under_way_when_the_program_is_stopped_is_settled_before_its_next_write() -> None:
    def stop(call: Call) -> dict[str, Any]:
        raise KeyboardInterrupt

    session, before, _ = opened(leaving(1), stop)
    stored, cut_off = events(2)
    with pytest.raises(KeyboardInterrupt):
        session.bulk_load([stored, cut_off])
    assert inspect(stored).loaded
    session, transport, _ = opened({"Item": puts(before.calls[1])[0]}, {})
    cut_off.text = "b"
    session.save(cut_off)
    assert [call.operation for call in transport.calls] == ["GetItem", "UpdateItem"]


# -- always ------------------------------------------------------------------------------------------------------------


class Flaky:
    """A table that keeps what it is given, when and as far as its script says."""

    def __init__(self, script: list[str]) -> None:
        self.items: dict[int, Item] = {}
        self._script = script

    def call(self, call: Call, /) -> dict[str, Any]:
        what = self._script.pop() if self._script else "all"
        if what == "throttle":
            raise Refusal("ThrottlingException")
        if what == "request lost":
            raise NoAnswer("the request was lost")
        ((table, requests),) = call.request["RequestItems"].items()
        assert len(ids(call)) == len(set(ids(call)))
        kept = requests[::2] if what == "half" else [] if what == "none" else requests
        for one in kept:
            item = one["PutRequest"]["Item"]
            self.items[int(item["event_id"]["N"])] = item
        if what == "answer lost":
            raise NoAnswer("the answer was lost")
        left = [one for one in requests if not any(one is other for other in kept)]
        return {"UnprocessedItems": {table: left} if left else {}}


TROUBLES = ["throttle", "request lost", "answer lost", "half", "none", "all"]


@settings(max_examples=150)
@given(
    st.lists(st.integers(0, 60), max_size=120),
    st.lists(st.sampled_from(TROUBLES), max_size=12),
    st.integers(1, 3),
)
def test_always_the_last_of_each_key_is_stored_or_told(
    numbers: list[int], script: list[str], attempts: int
) -> None:
    table = Flaky(script)
    session = Session(transport=table, clock=FakeClock(ids="id-"), retry=Retry(attempts=attempts))
    given_ = [Event(event_id=number, text=str(place)) for place, number in enumerate(numbers)]
    told: dict[int, type] = {}
    try:
        assert session.bulk_load(given_, concurrency=1) == len(given_)
    except BulkError as error:
        told = {id(one): type(why) for one, why in error.failures}
    last = {one.event_id: one for one in given_}
    for number, one in last.items():
        stored = table.items.get(number)
        if id(one) not in told:
            assert stored is not None
            assert stored["text"] == {"S": one.text}
            assert inspect(one).revision == stored["_rev"]["S"]
        elif told[id(one)] is not OutcomeUnknown:
            assert stored is None or stored["text"] != {"S": one.text}
            assert not inspect(one).loaded


@pytest.mark.parametrize(
    ("problem", "may_be_stored"),
    [(RuntimeError("the connection's library failed"), True), (UsageError(problem="no", remedy="x"), False)],
)
def test_an_error_that_is_no_answer_leaves_unsettled_what_may_be_stored(
    problem: Exception, *, may_be_stored: bool
) -> None:
    one = Event(event_id=1)

    def fail(_: Call) -> Any:
        raise problem

    session, _, _ = opened(fail)
    with pytest.raises(type(problem)):
        session.bulk_load([one])
    assert (unsettled_of(one) is not None) is may_be_stored
