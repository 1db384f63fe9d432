"""Writing one entity with a session, on a strict moto."""

from typing import Any

import pytest
from pydantic import ConfigDict

from dynaorm import (
    Entity,
    F,
    Key,
    Session,
    detached,
    inspect,
)
from dynaorm.errors import (
    AlreadyExists,
    ConditionFailed,
    EntityNotFound,
    InvalidValue,
    ItemTooLarge,
    KeyChanged,
    PlanTooLarge,
    StaleEntity,
    UnknownField,
    UsageError,
)
from dynaorm.flow.protocol.call import Transport
from dynaorm.item.size import ITEM_LIMIT, TRANSACTION_LIMIT, item_size
from dynaorm.testing.faults import FaultyTransport
from tests.cast.orders import Stock
from tests.cast.people import USER, Staff, User
from tests.cast.seen import items, operations
from tests.cast.tables import app


class Frozen(Entity, table=app, pk="FROZEN#{name}", sk="F"):
    model_config = ConfigDict(frozen=True)
    name: str
    left: int = 0


# -- save --------------------------------------------------------------------------------------------------------------


def test_save_returns_the_entity_and_what_is_stored_is_it(session: Session, moto: Transport) -> None:
    user = User(user_id="1", email="Bob@X", name="Bob", team="a")
    assert session.save(user) is user
    stored = items(moto)
    revision = stored["USER#1 U"]["_rev"]["S"]
    assert (inspect(user).key, inspect(user).revision) == (USER, revision)
    assert stored == {
        "USER#1 U": {
            "PK": {"S": "USER#1"},
            "SK": {"S": "U"},
            "_type": {"S": "User"},
            "_rev": {"S": revision},
            "user_id": {"S": "1"},
            "email": {"S": "Bob@X"},
            "name": {"S": "Bob"},
            "team": {"S": "a"},
            "visits": {"N": "0"},
            "GSI1PK": {"S": "TEAM#a"},
            "GSI1SK": {"S": "1"},
        },
        "email#bob@x email#bob@x": {
            "PK": {"S": "email#bob@x"},
            "SK": {"S": "email#bob@x"},
            "owner": {"M": {"PK": {"S": "USER#1"}, "SK": {"S": "U"}}},
        },
    }


def test_a_second_save_sends_what_changed_and_a_third_nothing(
    session: Session, wire: FaultyTransport
) -> None:
    user = session.save(User(user_id="1"))
    user.name = "n"
    session.save(user)
    session.save(user)
    assert operations(wire) == ["PutItem", "UpdateItem"]
    assert session.get(USER) == user


def test_copies_of_a_loaded_entity_update_and_detached_ones_insert(session: Session) -> None:
    user = session.save(User(user_id="1"))
    session.save(user.model_copy(update={"name": "copy"}))
    assert session.get_one(USER).name == "copy"
    with pytest.raises(AlreadyExists) as raised:
        session.save(detached(user))
    assert raised.value.key == USER
    session.save(detached(user, user_id="2"))
    assert session.exists(User, user_id="2")


def test_a_frozen_entity_is_saved_as_it_is(session: Session) -> None:
    frozen = session.save(Frozen(name="f"))
    session.save(frozen.model_copy(update={"left": 3}))
    assert session.get_one(Frozen, name="f").left == 3


def test_a_condition_is_of_what_is_stored(session: Session) -> None:
    stock = session.save(Stock(sku="s", left=1))
    stock.left = 2
    with pytest.raises(ConditionFailed):
        session.save(stock, condition=F.left == 2)
    session.save(stock, condition=F.left == 1)
    session.save(stock, condition=F.left == 2)
    with pytest.raises(ConditionFailed):
        session.save(stock, condition=F.left == 1)


def test_a_changed_key_is_refused_unsent(session: Session, wire: FaultyTransport) -> None:
    user = session.save(User(user_id="1"))
    user.user_id = "2"
    wire.calls.clear()
    with pytest.raises(KeyChanged, match=r"session\.move"):
        session.save(user)
    assert wire.calls == []


@pytest.mark.parametrize(
    ("entity", "error"),
    [
        (Stock.model_construct(sku="s", left="many"), InvalidValue),
        (Stock.model_construct(sku=None, left=1), InvalidValue),
        (User(user_id="1", name="x" * 410_000), ItemTooLarge),
        (User(user_id="1" * 3000), InvalidValue),
    ],
    ids=["type", "key", "item size", "key size"],
)
def test_what_cannot_be_stored_is_refused_unsent(
    session: Session, wire: FaultyTransport, entity: Entity, error: type[Exception]
) -> None:
    with pytest.raises(error):
        session.save(entity)
    assert wire.calls == []


