"""No write and no condition has a value that is nested more deeply than DynamoDB stores: 32 levels."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dynaorm import F, Key, Session, item_of
from dynaorm.errors import InvalidValue
from dynaorm.testing import FaultyTransport, load_seeds
from tests.cast.orders import Bag, Place
from tests.cast.tables import app


def deep(levels: int) -> Any:
    """A value whose text is on this level, if the value itself is on the first."""
    value: Any = "x"
    for level in range(levels - 1):
        value = {"n": value} if level % 2 else [value]
    return value


BAG = Key(Bag, name="a")
WRITES: dict[str, tuple[int, Callable[[Session, Any], object]]] = {
    "insert": (32, lambda session, value: session.save(Bag(name="b", extra=value))),
    "insert of a part": (31, lambda session, value: session.save(Bag(name="b", found=[1, value]))),
    "insert of a model": (
        30,
        lambda session, value: session.save(Bag(name="b", place=Place(notes={"a": value}))),
    ),
    "overwrite": (32, lambda session, value: session.save(Bag(name="a", extra=value), overwrite=True)),
    "update by key": (32, lambda session, value: session.update(BAG, F.extra.set(value))),
    "a path into a dict": (31, lambda session, value: session.update(BAG, F.parts["k"].set(value))),
    "a path into a model": (
        30,
        lambda session, value: session.update(BAG, F.place.notes["k"].set(value)),
    ),
    "if missing": (31, lambda session, value: session.update(BAG, F.parts["z"].set_if_missing(value))),
    "append": (31, lambda session, value: session.update(BAG, F.found.append(value))),
    "prepend": (31, lambda session, value: session.update(BAG, F.found.prepend(value))),
    "upsert": (32, lambda session, value: session.upsert(Key(Bag, name="c"), F.extra.set(value))),
    "save_many": (32, lambda session, value: session.save_many([Bag(name="b", extra=value)])),
    "bulk_load": (32, lambda session, value: session.bulk_load([Bag(name="b", extra=value)])),
    "item_of": (32, lambda _, value: item_of(Bag(name="b", extra=value))),
    "condition": (
        32,
        lambda session, value: session.update(BAG, F.found.append(1), condition=F.extra != value),
    ),
    "condition on a part": (
        32,
        lambda session, value: session.update(BAG, F.found.append(1), condition=F.parts["k"] != value),
    ),
    "filter": (32, lambda session, value: session.query(Bag, name="a").filter(F.extra == value).all()),
}


@pytest.mark.parametrize("way", WRITES)
def test_a_value_on_level_33_is_refused_before_anything_is_written(
    session: Session, wire: FaultyTransport, way: str
) -> None:
    most, write = WRITES[way]
    bag = session.save(Bag(name="a", parts={"k": 1}))
    wire.calls.clear()
    for levels in (most + 1, 240, 900):
        with pytest.raises(
            Exception, match=r"Bag\.\w+ = .*nested too deeply: DynamoDB has 32 levels"
        ) as caught:
            write(session, deep(levels))
        failures = getattr(caught.value, "failures", None)
        error = failures[0][1] if failures else caught.value
        assert isinstance(error, InvalidValue)
        assert str(error).endswith("Attribute(codec=PYNAMODB_JSON)")
    assert {call.operation for call in wire.calls} <= {"GetItem"}, "an update may read the item first"
    assert session.get(BAG) == bag
    write(session, deep(most))


def test_a_loaded_entity_with_a_value_on_level_33_is_refused_before_anything_is_sent(
    session: Session, wire: FaultyTransport
) -> None:
    bag = session.save(Bag(name="a"))
    wire.calls.clear()
    for changes in ({"extra": deep(33)}, {"parts": {"k": deep(32)}}, {"place": Place(notes={"a": deep(31)})}):
        with pytest.raises(InvalidValue, match="nested too deeply"):
            session.save(bag.model_copy(update=changes))
        with pytest.raises(InvalidValue, match="nested too deeply"):
            session.update(bag, changes)
    assert wire.calls == []
    bag.extra = deep(32)
    session.save(bag)
    assert session.get_one(BAG).extra == deep(32)


def test_a_seed_on_level_33_is_refused_before_anything_is_sent(
    session: Session, wire: FaultyTransport, tmp_path: Path
) -> None:
    path = tmp_path / "seeds.jsonl"
    path.write_text(json.dumps({"Bag": {"name": "a", "extra": deep(33)}}))
    with pytest.raises(Exception, match=r"Bag\.extra = .*nested too deeply"):
        load_seeds(session, path, app)
    assert wire.calls == []
    path.write_text(json.dumps({"Bag": {"name": "a", "extra": deep(32)}}))
    load_seeds(session, path, app)
    assert session.get_one(BAG).extra == deep(32)
