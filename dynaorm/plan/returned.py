"""What an update returned, given to the caller's object: others may have written beside it.

Rule 1. Where no revision names one write, an update is conditional on what it was judged by, and on no more. So others
        may have changed the rest of the item. DynamoDB returns the item as the update left it, and the object becomes
        that.
Rule 2. What the object holds and was not saved, it keeps. If others changed that field, its snapshot still has the
        value that it was loaded with, and no revision: so a save of the field is refused.
"""

from collections.abc import Mapping
from typing import Any

from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.state import defaults_in, put_values, set_state, state_of
from dynaorm.errors import DecodeError
from dynaorm.item.value import AttributeValue, Item, same, same_items
from dynaorm.plan.object_values import unsaved_changes
from dynaorm.plan.planned import Effect


def hydrated(mapping: EntityMapping, item: Item) -> Any:
    """The entity of an item that was just written. Raises DecodeError, which says that it was."""
    try:
        return mapping.hydrate(item)
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
    # Without a revision, a save is conditional on the values themselves (Rule 2).
    if mapping.table.mark_of(found) is not None and mapping.table.revision is not None:
        return mapping.table.revision.without(found)
    return found
