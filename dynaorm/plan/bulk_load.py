"""The one write without a condition: an entity as a Put that replaces whatever is stored, for loading in bulk.

Rule 1. Only a class without guards, versions and totals can be written like this: guards and versions of the replaced
        item would be left behind, and totals would be wrong.
Rule 2. A Put that got no answer is never sent again later, because another writer may have written since. The item's
        revision says whether it was made.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from dynaorm.entity.declare.catalog import catalog_of, rivals_of
from dynaorm.entity.key import stored_key
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.state import Loaded
from dynaorm.errors import ItemTooLarge, UsageError
from dynaorm.item.action import Put
from dynaorm.item.json_body import encode_body
from dynaorm.item.prefix import scattered
from dynaorm.item.size import ITEM_LIMIT, item_size
from dynaorm.item.value import Item
from dynaorm.plan.effects import Effect
from dynaorm.plan.image import new_image
from dynaorm.plan.kinds.derived_kinds import why_read
from dynaorm.plan.kinds.own_item import OWN_ITEM, ItemPurpose
from dynaorm.plan.object_values import whole_values
from dynaorm.plan.plan import Plan
from dynaorm.plan.planned import Planned
from dynaorm.record import record


@record(quick=True)
class Load:
    """One entity to be loaded.

    Attributes:
        entity: the caller's object.
        mapping: its class.
        key: its primary key.
        item: all of what will be stored.
        text: the JSON of it.
        altered: the field values that validation changed, for the caller's object.
    """

    entity: Any
    mapping: EntityMapping
    key: Item
    item: Item
    text: bytes
    altered: Mapping[str, Any]

    @property
    def effect(self) -> Effect:
        """What becomes of the entity once its item is stored."""
        return Effect(self.entity, Loaded(self.item), self.altered or None)


def plan_of(loads: Sequence[Load], table: str) -> Plan:
    """The plan of the Puts that were sent for one key, to be settled if no answer came. The last entity is stored.

    It is made with an age past every window, so it is never sent again.
    """
    last = loads[-1]
    planned = Planned(
        Put(table, last.item),
        OWN_ITEM,
        ItemPurpose.REPLACE,
        last.mapping,
        last.key,
        after=last.item,
        revision=last.mapping.revision_of(last.item),
    )
    effects = tuple(load.effect for load in loads)
    return Plan(actions=(planned,), token=None, effects=effects, made_at=float("-inf"))


def load_of(entity: Any, revision: str, now: float) -> Load:
    """What loading an entity stores.

    Raises:
        InvalidValue: a value is not valid, or cannot be stored or be part of a key.
        ItemTooLarge: the item is larger than 400 KB.
    """
    mapping = mapping_of(type(entity))
    valid = whole_values(mapping, entity, now)
    key = mapping.primary_key.of(valid.values)
    item = new_image(mapping, key, valid.values, valid.encoded)
    if mapping.table.revision is not None:
        item = mapping.table.revision.stamped(item, None, revision)
    text = encode_body(scattered(item))
    # A value of a form that DynamoDB does not have today counts with its text in Python, which may be longer.
    if len(text) > ITEM_LIMIT // 4 and (size := item_size(item)) > ITEM_LIMIT:
        raise ItemTooLarge(key=stored_key(mapping, key), bytes=size)
    return Load(entity, mapping, key, item, text, valid.altered)


def check_loadable(entity: type[Any]) -> None:
    """Raises UsageError for a class that has other items besides its own or a numbered revision, or is not mapped."""
    mapping = mapping_of(entity)
    revision = mapping.table.revision
    if revision is not None and revision.kind == "N":
        raise UsageError(
            problem=f"{mapping.table} keeps the number {revision.name!r}, by which other writers see that an item "
            "changed, and bulk_load would set it back to 1",
            remedy="use session.save_many(...), which raises it",
        )
    family = [one for one in catalog_of(mapping.table).mappings.values() if one.root is mapping.root]
    for one in (mapping, *family, *rivals_of(mapping)):
        _check_class(entity, one)


def _check_class(entity: type[Any], mapping: EntityMapping) -> None:
    """``mapping``: the class, or one that shares its keys, so that its items may be replaced."""
    if why := why_read(mapping, "bulk_load"):
        name, other = entity.__name__, mapping.entity.__name__
        raise UsageError(
            problem=f"{name} {why}" if name == other else f"{name} shares its keys with {other}, which {why}",
            remedy="use session.save_many(...), which saves each with everything that belongs to it",
        )
