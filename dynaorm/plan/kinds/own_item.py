"""An entity's own item, from which everything else follows: its action, what a refusal of it means, and its sentence.

What the action requires of the stored item is decided in ``required.py``.

Rule 1. If the refused action was compiled from a read of the session, or from the guess that a key was never used, the
        plan is compiled again. If it was compiled from the caller's entity, the caller gets an error.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from dynaorm.entity.declare.catalog import stored_class
from dynaorm.entity.foreign_item import not_found
from dynaorm.entity.mapping.derive import placed_in
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.mapping.place import IndexMapping, IndexPlaces
from dynaorm.errors import ConditionFailed, DecodeError, EntityNotFound, StaleEntity, StoreError, UsageError
from dynaorm.item.action import Action, ConditionCheck, Delete, Put, Update
from dynaorm.item.condition import Condition, holds
from dynaorm.item.update import SetTo
from dynaorm.item.value import AttributeValue, Item
from dynaorm.plan.intent import UnitOfWork
from dynaorm.plan.kinds.required import is_as_expected, required_of
from dynaorm.plan.kinds.versions import numbered
from dynaorm.plan.plan import (
    FailedAction,
    Judged,
    Kind,
    NeedsReplan,
    Operations,
    PartitionKey,
    Planned,
    Purpose,
)
from dynaorm.plan.stored import (
    ItemChange,
    ItemCheck,
    ItemEdit,
    ItemInsert,
    ItemUpdate,
    already_exists,
    standing,
)
from dynaorm.plan.values import difference


class ItemPurpose(Purpose):
    """Why an action on the item of an entity is in a plan."""

    INSERT = "insert"
    UPDATE = "update"
    UPSERT = "upsert"
    REPLACE = "replace"
    DELETE = "delete"
    TOMBSTONE = "bury"
    CHECK = "check"
    PURGE = "purge"


OPERATIONS: Final = frozenset(
    {"PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem", "GetItem", "BatchGetItem"}
)
"""The operations by which items of entities are written, and read before."""

_MAIN: Final = (ItemPurpose.INSERT, ItemPurpose.UPDATE, ItemPurpose.REPLACE)


class OwnItem(Kind):
    """The item of an entity, or its tombstone."""

    is_evidence = True

    def __reduce__(self) -> str:
        return "OWN_ITEM"

    def operations_of_writes(self, mapping: EntityMapping) -> Operations:
        return [(mapping.table, OPERATIONS)]

    def partition_keys(self, mapping: EntityMapping) -> Iterable[PartitionKey]:
        return [(mapping, mapping.table, mapping.partition)]

    def judged(self, failed: FailedAction, now: float) -> Judged:
        planned = failed.planned
        if planned.purpose is ItemPurpose.INSERT or (
            planned.purpose is ItemPurpose.REPLACE and planned.blind
        ):
            return _judge_insert(failed)
        return _judge_blind(failed, now) if planned.blind else _judge_known(failed)

    def reason(self, planned: Planned) -> str:
        text = _REASONS[planned.purpose].format(name=planned.name, provided=_provided(planned)) + _placed(
            planned
        )
        if (requires := planned.basis.requires) is not None:
            text += requires.said()
        is_said = planned.blind and planned.purpose is ItemPurpose.REPLACE
        if planned.basis.has_condition and not is_said:
            text += ", and only under the caller's condition"
        return f"{text}; read first, because {why}" if (why := planned.basis.why_read) else text


OWN_ITEM: Final = OwnItem()


def final_item(change: ItemChange, unit: UnitOfWork) -> Mapping[str, AttributeValue] | None:
    """The item that a change leaves, with its numbers and its revision; None if it leaves none, or it is not known.

    A revision that is a text is the same for the whole unit of work.
    """
    image: Item | None = change.image if type(change) is ItemInsert or type(change) is ItemUpdate else None
    image = numbered(change, image, unit)
    revision = change.mapping.table.revision
    if image is None or revision is None:
        return image
    before = None if change.before is None else change.before.item
    return revision.stamped(image, before, unit.write_id)


def own_action(
    change: ItemChange, image: Item | None, unit: UnitOfWork, *, is_told: bool = True
) -> Planned | None:
    """The action on the item of a change; None for a check that nothing asks for.

    ``image``: the item as it will be stored, if it is known. ``is_told``: DynamoDB returns what an update leaves of the
    item; a transaction returns nothing.
    """
    if type(change) is ItemCheck and not change.is_sent:
        return None
    before = change.before
    condition, basis = required_of(change, unit, is_told=is_told)
    action, purpose = _action(change, image, condition, unit)
    return Planned(
        action,
        OWN_ITEM,
        purpose,
        change.mapping,
        change.key,
        None if before is None else before.item,
        change.image if type(change) is ItemCheck else image,
        _mark(change, image, unit),
        basis,
    )


def _mark(change: ItemChange, image: Item | None, unit: UnitOfWork) -> str | None:
    """The revision by which the action's own commit is recognised; a number may be that of another write."""
    revision = change.mapping.table.revision
    is_written = image is not None or type(change) is ItemEdit
    return unit.write_id if is_written and revision is not None and revision.kind == "S" else None


