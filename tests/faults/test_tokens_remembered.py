"""A token that is remembered: an equal block is recognised whatever happened to its items since."""

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from itertools import product
from typing import Any

import pytest

from dynaorm import F, Key, Retry, Session, inspect
from dynaorm.errors import OutcomeUnknown, StaleEntity
from dynaorm.testing import assert_consistent, lost_answer, lost_request
from tests.faults.remembering import (
    BLOCKS,
    DAY,
    TEN_MINUTES,
    Loose,
    Page,
    Stock,
    User,
    app,
    change,
    count,
    delete,
    edit,
    insert,
    items,
    nothing,
    remove,
    remove_token_items,
    take,
)
from tests.faults.store import Store

# -- what is recognised ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("write", [insert, count, delete])
def test_a_repeated_block_is_recognised_on_a_server_too(
    ministack: Store, token: str, write: Callable[[Any], Any]
) -> None:
    check_repeated(ministack, token, write, take)


@pytest.mark.parametrize(
    ("write", "meanwhile"),
    [
        *product(BLOCKS, (nothing, take)),
        *product((edit, count), (change, remove)),
    ],
)
def test_a_repeated_block_is_recognised_whatever_others_did(
    moto: Store, token: str, write: Callable[[Any], Any], meanwhile: Callable[[Session], None]
) -> None:
    check_repeated(moto, token, write, meanwhile)


def prepare(setup: Session) -> None:
    setup.save(User(user_id="1", email="1@x"))
    setup.save(Page(name="home", text="Hi"))
    setup.save(Stock(sku="x", left=1))
    setup.save(Loose(name="a"))


def check_repeated(
    store: Store, token: str, write: Callable[[Any], Any], meanwhile: Callable[[Session], None]
) -> None:
    """Run a block, let others do something, and run it again, now and later: nothing changes."""
    setup = store.line().session
    prepare(setup)

    def block() -> Any:
        with store.line().session.transaction(token=token, remember=DAY) as tx:
            return write(tx)

    block()
    meanwhile(setup)
    found = items(store)
    for elapsed in (0.0, TEN_MINUTES + 1):
        store.clock.advance(elapsed)
        again = block()
        assert items(store) == found
        if again is None:
            continue
        if meanwhile is nothing:
            key = inspect(again).key
            assert key is not None
            stored = setup.get_one(key)
            assert (again, inspect(again).revision) == (stored, inspect(stored).revision)
        elif not isinstance(again, Stock):
            # It is as the block left it, and that is out of date.
            with pytest.raises(StaleEntity):
                setup.update(again, {"city": "Bern"} if isinstance(again, User) else {"text": "next"})
    assert_consistent(setup, app)


def test_a_lost_answer_in_either_run_changes_nothing(store: Store, token: str) -> None:
    def run(session: Session) -> None:
        with session.transaction(token=token, remember=DAY) as tx:
            count(tx)

    setup = store.line().session
    setup.save(Stock(sku="x", left=5))
    with pytest.raises(OutcomeUnknown):
        run(store.line(lost_answer(), retry=Retry(attempts=1)).session)
    setup.update(Key(Stock, sku="x"), F.left.set(50))
    run(store.line(lost_answer()).session)
    run(store.line(lost_request()).session)
    assert setup.get_one(Stock, sku="x").left == 50


def test_a_plan_without_answer_is_resumed_by_its_token_item(store: Store, token: str) -> None:
    setup = store.line().session
    setup.save(Stock(sku="x", left=5))

    def run(session: Session) -> None:
        with session.transaction(token=token, remember=DAY) as tx:
            count(tx)

    applied = store.unknown(lambda: run(store.line(lost_answer(), retry=Retry(attempts=1)).session))
    setup.update(Key(Stock, sku="x"), F.left.set(50))
    assert setup.resume(applied) is True
    store.clock.advance(TEN_MINUTES)
    assert setup.resume(applied) is True
    assert setup.get_one(Stock, sku="x").left == 50


