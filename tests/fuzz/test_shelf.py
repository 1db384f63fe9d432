"""The shelf answers queries as another DynamoDB does."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynaorm import Session
from dynaorm.testing import FakeClock, FaultyTransport
from dynaorm.transport import Call, Transport
from tests.fuzz.shelf import Shelf
from tests.laws.test_pages_of_partitions import ORDERS, Line, Order, drawn_lines, lines, put, reads


@pytest.fixture(scope="module")
def wire(engine: Transport) -> FaultyTransport:
    wire = FaultyTransport(engine)
    Session(transport=wire, clock=FakeClock()).create_table(lines)
    return wire


@settings(max_examples=8)
@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
@given(data=st.data())
def test_a_query_has_the_same_answer(wire: FaultyTransport, order: Order, data: st.DataObject) -> None:
    session, shelf = Session(transport=wire, clock=FakeClock()), Shelf([lines])
    stored: list[Line] = data.draw(drawn_lines())
    put(shelf, stored)
    for item in shelf.items[lines.name]:
        wire.call(Call("PutItem", {"TableName": lines.name, "Item": item}))
    query = data.draw(reads(session, order)).query
    wire.calls.clear()
    for one in (query, query.descending(), query.values("row", "flag")):
        one.all()
    sent = [call for call in wire.calls if call.operation == "Query"]
    for call in sent:
        compare(
            wire.call(call),
            shelf.call(call),
            [key.name for key in lines.indexes[call.request["IndexName"]].sk],
        )
    for item in shelf.items[lines.name]:
        key = {name: item[name] for name in lines.key_names}
        wire.call(Call("DeleteItem", {"TableName": lines.name, "Key": key}))


def compare(expected: Any, found: Any, sort: list[str]) -> None:
    """Items with equal sort keys are in no known order."""
    assert found["ScannedCount"] == expected["ScannedCount"]
    assert sorted(map(repr_of, found["Items"])) == sorted(map(repr_of, expected["Items"]))
    keys = [[[item.get(name) for name in sort] for item in reply["Items"]] for reply in (found, expected)]
    assert keys[0] == keys[1]


def repr_of(item: Any) -> str:
    return repr(sorted(item.items()))
