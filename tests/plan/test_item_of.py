"""``item_of`` gives the item that a save stores, and refuses what a save refuses."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dynaorm import Session, entity_of, inspect, item_of
from dynaorm.errors import DynaormError
from dynaorm.item.value import Item
from dynaorm.testing import tables_of
from tests.laws.test_writes import World, new_entity, value_for
from tests.laws.written_classes import SPECS, Spec, make

GIVEN_BY_THE_WRITE = {
    "_rev", "version_number", "version", "version_at", "created", "changed", "created_ms", "changedAt",
}  # fmt: skip


class Unstored(World):
    """A class without a table of an engine."""

    def __init__(self, spec: Spec) -> None:
        self.spec, self.kind = spec, make(spec)


def without(item: Item) -> dict[str, Any]:
    found = {name: value for name, value in item.items() if name not in GIVEN_BY_THE_WRITE}
    # The number that the write gives, alone or beside what the class declares.
    kept = {name: one for name, one in found.pop("kept", {"M": {}})["M"].items() if name != "number"}
    return {**found, "kept": {"M": kept}} if kept else found


def outcome(work: Any) -> Any:
    try:
        return without(work())
    except DynaormError as error:
        return type(error), str(error)


@given(spec=SPECS, data=st.data())
def test_it_is_what_a_save_stores(spec: Spec, data: st.DataObject) -> None:
    world = Unstored(spec)
    with Session(endpoint="memory:") as session:
        (table,) = tables_of(world.kind)
        session.create_table(table)
        entity = new_entity(world, data.draw)
        before, expected = dict(vars(entity)), outcome(lambda: item_of(entity))
        assert vars(entity) == before
        assert outcome(lambda: item_of(session.save(entity))) == expected
        if not inspect(entity).loaded:
            return
        item = item_of(entity)
        loaded = entity_of(item, world.kind)
        assert (item_of(loaded), inspect(loaded).changes) == (item, {})
        for name in set(world.kind.model_fields) - {"name"}:
            if data.draw(st.booleans()):
                vars(loaded)[name] = value_for(world, name, data.draw)
        expected = outcome(lambda: item_of(loaded))
        assert outcome(lambda: item_of(session.save(loaded))) == expected
