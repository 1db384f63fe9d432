"""Renewals: an entity whose validators changed since it was stored is stored as it loads.

Rule 1. Validators run whenever an item is loaded. What is stored, its index keys, guards and totals must be those of
        the values that load; a renewal writes all of them together, as a save would.
Rule 2. What is only spelled differently, and what is absent and has its default, stays as it is.
Rule 3. History does not change: version items stay as they are, and a renewal of versioned fields is a new version.
"""

from typing import NamedTuple

from dynaorm.entity.mapping.derive import index_keys
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.state import state_of
from dynaorm.errors import DynaormError
from dynaorm.item.value import AttributeValue, Item
from dynaorm.plan.changed_fields import changes_of
from dynaorm.plan.compiler import planned_changes
from dynaorm.plan.image import advance
from dynaorm.plan.item_change import ItemUpdate, StoredItem
from dynaorm.plan.planned import Planned
from dynaorm.plan.reads import Reads
from dynaorm.plan.unit_of_work import UnitOfWork


class Renewal(NamedTuple):
    """What a stored entity becomes if it is stored as it loads.

    Attributes:
        mapping: its class.
        item: the stored item.
        image: the item that loads as it is stored, with the index keys of its values; ``item`` if that does.
        changes: the fields that differ, with their new attribute values; None for absence, and for what lives in keys.
        is_stable: False if validators change their own results, so that no item loads as it is stored.
    """

    mapping: EntityMapping
    item: Item
    image: Item
    changes: dict[str, AttributeValue | None]
    is_stable: bool = True


def renewal_of(mapping: EntityMapping, item: Item) -> Renewal:
    """The renewal of an entity. Raises DecodeError, InvalidValue if the item does not fit its class."""
    changes = _changes(mapping, item)
    if not changes:
        return Renewal(mapping, item, item, changes)
    image = _advanced(mapping, item, changes)
    try:
        is_stable = not _changes(mapping, image)
    except DynaormError:
        is_stable = False
    return Renewal(mapping, item, image if is_stable else item, changes, is_stable)


def _changes(mapping: EntityMapping, item: Item) -> dict[str, AttributeValue | None]:
    entity = mapping.loader.hydrate(item)
    if mapping.rules.is_separate:
        return {}
    state = state_of(entity)
    assert state is not None
    # Totals are no values of the entity: they are verified by counting.
    renewed = frozenset(mapping.fields.keys() - mapping.maintained.keys())
    return changes_of(mapping, vars(entity), state, renewed=renewed)


def _advanced(
    mapping: EntityMapping, item: Item, changes: dict[str, AttributeValue | None]
) -> dict[str, AttributeValue]:
    values = vars(mapping.loader.hydrate(item))
    in_keys = {name: values[name] for name in changes if mapping.fields[name].in_key}
    image = advance(mapping, item, changes, in_keys)
    wanted = index_keys(mapping, mapping.subject(image, in_keys))
    return {name: value for name, value in image.items() if name not in mapping.made_up} | wanted


def renewal_actions(renewal: Renewal, reads: Reads, unit: UnitOfWork) -> list[Planned]:
    """The actions of a renewal; the item's own is the first.

    Raises:
        DecodeError: its revision is no text.
        DynaormError: a total cannot be changed.
    """
    mapping, item = renewal.mapping, renewal.item
    before = StoredItem(mapping, item, from_read=True)
    change = ItemUpdate(mapping, mapping.key_of(item), before, {**renewal.image}, frozenset(renewal.changes))
    return planned_changes([change], (), reads, unit)[0]
