"""What becomes of the caller's objects: once a plan is committed, each takes over its new item, revision and values.

Rule 1. An object changes only after the commit, and gets what is stored: what validation made of its values, too.
Rule 2. Where no revision names one write, an update is conditional on what it was judged by, and on no more. So others
        may have changed the rest of the item. DynamoDB returns the item as the update left it, and the object becomes
        that.
Rule 3. What the object holds and was not saved, it keeps. If others changed that field, its snapshot still has the
        value that it was loaded with, and no revision: so a save of the field is refused.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from copy import deepcopy
from datetime import datetime
from typing import Any, Final

from dynaorm.entity.mapping.equal import is_equal
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.state import (
    Loaded,
    Unsettled,
    defaults_in,
    put_values,
    set_state,
    state_of,
    unsettled_of,
)
from dynaorm.errors import DecodeError
from dynaorm.item.value import AttributeValue, Item, same, same_items
from dynaorm.plan.item_change import ItemChange, ItemCheck, ItemDelete, ItemInsert, ItemUpdate
from dynaorm.plan.object_values import unsaved_changes
from dynaorm.record import record, replace

_NOT_LOADED: Final = Loaded({})
_MISSING: Final = object()
# Every save with a time of a write has such values, and a copy of a datetime takes 3 µs.
_UNCHANGEABLE: Final = frozenset({type(None), bool, int, float, str, bytes, datetime})


@record(quick=True)
class Effect:
    """What an entity object becomes once the plan is committed.

    Attributes:
        entity: the caller's object.
        state: its next snapshot; None: it is new again.
        values: the fields that differ from the object's: those of a partial update, and those that validation changed.
        spares_frozen: a frozen object gets neither values nor snapshot: an update returns another object, and totals
            must be read again. It gets values that validation changed, because the caller asked to save them.
        before: what the object held in these fields when the plan was made. A field that holds something else by now
            was changed while the outcome was not known, and keeps that. None: the object gets all ``values``.
    """

    entity: Any
    state: Loaded | None
    values: Mapping[str, Any] | None = None
    spares_frozen: bool = False
    before: Mapping[str, Any] | None = None

    def __repr__(self) -> str:
        return f"<Effect on {self.entity!r}>"

    def apply(self) -> None:
        if self.values is None:
            set_state(self.entity, self.state)
        elif self.spares_frozen and type(self.entity).model_config.get("frozen"):
            self.settle_as_before()
        else:
            put_values(self.entity, self._values_to_put(self.values))
            set_state(self.entity, self.state)

    def _values_to_put(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        before, held = self.before, vars(self.entity)
        if before is None:
            return values
        return {
            name: value
            for name, value in values.items()
            if is_equal(held.get(name, _MISSING), before.get(name, _MISSING))
        }

    def with_item(self, mapping: EntityMapping, item: Item) -> "Effect":
        """The same for the item that is stored, which may differ in times, version numbers and totals."""
        assert self.state is not None
        fresh = vars(mapping.loader.hydrate(item)) if self.values is not None else {}
        values = None if self.values is None else {name: fresh[name] for name in self.values}
        return replace(self, state=self.state.followed_by(item), values=values)

    def with_revision(self, mapping: EntityMapping, revision: str) -> "Effect":
        """The same with the revision that an equal block wrote."""
        attribute = mapping.table.revision_attribute
        assert self.state is not None
        assert attribute is not None
        return replace(self, state=replace(self.state, item={**self.state.item, attribute: {"S": revision}}))

    def is_awaited(self, plan: object) -> bool:
        """Whether the entity still waits for the outcome of a plan; it may have been settled and saved since."""
        unsettled = unsettled_of(self.entity)
        return unsettled is not None and unsettled.plan is plan

    def for_object(self, entity: Any, values: Mapping[str, Any] | None = None) -> "Effect":
        """The same for another object, with other values if given."""
        if values is None:
            return replace(self, entity=entity)
        values = {**values, **(self.values or {})}
        return replace(self, entity=entity, values=values, spares_frozen=True, before=held_in(entity, values))

    def unsettle(self, plan: object) -> None:
        """Remember that the outcome of a plan is not known."""
        set_state(self.entity, Unsettled(plan, self, state_of(self.entity)))

    def settle_as_before(self) -> None:
        """Forget the plan: it is not in effect."""
        set_state(self.entity, state_of(self.entity))


def held_in(entity: Any, names: Iterable[str]) -> dict[str, Any]:
    """What an object holds in these fields, copied, so that a later change in place is noticed."""
    held = vars(entity)
    return {name: _copied(held[name]) for name in names if name in held}


def _copied(value: Any) -> Any:
    if type(value) not in _UNCHANGEABLE:
        # A value without a copy that equals it counts as changed only if another one takes its place.
        with suppress(Exception):
            copy = deepcopy(value)
            return copy if is_equal(copy, value) else value
    return value


# -- of a change -------------------------------------------------------------------------------------------------------


def effects_of(change: ItemChange, image: Item | None) -> list[Effect]:
    """What becomes of the caller's objects: a written one is loaded, a deleted one is new again."""
    if type(change) is ItemInsert and image is not None and change.entity is not None:
        state = change.state or _NOT_LOADED
        effects = [_written(change, (change.entity, state), image, change.refreshed)]
        if change.deleted is not None and change.deleted is not change.entity:
            effects.append(Effect(change.deleted, None))
        return effects
    if type(change) is ItemUpdate and change.loaded is not None and image is not None:
        names = change.changed if change.is_edit else change.refreshed
        return [_written(change, change.loaded, image, names)]
    if type(change) is ItemDelete and change.entity is not None:
        return [Effect(change.entity, None)]
    if type(change) is ItemCheck and change.loaded is not None and change.altered:
        return [_giving(change.loaded.entity, change.loaded.state, change.altered)]
    return []


