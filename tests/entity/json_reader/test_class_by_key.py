"""Without a type attribute, the key of an item tells its class, before and after pydantic-core has read it."""

from decimal import Decimal
from typing import Annotated, Any

from pydantic import AfterValidator

from dynaorm import Attribute, Entity, Table
from dynaorm.entity.json_reader.answer import json_reader_of
from dynaorm.entity.json_reader.class_by_key import in_doubt
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.page import ParsedReply
from dynaorm.item.json_body import Body, encode_body
from dynaorm.item.value import Item

SHOP, BARE = Table("shop", type_attribute=None), Table("bare", type_attribute=None, pk="slug", sk=None)
SEEN: list[str] = []


def see(value: str) -> str:
    SEEN.append(value)
    return value


class Customer(Entity, table=SHOP, pk="C#{name}", sk="C"):
    name: Annotated[str, AfterValidator(see)]


class Order(Entity, table=SHOP, pk="C#{name}", sk="O#{number:03d}"):
    name: Annotated[str, AfterValidator(see)]
    number: int = 0


class Line(Entity, table=SHOP, pk="C#{name}", sk="O#{number:03d}#L"):
    name: str
    number: int


class Draft(Entity, table=SHOP, pk="D#{name}", sk="D", versioned=True):
    name: str


def item_of(entity: Entity) -> dict[str, Any]:
    mapping = mapping_of(type(entity))
    return {**mapping.encode(vars(entity)), **mapping.primary_key(vars(entity))}


def reply_of(
    *items: Item, wanted: tuple[type, ...] = (Entity,), operation: str = "Query"
) -> ParsedReply | None:
    reader = json_reader_of(
        mapping_of(wanted[0]).table if wanted[0] is not Entity else SHOP, wanted, operation
    )
    assert reader is not None
    return reader.read(Body(encode_body({"Items": items, "Count": len(items)})), None)


def read(*items: Item, wanted: tuple[type, ...] = (Entity,), operation: str = "Query") -> list[Any]:
    found = reply_of(*items, wanted=wanted, operation=operation)
    assert found is not None
    return found.found


def test_each_item_is_read_as_the_class_of_its_key() -> None:
    entities = [Customer(name="a"), Order(name="a", number=1), Line(name="a", number=1), Draft(name="d")]
    assert read(*map(item_of, entities)) == entities


def test_items_of_other_classes_are_returned_as_items_and_no_validator_sees_them() -> None:
    order, draft = item_of(Order(name="a", number=1)), item_of(Draft(name="a"))
    stranger: Item = {"PK": {"S": "C#s"}, "SK": {"S": "X"}, "name": {"S": "s"}, "b": {"B": b"\xff"}}
    version = {**draft, "SK": {"S": "v1_D"}, "version": {"N": "1"}}
    SEEN.clear()
    items = [item_of(Customer(name="c")), order, stranger, version]
    SEEN.clear()
    assert read(*items, wanted=(Customer,)) == [Customer(name="c"), order, stranger, version]
    assert SEEN[0] == "c"
    assert "a" not in SEEN
    assert "s" not in SEEN
    assert read(version, wanted=(Draft,)) == [version]


def text(value: Any) -> Any:
    return {"S": str(value)}


class Coded(Entity, table=Table("coded", type_attribute=None), pk="X#{number}", sk="A"):
    number: Annotated[Decimal, Attribute("number", encode=text, decode=lambda stored: Decimal(stored["S"]))]


class Drifting(Entity, table=Table("drifting", type_attribute=None), pk="X#{number}", sk="A"):
    """A class with a codec that reads another number than it writes."""

    number: Annotated[
        Decimal, Attribute("number", encode=text, decode=lambda stored: Decimal(stored["S"]) + 1)
    ]


def doubted(entity: type[Entity], *values: dict[str, Any]) -> list[bool]:
    found = in_doubt(mapping_of(entity))
    assert found is not None
    return [found(one) for one in values]


def test_an_entity_is_in_doubt_if_the_users_codec_reads_its_key_otherwise() -> None:
    assert doubted(Coded, {"number": Decimal(1)}, {"number": None}) == [False, True]
    assert doubted(Drifting, {"number": Decimal(1)}) == [True]
    assert read(item_of(Coded(number=Decimal(1))), wanted=(Coded,)) == [Coded(number=Decimal(1))]
