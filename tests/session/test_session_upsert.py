"""Upserts: one request where that is possible, the entity that is created, and what decides between the two."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dynaorm import (
    Call,
    F,
    Key,
    Session,
    inspect,
)
from dynaorm.errors import (
    AlreadyExists,
    ConditionFailed,
    InvalidValue,
    SameItemTwice,
    UnknownField,
    UsageError,
)
from dynaorm.flow.protocol.call import Transport
from dynaorm.testing import FakeClock
from dynaorm.testing.faults import FaultyTransport
from tests.session.people import operations
from tests.session.upserted import (
    ROOT,
    Animal,
    Bird,
    Fish,
    Hits,
    Lease,
    Ruled,
    Tally,
    stored,
)

# -- one request -------------------------------------------------------------------------------------------------------


def test_an_entity_is_created_by_one_update_item(
    session: Session, wire: FaultyTransport, moto: Transport
) -> None:
    hits = session.upsert(ROOT, F.count.add(1))
    assert operations(wire) == ["UpdateItem"]
    assert (hits.count, hits.least, hits.owner, hits.made, hits.seen) == (1, 100, None, [7], set())
    assert stored(moto) == {
        "PAGE#/ HITS": {
            "PK": {"S": "PAGE#/"},
            "SK": {"S": "HITS"},
            "_type": {"S": "Hits"},
            "_rev": {"S": inspect(hits).revision},
            "page": {"S": "/"},
            "count": {"N": "1"},
            "least": {"N": "100"},
            "made": {"L": [{"N": "7"}]},
            "GSI1PK": {"S": "HITS"},
            "GSI1SK": {"S": "/"},
        }
    }


def test_what_is_created_equals_what_saving_it_would_store(session: Session, moto: Transport) -> None:
    session.upsert(ROOT, F.count.add(1), {"owner": "bob"}, F.seen.add({"a"}))
    made = stored(moto)["PAGE#/ HITS"]
    session.save(Hits(page="/", count=1, owner="bob", seen={"a"}), overwrite=True)
    saved = stored(moto)["PAGE#/ HITS"]
    assert {**made, "_rev": None} == {**saved, "_rev": None}


def test_an_entity_that_exists_is_updated_by_one_update_item(session: Session, wire: FaultyTransport) -> None:
    session.save(Hits(page="/", count=4, least=1, made=[], owner="bob"))
    wire.calls.clear()
    hits = session.upsert(ROOT, F.count.add(1))
    assert operations(wire) == ["UpdateItem"]
    assert (hits.count, hits.least, hits.made, hits.owner) == (5, 1, [], "bob")


def test_the_returned_entity_is_loaded(session: Session) -> None:
    hits = session.upsert(ROOT, F.count.add(1))
    hits.owner = "bob"
    session.save(hits)
    assert session.get_one(ROOT).owner == "bob"


def test_a_change_starts_from_the_default(session: Session) -> None:
    assert session.upsert(ROOT, F.least.add(-1)).least == 99
    assert session.upsert(ROOT, F.least.add(-1)).least == 98


def test_a_required_number_that_is_added_to_starts_at_zero(session: Session) -> None:
    assert session.upsert(Key(Tally, name="a"), F.number.add(2)).number == 2


def test_a_bound_holds_where_the_entity_exists_and_where_it_does_not(
    session: Session, wire: FaultyTransport
) -> None:
    with pytest.raises(InvalidValue, match="count"):
        session.upsert(ROOT, F.count.add(11))
    assert session.upsert(ROOT, F.count.add(10)).count == 10
    wire.calls.clear()
    with pytest.raises(InvalidValue, match="count"):
        session.upsert(ROOT, F.count.add(1))
    assert operations(wire) == ["UpdateItem"]


def test_a_rule_that_only_creating_would_break_does_not_stop_an_update(session: Session) -> None:
    session.save(Hits(page="/", count=5))
    assert session.upsert(ROOT, F.count.add(-1)).count == 4
    session.delete(ROOT)
    with pytest.raises(InvalidValue, match="count"):
        session.upsert(ROOT, F.count.add(-1))


def test_a_row_of_another_writer_without_type_is_updated(session: Session, moto: Transport) -> None:
    session.save(Hits(page="/", count=3))
    session.update(ROOT, F.owner.set("x"))
    item = {
        name: value for name, value in stored(moto)["PAGE#/ HITS"].items() if name not in ("_type", "_rev")
    }
    moto.call(Call("PutItem", {"TableName": "upsert-app", "Item": item}))
    assert session.upsert(ROOT, F.count.add(1)).count == 4


def test_a_subclass_keeps_its_own_defaults(session: Session, moto: Transport) -> None:
    session.save(Bird(name="tit"))
    item = stored(moto)["ANIMAL#tit A"]
    moto.call(
        Call("PutItem", {"TableName": "upsert-app", "Item": {k: v for k, v in item.items() if k != "legs"}})
    )
    found = session.upsert(Key(Animal, name="tit"))
    assert type(found) is Bird
    assert found.legs == 2
    assert session.upsert(Key(Animal, name="tit"), F.legs.add(1)).legs == 3


# -- expiry ------------------------------------------------------------------------------------------------------------


def test_an_expired_entity_is_created_anew(session: Session, clock: FakeClock, wire: FaultyTransport) -> None:
    key = Key(Lease, name="l")
    soon = datetime.fromtimestamp(clock.now(), UTC) + timedelta(seconds=60)
    assert session.upsert(key, F.uses.add(1), F.until.set(soon)).uses == 1
    assert session.upsert(key, F.uses.add(1)).uses == 2
    assert operations(wire) == ["UpdateItem", "UpdateItem"]
    clock.advance(120)
    fresh = session.upsert(key, F.uses.add(1), condition=F.uses == 0)
    assert (fresh.uses, fresh.until) == (1, None)


# -- conditions --------------------------------------------------------------------------------------------------------


def test_a_condition_is_judged_on_what_is_stored_and_otherwise_on_the_defaults(session: Session) -> None:
    for count in (1, 2, 3):
        assert session.upsert(ROOT, F.count.add(1), condition=F.count < 3).count == count
    with pytest.raises(ConditionFailed):
        session.upsert(ROOT, F.count.add(1), condition=F.count < 3)
    with pytest.raises(ConditionFailed):
        session.upsert(Key(Hits, page="/other"), F.count.add(1), condition=F.count > 0)
    assert session.get(Hits, page="/other") is None


def test_a_condition_is_judged_alike_where_the_item_is_read(session: Session) -> None:
    key = Key(Ruled, name="r")
    with pytest.raises(ConditionFailed):
        session.upsert(key, F.low.add(1), condition=F.low > 0)
    assert session.upsert(key, F.low.add(1), condition=F.low == 0).low == 1
    with pytest.raises(ConditionFailed):
        session.upsert(key, F.low.add(1), condition=F.low == 0)


# -- refusals ----------------------------------------------------------------------------------------------------------


def test_a_required_field_without_a_value_is_refused_before_anything_is_sent(
    session: Session, wire: FaultyTransport
) -> None:
    session.save(Tally(name="a", number=1))
    wire.calls.clear()
    with pytest.raises(UsageError, match=r"nothing gives number a value.*F\.number\.set") as caught:
        session.upsert(Key(Tally, name="a"))
    assert not isinstance(caught.value, InvalidValue)
    with pytest.raises(UsageError, match="number"), session.transaction() as tx:
        tx.upsert(Key(Tally, name="a"))
    assert operations(wire) == []


def test_a_key_that_validation_changes_is_refused(session: Session) -> None:
    with pytest.raises(InvalidValue, match="is part of the key"):
        session.upsert(Key(Tally, name="A"), F.number.set(1))


def test_an_item_of_another_class_stands_in_the_way(session: Session) -> None:
    session.save(Bird(name="tit"))
    with pytest.raises(AlreadyExists):
        session.upsert(Key(Fish, name="tit"), F.fins.add(1))
    with pytest.raises(AlreadyExists):
        session.upsert(Key(Fish, name="tit"))


@pytest.mark.parametrize(
    ("target", "change", "error"),
    [
        (Hits(page="/"), F.count.add(1), UsageError),
        (ROOT, F.nothing.add(1), UnknownField),
        (ROOT, F.page.set("x"), UsageError),
        (ROOT, F.count.set("x"), InvalidValue),
        (ROOT, "count", UsageError),
    ],
    ids=["object", "field", "key", "value", "change"],
)
def test_a_mistake_is_refused_before_anything_is_sent(
    session: Session, wire: FaultyTransport, target: Any, change: Any, error: type[Exception]
) -> None:
    with pytest.raises(error):
        session.upsert(target, change)
    assert operations(wire) == []


def test_upserting_and_updating_one_item_is_refused(session: Session) -> None:
    with pytest.raises(SameItemTwice, match="upserted"), session.transaction() as tx:
        tx.update(ROOT, F.count.add(1))
        tx.upsert(ROOT, F.owner.set("x"))
    with pytest.raises(SameItemTwice, match="checked"), session.transaction() as tx:
        tx.check(ROOT)
        tx.upsert(ROOT, F.owner.set("x"))


def test_upserts_of_one_item_are_combined(session: Session) -> None:
    with session.transaction() as tx:
        tx.upsert(ROOT, F.count.add(1))
        tx.upsert(ROOT, F.owner.set("x"))
    found = session.get_one(ROOT)
    assert (found.count, found.owner) == (1, "x")
