"""KSUIDs as sort keys, with the document's orders: order of creation, ranges of time, texts and bytes."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import pytest
from orders_ksuid import IDS, Order, PackedOrder, orders, packed
from pydantic import Field

from dynaorm import Attribute, Entity, Ksuid, KsuidMs, Table, ksuid_range, new_ksuid
from tests.story.engine import Engine


class TextOrder(Entity, table=orders, pk="TEXT#{order}", sk="ORDERID#{order_id}"):
    order: str
    order_id: str = Field(default_factory=new_ksuid)
    product: Annotated[str, Attribute("Product")]


class FineOrder(Entity, table=orders, pk="FINE#{order}", sk="ORDERID#{order_id}"):
    order: str
    order_id: KsuidMs
    product: Annotated[str, Attribute("Product")]


PRODUCTS = list(IDS)


def ksuid(product: str) -> Ksuid:
    return Ksuid.from_base62(IDS[product])


def ordered(engine: Engine, kind: Any, table: Table) -> None:
    """Order 220 with its five products, saved in random order."""
    engine.create(table)
    with engine.session() as session:
        for product in ("Product3", "Product5", "Product1", "Product4", "Product2"):
            session.save(kind(order="220", order_id=ksuid(product), product=product))
    engine.forget()


def test_the_documents_ksuid_tells_when_it_was_made() -> None:
    found = Ksuid.from_base62("1YnlHOfSSk3DhX4BR6lMAceAo1V")
    assert found.datetime == datetime(2020, 3, 7, 13, 2, 30, tzinfo=UTC)
    assert found.timestamp == 1583586150.0


def test_the_orders_are_stored_as_the_document_stores_them(engine: Engine) -> None:
    ordered(engine, Order, orders)
    assert engine.raw(orders) == [
        {"PK": {"S": "ORDER#220"}, "Product": {"S": product}, "SK": {"S": f"ORDERID#{order_id}"}}
        for product, order_id in IDS.items()
    ]


def test_orders_are_read_in_order_of_creation_whatever_order_they_were_saved_in(engine: Engine) -> None:
    ordered(engine, Order, orders)
    found = engine.session().query(Order, order="220").all()
    assert [one.product for one in found] == PRODUCTS
    assert [one.order_id for one in found] == [ksuid(product) for product in PRODUCTS]
    assert found.requests == 1
    newest_first = engine.session().query(Order, order="220").descending()
    assert [one.product for one in newest_first.limit(2)] == ["Product5", "Product4"]


def test_a_binary_sort_key_holds_the_twenty_bytes_of_a_ksuid_and_sorts_as_its_text(engine: Engine) -> None:
    ordered(engine, PackedOrder, packed)
    items = {item["Product"]["S"]: item for item in engine.raw(packed)}
    assert items["Product1"] == {
        "PK": {"S": "ORDER#220"},
        "SK": {"B": bytes(ksuid("Product1"))},
        "Product": {"S": "Product1"},
    }
    assert {len(item["SK"]["B"]) for item in items.values()} == {20}
    found = engine.session().query(PackedOrder, order="220").all()
    assert [one.product for one in found] == PRODUCTS
    assert [one.order_id for one in found] == [ksuid(product) for product in PRODUCTS]


@pytest.mark.parametrize(("kind", "table"), [(Order, orders), (PackedOrder, packed)])
def test_every_operator_compares_ksuids_by_their_time(engine: Engine, kind: Any, table: Table) -> None:
    ordered(engine, kind, table)
    query = engine.session().query(kind, order="220")
    third = ksuid("Product3")

    def products(found: Any) -> list[str]:
        return [one.product.removeprefix("Product") for one in found]

    assert products(query.eq(order_id=third)) == ["3"]
    assert products(query.lt(order_id=third)) == ["1", "2"]
    assert products(query.le(order_id=third)) == ["1", "2", "3"]
    assert products(query.gt(order_id=third)) == ["4", "5"]
    assert products(query.ge(order_id=third)) == ["3", "4", "5"]
    assert products(query.between(order_id=(ksuid("Product2"), ksuid("Product4")))) == ["2", "3", "4"]


@pytest.mark.parametrize(("kind", "table"), [(Order, orders), (PackedOrder, packed)])
def test_a_range_of_time_is_a_range_of_ksuids(engine: Engine, kind: Any, table: Table) -> None:
    ordered(engine, kind, table)
    start = ksuid("Product3").datetime
    within = tuple(map(Ksuid.from_base62, ksuid_range(start, start + timedelta(seconds=1))))
    found = engine.session().query(kind, order="220").between(order_id=within).all()
    assert [one.product for one in found] == ["Product2", "Product3"]
    later = tuple(map(Ksuid.from_base62, ksuid_range(start, start + timedelta(days=1))))
    found = engine.session().query(kind, order="220").between(order_id=later).all()
    assert [one.product for one in found] == ["Product2", "Product3", "Product4", "Product5"]
    assert found.requests == 1


def test_a_range_of_time_is_given_as_it_comes_where_the_field_is_a_text(engine: Engine) -> None:
    engine.create(orders)
    with engine.session() as session:
        for product, order_id in IDS.items():
            session.save(TextOrder(order="220", order_id=order_id, product=product))
        start = ksuid("Product2").datetime
        times = ksuid_range(start, ksuid("Product4").datetime)
        found = session.query(TextOrder, order="220").between(order_id=times).all()
    assert [one.product for one in found] == ["Product2", "Product3"]


def test_orders_made_with_generated_ksuids_are_found_in_their_time(engine: Engine) -> None:
    engine.create(orders)
    with engine.session() as session:
        first = session.save(Order(order="221", product="Product1"))
        second = session.save(TextOrder(order="221", product="Product2"))
        assert session.get_one(Order, order="221", order_id=first.order_id) == first
        made = Ksuid.from_base62(second.order_id).datetime
        hour = ksuid_range(made - timedelta(minutes=30), made + timedelta(minutes=30))
        assert session.query(TextOrder, order="221").between(order_id=hour).one() == second


def test_steps_of_four_milliseconds_keep_their_order(engine: Engine) -> None:
    engine.create(orders)
    noon = datetime(2023, 7, 4, 12, tzinfo=UTC)
    with engine.session() as session:
        for number in (4, 0, 3, 1, 2):
            order_id = KsuidMs(noon + timedelta(milliseconds=4 * number))
            session.save(FineOrder(order="220", order_id=order_id, product=str(number)))
        query = session.query(FineOrder, order="220")
        assert [one.product for one in query] == ["0", "1", "2", "3", "4"]
        within = tuple(map(KsuidMs.from_base62, ksuid_range(noon, noon + timedelta(seconds=1))))
        assert [one.product for one in query.between(order_id=within)] == ["0", "1", "2", "3", "4"]
        assert [one.order_id.datetime for one in query.limit(2)] == [
            noon,
            noon + timedelta(milliseconds=4),
        ]
