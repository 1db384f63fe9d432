"""What tells one block from another: the fingerprints that its token item keeps.

Rule 1. They are made of the caller's intents alone, never of what was read: if the plan depends on what is stored, an
    equal block that runs again sends other bytes, and is still recognised.
Rule 2. They are made of encoded values, in an order of their own: equal blocks have equal ones, in every process,
    however the caller spelled the values.
Rule 3. Of loaded entities, the changes are compared, or else all values.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final, NamedTuple

from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.resolve import resolve_condition
from dynaorm.item.update import Change, SetTo
from dynaorm.item.value import AttributeValue
from dynaorm.plan.changes import ItemIntents, ResolvedIntent
from dynaorm.plan.edit import stored_changes
from dynaorm.plan.intent import Check, Deletion, Edit, Intent, Move, Save
from dynaorm.record import FIELDS, replace

# These names are in stored hashes, so they must not change with the classes.
_INTENTS: Final = {Save: "Save", Edit: "Edit", Deletion: "Remove", Move: "Move", Check: "Check"}

GIVEN: Final = "given"
LOADED: Final = "loaded"

_DIGITS: Final = 32


class Fingerprints(NamedTuple):
    """The fingerprints of a block.

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


def fingerprints(merged: Sequence[ItemIntents]) -> Fingerprints:
    """The fingerprints of a block."""
    outline: list[Any] = []
    changes: list[Any] = []
    values: list[Any] = []
    origin = GIVEN
    for one in merged:
        intents = (intent for intent in (one.removal, one.write, *one.checks) if intent is not None)
        outline.append([one.mapping.table.name, one.key, *map(content_of, intents)])
        if (write := one.stored) is not None:
            save = write.intent if isinstance(write.intent, Save) else None
            outline.append(save is not None and save.overwrite)
            if save is not None and save.replacing is not None:
                outline.append(canonical_text(resolve_condition(one.mapping, save.replacing)))
            values.append(_values(write.mapping, write.valid.values))
            changes.append(_changes(write))
            if write.state is not None:
                origin = LOADED
    return Fingerprints(_hash(outline), _hash(changes), _hash(values), origin)


def _values(mapping: EntityMapping, values: Mapping[str, Any]) -> list[Any]:
    encoded = mapping.encoder.encode(values)
    # What depends on the time of the write is no part of what the caller asked for.
    asked_for = {name: value for name, value in encoded.items() if name not in mapping.timed}
    return [mapping.name, asked_for, values_in_keys(mapping, values, mapping.fields)]


def _changes(write: ResolvedIntent[Any]) -> list[Any]:
    mapping, values, state = write.mapping, write.valid.values, write.state
    if state is None or (isinstance(write.intent, Save) and write.intent.overwrite):
        return _values(mapping, values)
    timed, fields = mapping.timed, mapping.fields
    changed = {name: value for name, value in write.changes.items() if fields[name].attribute not in timed}
    return [mapping.name, changed, values_in_keys(mapping, values, changed)]


def _hash(content: list[Any]) -> str:
    return sha256(json.dumps(content, sort_keys=True, default=repr).encode()).hexdigest()[:_DIGITS]


def canonical_text(part: Any) -> str:
    """The text of resolved conditions or changes."""
    return repr(in_order(part))


def in_order(part: Any) -> Any:
    """Conditions, changes or values in an order that equal ones share.

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


def content_of(resolved: ResolvedIntent[Intent]) -> list[Any]:
    """What the caller gave in an intent, whatever is stored; without the values of a saved entity."""
    intent, mapping = resolved.intent, resolved.mapping
    content: list[Any] = [_INTENTS[type(intent)]]
    if isinstance(intent, Move):
        return content
    if intent.condition is not None:
        content.append(canonical_text(resolve_condition(mapping, intent.condition)))
    if isinstance(intent, Edit):
        fixed = {str(one.path[0]): one.value for one in intent.changes if isinstance(one, SetTo)}
        content += [
            canonical_text(stored_changes(mapping, intent.changes)),
            values_in_keys(mapping, fixed, fixed),
        ]
        content += ["creates"] if intent.creates else []
    return content


def values_in_keys(
    mapping: EntityMapping, values: Mapping[str, Any], names: Iterable[str]
) -> dict[str, AttributeValue | None]:
    """Those of the named fields that are stored in keys alone, with their values, encoded: in one spelling."""
    fields = [mapping.fields[name] for name in names if mapping.fields[name].in_key]
    return {field.name: mapping.encoder.encode_field(field, values) for field in fields}
