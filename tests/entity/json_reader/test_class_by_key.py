"""Without a type attribute, the key of an item tells its class, before and after pydantic-core has read it."""

from decimal import Decimal
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator

from dynaorm import Attribute, Entity, Table
from dynaorm.entity.json_reader.answer import in_doubt, json_reader_of
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.item.json_body import Body, encode_body
from dynaorm.item.value import Item

SHOP = Table("shop", type_attribute=None)
SEEN: list[str] = []


def see(value: str) -> str:
    SEEN.append(value)
    return value


class Customer(Entity, table=SHOP, pk="C#{name}", sk="C"):
    name: Annotated[str, AfterValidator(see)]


class Order(Entity, table=SHOP, pk="C#{name}", sk="O#{number:03d}"):
    name: Annotated[str, AfterValidator(see)]
    number: int = 0


class Draft(Entity, table=SHOP, pk="D#{name}", sk="D", versioned=True):
    name: str


def item_of(entity: Entity) -> dict[str, Any]:
    mapping = mapping_of(type(entity))
    return {**mapping.encoder.encode(vars(entity)), **mapping.primary_key.of(vars(entity))}


def read(wanted: type[Entity], *items: Item) -> list[Any]:
    reader = json_reader_of(mapping_of(wanted).table, (wanted,), "Query")
    assert reader is not None
    found = reader.read(Body(encode_body({"Items": items, "Count": len(items)})), None)
    assert found is not None
    return found.found


def test_items_of_other_classes_are_returned_as_items_and_no_validator_sees_them() -> None:
    order, draft = item_of(Order(name="a", number=1)), item_of(Draft(name="a"))
    stranger: Item = {"PK": {"S": "C#s"}, "SK": {"S": "X"}, "name": {"S": "s"}, "b": {"B": b"\xff"}}
    version = {**draft, "SK": {"S": "v1_D"}, "version": {"N": "1"}}
    items = [item_of(Customer(name="c")), order, stranger, version]
    SEEN.clear()
    assert read(Customer, *items) == [Customer(name="c"), order, stranger, version]
    assert SEEN[0] == "c"
    assert not {"a", "s"} & {*SEEN}
    assert read(Draft, draft, version) == [Draft(name="a"), version]


@pytest.mark.parametrize("drift", [0, 1])
def test_an_entity_is_in_doubt_if_the_users_codec_reads_its_key_otherwise(drift: int) -> None:
    own = Attribute(
        "number",
        encode=lambda value: {"S": str(value)},
        decode=lambda stored: Decimal(stored["S"]) + drift,
    )

    class Coded(Entity, table=Table("coded", type_attribute=None), pk="X#{number}", sk="A"):
        number: Annotated[Decimal, own]

    doubt = in_doubt(mapping_of(Coded))
    assert doubt is not None
    assert (doubt({"number": Decimal(1)}), doubt({"number": None})) == (bool(drift), True)
    item = item_of(Coded(number=Decimal(1)))
    assert read(Coded, item) == [item if drift else Coded(number=Decimal(1))]
