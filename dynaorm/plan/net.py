"""The net change of one main item: what is believed to be stored, and what will be.

Every intent about an item ends in one ``Net``; guards, versions and actions are all derived from these.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Any

from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.item.condition import Condition
from dynaorm.item.update import Change
from dynaorm.item.value import AttributeValue, Item
from dynaorm.record import record


class Before(Enum):
    """What is known of the stored item."""

    ABSENT = "absent"
    KNOWN = "known"
    UNKNOWN = "unknown"


class Write(Enum):
    """What happens to it."""

    PUT = "put"
    UPDATE = "update"
    EDIT = "edit"
    DELETE = "delete"
    CHECK = "check"


# As names of the module: in Python 3.11 a member costs more to find in its class than a whole comparison.
PUT, UPDATE, EDIT, DELETE, CHECK = Write
ABSENT, KNOWN, UNKNOWN = Before


@record(frozen=False)
class Net:
    """One main item's change, being worked out.

    Attributes:
        mapping: the class of the item as it will be (as it is, for a deletion).
        key: its primary key.
        knowledge: what is known of the stored item.
        before: the stored item, where KNOWN: live, or a tombstone.
        before_mapping: its class, which may be another one of the family.
        from_read: it was read by us, not by the caller.
        write: what happens.
        after: the new image, where it is known.
        values: field values that ``after`` was encoded from, where that is cheaper than decoding it.
        edits: resolved changes, where the item is changed without being known.
        condition: the caller's condition, resolved.
        entities: the caller's objects that stand for this item.
        changed: the fields that changed, where known.
        is_edit: the change came from a partial update, not from the entity's own fields.
        as_loaded: a check wants the whole item to be as it was loaded.
        version: the number of the version it writes.
        revision: the revision it writes.
        settled: the totals that differ from what the caller's object holds.
    """

    mapping: EntityMapping
    key: Item
    knowledge: Before
    write: Write
    before: Item | None = None
    before_mapping: EntityMapping | None = None
    from_read: bool = False
    after: dict[str, AttributeValue] | None = None
    values: Mapping[str, Any] | None = None
    edits: tuple[Change, ...] = ()
    condition: Condition | None = None
    entities: tuple[Any, ...] = ()
    changed: frozenset[str] = frozenset()
    is_edit: bool = False
    as_loaded: bool = False
    version: int | None = None
    revision: str | None = None
    settled: frozenset[str] = frozenset()
