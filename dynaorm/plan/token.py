"""The revision of a unit of work under a token of the caller's own.

Rule 1. It follows from the token and from what the caller gave, never from what was read: where the plan depends on
    what is stored, an equal block that runs again sends other bytes, and has to be told by its revision all the same.
Rule 2. It follows from the whole block: an item that carries it says that all of the block was committed.
"""

import json
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any

from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.resolve import FieldResolver
from dynaorm.item.condition import resolve
from dynaorm.item.update import Change, SetTo
from dynaorm.item.value import AttributeValue
from dynaorm.plan.edit import stored_changes
from dynaorm.plan.fold import Slot, class_of
from dynaorm.plan.image import new_image
from dynaorm.plan.intent import Edit, Intent, Move, Save
from dynaorm.plan.known import NOTHING_KNOWN, Setting
from dynaorm.plan.nets import net_of, reads_of


def revision_under_token(slots: Sequence[Slot], setting: Setting) -> str:
    """The revision that every item of the unit of work gets."""
    text = json.dumps(
        [setting.token, *(_given(slot, setting) for slot in slots)], sort_keys=True, default=repr
    )
    return sha256(text.encode()).hexdigest()[:32]


def _given(slot: Slot, setting: Setting) -> list[Any]:
    content: list[Any]
    if reads_of([slot]):
        intents = (slot.removal, slot.write, *slot.checks)
        content = [_said(slot, intent) for intent in intents if intent is not None]
    else:
        net = net_of(slot, NOTHING_KNOWN, setting)
        content = (
            [net.write.value, net.after, repr(net.edits), repr(net.condition)] if net is not None else []
        )
    return [slot.mapping.table.name, slot.key, *content]


def _said(slot: Slot, intent: Intent) -> list[Any]:
    """What an intent says by itself, of an item that is yet to be read."""
    mapping, kind = class_of(intent), type(intent).__name__
    if isinstance(intent, Move):
        return [kind]
    said: list[Any] = [kind]
    if intent.condition is not None:
        said.append(repr(resolve(intent.condition, FieldResolver(mapping))))
    if isinstance(intent, Save):
        said.append(new_image(mapping, slot.key, vars(intent.entity)))
    elif isinstance(intent, Edit):
        said += [repr(stored_changes(mapping, intent.changes)), _of_keys(mapping, intent.changes)]
    return said


def _of_keys(mapping: EntityMapping, changes: Iterable[Change]) -> dict[str, AttributeValue | None]:
    """The values of fields that are stored in keys alone."""
    fixed = {str(change.path[0]): change.value for change in changes if isinstance(change, SetTo)}
    fields = [mapping.fields[name] for name in fixed if mapping.fields[name].in_key]
    return {field.name: mapping.encode_field(field, fixed) for field in fields}
