"""Whether a block is the one that a token item remembers: what the item keeps of a block, and how two are compared.

Rule 1. Blocks are compared by what the caller gave. Entities that were loaded can differ when a block runs again,
        because their stored items changed. So their changes and their values are compared separately: it is the same
        block if one of the two is equal.
Rule 2. Otherwise it is another block only if what differs does not follow from loaded entities. If it may, nobody
        knows.
Rule 3. The item is put if none is stored or the stored one has expired, in the same transaction as the block. So it
        proves that the block was applied, whatever happened to the block's items since.
"""

from collections.abc import Iterator, Sequence
from enum import Enum

from dynaorm.entity.internal_items import BLOCK, REVISION
from dynaorm.entity.state import Loaded
from dynaorm.item.value import Item
from dynaorm.plan.changes import ItemIntents
from dynaorm.plan.fingerprint import LOADED, Fingerprints, fingerprints
from dynaorm.plan.intent import Deletion, UnitOfWork
from dynaorm.plan.kinds.token_item import TOKEN_ITEMS, is_over
from dynaorm.plan.plan import Effect, Planned
from dynaorm.plan.values import new_image


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
