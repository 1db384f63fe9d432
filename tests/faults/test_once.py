"""A repeat after an unanswered attempt never undoes what somebody else did meanwhile, and no verdict is a guess."""

from collections.abc import Callable

import pytest

from dynaorm import Entity, F, Key, Retry, Table, inspect
from dynaorm.errors import OutcomeUnknown
from dynaorm.testing.faults import lost_answer, lost_request, throttle
from tests.faults.entities import LIZ, NINE_MINUTES, ONE_TRY, Account, app
from tests.faults.store import Store

bare = Table("Bare", revision_attribute=None)


class Counter(Entity, table=bare, pk="COUNTER#{name}", sk="COUNTER"):
    name: str
    count: int = 0


A = Key(Counter, name="a")


def create_anew(store: Store) -> Callable[[], object]:
    """Somebody else creates what was deleted."""
    return lambda: store.line().session.save(Account(name="liz", city="Chur"))


# -- deletes -----------------------------------------------------------------------------------------------------------


def test_a_lost_delete_by_key_does_not_delete_what_was_created_meanwhile(store: Store) -> None:
    """The first attempt deleted; another process created the entity anew, and was told so."""
    store.line().session.save(Account(name="liz"))
    session, wire = store.line(
        lost_answer(operation="DeleteItem"), store.meanwhile(create_anew(store), "GetItem")
    )
    with pytest.raises(OutcomeUnknown):
        session.delete(LIZ)
    assert [call.operation for call in wire.calls] == ["DeleteItem", "GetItem"]
    assert [item["city"] for item in store.items(app)] == [{"S": "Chur"}]


def test_a_lost_delete_by_key_after_which_nothing_is_there_is_done(store: Store) -> None:
    store.line().session.save(Account(name="liz"))
    session, wire = store.line(lost_answer(operation="DeleteItem"))
    session.delete(LIZ)
    assert [call.operation for call in wire.calls] == ["DeleteItem", "GetItem"]
    assert wire.calls[1].request["ConsistentRead"] is True
    assert store.items(app) == []


def test_a_delete_by_key_that_was_refused_or_never_sent_is_sent_again(store: Store) -> None:
    store.line().session.save(Account(name="liz"))
    session, wire = store.line(lost_request(sent=False), throttle(at=2))
    session.delete(LIZ)
    assert [call.operation for call in wire.calls] == ["DeleteItem"] * 3
    assert store.items(app) == []


@pytest.mark.parametrize("elapsed", [0.0, NINE_MINUTES])
@pytest.mark.parametrize("exists", [True, False])
def test_a_lost_delete_by_key_is_resumed_by_reading_alone(store: Store, exists: bool, elapsed: float) -> None:
    store.line().session.save(Account(name="liz"))
    session, wire = store.line(
        lost_answer(operation="DeleteItem"), lost_answer(operation="GetItem"), retry=ONE_TRY
    )
    plan = store.unknown(lambda: session.delete(LIZ))
    if exists:
        create_anew(store)()
    store.clock.advance(elapsed)
    if exists:
        assert store.unknown(lambda: session.resume(plan)) is plan
    else:
        assert session.resume(plan) is True
    assert [call.operation for call in wire.calls] == ["DeleteItem", "GetItem", "GetItem"]
    assert len(store.items(app)) == exists


def test_a_lost_delete_of_an_entity_without_revision_does_not_delete_its_equal_successor(
    store: Store,
) -> None:
    """What was created anew is equal in every attribute, but it is another entity."""
    session, wire = store.line(
        lost_answer(operation="DeleteItem"),
        store.meanwhile(lambda: store.line().session.save(Counter(name="a")), "GetItem"),
    )
    counter = session.save(Counter(name="a"))
    with pytest.raises(OutcomeUnknown):
        session.delete(counter)
    assert [call.operation for call in wire.calls] == ["PutItem", "DeleteItem", "GetItem"]
    assert len(store.items(bare)) == 1


# -- without revision --------------------------------------------------------------------------------------------------


