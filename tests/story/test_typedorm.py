"""The model of TypeDORM's guide, stored exactly as TypeDORM stores it; every access pattern is one request."""

from typing import Any

import pytest
from typedorm import Order, User, table

from dynaorm import F, Key, Session
from dynaorm.errors import OwnerUnknown, UniqueViolation
from tests.story.engine import Engine

LOKI = Key(User, id="user-1")


def item(**values: Any) -> dict[str, Any]:
    return {name: value if isinstance(value, dict) else {"S": value} for name, value in values.items()}


def user(at: int, **changed: Any) -> dict[str, Any]:
    """The user of the guide."""
    of_user = item(
        PK="USER#user-1", SK="USER#user-1", GSI1PK="USER#user-1", GSI1SK="USER#user-1#STATUS#active",
        __en="user", id="user-1", name="Loki", email="loki@asgard.com", status="active", updatedAt={"N": str(at)},
    )  # fmt: skip
    return {**of_user, **item(**changed)}


EMAIL = item(PK="DRM_GEN_USER.EMAIL#loki@asgard.com", SK="DRM_GEN_USER.EMAIL#loki@asgard.com")
OWNER = {"owner": {"M": item(PK="USER#user-1", SK="USER#user-1")}}


def order(number: int, status: str, at: int) -> dict[str, Any]:
    return item(
        PK=f"ORDER#order-{number}", SK=f"ORDER#order-{number}",
        GSI1PK="USER#user-1", GSI1SK=f"ORDER#{status}#CREATED_AT#{at}",
        __en="order", id=f"order-{number}", userId="user-1", items={"L": [{"S": "book"}]}, status=status,
        createdAt={"N": str(at)},
    )  # fmt: skip


@pytest.fixture
def session(engine: Engine) -> Session:
    engine.create(table)
    return engine.session()


def test_every_item_is_stored_as_typedorm_stores_it(session: Session, engine: Engine) -> None:
    at = int(engine.clock.now())
    session.save(User(id="user-1", name="Loki", email="loki@asgard.com", status="active"))
    session.save(Order(id="order-1", user_id="user-1", items=["book"]))
    assert engine.operations == ["TransactWriteItems", "PutItem"]
    assert engine.raw(table) == [{**EMAIL, **OWNER}, order(1, "pending", at), user(at)]


def test_what_typedorm_stored_is_read_changed_and_deleted(session: Session, engine: Engine) -> None:
    at = int(engine.clock.now())
    for one in (EMAIL, user(at - 500), order(1, "pending", at - 500)):
        engine.put(table, **one)
    with pytest.raises(UniqueViolation):
        session.save(User(id="user-2", name="Thor", email="loki@asgard.com", status="active"))
    with pytest.raises(OwnerUnknown):
        session.get_by(User, email="loki@asgard.com")
    engine.forget()
    session.update(LOKI, {"name": "Ex-Loki", "status": "inactive"})
    session.update(Key(Order, id="order-1"), F["items"].append("pen"))
    assert engine.operations == ["UpdateItem", "UpdateItem"]
    changed = order(1, "pending", at - 500) | {"items": {"L": [{"S": "book"}, {"S": "pen"}]}}
    inactive = user(at, name="Ex-Loki", status="inactive", GSI1SK="USER#user-1#STATUS#inactive")
    assert engine.raw(table) == [EMAIL, changed, inactive]
    session.delete(session.get_one(LOKI))
    assert engine.raw(table) == [changed]
