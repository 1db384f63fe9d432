"""Expired entities are absent for reads, inserts and claims, even if DynamoDB has not deleted them yet."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from dynaorm import Entity, F, Key, Session
from dynaorm.errors import AlreadyExists, StaleEntity
from dynaorm.flow.protocol.call import Call, Transport
from dynaorm.testing.clock import FakeClock
from tests.cast.orders import Login
from tests.cast.others import Spot, Stall, Thing


def at(clock: FakeClock, seconds: float) -> datetime:
    return datetime.fromtimestamp(clock.now() + seconds, UTC)


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
    assert moto.call(Call("Scan", {"TableName": "fleeting"}))["Items"] == []


def test_an_expired_entity_is_not_deleted_by_a_stale_object(session: Session, clock: FakeClock) -> None:
    login = session.save(Login(token="t", until=at(clock, 100)))
    clock.advance(100)
    again = session.save(Login(token="t", until=at(clock, 100)))
    with pytest.raises(StaleEntity):
        session.delete(login)
    assert session.get(Login, token="t") == again


INSERTS: dict[str, Callable[[Session], Entity]] = {
    "its base class": lambda session: session.save(Spot(name="a")),
    "its base class, overwriting": lambda session: session.save(Spot(name="a"), overwrite=True),
    "its base class, by an upsert": lambda session: session.upsert(Key(Spot, name="a"), F.visits.add(0)),
    "another class": lambda session: session.save(Thing(thing="PLACE#a")),
    "another class, overwriting": lambda session: session.save(Thing(thing="PLACE#a"), overwrite=True),
    "another class, by an upsert": lambda session: session.upsert(Key(Thing, thing="PLACE#a")),
    "another class, in a block": lambda session: _in_block(session, Thing(thing="PLACE#a")),
}


def _in_block(session: Session, entity: Entity) -> Entity:
    with session.transaction() as tx:
        tx.save(entity)
        tx.save(Spot(name="b"))
    return entity


@pytest.mark.parametrize("insert", INSERTS.values(), ids=INSERTS)
def test_an_expired_entity_is_no_obstacle_to_an_insert_of_a_class_that_does_not_expire(
    session: Session, clock: FakeClock, insert: Callable[[Session], Entity]
) -> None:
    session.save(Stall(name="a", until=at(clock, 100)))
    clock.advance(100)
    assert session.get(Spot, name="a") is None
    made = insert(session)
    assert type(made) in (Spot, Thing)
    assert session.refresh(made) == made


def test_an_entity_that_has_not_expired_is_an_obstacle_to_inserts_of_all_classes(
    session: Session, clock: FakeClock
) -> None:
    stall = session.save(Stall(name="a", until=at(clock, 100)))
    clock.advance(99)
    for entity in (Spot(name="a"), Thing(thing="PLACE#a")):
        with pytest.raises(AlreadyExists):
            session.save(entity)
    assert session.upsert(Key(Spot, name="a")) == stall