def test_without_revisions_a_single_write_is_a_plain_one(store: Store) -> None:
    session, wire = store.line()
    counter = session.save(Counter(name="a"))
    assert session.update(A, F.count.add(1)).count == 1
    counter = session.get_one(A, consistent=True)
    counter.count = 2
    session.save(counter)
    session.delete(counter)
    writes = [call.operation for call in wire.calls if call.operation != "GetItem"]
    assert writes == ["PutItem", "UpdateItem", "UpdateItem", "DeleteItem"]


def test_without_revisions_a_lost_update_is_never_sent_again(store: Store) -> None:
    """Somebody set the old value back: a repetition would undo that."""
    session, wire = store.line(
        lost_answer(operation="UpdateItem"),
        store.meanwhile(lambda: store.line().session.update(A, F.count.set(0)), "GetItem"),
    )
    counter = session.save(Counter(name="a"))
    counter.count = 5
    with pytest.raises(OutcomeUnknown):
        session.save(counter)
    assert [call.operation for call in wire.calls] == ["PutItem", "UpdateItem", "GetItem"]
    assert [item["count"] for item in store.items(bare)] == [{"N": "0"}]


def test_without_revisions_an_equal_item_does_not_prove_an_insert(store: Store) -> None:
    """Two processes that insert the same lock must not both believe that they have it."""
    session, _ = store.line(
        lost_request(operation="PutItem"),
        store.meanwhile(lambda: store.line().session.save(Counter(name="a")), "PutItem", at=2),
    )
    with pytest.raises(OutcomeUnknown):
        session.save(Counter(name="a"))


def test_without_revisions_a_write_exactly_once_is_recognised_by_its_token(store: Store) -> None:
    lost = [lost_answer(at=at, operation="TransactWriteItems") for at in (1, 3, 5, 7)]
    session, wire = store.line(*lost)
    session.save(Counter(name="a"), exactly_once=True)
    assert session.update(A, F.count.add(1), exactly_once=True).count == 1
    counter = session.get_one(A, consistent=True)
    counter.count += 1
    session.save(counter, exactly_once=True)
    assert [item["count"] for item in store.items(bare)] == [{"N": "2"}]
    session.delete(counter, exactly_once=True)
    assert store.items(bare) == []
    writes = [call for call in wire.calls if call.operation != "GetItem"]
    assert [call.operation for call in writes] == ["TransactWriteItems"] * 8
    assert len({call.request["ClientRequestToken"] for call in writes}) == 4


# -- inserts -----------------------------------------------------------------------------------------------------------


def test_an_insert_exactly_once_does_not_come_back_after_the_delete_of_another(store: Store) -> None:
    def delete() -> None:
        store.line().session.delete(LIZ)

    session, wire = store.line(lost_answer(), store.meanwhile(delete, "TransactWriteItems", at=2))
    session.save(Account(name="liz"), exactly_once=True)
    assert [call.operation for call in wire.calls] == ["TransactWriteItems"] * 2
    assert store.items(app) == []


# -- what the error says -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("write", ["update", "delete"])
def test_the_remedy_of_a_write_that_is_never_sent_again_does_not_promise_to_finish_it(
    moto: Store, write: str
) -> None:
    moto.line().session.save(Account(name="liz"))
    session, wire = moto.line(lost_request(), lost_request(at=3), retry=Retry(attempts=1))
    with pytest.raises(OutcomeUnknown) as caught:
        session.update(LIZ, F.visits.add(1)) if write == "update" else session.delete(LIZ)
    assert caught.value.remedy == (
        "it is not sent again, because that could undo what others did since; get the entity to see what is stored, "
        "and decide again. session.resume(error.plan) only reads the item again"
    )
    sent = len(wire.calls)
    with pytest.raises(OutcomeUnknown):
        session.resume(caught.value.plan)
    assert all(call.operation == "GetItem" for call in wire.calls[sent:])
    assert inspect(moto.line().session.get_one(LIZ)).loaded
