"""Unique values when sessions interfere with each other, and when entities expire."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Annotated

import pytest

from dynaorm import Entity, ExpiresAt, Key, Table, Unique
from dynaorm.errors import StaleEntity
from tests.faults.entities import User, app, taken
from tests.faults.store import Store

old_app = Table("OldApp")


class Login(Entity, table=app, pk="LOGIN#{login_id}", sk="LOGIN"):
    login_id: str
    code: Annotated[str, Unique()]
    until: Annotated[datetime | None, ExpiresAt()] = None


class OldUser(Entity, table=old_app, pk="USER#{user_id}", sk="PROFILE", name="User"):
    user_id: str
    email: Annotated[str, Unique()]


class NewUser(Entity, table=Table("OldApp"), pk="USER#{user_id}", sk="PROFILE", name="User"):
    user_id: str
    email: Annotated[str, Unique(normalize=str.casefold)]


@pytest.mark.parametrize("order", [*permutations(range(3))], ids=str)
def test_values_rotate_with_one_action_per_guard(store: Store, order: Sequence[int]) -> None:
    session, wire = store.line()
    users = [session.save(User(user_id=str(n), email=f"{n}@x.org")) for n in range(3)]
    sent = len(wire.calls)
    with session.transaction() as tx:
        for user, number in zip(users, order, strict=True):
            user.email = f"{number}@x.org"
            tx.save(user)
    for user in users:
        found = session.get_by(User, email=user.email)
        assert found is not None
        assert found.user_id == user.user_id
    assert len(store.items(app)) == 6
    moved = sum(place != number for place, number in enumerate(order))
    actions = wire.calls[sent].request["TransactItems"] if moved else []
    assert [*map(list, actions)].count(["Put"]) == moved
    assert [*map(list, actions)].count(["Delete"]) == 0


def test_an_overtaken_swap_leaves_every_value_in_place(store: Store) -> None:
    session = store.line().session
    one, two = (session.save(User(user_id=n, email=f"{n}@x.org")) for n in "12")

    def give_up() -> None:
        store.line().session.update(Key(User, user_id="2"), {"email": "3@x.org"})

    swapping, _ = store.line(store.meanwhile(give_up, "TransactWriteItems"))
    one.email, two.email = two.email, one.email

    def swap() -> None:
        with swapping.transaction() as tx:
            tx.save(one)
            tx.save(two)

    with pytest.raises(StaleEntity) as caught:
        swap()
    assert caught.value.key == Key(User, user_id="2")
    owners = {item["PK"]["S"]: item["owner"]["M"]["PK"]["S"] for item in store.items(app) if "owner" in item}
    assert owners == {"email#1@x.org": "USER#1", "email#3@x.org": "USER#2"}


def test_an_entity_survives_a_change_of_its_normalizer(
    moto: Store,
) -> None:
    """The guard of the old spelling does not block the claim; it stays until it is repaired."""
    session = moto.line().session
    session.save(OldUser(user_id="1", email="Liz@X.org"))
    user = session.get_one(NewUser, user_id="1")
    user.email = "elizabeth@x.org"
    session.save(user)
    assert session.get_by(NewUser, email="Elizabeth@x.org") == user
    assert moto.keys(old_app) == taken("1", "email#Liz@X.org", "email#elizabeth@x.org")


# -- expiry ------------------------------------------------------------------------------------------------------------


def in_seconds(store: Store, seconds: float) -> datetime:
    return datetime.fromtimestamp(store.clock.now(), UTC) + timedelta(seconds=seconds)


@pytest.mark.parametrize("swept", ["entity", "guard"])
def test_ttl_may_remove_an_entity_before_its_guard_or_after_it(store: Store, swept: str) -> None:
    session = store.line().session
    login = session.save(Login(login_id="1", code="abc", until=in_seconds(store, 10)))
    store.clock.advance(100)
    store.remove(app, *(("LOGIN#1", "LOGIN") if swept == "entity" else ("code#abc", "code#abc")))
    assert session.get_by(Login, code="abc") is None
    login = session.save(Login(login_id="1", code="abc", until=in_seconds(store, 10)))
    session.delete(login)
    assert store.items(app) == []
