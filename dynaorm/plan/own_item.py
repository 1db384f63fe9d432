"""An entity's own item: what a write requires of it, the action, and what a refusal means."""

from collections.abc import Iterable, Mapping
from typing import Final

from dynaorm.entity.declare.catalog import cached_per_table, entities_of, expiring, of_type, stored_class
from dynaorm.entity.foreign_item import not_found
from dynaorm.entity.mapping.derive import placed_in
from dynaorm.entity.mapping.index_places import IndexMapping, IndexPlaces
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.table import Table
from dynaorm.errors import ConditionFailed, DecodeError, EntityNotFound, StaleEntity, StoreError, UsageError
from dynaorm.failure import counted
from dynaorm.item.action import Action, ConditionCheck, Delete, Put, Update
from dynaorm.item.condition import (
    Attr,
    Compare,
    Condition,
    Missing,
    all_of,
    any_of_conditions,
    equals,
    exists,
    holds,
    missing,
    render,
)
from dynaorm.item.path import Path, Placeholders, value_at
from dynaorm.item.update import SetTo
from dynaorm.item.value import AttributeValue, Item, same
from dynaorm.plan.intent import UnitOfWork
from dynaorm.plan.plan import (
    NOTHING_EXPECTED,
    Basis,
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
    ItemDelete,
    ItemEdit,
    ItemInsert,
    ItemUpdate,
    StoredItem,
    already_exists,
    refuse_other_revision,
    standing,
)
from dynaorm.plan.values import difference
from dynaorm.plan.versions import numbered

# What a write requires of the stored item: the condition of its action, and what the condition was made of.
#
# Rule 1. A key is free if nothing is stored under it, or what is stored has expired. Where the class has expiry times,
#         every item with one that is past has; where it has none, only an item whose type says that it is of a class
#         with them. What a deletion left is in the way, until a read has found it.
# Rule 2. What has expired is not there for an edit and a check by key. A deletion by key may find it.
# Rule 3. Of an item that is known, only the revision is required, if it names one write. Without such a revision, the
#         values are required that the write relies on: ``_relied_on`` says which.
# Rule 4. The caller's condition, and those of other rules, are required beside all this.
#
# These flags meet. ``before`` is the stored item, if it is known; ``from_read`` and ``as_loaded`` are flags of it.
#
# | change | flags | required |
# |---|---|---|
# | insert | | the key is free |
# | insert | ``found_nothing`` | the key is free, as a read found it |
# | insert | ``replaces`` | the key is free, or has an entity of this very class for which ``replacing`` holds |
# | insert, ``before`` | | its revision, or all its values |
# | insert, ``before`` | ``from_read`` | its revision, or what was there and what keys and derived items are made of |
# | insert, ``before`` | ``as_loaded`` | its revision, or all its values, read or not |
# | update | | its revision, or what changes, what that is judged by, and what keys and derived items are made of |
# | update | not ``is_told`` | its revision, or what changes, and all fields unless they are too many |
# | update | ``as_loaded`` | its revision, or all its values |
# | delete, check | | there is an entity of the class |
# | delete, check, ``before`` | any | its revision, or all its values |
# | edit | | there is an entity of the class, and ``bounds`` hold |
# | edit | ``creates`` | the same, or nothing is stored |
#
# An insert that ``replaces`` has read nothing, so it never has ``found_nothing``; neither has a ``before``. An action
# is ``blind`` if it has no ``before``, but an insert only if it ``replaces``. ``from_read``, and ``found_nothing``
# like it, says whom a refusal concerns: not the caller, but the plan, which is compiled again.

# A condition that compares fewer attributes is short enough: DynamoDB accepts 300 operators.
_MANY: Final = 100


