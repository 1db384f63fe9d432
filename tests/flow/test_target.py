"""What a call is about: a key, an entity, or a class and fields."""

import pytest

from dynaorm import Entity, Key, Table
from dynaorm.errors import InvalidValue, UnknownField, UsageError
from dynaorm.flow.target import key_and_options, target_of

app = Table("target-app")


class Stock(Entity, table=app, pk="STOCK#{sku}", sk="S"):
    sku: str


class Plain(Entity):
    name: str


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
