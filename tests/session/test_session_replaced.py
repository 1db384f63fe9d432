"""A class that is declared again, as in a notebook: the old one can no longer be read, and says so."""

from collections.abc import Callable
from typing import Any

import pytest

from dynaorm import Entity, GlobalIndex, Index, Key, Session, Table
from dynaorm.errors import UsageError

app = Table("app", indexes=[GlobalIndex("GSI1")])


def declare() -> Any:
    class Thing(Entity, table=app, pk="THING#{name}", sk="T"):
        name: str
        number: int = 0
        by_number = Index("GSI1", pk="{number:05d}", sk="{name}")

    return Thing


READS: dict[str, Callable[[Session, Any, Any], object]] = {
    "get": lambda session, old, _: session.get(old, name="a"),
    "consistent get": lambda session, old, _: session.get(Key(old, name="a"), consistent=True),
    "exists": lambda session, old, _: session.exists(old, name="a"),
    "get_many": lambda session, old, _: session.get_many([Key(old, name="a")]),
    "snapshot": lambda session, old, _: session.snapshot([Key(old, name="a")]),
    "refresh": lambda session, _, entity: session.refresh(entity),
    "query": lambda session, old, _: session.query(old, name="a").all(),
    "query of an index": lambda session, old, _: session.query(old.by_number, number=0).all(),
    "collection": lambda session, old, _: session.collection(old, name="a").all(),
    "scan": lambda session, old, _: session.scan(old).all(),
}


@pytest.mark.parametrize("read", READS)
def test_a_read_of_the_old_class_is_refused(session: Session, read: str) -> None:
    """It would find nothing, although the item is there."""
    old = declare()
    entity = session.save(old(name="a"))
    new = declare()
    with pytest.raises(UsageError, match="Thing was declared again"):
        READS[read](session, old, entity)
    assert session.get_one(new, name="a").name == "a"


def test_an_old_subclass_of_a_class_that_was_declared_again_is_refused(session: Session) -> None:
    base = declare()

    class Part(base):  # type: ignore[misc, valid-type]  # declared by a function
        pass

    part = session.save(Part(name="a"))
    declare()
    with pytest.raises(UsageError, match="or its base class was"):
        session.refresh(part)


def test_an_object_of_the_old_class_can_be_saved(session: Session) -> None:
    entity = session.save(declare()(name="a"))
    new = declare()
    entity.number = 5
    session.save(entity)
    assert session.get_one(new, name="a").number == 5
