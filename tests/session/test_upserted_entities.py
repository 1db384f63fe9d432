"""What an upsert creates or changes, and what it returns."""

import pytest

from dynaorm import (
    F,
    Session,
)
from dynaorm.errors import (
    InvalidValue,
)
from dynaorm.flow.protocol.call import Transport
from dynaorm.testing.faults import FaultyTransport
from tests.cast.seen import operations
from tests.session.upserted import (
    ROOT,
    Hits,
    stored,
)

# -- one request -------------------------------------------------------------------------------------------------------


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


def test_a_rule_that_only_creating_would_break_does_not_stop_an_update(session: Session) -> None:
    session.save(Hits(page="/", count=5))
    assert session.upsert(ROOT, F.count.add(-1)).count == 4
    session.delete(ROOT)
    with pytest.raises(InvalidValue, match="count"):
        session.upsert(ROOT, F.count.add(-1))