def _action(
    change: ItemChange, image: Item | None, condition: Condition | None, unit: UnitOfWork
) -> tuple[Action, Purpose]:
    table, key = unit.table_name(change.mapping.table.name), change.key
    if type(change) is ItemInsert and image is not None:
        is_new = change.before is None and not change.replaces
        return Put(table, image, condition), ItemPurpose.INSERT if is_new else ItemPurpose.REPLACE
    if type(change) is ItemEdit:
        changes, revision = change.edits, change.mapping.table.revision
        if revision is not None:
            changes = (*changes, revision.change(unit.write_id))
        if (
            (kind := change.mapping.table.type_attribute) is not None
            and change.mapping.formerly
            and not change.creates
        ):
            changes = (*changes, SetTo((kind,), {"S": change.mapping.name}))
        return Update(
            table, key, changes, condition
        ), ItemPurpose.UPSERT if change.creates else ItemPurpose.UPDATE
    if type(change) is ItemCheck:
        assert condition is not None  # a check requires at least that the item exists
        return ConditionCheck(table, key, condition), ItemPurpose.CHECK
    if image is None:
        return Delete(table, key, condition), ItemPurpose.DELETE
    if type(change) is ItemUpdate:
        return Update(table, key, difference(change.before.item, image), condition), ItemPurpose.UPDATE
    return Put(table, image, condition), ItemPurpose.TOMBSTONE


# -- refusals ----------------------------------------------------------------------------------------------------------


def _judge_insert(failed: FailedAction) -> StoreError | NeedsReplan:
    planned, item = failed.planned, failed.item
    if item is None:
        return ConditionFailed(key=planned.subject)
    # Of what is replaced without being read, only a read tells whether it may be, or of what class it is.
    if planned.purpose is ItemPurpose.REPLACE:
        return NeedsReplan({planned.ident: item})
    if planned.from_read or planned.mapping.undeleted(item) is None:
        return NeedsReplan({planned.ident: item})
    return already_exists(planned.mapping, planned.entity_key, planned.after or {}, item)


def _judge_known(failed: FailedAction) -> StoreError | NeedsReplan:
    planned, item = failed.planned, failed.item
    mapping, key = planned.mapping, planned.subject
    if item is not None and is_as_expected(planned, item):
        return _condition_failed(planned, item)
    if planned.from_read:
        return NeedsReplan({planned.ident: item})
    there = mapping.undeleted(item)
    current = None if there is None else mapping.revision_of(there)
    expected = None if planned.before is None else mapping.revision_of(planned.before)
    return StaleEntity(key=key, expected=expected, found=current, stored=standing(mapping, item))