def test_a_condition_is_checked_on_the_call(session: Session, wire: FaultyTransport) -> None:
    bad: Any = "left = 1"
    with pytest.raises(UsageError, match="is not a condition"):
        session.save(Stock(sku="s"), condition=bad)
    with pytest.raises(UnknownField, match="did you mean 'left'"):
        session.save(Stock(sku="s"), condition=F.lft == 1)
    assert wire.calls == []


def test_overwrite_replaces_whatever_is_stored(session: Session, moto: Transport) -> None:
    session.save(Staff(user_id="1", email="a", phone="5", desk="d"))
    new = User(user_id="1", email="b", phone="5")
    session.save(new, overwrite=True)
    assert items(moto).keys() == {"USER#1 U", "email#b email#b", "phone#5 phone#5"}
    assert session.get(USER) == new
    new.name = "loaded now"
    session.save(new)


# -- delete and move ---------------------------------------------------------------------------------------------------


def test_delete_by_key_of_an_unguarded_class_is_one_request(session: Session, wire: FaultyTransport) -> None:
    session.save(Stock(sku="s"))
    session.delete(Key(Stock, sku="s"), condition=F.left == 0)
    assert operations(wire) == ["PutItem", "DeleteItem"]
    with pytest.raises(EntityNotFound):
        session.delete(Key(Stock, sku="s"))


def test_delete_by_the_key_of_a_base_class_releases_what_the_subclass_holds(
    session: Session, moto: Transport
) -> None:
    session.save(Staff(user_id="1", email="a", desk="d"))
    session.delete(USER)
    assert items(moto) == {}


def test_delete_refused_changes_nothing(session: Session, moto: Transport) -> None:
    user = session.save(User(user_id="1", email="a"))
    session.update(USER, {"name": "other"})
    before = (items(moto), inspect(user))
    for target, error, condition in ((user, StaleEntity, None), (USER, ConditionFailed, F.name == "mine")):
        with pytest.raises(error):
            session.delete(target, condition=condition)
    assert (items(moto), inspect(user)) == before
    with pytest.raises(UsageError, match="is new"):
        session.delete(User(user_id="1"))


def test_exactly_once_deletes_in_a_transaction(session: Session, wire: FaultyTransport) -> None:
    stock = session.save(Stock(sku="s"))
    wire.calls.clear()
    session.delete(stock, exactly_once=True)
    assert operations(wire) == ["TransactWriteItems"]


def test_a_move_onto_a_taken_key_changes_nothing(session: Session, moto: Transport) -> None:
    user = session.save(User(user_id="1", email="a"))
    session.save(User(user_id="2"))
    user.user_id = "2"
    before = (items(moto), dict(vars(user)), inspect(user))
    with pytest.raises(AlreadyExists):
        session.move(user)
    assert (items(moto), dict(vars(user)), inspect(user)) == before


def test_two_entities_swap_their_keys(session: Session) -> None:
    one, two = session.save(User(user_id="1", email="a")), session.save(User(user_id="2", email="b"))
    one.user_id, two.user_id = "2", "1"
    with session.transaction() as tx:
        tx.move(one)
        tx.move(two)
    assert session.get_by(User, email="a") == session.get(User, user_id="2") == one
    assert session.get_by(User, email="b") == session.get(User, user_id="1") == two


# -- limits ------------------------------------------------------------------------------------------------------------


def test_dynamodb_takes_what_is_exactly_at_its_limits(session: Session) -> None:
    with session.transaction() as tx:
        for number in range(100):
            tx.save(Stock(sku=str(number)))
    user = User(user_id="1")
    (planned,) = session.plan(user).actions
    assert planned.after is not None
    revision = 32 - len(planned.revision or "")
    user.name = "x" * (ITEM_LIMIT - item_size(planned.after) - revision)
    session.save(user)
    user.name += "x"
    with pytest.raises(ItemTooLarge, match="409,601"):
        session.save(user)


def test_dynamodb_takes_four_megabytes_and_no_more_are_sent(session: Session, wire: FaultyTransport) -> None:
    users = [User(user_id=str(number), name="x" * 400_000) for number in range(10)]
    sizes = [item_size(session.plan(user).actions[0].after or {}) for user in users]
    rest = User(user_id="last")
    missing = TRANSACTION_LIMIT - sum(sizes) - item_size(session.plan(rest).actions[0].after or {})
    rest.name = "x" * (missing + 1)
    with pytest.raises(PlanTooLarge):
        save_all(session, [*users, rest])
    assert wire.calls == []
    rest.name = "x" * missing
    save_all(session, [*users, rest])
    assert session.exists(User, user_id="last")


def save_all(session: Session, users: list[User]) -> None:
    with session.transaction() as tx:
        for user in users:
            tx.save(user)
