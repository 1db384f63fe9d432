"""Expired entities are absent for reads, inserts and claims, even if DynamoDB has not deleted them yet."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from dynaorm import Entity, F, Key, Session, describe, iam_policy
from dynaorm.errors import AlreadyExists, StaleEntity
from dynaorm.flow.protocol.call import Call, Transport
from dynaorm.testing.clock import FakeClock
from dynaorm.testing.faults import FaultyTransport
from tests.cast.orders import Login
from tests.cast.others import Lease, Spot, Stall, Thing
from tests.cast.seen import items
from tests.cast.tables import leases


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


def test_milliseconds_expire_an_entity_and_its_guards_without_ttl(
    session: Session, wire: FaultyTransport, clock: FakeClock
) -> None:
    now = datetime.fromtimestamp(clock.now(), UTC)
    session.save(Lease(name="a", holder="h", until=now + timedelta(milliseconds=1500, microseconds=700)))
    stored = items(wire, leases)
    time = {"N": str(int(clock.now() * 1000) + 1500)}
    assert [one["until"] for one in stored.values()] == [time, time]
    clock.advance(1.499)
    assert session.get(Lease, name="a") is not None
    assert session.scan(Lease).filter(F.until > now + timedelta(seconds=1)).count() == 1
    clock.advance(0.002)
    assert session.get(Lease, name="a") is None
    assert session.get_by(Lease, holder="h") is None
    clock.advance(60)
    taken = session.save(Lease(name="a", holder="h"))
    assert session.get_by(Lease, holder="h") == taken
    assert list(session.verify(leases)) == []


def test_what_expired_by_milliseconds_never_comes_back(session: Session, clock: FakeClock) -> None:
    session.save(Lease(name="a", until=datetime.fromtimestamp(clock.now() + 1, UTC)))
    clock.advance(20 * 365 * 86_400)
    assert session.get(Lease, name="a") is None
    assert session.query(Lease, name="a").all() == []
    assert session.query(Lease, name="a").expired().count() == 1


def test_no_ttl_is_declared_on_milliseconds(session: Session, wire: FaultyTransport) -> None:
    assert leases.ttl_attribute is None
    assert describe(leases).ttl_attribute is None
    session.create_table(leases)
    assert not any("TimeToLive" in call.operation for call in wire.calls)
    assert session.compare_table(leases) == ()
    assert "dynamodb:UpdateTimeToLive" not in json.dumps(
        iam_policy(Lease, account="1", region="r", actions="create")
    )
