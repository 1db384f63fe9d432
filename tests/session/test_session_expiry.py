"""Entities that expire by milliseconds, which no TTL can read."""

import json
from datetime import UTC, datetime, timedelta

from dynaorm import F, Session, tools
from dynaorm.description import describe
from dynaorm.iam import iam_policy
from dynaorm.testing.clock import FakeClock
from dynaorm.testing.faults import FaultyTransport
from tests.cast.others import Lease
from tests.cast.seen import items
from tests.cast.tables import leases


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
    assert list(tools.verify(session, leases)) == []


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
    assert tools.compare_table(session, leases) == ()
    assert "dynamodb:UpdateTimeToLive" not in json.dumps(
        iam_policy(Lease, account="1", region="r", actions="table")
    )
