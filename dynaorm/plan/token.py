"""The revision of a unit of work under a token of the caller's own.

Rule 1. It is derived from the token and from the caller's intents, never from what was read: if the plan depends on
    what is stored, an equal block that runs again sends other bytes, and is still recognised by its revision.
Rule 2. It is derived from encoded values, in an order of their own: equal blocks have an equal revision, in every
    process, however the caller spelled their values.
Rule 3. It is derived from the whole block: an item that carries it proves that all of the block was committed.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final

from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.resolve import FieldResolver
from dynaorm.item.resolve import resolve
from dynaorm.item.update import Change, SetTo
from dynaorm.item.value import AttributeValue
from dynaorm.plan.changes import change_of, items_to_read
from dynaorm.plan.edit import stored_changes
from dynaorm.plan.image import new_image
from dynaorm.plan.intent import Check, Deletion, Edit, Intent, Move, Save
from dynaorm.plan.item_change import ItemCheck, ItemDelete, ItemEdit, ItemInsert, ItemUpdate
from dynaorm.plan.merge_intents import ItemIntents, ResolvedIntent
from dynaorm.plan.plan import Plan
from dynaorm.plan.planned import Purpose
from dynaorm.plan.reads import NOTHING_READ
from dynaorm.plan.times import asked_for, edits_asked_for
from dynaorm.plan.unit_of_work import UnitOfWork
from dynaorm.record import FIELDS, replace

# These names are part of the revision, so they must not change with the classes.
_INTENTS: Final = {Save: "Save", Edit: "Edit", Deletion: "Remove", Move: "Move", Check: "Check"}
_CHANGES: Final = {
    ItemInsert: "put", ItemUpdate: "update", ItemEdit: "edit", ItemDelete: "delete", ItemCheck: "check"
}  # fmt: skip


def revision_under_token(merged: Sequence[ItemIntents], unit: UnitOfWork) -> str:
    """The revision that every item of the unit of work gets."""
    text = json.dumps([unit.token, *(_given(one, unit) for one in merged)], sort_keys=True, default=repr)
    return sha256(text.encode()).hexdigest()[:32]


def is_fixed(plan: Plan) -> bool:
    """Whether an equal block would send the same bytes, whatever is stored, was loaded, and whenever it runs.

    So if the token was used for other bytes, it was used for another block.
    """
    return any(one.purpose is not Purpose.CHECK for one in plan.actions) and not any(
        one.from_read
        or one.before is not None
        or one.purpose is Purpose.UPSERT
        or one.purpose is Purpose.VERSION
        or one.mapping.expires is not None
        or one.mapping.kept
        or one.mapping.table.guards.ttl_attribute is not None
        for one in plan.actions
    )


def _given(one: ItemIntents, unit: UnitOfWork) -> list[Any]:
    content: list[Any] = []
    is_upsert = one.write is not None and isinstance(one.write.intent, Edit) and one.write.intent.creates
    if is_upsert or items_to_read([one]):  # an upsert may store what default factories give, which differs
        intents: tuple[ResolvedIntent[Intent] | None, ...] = (one.removal, one.write, *one.checks)
        for resolved in (intent for intent in intents if intent is not None):
            content.append(given := content_of(resolved))
            if isinstance(resolved.intent, Save):
                given.append(
                    asked_for(resolved.mapping, new_image(resolved.mapping, one.key, resolved.valid.values))
                )
    elif (change := change_of(one, NOTHING_READ, unit)) is not None:
        image = change.image if isinstance(change, (ItemInsert, ItemUpdate, ItemCheck)) else None
        image = None if image is None else asked_for(change.mapping, image)
        edits = edits_asked_for(change.mapping, change.edits) if isinstance(change, ItemEdit) else ()
        content = [_CHANGES[type(change)], image, told(edits), told(change.condition)]
    return [one.mapping.table.name, one.key, *content]


def told(part: Any) -> str:
    """The text of resolved conditions or changes."""
    return repr(in_order(part))


def in_order(part: Any) -> Any:
    """Conditions, changes, actions or values in an order that equal ones share, in their text and in their bytes.

    The members of a map and the changes of an edit have no order of their own: no two have one path.
    """
    if (names := getattr(part, FIELDS, None)) is not None:
        return replace(part, **{name: in_order(getattr(part, name)) for name in names})
    if isinstance(part, Mapping):
        return {name: in_order(part[name]) for name in sorted(part)}
    if not isinstance(part, list | tuple):
        return part
    found = type(part)(map(in_order, part))
    is_edit = isinstance(found, tuple) and all(isinstance(one, Change) for one in found)
    return tuple(sorted(found, key=lambda one: repr(one.path))) if is_edit else found


def content_of(resolved: ResolvedIntent[Intent], told: Callable[[Any], str] = told) -> list[Any]:
    """What the caller gave in an intent, whatever is stored; without the values of a saved entity.

    ``told`` makes a text of resolved conditions and changes.
    """
    intent, mapping = resolved.intent, resolved.mapping
    content: list[Any] = [_INTENTS[type(intent)]]
    if isinstance(intent, Move):
        return content
    if intent.condition is not None:
        content.append(told(resolve(intent.condition, FieldResolver(mapping))))
    if isinstance(intent, Edit):
        content += [told(stored_changes(mapping, intent.changes)), _of_keys(mapping, intent.changes)]
        content += ["creates"] if intent.creates else []
    return content


def _of_keys(mapping: EntityMapping, changes: Iterable[Change]) -> dict[str, AttributeValue | None]:
    fixed = {str(change.path[0]): change.value for change in changes if isinstance(change, SetTo)}
    return values_in_keys(mapping, fixed, fixed)


def values_in_keys(
    mapping: EntityMapping, values: Mapping[str, Any], names: Iterable[str]
) -> dict[str, AttributeValue | None]:
    """Those of the named fields that are stored in keys alone, with their values, encoded: in one spelling."""
    fields = [mapping.fields[name] for name in names if mapping.fields[name].in_key]
    return {field.name: mapping.encode_field(field, values) for field in fields}
