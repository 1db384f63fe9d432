"""What the actions of a plan weigh and cost, by DynamoDB's own rules.

A write costs one unit per started KB of the larger of the old and new image; a transaction doubles that. An index entry
costs one unit per started KB of what is projected, twice where its key changes (the old entry is deleted), and nothing
where the projected view stays as it is. Source: Amazon DynamoDB Developer Guide, "Read/write capacity mode".

A vector of a vector index counts as four bytes for each number, and its entries cost bytes of their own, which are no
write units.
"""

from collections.abc import Iterable

from dynaorm.entity.table import Table
from dynaorm.entity.table_index import GlobalIndex, LocalIndex, Projection, VectorIndex
from dynaorm.item.action import Action, ConditionCheck, Update, to_wire
from dynaorm.item.size import item_size, write_units
from dynaorm.item.value import Item
from dynaorm.plan.planned import Planned


def image_bytes(item: Item | None) -> int:
    return 0 if item is None else item_size(item)


def sent_bytes(action: Action) -> int:
    """What an action counts towards the 4 MB of a transaction: the items, keys and values of its request."""
    (body,) = to_wire(action).values()
    return sum(item_size(body.get(part, {})) for part in ("Item", "Key", "ExpressionAttributeValues"))


def item_units(planned: Planned) -> int:
    """Write units of the item itself, before a transaction doubles them."""
    table = planned.table
    return write_units(max(_billed_bytes(table, planned.before), _billed_bytes(table, planned.after)))


def _billed_bytes(table: Table, item: Item | None) -> int:
    """The bytes of an item, with a vector as 32-bit floats."""
    found = image_bytes(item)
    for name, dimensions in {one.vector: one.dimensions for one in table.vector_indexes}.items():
        if item is not None and name in item:
            found += len(name.encode()) + 4 * dimensions - item_size({name: item[name]})
    return found


def index_units(planned: Planned) -> int:
    """Write units of the index entries that follow.

    Whatever an item is, it is in the indexes whose keys it has: guards and versions where those are the table's own.
    """
    action = planned.action
    if isinstance(action, ConditionCheck) or (isinstance(action, Update) and planned.after is None):
        return 0
    indexes = [one for one in planned.table.indexes.values() if not isinstance(one, VectorIndex)]
    return sum(_entry_units(planned, planned.table, index) for index in indexes)


def _entry_units(planned: Planned, table: Table, index: GlobalIndex | LocalIndex) -> int:
    keys = [key.name for key in (*(index.pk or (table.pk,)), *index.sk)]
    before = _entry(table, planned.before, keys, index.projection)
    after = _entry(table, planned.after, keys, index.projection)
    if before == after:
        return 0
    if before is not None and after is not None and any(before[key] != after[key] for key in keys):
        return write_units(item_size(before)) + write_units(item_size(after))
    return write_units(max(image_bytes(before), image_bytes(after)))


def _entry(table: Table, item: Item | None, keys: Iterable[str], projection: Projection) -> Item | None:
    if item is None or any(key not in item for key in keys):
        return None
    if projection == "ALL":
        return item
    wanted = {*keys, *(key.name for key in table.keys)}
    if not isinstance(projection, str):
        wanted.update(projection)
    return {name: value for name, value in item.items() if name in wanted}
