"""A block under a token that nothing stored shows any more is never said not to be applied."""

from collections.abc import Callable
from typing import Any

import pytest

from dynaorm import F, Key
from dynaorm.errors import DynaormError, EntityNotFound, OutcomeUnknown
from tests.faults.entities import Page, User, app
from tests.faults.store import Store


def outcome_of(work: Callable[[], object]) -> DynaormError:
    with pytest.raises(DynaormError) as caught:
        work()
    return caught.value


def test_an_equal_block_that_only_deletes_leaves_nothing_to_know_it_by(store: Store, token: str) -> None:
    setup = store.line().session
    setup.save(User(user_id="1", email="liz@x.org"))

    def block() -> None:
        with store.line().session.transaction(token=token) as tx:
            tx.delete(Key(User, user_id="1"))

    block()
    assert isinstance(outcome_of(block), OutcomeUnknown)
    assert store.items(app) == []


def test_what_cannot_be_planned_under_an_unused_token_is_refused_and_uses_up_nothing(
    store: Store, token: str
) -> None:
    session, wire = store.line()

    def block() -> None:
        with session.transaction(token=token) as tx:
            tx.delete(Key(User, user_id="1"))

    assert isinstance(outcome_of(block), EntityNotFound)
    assert [call.operation for call in wire.calls] == ["GetItem", "TransactWriteItems"]
    store.line().session.save(User(user_id="1", email="liz@x.org"))
    block()
    assert store.items(app) == []


def changed_by_others(store: Store) -> None:
    other = store.line().session
    for key in (Key(Page, name="home"), Key(User, user_id="2")):
        if (found := other.get(key, consistent=True)) is not None:
            other.update(found, {"text": "theirs"} if isinstance(found, Page) else {"full_name": "theirs"})


def insert_and_delete(tx: Any) -> None:
    tx.save(User(user_id="2", email="2@x.org"))
    tx.delete(Key(User, user_id="1"))


def edit(tx: Any) -> None:
    tx.update(Key(Page, name="home"), F.text.set("mine"))


@pytest.mark.parametrize("write", [edit, insert_and_delete])
def test_a_block_that_was_applied_and_written_over_is_never_said_not_to_be_applied(
    store: Store, token: str, write: Callable[[Any], None]
) -> None:
    setup = store.line().session
    setup.save(User(user_id="1", email="liz@x.org"))
    setup.save(Page(name="home", text="Hi"))

    def block() -> None:
        with store.line().session.transaction(token=token) as tx:
            write(tx)

    block()
    changed_by_others(store)
    items = store.items(app)
    error = outcome_of(block)
    assert isinstance(error, OutcomeUnknown)
    assert "nothing was written" not in str(error)
    assert isinstance(outcome_of(lambda: store.line().session.resume(error.plan)), OutcomeUnknown)
    assert store.items(app) == items
