"""What a call is about is checked before anything is sent."""

from collections.abc import Callable
from typing import Any

import pytest

from dynaorm import Entity, F, Key, Session, Table
from dynaorm.errors import InvalidValue, UnknownField, UsageError
from dynaorm.testing import ScriptedTransport


class Stock(Entity, table=Table("target-app"), pk="STOCK#{sku}", sk="S"):
    sku: str
    note: str = ""


class Plain(Entity):
    name: str


OF_NO_CLASS: Any = Key(Stock, sku="a")
OF_NO_CLASS.entity = None


UPDATED = r"write update\(Key\(Stock, sku=\.\.\.\), \.\.\.\)"

Call = Callable[[Any], object]
REFUSED: dict[str, tuple[Call, type[Exception], str]] = {
    "an option beside a class": (
        lambda it: it.get(Stock, sku="a", version=2),
        UnknownField,
        r"write get\(Key\(Stock, sku=\.\.\.\), version=\.\.\.\)",
    ),
    "an option of get_one beside a class": (
        lambda it: it.get_one(Stock, sku="a", consistent=True),
        UnknownField,
        r"write get\(Key\(Stock, sku=\.\.\.\), consistent=\.\.\.\)",
    ),
    "no field": (lambda it: it.get(Stock, skuu="a"), UnknownField, "did you mean 'sku'"),
    "a missing field": (lambda it: it.get(Stock), UsageError, "sku is missing; give sku"),
    "a value that does not fit": (lambda it: it.get(Stock, sku=5), InvalidValue, r"Stock\.sku"),
    "a text": (lambda it: it.get("a"), UsageError, "neither an entity class nor a Key"),
    "none": (lambda it: it.get(None), UsageError, "neither an entity class nor a Key"),
    "an entity": (lambda it: it.get(Stock(sku="a")), UsageError, "neither an entity class nor a Key"),
    "a class without a table": (lambda it: it.get(Plain, name="x"), UsageError, "Plain is not mapped"),
    "an entity without a table": (lambda it: it.refresh(Plain(name="x")), UsageError, "Plain is not mapped"),
    "a value without a name": (lambda it: it.get(Stock, "a"), UsageError, r"write get\(Stock, sku=\.\.\.\)"),
    "exists without a name": (
        lambda it: it.exists(Stock, "a"),
        UsageError,
        r"write get\(Stock, sku=\.\.\.\)",
    ),
    "an update of a class": (lambda it: it.update(Stock, {"note": "b"}, sku="a"), UsageError, UPDATED),
    "an upsert of a class": (
        lambda it: it.upsert(Stock, {"note": "b"}),
        UsageError,
        r"write upsert\(Key\(Stock",
    ),
    "an update of a class in a block": (
        lambda it: it.plan_of(lambda tx: tx.update(Stock, {"note": "b"}, sku="a")),
        UsageError,
        UPDATED,
    ),
    "a field beside a key": (
        lambda it: it.update(Key(Stock, sku="a"), {"note": "b"}, sku="a"),
        UsageError,
        r"update\(\) has no option 'sku'",
    ),
    "a field that no key has": (lambda it: it.delete(Stock, skuu="a"), UnknownField, "did you mean 'sku'"),
    "a method of a query": (
        lambda it: it.query(Stock, sku="a", consistent=True),
        UnknownField,
        r"write query\(Stock, \.\.\.\)\.consistent\(\)",
    ),
    "a key of no class": (lambda it: it.delete(OF_NO_CLASS), UsageError, "no mapped class"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_names_nothing_stored_is_refused(name: str) -> None:
    call, error, said = REFUSED[name]
    transport = ScriptedTransport()
    with Session(transport=transport) as session, pytest.raises(error, match=said):
        call(session)
    assert transport.calls == []


def test_a_deletion_names_an_entity_by_class_and_fields() -> None:
    with Session(endpoint="memory:") as session:
        session.create_table(Table("target-app"))
        session.save_many([Stock(sku=sku) for sku in "abcd"])
        session.delete(Stock, sku="a")
        assert session.delete(Stock, sku="b", returning=True) == Stock(sku="b")
        with session.transaction() as tx:
            tx.delete(Stock, sku="c", condition=F.note == "")
        assert [stock.sku for stock in session.scan(Stock)] == ["d"]
