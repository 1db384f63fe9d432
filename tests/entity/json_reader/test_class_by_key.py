"""Without a type attribute, the key of an item tells its class, before and after pydantic-core has read it."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator

from dynaorm import Attribute, Entity, NumberKey, Table, Unique, codecs
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


class Page(Entity, table=BARE, pk="{slug}"):
    slug: str
    title: Annotated[str, Unique("title")] = ""


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


def test_a_key_inside_of_an_item_does_not_tell_its_class() -> None:
    nested: Item = {
        "other": {"M": {"PK": {"S": "C#a"}, "SK": {"S": "C"}}},
        **item_of(Order(name="a", number=1)),
    }
    assert read(nested, wanted=(Order, Customer)) == [nested]


def test_a_key_with_a_spelling_of_json_is_left_to_the_codecs() -> None:
    item = item_of(Order(name='a"b', number=1))
    assert read(item, wanted=(Order,)) == [item]
    assert read(item_of(Order(name="é", number=1)), wanted=(Order,)) == [Order(name="é", number=1)]


def text(value: Any) -> Any:
    return {"S": str(value)}


class Coded(Entity, table=Table("coded", type_attribute=None), pk="X#{number}", sk="A"):
    number: Annotated[Decimal, Attribute("number", encode=text, decode=lambda stored: Decimal(stored["S"]))]


class Drifting(Entity, table=Table("drifting", type_attribute=None), pk="X#{number}", sk="A"):
    """A class with a codec that reads another number than it writes."""

    number: Annotated[
        Decimal, Attribute("number", encode=text, decode=lambda stored: Decimal(stored["S"]) + 1)
    ]


class Existing(Entity, table=Table("existing", type_attribute=None, pk="pk", sk="sk"), pk="{pk}", sk="{sk}"):
    pk: str
    sk: str


class Guarding(
    Entity, table=Table("elsewhere", guard_table=mapping_of(Existing).table), pk="G#{name}", sk="G"
):
    """A class of another table, of which the guard items are stored in this one."""

    name: Annotated[str, Unique("name")]


class Apart(Entity, table=Table("apart", type_attribute=None), pk="{name}", sk="%{name}"):
    name: Annotated[str, Unique("name")]


class Numbered(
    Entity, table=Table("numbered", type_attribute=None, sk=NumberKey("SK")), pk="{name}", sk="{number}"
):
    name: str
    number: int


class Timed(Entity, table=Table("timed", type_attribute=None), pk="{name}", sk="{at}"):
    name: str
    at: Annotated[datetime, Attribute("at", codec=codecs.ISO_MILLISECONDS)]


@pytest.mark.parametrize("entity", [Customer, Order, Numbered, Apart, Timed])
def test_no_entity_is_in_doubt_of_a_class_that_has_no_key_of_guard_items(entity: type[Entity]) -> None:
    assert in_doubt(mapping_of(entity)) is None


def doubted(entity: type[Entity], *values: dict[str, Any]) -> list[bool]:
    found = in_doubt(mapping_of(entity))
    assert found is not None
    return [found(one) for one in values]


def test_an_entity_is_in_doubt_if_all_its_keys_are_those_of_a_guard_item_or_token_item() -> None:
    slugs = [{"slug": one} for one in ("a", "title#x", "title", "titles#x", "#token#x", "#tokens")]
    assert doubted(Page, *slugs) == [False, True, False, False, True, False]
    keys = ["ab", "CUSTOMER#1 ORDER#1", "C#1 C#1", "name#1 name#2", "name#1 name#1", "#token#1 #token#1"]
    values = [dict(zip(("pk", "sk"), one.split() * 2, strict=False)) for one in keys]
    assert doubted(Existing, *values) == [False] * 4 + [True, True]


def test_an_entity_is_in_doubt_if_the_users_codec_reads_its_key_otherwise() -> None:
    assert doubted(Coded, {"number": Decimal(1)}, {"number": None}) == [False, True]
    assert doubted(Drifting, {"number": Decimal(1)}) == [True]
    assert read(item_of(Coded(number=Decimal(1))), wanted=(Coded,)) == [Coded(number=Decimal(1))]
