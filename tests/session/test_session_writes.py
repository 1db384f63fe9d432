"""Writing one entity with a session, in memory."""

import pytest

from dynaorm import Entity, Session, inspect
from dynaorm.errors import InvalidValue, ItemTooLarge
from dynaorm.flow.call import Transport
from dynaorm.item.size import ITEM_LIMIT, item_size
from dynaorm.testing.faults import FaultyTransport
from tests.cast.orders import Stock
from tests.cast.people import USER, User
from tests.cast.seen import items

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
