"""Which items are read before intents can be planned, and why: all other writes are sent without reading.

Rule 1. An overwrite and a deletion by key read the item that they remove if guards, versions or totals may follow from
        it, because only the item tells which. An overwrite also reads it for a condition, for the time of its creation,
        and for a revision that counts; a deletion also if the caller wants it read, or another entity takes its place.
Rule 2. An edit by key reads its item unless it was planned without (``without_reading.py``).
Rule 3. A move reads the item that it deletes if no revision says that nobody wrote to it since it was loaded.
"""

from collections.abc import Iterable

from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.item.value import Item
from dynaorm.plan.intent import Deletion, Edit, Move, Save
from dynaorm.plan.kinds.derived_kinds import has_derived, why_read
from dynaorm.plan.merge_intents import ItemIntents


def items_to_read(merged: Iterable[ItemIntents]) -> list[tuple[EntityMapping, Item]]:
    """The items that must be read, consistently, before these intents can be planned."""
    found: list[tuple[EntityMapping, Item]] = []
    for one in merged:  # a loop, because every save asks
        if _needs_reading(one):
            found.append((one.mapping, one.key))  # noqa: PERF401 - see above
    return found


def _needs_reading(one: ItemIntents) -> bool:
    write, removal = one.write, one.removal
    if write is not None and removal is None and type(write.intent) is Save:
        # What is replaced may have guards, versions and totals, which only its item tells.
        return write.intent.overwrite and not _is_replaced_unread(write.mapping, write.intent)
    if write is not None and type(write.intent) is Edit and write.state is None:
        return write.blind is None
    if removal is not None and type(removal.intent) is Deletion and removal.state is None:
        # The same for what a deletion by key releases. A Put in its place would require that nothing is stored.
        return write is not None or removal.intent.read_first or has_derived(removal.mapping)
    if removal is not None and type(removal.intent) is Move:
        # Without a revision that names one write, no condition says that no attribute was added since the entity was
        # loaded. The move would leave it behind.
        return removal.state is not None and one.mapping.table.mark_of(removal.state.item) is None
    return False


def _is_replaced_unread(mapping: EntityMapping, save: Save) -> bool:
    """Whether an entity of the class is replaced by one PutItem: nothing depends on what it was."""
    return not (
        save.condition is not None
        or why_read(mapping, "a Put")
        or mapping.created
        # The next number follows from the one that is stored.
        or (mapping.table.revision is not None and mapping.table.revision.kind == "N")
    )