def _judge_blind(failed: FailedAction, now: float) -> StoreError | NeedsReplan:
    planned, item = failed.planned, failed.item
    mapping, key = planned.mapping, planned.subject
    creates = planned.purpose is ItemPurpose.UPSERT
    there = mapping.undeleted(item)
    # An expired entity can be deleted.
    if there is None or (planned.purpose is not ItemPurpose.DELETE and mapping.is_expired(there, now)):
        # What has expired, or a deletion left, is replaced by an insert, which has to know it.
        if creates and item is not None:
            return NeedsReplan({planned.ident: item})
        if creates:
            return ConditionFailed(key=key)
        return EntityNotFound(key=key)
    stored = stored_class(mapping, there)
    if stored is None or not issubclass(stored.entity, mapping.entity):
        return NeedsReplan({planned.ident: there}) if creates else not_found(mapping, key, there, now)
    attribute = mapping.table.type_attribute
    revision = mapping.table.revision
    is_foreign = revision is not None and (revision.is_foreign(there) or not holds(revision.own, there))
    # The plan was that of an item of this very class as dynaorm writes it. With the item, another one is made.
    if stored is not mapping or is_foreign or (attribute is not None and attribute not in there):
        return NeedsReplan({planned.ident: there})
    if planned.basis.bounds is not None and not holds(planned.basis.bounds, there):
        # With the item, the rule itself can be checked, and the caller's condition as well.
        return NeedsReplan({planned.ident: there})
    return _condition_failed(planned, there)


def _condition_failed(planned: Planned, item: Item) -> StoreError:
    """The error where an item is as it was expected, and a condition does not hold: a rule's, or the caller's."""
    mapping, requires = planned.mapping, planned.basis.requires
    refusal = None if requires is None else requires.refusal(planned.subject, mapping, item)
    return refusal or ConditionFailed(key=planned.subject, stored=standing(mapping, item))


# -- sentences ---------------------------------------------------------------------------------------------------------

_REASONS: Final[Mapping[Purpose, str]] = {
    ItemPurpose.INSERT: "insert {name}, if nothing is stored under its key",
    ItemPurpose.UPDATE: "write what changed of {name}{provided}",
    ItemPurpose.UPSERT: "create {name} if it is not stored, otherwise write the changes",
    ItemPurpose.REPLACE: "replace {name}{provided}",
    ItemPurpose.DELETE: "delete {name}{provided}",
    ItemPurpose.TOMBSTONE: "delete {name}, leaving a tombstone that keeps its version number{provided}",
    ItemPurpose.CHECK: "write nothing, but refuse everything unless {name} is as expected",
    ItemPurpose.PURGE: "remove the tombstone of {name}, the last of its items",
}


def _provided(planned: Planned) -> str:
    if planned.blind and planned.purpose is ItemPurpose.REPLACE:
        only = ", if the condition on what is replaced holds" if planned.basis.has_condition else ""
        return f"{only}, or insert it if nothing is stored under its key"
    if planned.blind:
        return ", if it exists"
    if planned.expected is not None:
        return f", if its revision is still {planned.expected}"
    if planned.expected_values is not None:
        return ", if what it depends on is unchanged"
    return ", whatever is stored"


def _placed(planned: Planned) -> str:
    """The places in indexes that an entity is in, or leaves, under a condition."""
    mapping, found = planned.mapping, []
    if planned.after is None or planned.purpose not in _MAIN:
        return ""
    for index in mapping.places.values():
        if all(place.when is None for place in index.places):
            continue
        before, after = (_place_in(mapping, index, item) for item in (planned.before, planned.after))
        if after is not None and after.when is not None:
            text = after.when.text(mapping.secrets.fields)
            why = f", because {text}" if text else ""
            found.append(f"; it is in {after.attribute_name} of {index.name}{why}")
        elif before is not None and before is not after:
            found.append(f"; it leaves {before.attribute_name} of {index.name}")
    return "".join(found)


def _place_in(mapping: EntityMapping, index: IndexPlaces, item: Item | None) -> IndexMapping | None:
    """The place of a stored item in an index; None if it has none, or cannot be read."""
    try:
        placed = placed_in(mapping, index, mapping.subject(item)) if item is not None else None
    except (DecodeError, UsageError):
        return None
    return placed[0] if placed is not None else None
