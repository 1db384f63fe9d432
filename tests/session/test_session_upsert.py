"""Upserts: the entity that one request creates, and what is refused before it."""

from typing import Any

import pytest

from dynaorm import F, Session, inspect
from dynaorm.errors import InvalidValue, UnknownField, UsageError
from dynaorm.flow.call import Transport
from dynaorm.testing.faults import FaultyTransport
from tests.cast.orders import ROOT, Hits
from tests.cast.seen import items, operations

# -- one request -------------------------------------------------------------------------------------------------------


def test_an_entity_is_created_by_one_update_item(
    session: Session, wire: FaultyTransport, moto: Transport
) -> None:
    hits = session.upsert(ROOT, F.count.add(1))
    assert operations(wire) == ["UpdateItem"]
    assert (hits.count, hits.least, hits.owner, hits.made, hits.seen) == (1, 100, None, [7], set())
    assert items(moto) == {
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


# -- refusals ----------------------------------------------------------------------------------------------------------


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


# -- without changes, exactly once, and races --------------------------------------------------------------------------


def test_without_changes_it_gets_or_creates(session: Session, wire: FaultyTransport) -> None:
    created = session.upsert(ROOT)
    assert operations(wire) == ["GetItem", "PutItem"]
    found = session.upsert(ROOT)
    assert operations(wire) == ["GetItem"]
    assert inspect(found).revision == inspect(created).revision
