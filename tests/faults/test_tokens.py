"""A plan keeps one token and the same bytes. A caller's token makes an equal block happen once, in any process.

What blocks of any kind leave when they run again is in ``tests/world``.
"""

from collections.abc import Iterable
from typing import Annotated, Any

import pytest
from pydantic import Field

from dynaorm import Entity, F, Key, Session, Table, Unique, inspect
from dynaorm.errors import EntityNotFound, TokenReused
from dynaorm.testing import conflict, in_progress, lost_answer, lost_request, throttle
from tests.faults.store import Store

app = Table("App")


class User(Entity, table=app, pk="USER#{user_id}", sk="PROFILE"):
    user_id: str
    email: Annotated[str, Unique()]
    roles: frozenset[str] = frozenset()
    settings: dict[str, str] = Field(default_factory=dict)


class Stock(Entity, table=app, pk="STOCK#{sku}", sk="STOCK"):
    sku: str
    left: int = 0
    parts: dict[str, int] = Field(default_factory=dict)


ROLES = frozenset({"admin", "editor", "viewer", "auditor", "owner"})


def register(session: Session, token: str) -> User:
    with session.transaction(token=token) as tx:
        return tx.save(User(user_id="1", email="1@x.org", roles=ROLES, settings={"b": "1", "a": "2"}))


# -- the library's own token -------------------------------------------------------------------------------------------


def test_a_transaction_is_repeated_with_one_token_and_body(
    store: Store,
) -> None:
    troubles = [
        conflict(), throttle(at=2), lost_request(at=3), in_progress(at=4), lost_answer(at=5), lost_answer(at=6)
    ]  # fmt: skip
    session, wire = store.line(*troubles)
    session.save(User(user_id="1", email="liz@x.org", roles=ROLES, settings={"z": "1", "a": "2"}))
    assert len(wire.calls) == 7
    assert all(repr(call) == repr(wire.calls[0]) for call in wire.calls), "the order of keys counts, too"


def test_a_request_a_transport_changes_is_repeated_as_it_was(moto: Store) -> None:
    """The transport of pynamodb adds to the request that it is given. A repetition must not send these additions."""
    session, wire = moto.line(lost_answer(times=3))
    session.save(User(user_id="1", email="liz@x.org"))
    assert all(set(call.request) == {"TransactItems", "ClientRequestToken"} for call in wire.calls)


def test_every_unit_of_work_has_a_token_of_its_own(store: Store) -> None:
    session, wire = store.line()
    for number in range(5):
        session.save(User(user_id=str(number), email=f"{number}@x.org"))
    tokens = [call.request["ClientRequestToken"] for call in wire.calls]
    assert len(set(tokens)) == 5
    assert all(1 <= len(token) <= 36 for token in tokens)


def test_a_change_during_a_save_is_not_sent(moto: Store) -> None:
    """The request is built once: a repetition does not look at the entity again."""
    user = User(user_id="1", email="liz@x.org", roles=frozenset({"admin"}), settings={"a": "1"})
    session, wire = moto.line(lost_request())
    user_of_another_thread = user

    def pause(seconds: float) -> None:
        user_of_another_thread.roles |= {"owner"}
        user_of_another_thread.settings["a"] = "2"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(moto.clock, "pause", pause)
        session.save(user)
    assert wire.calls[0] == wire.calls[1]
    assert moto.items(app)[0]["roles"] == {"SS": ["admin"]}
    assert inspect(user).changes.keys() == {"roles", "settings"}


# -- a caller's token --------------------------------------------------------------------------------------------------


def test_an_equal_block_in_another_session_is_applied_once(store: Store, token: str) -> None:
    first, second = store.line().session, store.line().session
    one = register(first, token)
    items = store.items(app)
    store.clock.advance(30.0)
    two = register(second, token)
    assert store.items(app) == items
    assert (
        inspect(one).revision == inspect(two).revision == inspect(first.get_one(User, user_id="1")).revision
    )
    two.roles = frozenset()
    second.save(two)
    assert first.get_one(Key(User, user_id="1"), consistent=True).roles == frozenset()


def test_a_token_of_any_length_names_one_block(store: Store, token: str) -> None:
    """DynamoDB takes request tokens of 36 characters. Longer ones that begin alike are still different."""
    order = f"{token}-order-6f1c8f1e-5b1c-4c43-9f59-8a4f0a0e6d11"
    store.line().session.save(Stock(sku="x", left=9))
    for name in (order, f"{order}-again", order, f"{order}-again"):
        with store.line().session.transaction(token=name) as tx:
            tx.update(Key(Stock, sku="x"), F.left.add(-1))
    assert store.line().session.get_one(Stock, sku="x").left == 7
    with pytest.raises(TokenReused, match=order), store.line().session.transaction(token=order) as tx:
        tx.update(Key(Stock, sku="x"), F.left.add(-2), condition=F.left >= 1)


def users(tx: Any, *numbers: int) -> None:
    for number in numbers:
        tx.save(User(user_id=str(number), email=f"{number}@x.org"))


@pytest.mark.parametrize(
    ("first", "second"), [((1,), (2,)), ((1,), (1, 2)), ((1, 2), (1,)), ((1, 2), (1, 3))]
)
def test_a_token_of_another_block_is_refused(
    store: Store, first: Iterable[int], second: Iterable[int], token: str
) -> None:
    """Even if the two have an entity in common: that it is stored proves nothing about the rest."""
    session = store.line().session
    with session.transaction(token=token) as tx:
        users(tx, *first)
    items = store.items(app)

    def block() -> None:
        with session.transaction(token=token) as tx:
            users(tx, *second)

    with pytest.raises(TokenReused) as caught:
        block()
    assert caught.value.token == token
    assert store.items(app) == items


def test_a_block_that_cannot_be_planned_uses_up_no_token(store: Store, token: str) -> None:
    session, wire = store.line()

    def block() -> None:
        with session.transaction(token=token) as tx:
            tx.delete(Key(User, user_id="1"))

    with pytest.raises(EntityNotFound):
        block()
    assert [call.operation for call in wire.calls] == ["GetItem", "GetItem"]
    store.line().session.save(User(user_id="1", email="liz@x.org"))
    block()
    assert [item["PK"]["S"] for item in store.items(app)] == [f"#token#{token}"]