def required_of(change: ItemChange, unit: UnitOfWork, *, is_told: bool) -> tuple[Condition | None, Basis]:
    """The condition of the action on the item of a change, and what it was made of.

    ``is_told``: as for ``own_action``. Raises UsageError if the condition is too long for DynamoDB.
    """
    before = change.before
    expected, expected_values = (
        (None, None) if before is None else _expectation(change, before, is_told=is_told)
    )
    bounds = change.bounds if type(change) is ItemEdit else None
    requires = change.requires if type(change) is ItemDelete else None
    condition = _required(change, expected, expected_values, unit)
    if type(change) is ItemEdit and change.creates:
        condition = all_of(_absent_or(change.mapping, all_of(condition, bounds)), change.condition)
    elif change.condition is not None or bounds is not None:
        condition = all_of(condition, change.condition, bounds)
    if requires is not None:
        condition = all_of(condition, requires.condition(change.mapping))
    if expected_values is not None and condition is not None:
        _check_length(change.mapping, condition, len(expected_values))
    has_condition = change.condition is not None or (
        type(change) is ItemInsert and change.replacing is not None
    )
    # An insert knows that nothing is stored under its key, or guesses it.
    is_blind = before is None and (type(change) is not ItemInsert or change.replaces)
    from_read = (
        before.from_read if before is not None else type(change) is ItemInsert and change.found_nothing
    )
    if before is None and not (is_blind or from_read or has_condition):
        return condition, NOTHING_EXPECTED  # of most inserts
    why_read = "" if before is None else before.why_read
    basis = Basis(expected, expected_values, has_condition, is_blind, from_read, bounds, requires, why_read)
    return condition, basis


def is_as_expected(planned: Planned, item: Item | None) -> bool:
    """Whether an item has the revision, or without one the values, that an action requires."""
    if item is None:
        return False
    if planned.expected is not None:
        return planned.mapping.table.mark_of(item) == planned.expected
    values = planned.expected_values or {}
    return all(same(value_at(item, path), value) for path, value in values.items())


def _required(
    change: ItemChange,
    expected: str | None,
    expected_values: dict[Path, AttributeValue | None] | None,
    unit: UnitOfWork,
) -> Condition | None:
    mapping, table = change.mapping, change.mapping.table
    expiry = mapping.expiry
    if type(change) is ItemDelete:
        expiry = None  # an expired entity can be deleted
    if type(change) is ItemInsert and change.before is None:
        absent = missing(table.pk.name)
        if expiry is not None:
            free = any_of_conditions(absent, expiry.condition(unit.now))
        else:  # Most tables have no expiry times.
            free = absent if table.expiry is None else _absent_or_expired(mapping, absent, unit)
        if not change.replaces:
            return free
        of_class = _required_of_class(mapping, is_there=False, is_written=True)
        replaced = all_of(of_class, change.replacing)
        return None if replaced is None else any_of_conditions(free, replaced)
    if expected is not None and table.revision_attribute is not None:
        return equals(table.revision_attribute, {"S": expected})
    if expected_values is not None:
        return all_of(
            exists(table.pk.name),
            *(
                Missing(path) if value is None else Compare(Attr(path), "=", value)
                for path, value in expected_values.items()
            ),
        )
    of_class = _required_of_class(
        mapping,
        is_there=not (type(change) is ItemEdit and change.creates),
        is_written=type(change) is not ItemCheck,
    )
    if expiry is None:
        return of_class
    return all_of(of_class, ~expiry.condition(unit.now))


def _absent_or_expired(mapping: EntityMapping, absent: Condition, unit: UnitOfWork) -> Condition:
    """The condition that nothing is stored under a key of the class, or an expired item of another class."""
    others, table = expiring(mapping), mapping.table
    if not others or table.expiry is None or table.type_attribute is None:
        return absent
    is_over = of_type(others, table.type_attribute) & table.expiry.condition(unit.now)
    return any_of_conditions(absent, is_over)


