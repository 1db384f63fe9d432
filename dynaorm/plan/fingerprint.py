"""What tells one block from another: the fingerprints that its token item keeps, and its revision under a token.

Rule 1. Both are made of the caller's intents alone, never of what was read: if the plan depends on what is stored, an
    equal block that runs again sends other bytes, and is still recognised.
Rule 2. They are made of encoded values, in an order of their own: equal blocks have equal ones, in every process,
    however the caller spelled the values. It was not always so: the first formula took the ``repr`` of some values.
Rule 3. They are made of the whole block: an item that carries the revision proves that all of the block was committed.
Rule 4. A token item compares the changes of loaded entities, or else all their values. A revision is that of one image:
    an equal change of another loaded item is another revision, or an object that is out of date would pass for a
    current one.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final, NamedTuple, TypeAlias

from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.resolve import FieldResolver
from dynaorm.item.resolve import resolve
from dynaorm.item.update import Change, SetTo
from dynaorm.item.value import AttributeValue
from dynaorm.plan.changes import ItemIntents, ResolvedIntent, item_change_of, items_to_read
from dynaorm.plan.edit import stored_changes
from dynaorm.plan.intent import NOTHING_READ, Check, Deletion, Edit, Intent, Move, Save, UnitOfWork
from dynaorm.plan.plan import Plan
from dynaorm.plan.stored import ItemCheck, ItemDelete, ItemEdit, ItemInsert, ItemUpdate
from dynaorm.plan.values import new_image
from dynaorm.record import FIELDS, replace

# These names are part of the revision, so they must not change with the classes.
_INTENTS: Final = {Save: "Save", Edit: "Edit", Deletion: "Remove", Move: "Move", Check: "Check"}
_CHANGES: Final = {
    ItemInsert: "put", ItemUpdate: "update", ItemEdit: "edit", ItemDelete: "delete", ItemCheck: "check"
}  # fmt: skip


GIVEN: Final = "given"
LOADED: Final = "loaded"

_DIGITS: Final = 32

_InKeys: TypeAlias = Callable[[EntityMapping, Mapping[str, Any], Iterable[str]], Mapping[str, Any]]


class Fingerprints(NamedTuple):
    """The fingerprints of a block by one formula.

    Attributes:
        outline: of everything but the values of saved entities.
        changes: of these entities' changes since they were loaded.
        values: of all their values.
        origin: whether some of them were loaded.
    """

    outline: str
    changes: str
    values: str
    origin: str


def fingerprints(merged: Sequence[ItemIntents], *, is_first: bool = False) -> Fingerprints:
    """The fingerprints of a block by the present formula, or by the first one."""
    outline: list[Any] = []
    changes: list[Any] = []
    values: list[Any] = []
    origin = GIVEN
    text_of, in_keys = (repr, _repr_of_values) if is_first else (told, values_in_keys)
    for one in merged:
        found = [content_of(resolved, text_of) for resolved in _intents_of(one)]
        outline.append([one.mapping.table.name, one.key, *found])
        if (write := one.stored) is not None:
            save = write.intent if isinstance(write.intent, Save) else None
            outline.append(save is not None and save.overwrite)
            if save is not None and save.replacing is not None:
                outline.append(text_of(resolve(save.replacing, FieldResolver(one.mapping, revision=True))))
            values.append(_values(write.mapping, write.valid.values, in_keys))
            changes.append(_changes(write, in_keys))
            if write.state is not None:
                origin = LOADED
    return Fingerprints(_hash(outline), _hash(changes), _hash(values), origin)


def revision_under_token(merged: Sequence[ItemIntents], unit: UnitOfWork) -> str:
    """The revision that every item of the unit of work gets."""
    return _hash([unit.token, *(_given(one, unit) for one in merged)])


def is_fixed(plan: Plan) -> bool:
    """Whether an equal block would send the same bytes, whatever is stored, was loaded, and whenever it runs.

    So if the token was used for other bytes, it was used for another block.
    """
    return any(one.is_write for one in plan.actions) and all(one.is_repeatable for one in plan.actions)


def _given(one: ItemIntents, unit: UnitOfWork) -> list[Any]:
    content: list[Any] = []
    is_upsert = one.write is not None and isinstance(one.write.intent, Edit) and one.write.intent.creates
    if is_upsert or items_to_read([one]):  # an upsert may store what default factories give, which differs
        for resolved in _intents_of(one):
            content.append(given := content_of(resolved))
            if isinstance(resolved.intent, Save):
                given.append(
                    _asked_for(
                        resolved.mapping,
                        new_image(resolved.mapping, one.key, resolved.valid.values, resolved.valid.encoded),
                    )
                )
    elif (change := item_change_of(one, NOTHING_READ, unit)) is not None:
        image = change.image if isinstance(change, (ItemInsert, ItemUpdate, ItemCheck)) else None
        image = None if image is None else _asked_for(change.mapping, image)
        edits = _edits_asked_for(change.mapping, change.edits) if isinstance(change, ItemEdit) else ()
        content = [_CHANGES[type(change)], image, told(edits), told(change.condition)]
        if isinstance(change, ItemInsert) and change.replaces:
            content.append(told(change.replacing))
    return [one.mapping.table.name, one.key, *content]


def _intents_of(one: ItemIntents) -> list[ResolvedIntent[Intent]]:
    intents: tuple[ResolvedIntent[Intent] | None, ...] = (one.removal, one.write, *one.checks)
    return [intent for intent in intents if intent is not None]


def _values(mapping: EntityMapping, values: Mapping[str, Any], in_keys: _InKeys) -> list[Any]:
    return [
        mapping.name,
        _asked_for(mapping, mapping.encoder.encode(values)),
        in_keys(mapping, values, mapping.fields),
    ]


def _changes(write: ResolvedIntent[Any], in_keys: _InKeys) -> list[Any]:
    mapping, values, state = write.mapping, write.valid.values, write.state
    if state is None or (isinstance(write.intent, Save) and write.intent.overwrite):
        return _values(mapping, values, in_keys)
    timed, fields = mapping.timed, mapping.fields
    changed = {name: value for name, value in write.changes.items() if fields[name].attribute not in timed}
    return [mapping.name, changed, in_keys(mapping, values, changed)]


def _asked_for(mapping: EntityMapping, image: Mapping[str, AttributeValue]) -> dict[str, AttributeValue]:
    """An image without what depends on the time of the write, which is no part of what the caller asked for."""
    return {name: value for name, value in image.items() if name not in mapping.timed}


def _edits_asked_for(mapping: EntityMapping, edits: tuple[Change, ...]) -> tuple[Change, ...]:
    return tuple(change for change in edits if change.path[0] not in mapping.timed)


def _hash(content: list[Any]) -> str:
    return sha256(json.dumps(content, sort_keys=True, default=repr).encode()).hexdigest()[:_DIGITS]


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
        content.append(told(resolve(intent.condition, FieldResolver(mapping, revision=True))))
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
    return {field.name: mapping.encoder.encode_field(field, values) for field in fields}


def _repr_of_values(
    mapping: EntityMapping, values: Mapping[str, Any], names: Iterable[str]
) -> dict[str, str]:
    """What the first formula took of ``values_in_keys``."""
    return {name: repr(values.get(name)) for name in names if mapping.fields[name].in_key}
