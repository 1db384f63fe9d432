"""Token items remember that a block was applied, and tell whether another block is the same."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import InvalidOperation
from enum import Enum
from hashlib import sha256
from math import ceil, isfinite
from typing import Any, Final, NamedTuple

from dynaorm.entity.internal_items import (
    BLOCK,
    REVISION,
    TOKEN_PREFIX,
    UNTIL,
    token_home,
    token_key,
    why_no_token_items,
)
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.resolve import resolve_condition
from dynaorm.entity.state import Loaded
from dynaorm.entity.table import Table
from dynaorm.errors import ConditionFailed, UsageError
from dynaorm.item.action import Put
from dynaorm.item.condition import Attr, Compare, any_of_conditions, holds, missing
from dynaorm.item.update import Change, SetTo
from dynaorm.item.value import AttributeValue, Item
from dynaorm.plan.changes import ItemIntents, ResolvedIntent
from dynaorm.plan.edit import stored_changes
from dynaorm.plan.intent import Check, Deletion, Edit, Intent, Move, Save, UnitOfWork
from dynaorm.plan.plan import Effect, FailedAction, Judged, Kind, Operations, PartitionKey, Planned, Purpose
from dynaorm.plan.values import new_image
from dynaorm.record import FIELDS, replace

# Token items, which remember that a block was applied: one for each token, and the block itself holds it.
#
# A block takes its token once and never gives it up. What it keeps of the block, and what a stored one says of a block
# that runs again, is decided in ``plan/token.py``. Its key and the names of its attributes are in
# ``entity/internal_items.py``.

# A request can arrive, and a plan be resumed, within nine minutes: until then, the item must say what became of it.
_AT_LEAST: Final = 600.0


class TokenPurpose(Purpose):
    """Why the action on a token item is in a plan."""

    REMEMBER = "remember"


class TokenItems(Kind):
    """The token items of blocks."""

    is_memory = True

    def __reduce__(self) -> str:
        return "TOKEN_ITEMS"

    def home(self, mapping: EntityMapping) -> Table:
        return token_home(mapping.table)

    def operations_of_writes(self, mapping: EntityMapping) -> Operations:
        home = self.home(mapping)
        return [] if why_no_token_items(home) else [(home, frozenset({"PutItem", "GetItem"}))]

    def partition_keys(self, mapping: EntityMapping) -> Iterable[PartitionKey]:
        home = self.home(mapping)
        return [] if why_no_token_items(home) else [(mapping, home, TOKEN_PREFIX)]

    def remember(self, holder: tuple[EntityMapping, Item], fingerprints: str, unit: UnitOfWork) -> Planned:
        """Put the token item of a block, if none is stored or the stored one has expired.

        ``holder``: the class and the key of the block's first entity. Raises UsageError if its table cannot hold one.
        """
        (mapping, key), token = holder, unit.token
        assert token is not None
        home = self.home(mapping)
        if problem := why_no_token_items(home):
            raise UsageError(
                problem=f"the table cannot remember the token {token!r}: {problem}",
                remedy="give the table guard_table=, another table with string keys",
            )
        until = {"N": str(ceil(unit.now + max(unit.remember, _AT_LEAST)))}
        item = {
            **token_key(home, token),
            BLOCK: {"S": fingerprints},
            REVISION: {"S": unit.write_id},
            UNTIL: until,
        }
        if home.ttl_attribute is not None:
            item[home.ttl_attribute] = until
        free = any_of_conditions(missing(home.pk.name), _over(unit.now))
        put = Put(unit.table_name(home.name), item, free)
        return Planned(put, self, TokenPurpose.REMEMBER, mapping, key, after=item, label=token)

    def judged(self, failed: FailedAction, now: float) -> Judged:
        # Whoever sends the plan compares the two blocks first.
        return ConditionFailed(key=failed.planned.subject)

    def reason(self, planned: Planned) -> str:
        return f"remember the token {planned.label!r}, if it is not remembered yet"


def _over(now: float) -> Compare:
    """The condition that the time of a token item is over. That is our own time: however old, it stays over."""
    return Compare(Attr((UNTIL,)), "<=", {"N": str(int(now))})


def is_over(item: Item, now: float) -> bool:
    """Whether the condition under which another block takes the place of a token item holds for it."""
    try:
        return isfinite(now) and holds(_over(now), item)
    except InvalidOperation:
        return False  # DynamoDB stores no such number


TOKEN_ITEMS: Final = TokenItems()


# What tells one block from another: the fingerprints that its token item keeps.
#
# Rule 1. They are made of the caller's intents alone, never of what was read: if the plan depends on what is stored,
#         an equal block that runs again sends other bytes, and is still recognised.
# Rule 2. They are made of encoded values, in an order of their own: equal blocks have equal ones, in every process,
#         however the caller spelled the values.
# Rule 3. Of loaded entities, the changes are compared, or else all values.

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
        fixed = {str(change.path[0]): change.value for change in intent.changes if isinstance(change, SetTo)}
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


# Whether a block is the one that a token item remembers: what the item keeps of a block, and how two are compared.
#
# Rule 1. Blocks are compared by what the caller gave. Entities that were loaded can differ when a block runs again,
#         because their stored items changed. So their changes and their values are compared separately: it is the same
#         block if one of the two is equal.
# Rule 2. Otherwise it is another block only if what differs does not follow from loaded entities. If it may, nobody
#         knows.
# Rule 3. The item is put if none is stored or the stored one has expired, in the same transaction as the block. So it
#         proves that the block was applied, whatever happened to the block's items since.


class TokenMatch(Enum):
    """What a stored token item says about a block."""

    FREE = "the token was not used, or its time is over"
    SAME = "the block was applied"
    PERHAPS = "this block or another one was applied"
    OTHER = "another block was applied"


def token_item_of(merged: Sequence[ItemIntents], unit: UnitOfWork) -> Planned:
    """The action that puts the token item of a block. Raises UsageError if its table cannot hold one."""
    first = merged[0]
    return TOKEN_ITEMS.remember((first.mapping, first.key), ":".join(fingerprints(merged)), unit)


def compare(ours: Planned, stored: Item | None, now: float) -> TokenMatch:
    """What a stored token item says about the block that puts its own, ``ours``."""
    if stored is None or is_over(stored, now):
        return TokenMatch.FREE
    first, again = _fingerprints_in(stored), _fingerprints_in(ours.after or {})
    if first is None or again is None or revision_in(stored) is None or first.outline != again.outline:
        return TokenMatch.OTHER
    if first.changes == again.changes or first.values == again.values:
        return TokenMatch.SAME
    return TokenMatch.PERHAPS if LOADED in (first.origin, again.origin) else TokenMatch.OTHER


def _fingerprints_in(item: Item) -> Fingerprints | None:
    """The fingerprints in a token item; None if another program wrote it."""
    parts = str(item.get(BLOCK, {}).get("S", "")).split(":")
    return Fingerprints(*parts) if len(parts) == len(Fingerprints._fields) else None


def revision_in(stored: Item) -> str | None:
    """The revision that the items of a remembered block got; None if another program wrote the token item."""
    found: str | None = stored.get(REVISION, {}).get("S")
    return found


def effects_of_repeat(one: ItemIntents, revision: str) -> Iterator[Effect]:
    """What a block that was applied before gave the caller's objects. Others may have changed the items since."""
    kept = one.mapping.table.revision
    if one.removal is not None and isinstance(one.removal.intent, Deletion) and one.removal.state is not None:
        yield Effect(one.removal.intent.target, None)
    if (write := one.stored) is not None:
        loaded = {} if write.state is None else write.state.item
        image = {**loaded, **new_image(write.mapping, one.key, write.valid.values, write.valid.encoded)}
        if kept is not None:
            image = kept.stamped(image, loaded, revision)
        yield Effect(write.intent.entity, Loaded(image), write.valid.altered or None)