def _required_of_class(mapping: EntityMapping, *, is_there: bool, is_written: bool) -> Condition | None:
    """What an action by key requires of every item of the class. It is made and rendered once."""
    made = cached_per_table(mapping.table, _conditions_made)
    kind = mapping, is_there, is_written
    if kind not in made:
        table = mapping.table
        made[kind] = all_of(
            exists(table.pk.name) if is_there else None,
            entities_of(mapping, table.revision.own if is_written and table.revision is not None else None),
        )
    return made[kind]


def _conditions_made(_: Table) -> dict[tuple[EntityMapping, bool, bool], Condition | None]:
    return {}


def _absent_or(mapping: EntityMapping, condition: Condition | None) -> Condition | None:
    absent = missing(mapping.table.pk.name)
    return None if condition is None else any_of_conditions(absent, condition)


def _check_length(mapping: EntityMapping, condition: Condition, compared: int) -> None:
    """Raises UsageError if a condition that compares values in place of a revision is too long for DynamoDB."""
    if compared <= _MANY:
        return
    try:
        render(condition, Placeholders())
    except UsageError as problem:
        name = mapping.entity.__name__
        raise UsageError(
            problem=f"this {name} has no revision that names one write, so this write compares "
            f"{counted(compared, 'attribute')} of it; {problem.problem}",
            remedy=f"give the table a revision_attribute=, or write by key: Key({name}, ...)",
        ) from problem


# -- what is known of the stored item ---------------------------------------------------------------------------------


def _expectation(
    change: ItemChange, before: StoredItem, *, is_told: bool
) -> tuple[str | None, dict[Path, AttributeValue | None] | None]:
    """The revision that must be stored; unless it names one write, the attribute values that must be."""
    mark = before.mapping.table.mark_of(before.item)
    if mark is not None:
        return mark, None
    refuse_other_revision(before.mapping, before.item)
    return None, {path: value_at(before.item, path) for path in _relied_on(change, before, is_told=is_told)}


def _relied_on(change: ItemChange, before: StoredItem, *, is_told: bool) -> list[Path]:
    """Without a revision that names one write: the paths of what is stored whose loaded values are the condition.

    Rule 1. A delete, a check, and what takes the place of a deleted item rely on everything.
    Rule 2. What replaces an item that was just read relies on what is there, and on all that a key, index, guard,
            version or total is made of.
    Rule 3. An update relies on that, on what it changes, and on what it was judged by: so two valid updates never add
            up to an invalid item, and updates of fields that have nothing to do with each other do not meet.
    Rule 4. In a transaction an update relies on every field, because no answer says what others wrote beside it, and
            the object must be what is stored. It does not if these are too many for a condition.

    A revision that is a number does not name one write, so it is only one more value.
    """
    mapping = before.mapping
    names: Iterable[str] = mapping.fields
    found = set(before.item)
    if type(change) is ItemUpdate and not before.as_loaded:
        found = {str(one.path[0]) for one in difference(before.item, change.image)} | mapping.synthetic_keys
        if is_told or len(mapping.fields) > _MANY:
            names = mapping.derived_fields | mapping.dependence.judged_by(change.changed)
    elif type(change) is ItemInsert and before.from_read and not before.as_loaded:
        names = mapping.derived_fields
        found |= mapping.synthetic_keys
    if type(change) is ItemInsert:
        found |= {change.mapping.fields[name].attribute for name in change.changed}
    fields = [mapping.fields[name] for name in names if not mapping.fields[name].in_key]
    found |= {name for field in fields for name in field.attributes}
    found.update(mapping.bookkeeping)
    if (revision := mapping.table.revision) is not None and revision.kind == "N":
        found.add(revision.attribute)
    return [(name,) for name in sorted(found - {key.name for key in mapping.table.keys})]


# An entity's own item, from which everything else follows: its action, what a refusal of it means, and its sentence.
#
# What the action requires of the stored item is decided in ``required.py``.
#
# Rule 1. If the refused action was compiled from a read of the session, or from the guess that a key was never used,
#         the plan is compiled again. If it was compiled from the caller's entity, the caller gets an error.


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
