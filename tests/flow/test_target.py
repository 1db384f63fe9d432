"""What a call is about: a key, an entity, or a class and fields."""

import pytest

from dynaorm import Entity, Key, Table
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.state import state_of
from dynaorm.errors import InvalidValue, UnknownField, UsageError
from dynaorm.flow.history import as_stored
from dynaorm.flow.target import Target, key_and_options, target_of
from dynaorm.item.value import Item

app = Table("target-app")
KEY: Item = {"PK": {"S": "STOCK#a"}, "SK": {"S": "S"}}


class Stock(Entity, table=app, pk="STOCK#{sku}", sk="S"):
    sku: str


class Fragile(Stock):
    padding: int = 0


class Plain(Entity):
    name: str


def test_a_key_names_class_and_primary_key() -> None:
    assert target_of(Key(Stock, sku="a")) == Target(mapping_of(Stock), KEY)


def test_a_new_entity_names_the_key_its_fields_render() -> None:
    assert target_of(Stock(sku="a")) == Target(mapping_of(Stock), KEY)


def test_a_loaded_entity_names_the_key_it_is_stored_under() -> None:
    stock = mapping_of(Stock).hydrate({**KEY, "sku": {"S": "a"}})
    stock.sku = "b"
    assert target_of(stock) == Target(mapping_of(Stock), KEY, state_of(stock))
    assert target_of(stock).name == Key(Stock, sku="a")


def test_the_stored_type_decides_the_class() -> None:
    target = target_of(Key(Stock, sku="a"))
    assert as_stored(target, {**KEY, "_type": {"S": "Fragile"}}).mapping is mapping_of(Fragile)
    assert as_stored(target, {**KEY, "_type": {"S": "Unknown"}}).mapping is mapping_of(Stock)


def test_a_class_and_fields_name_a_key_and_a_key_takes_options() -> None:
    assert key_and_options(Stock, {"sku": "a"}) == (Key(Stock, sku="a"), {})
    assert key_and_options(Key(Stock, sku="a"), {"version": 2}) == (Key(Stock, sku="a"), {"version": 2})


def test_every_keyword_after_a_class_is_a_field() -> None:
    with pytest.raises(UnknownField, match=r"version.*use one of sku"):
        key_and_options(Stock, {"sku": "a", "version": 2})
    with pytest.raises(UnknownField, match="did you mean 'sku'"):
        key_and_options(Stock, {"skuu": "a"})


def test_a_missing_or_unfit_key_field_is_refused() -> None:
    with pytest.raises(UsageError, match="sku is missing; give sku="):
        key_and_options(Stock, {})
    with pytest.raises(InvalidValue, match=r"Stock\.sku"):
        key_and_options(Stock, {"sku": 5})


@pytest.mark.parametrize("named", ["a", 5, None, Stock(sku="a")])
def test_neither_class_nor_key_is_refused(named: object) -> None:
    with pytest.raises(UsageError, match="neither an entity class nor a Key"):
        key_and_options(named, {})


def test_a_class_without_a_table_is_refused() -> None:
    with pytest.raises(UsageError, match="Plain is not mapped"):
        key_and_options(Plain, {"name": "x"})
    with pytest.raises(UsageError, match="Plain is not mapped"):
        target_of(Plain(name="x"))


def test_a_key_of_no_class_is_refused() -> None:
    key = Key(Stock, sku="a")
    key.entity = None
    with pytest.raises(UsageError, match="no mapped class"):
        target_of(key)
