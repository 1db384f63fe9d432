"""``item_of`` gives the item that a save stores, and refuses what a save refuses."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from dynaorm import Entity, Table, entity_of, inspect, item_of
from dynaorm.entity.state import Loaded, set_state, state_of
from dynaorm.errors import DynaormError, UsageError
from dynaorm.item.value import Item
from dynaorm.plan.intent import Save
from dynaorm.plan.own_item import ItemPurpose
from tests.laws.test_writes import World, new_entity, value_for
from tests.laws.written_classes import SPECS, Spec, make
from tests.plan.compiling import plan_of, saved

GIVEN_BY_THE_WRITE = {
    "_rev",
    "version_number",
    "version",
    "version_at",
    "created",
    "changed",
    "created_ms",
    "changedAt",
}


class Planned(World):
    """A class without a table of an engine."""

    def __init__(self, spec: Spec) -> None:
        self.spec, self.kind = spec, make(spec)


def _without(item: Item | None) -> dict[str, Any]:
    found = {name: value for name, value in (item or {}).items() if name not in GIVEN_BY_THE_WRITE}
    # The number that the write gives, alone or beside what the class declares.
    kept = {name: one for name, one in found.pop("kept", {"M": {}})["M"].items() if name != "number"}
    return {**found, "kept": {"M": kept}} if kept else found


def _stored(entity: Any) -> Item:
    """The item that the plan of a save leaves in the table."""
    for one in plan_of(Save(entity)).actions:
        if one.purpose in (ItemPurpose.INSERT, ItemPurpose.UPDATE):
            assert one.after is not None
            return one.after
    state = state_of(entity)
    assert state is not None
    return state.item


def _outcome(work: Any) -> Any:
    try:
        return _without(work())
    except DynaormError as error:
        return type(error), str(error)


@given(spec=SPECS, data=st.data())
def test_it_is_what_a_save_stores(spec: Spec, data: st.DataObject) -> None:
    world = Planned(spec)
    entity = new_entity(world, data.draw)
    before = dict(vars(entity))
    assert _outcome(lambda: item_of(entity)) == _outcome(lambda: _stored(entity))
    assert vars(entity) == before
    try:
        item = item_of(saved(entity))
    except DynaormError:
        return
    assert item == state_of(entity).item  # type: ignore[union-attr]  # it was saved
    loaded = entity_of(item, world.kind)
    assert (item_of(loaded), inspect(loaded).changes) == (item, {})
    for name in set(world.kind.model_fields) - {"name"}:
        if data.draw(st.booleans()):
            vars(loaded)[name] = value_for(world, name, data.draw)
    assert _outcome(lambda: item_of(loaded)) == _outcome(lambda: _stored(loaded))


class User(Entity, table=Table("app"), pk="USER#{name}", sk="U", versioned=True):
    name: str
    age: int = 0
    tags: list[str] = Field(default_factory=list)
    roles: set[str] = Field(default_factory=set)


@pytest.mark.parametrize("change", [{}, {"age": 2}], ids=["unchanged", "changed"])
def test_the_item_is_the_callers(change: dict[str, int]) -> None:
    """A tool that edits the item, as for an export, does not change what the entity was loaded as."""
    user = saved(User(name="a", tags=["x"], roles={"r"})).model_copy(update=change)
    stored, changes = item_of(user), inspect(user).changes
    changed: Any = item_of(user)
    changed["age"]["N"] = "9"
    changed["tags"]["L"].append({"S": "y"})
    changed["roles"]["SS"].clear()
    del changed["name"]
    assert item_of(user) == stored
    assert inspect(user).changes == changes


def test_an_entity_read_at_a_version_is_refused() -> None:
    user = saved(User(name="a"))
    state = state_of(user)
    assert state is not None
    set_state(user, Loaded(state.item, read_only=True))
    with pytest.raises(UsageError, match="read at a version"):
        item_of(user)


def test_what_is_no_entity_is_refused() -> None:
    with pytest.raises(UsageError, match="no entity class"):
        item_of({"name": "a"})