@pytest.mark.parametrize("remember", [None, DAY])
def test_a_block_is_recognised_with_objects_that_wait_for_it(
    store: Store, token: str, remember: timedelta | None
) -> None:
    """Settling the objects first makes them loaded, so that the block would seem to be another one."""
    setup = store.line().session
    setup.save(Stock(sku="x", left=5))
    setup.save(Stock(sku="y", left=5))
    user, stock = User(user_id="2", email="2@x"), setup.get_one(Stock, sku="y")

    def block(session: Session) -> None:
        with session.transaction(token=token, remember=remember) as tx:
            tx.save(user)
            tx.delete(stock)
            count(tx)

    with pytest.raises(OutcomeUnknown):
        block(store.line(lost_answer(operation="TransactWriteItems"), retry=Retry(attempts=1)).session)
    block(store.line().session)
    assert setup.get_one(Stock, sku="x").left == 4
    assert (inspect(user).loaded, inspect(stock).loaded) == (True, False)


@pytest.mark.parametrize(
    ("remember", "token_item"),
    [(timedelta(seconds=TEN_MINUTES), "stays"), (DAY, "is removed"), (DAY, "is taken")],
)
@pytest.mark.parametrize("meanwhile", [change, remove])
@pytest.mark.parametrize("write", BLOCKS)
def test_an_applied_plan_is_never_said_not_to_be_made(
    moto: Store,
    token: str,
    write: Callable[[Any], Any],
    meanwhile: Callable[[Session], None],
    remember: timedelta,
    token_item: str,
) -> None:
    setup = moto.line().session
    prepare(setup)

    def run(session: Session) -> None:
        with session.transaction(token=token, remember=remember) as tx:
            write(tx)

    lost = lost_answer(operation="TransactWriteItems")
    plan = moto.unknown(lambda: run(moto.line(lost, retry=Retry(attempts=1)).session))
    meanwhile(setup)
    moto.clock.advance(remember.total_seconds())
    if token_item == "is removed":
        remove_token_items(moto)
    elif token_item == "is taken":
        with setup.transaction(token=token) as tx:
            tx.save(User(user_id="3", email="3@x"))
    with suppress(OutcomeUnknown):
        assert setup.resume(plan) is True


def test_a_plan_is_not_made_if_its_revision_is_still_there(moto: Store, token: str) -> None:
    setup = moto.line().session
    prepare(setup)
    user = setup.get_one(User, user_id="1")

    def run(session: Session) -> None:
        with session.transaction(token=token, remember=timedelta(seconds=TEN_MINUTES)) as tx:
            tx.update(user, F.visits.set(5))
            tx.update(Key(Stock, sku="x"), F.left.set(5))

    plan = moto.unknown(lambda: run(moto.line(lost_request(), retry=Retry(attempts=1)).session))
    setup.update(Key(Stock, sku="x"), F.left.set(50))
    moto.clock.advance(TEN_MINUTES)
    assert setup.resume(plan) is False


# -- loaded entities ---------------------------------------------------------------------------------------------------


def visit(store: Store, token: str, visits: Callable[[User], int]) -> User:
    session = store.line().session
    user = session.get_one(Key(User, user_id="1"), consistent=True)
    user.visits = visits(user)
    with session.transaction(token=token, remember=DAY) as tx:
        tx.save(user)
    return user


@pytest.mark.parametrize("field", [None, "city", "visits"])
def test_a_block_that_saves_a_loaded_entity_is_recognised(
    store: Store, token: str, field: str | None
) -> None:
    setup = store.line().session
    setup.save(User(user_id="1", email="1@x"))
    visit(store, token, lambda _: 5)
    if field is not None:
        setup.update(Key(User, user_id="1"), {field: {"city": "Bern", "visits": 9}[field]})
    found = items(store)
    if field == "city":  # what the block changed is stored already, and the rest differs
        with pytest.raises(OutcomeUnknown, match="loaded"):
            visit(store, token, lambda _: 5)
    else:
        visit(store, token, lambda _: 5)
    assert items(store) == found


def test_a_block_that_counts_is_never_counted_twice(store: Store, token: str) -> None:
    setup = store.line().session
    setup.save(User(user_id="1", email="1@x"))
    visit(store, token, lambda user: user.visits + 1)
    with pytest.raises(OutcomeUnknown, match="loaded") as caught:
        visit(store, token, lambda user: user.visits + 1)
    assert isinstance(caught.value.plan, object)
    assert setup.get_one(User, user_id="1").visits == 1
    with pytest.raises(OutcomeUnknown):
        setup.resume(caught.value.plan)
    assert setup.get_one(User, user_id="1").visits == 1