def _written(
    change: ItemInsert | ItemUpdate, loaded: tuple[Any, Loaded], image: Item, names: frozenset[str]
) -> Effect:
    """An object is loaded from the image that is stored of it, and takes its values of some fields from that.

    ``loaded``: the object, and its snapshot before.
    """
    entity, state = loaded
    if not names:
        return _giving(entity, state.followed_by(image), change.altered)
    fields, fresh = change.mapping.fields, change.mapping.loader.hydrate(image)
    defaults = defaults_in(fresh, {fields[name].attribute for name in names & fields.keys()})
    values = {**change.altered, **{name: vars(fresh)[name] for name in names}}
    return _giving(entity, state.followed_by(image, defaults), values, spares_frozen=True)


def _giving(entity: Any, state: Loaded, values: Mapping[str, Any], *, spares_frozen: bool = False) -> Effect:
    if not values:
        return Effect(entity, state)
    return Effect(entity, state, values, spares_frozen, held_in(entity, values))


# -- of the item that DynamoDB returned --------------------------------------------------------------------------------


def hydrated(mapping: EntityMapping, item: Item) -> Any:
    """The entity of an item that was just written. Raises DecodeError, which says that it was."""
    try:
        return mapping.loader.hydrate(item)
    except DecodeError as problem:
        problem.problem = f"The item was written, but it does not load: {problem.problem}"
        raise


def take_returned(effect: Effect, mapping: EntityMapping, item: Item) -> None:
    """Give an object what others wrote beside its update; ``effect`` has been applied. Raises as ``hydrated``."""
    entity, state = effect.entity, effect.state
    # A frozen object may have been spared.
    if state is None or state_of(entity) is not state or same_items(item, state.item):
        return
    fields = {name: field for name, field in mapping.fields.items() if not field.in_key}
    others = [
        name for name, field in fields.items() if not same(field.stored_in(item), field.stored_in(state.item))
    ]
    fresh = hydrated(mapping, item)
    unsaved = unsaved_changes(mapping, entity, state).keys()
    # What others wrote may also have changed what validators and factories make of it.
    taken = (mapping.dependence.dependents(others) & mapping.fields.keys()) - unsaved
    put_values(entity, {name: vars(fresh)[name] for name in taken})
    snapshot = _snapshot(mapping, item, state.item, [name for name in others if name in unsaved])
    attributes = {fields[name].attribute for name in taken if name in fields}
    set_state(entity, state.followed_by(snapshot, defaults_in(fresh, attributes)))


def _snapshot(
    mapping: EntityMapping, item: Item, before: Mapping[str, AttributeValue], unsaved: list[str]
) -> Item:
    """The item, with the fields that others changed and the object did not save as they were."""
    if not unsaved:
        return item
    found = dict(item)
    for name in unsaved:
        for attribute in mapping.fields[name].attributes:
            found.pop(attribute, None)
            if attribute in before:
                found[attribute] = before[attribute]
    # Without a revision, a save is conditional on the values themselves (Rule 3).
    if mapping.table.mark_of(found) is not None and mapping.table.revision is not None:
        return mapping.table.revision.without(found)
    return found
