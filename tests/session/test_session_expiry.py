"""Expired entities are absent for reads, inserts and claims, even if DynamoDB has not deleted them yet."""

from datetime import UTC, datetime
from typing import Annotated

import pytest

from dynaorm import Entity, ExpiresAt, Key, Session, Table, Unique
from dynaorm.errors import StaleEntity
from dynaorm.flow.protocol.call import Call, Transport
from dynaorm.testing.clock import FakeClock

fleeting = Table("sync-fleeting")


class Login(Entity, table=fleeting, pk="LOGIN#{token}", sk="L"):
    token: str
    alias: Annotated[str | None, Unique()] = None
    until: Annotated[datetime | None, ExpiresAt()] = None


def at(clock: FakeClock, seconds: float) -> datetime:
    return datetime.fromtimestamp(clock.now() + seconds, UTC)


def test_what_expired_is_absent_and_can_only_be_inserted_anew(session: Session, clock: FakeClock) -> None:
    login = session.save(Login(token="t", alias="a", until=at(clock, 100)))
    clock.advance(100)
    assert session.get(Login, token="t") is None
    assert session.get_by(Login, alias="a") is None
    login.alias = "b"
    with pytest.raises(StaleEntity) as caught:
        session.save(login)
    assert str(caught.value) == (
        "Key(Login, token='t') has expired since it was loaded; insert it anew: session.save(detached(entity, ...)) "
        "with another expiry"
    )
    again = session.save(Login(token="t", alias="a", until=at(clock, 100)))
    assert session.get_by(Login, alias="a") == again


def test_a_changed_expiry_is_that_of_the_guards_too(
    session: Session, moto: Transport, clock: FakeClock
) -> None:
    login = session.save(Login(token="t", alias="a", until=at(clock, 100)))
    login.until = at(clock, 1000)
    session.save(login)
    clock.advance(500)
    assert session.get_by(Login, alias="a") == login
    session.update(Key(Login, token="t"), {"until": None})
    key = {"PK": {"S": "alias#a"}, "SK": {"S": "alias#a"}}
    guard = moto.call(Call("GetItem", {"TableName": "sync-fleeting", "Key": key}))["Item"]
    assert "until" not in guard


@pytest.mark.parametrize("guarded", [True, False])
@pytest.mark.parametrize("by", ["key", "object", "many", "block"])
def test_what_has_expired_can_be_deleted(
    session: Session, moto: Transport, clock: FakeClock, by: str, guarded: bool
) -> None:
    """Until DynamoDB deletes it, an expired item is stored, costs money, and may have to be gone at once."""
    alias = "a" if guarded else None
    login = session.save(Login(token="t", alias=alias, until=at(clock, 100)))
    clock.advance(100)
    target = login if by == "object" else Key(Login, token="t")
    if by == "block":
        with session.transaction() as tx:
            tx.delete(target)
            tx.save(Login(token="u"))
        session.delete(Key(Login, token="u"))
    elif by == "many":
        session.delete_many([target])
    else:
        session.delete(target)
    assert moto.call(Call("Scan", {"TableName": "sync-fleeting"}))["Items"] == []


def test_an_expired_entity_is_not_deleted_by_a_stale_object(session: Session, clock: FakeClock) -> None:
    login = session.save(Login(token="t", until=at(clock, 100)))
    clock.advance(100)
    again = session.save(Login(token="t", until=at(clock, 100)))
    with pytest.raises(StaleEntity):
        session.delete(login)
    assert session.get(Login, token="t") == again
