"""Whether a block is the one that a token item remembers: what the item keeps of a block, and how two are compared.

Rule 1. Blocks are compared by what the caller gave. Entities that were loaded can differ when a block runs again,
        because their stored items changed. So their changes and their values are compared separately: it is the same
        block if one of the two is equal.
Rule 2. Otherwise it is another block only if what differs does not follow from loaded entities. If it may, nobody
        knows.
Rule 3. The item is put if none is stored or the stored one has expired, in the same transaction as the block. So it
        proves that the block was applied, whatever happened to the block's items since.
Rule 4. A token item has the mark of the formula of its fingerprints, and one without a mark is compared by the first
        formula. So a block that was applied before a deployment is still recognised after it.
"""

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Final

from dynaorm.entity.internal_items import BLOCK, REVISION
from dynaorm.entity.state import Loaded
from dynaorm.item.value import Item
from dynaorm.plan.changes import ItemIntents
from dynaorm.plan.fingerprint import LOADED, Fingerprints, fingerprints, revision_under_token
from dynaorm.plan.intent import NEVER_EXPIRED, Deletion, UnitOfWork
from dynaorm.plan.kinds.token_item import TOKEN_ITEMS, Remembered, is_over
from dynaorm.plan.plan import Effect, Plan, Planned
from dynaorm.plan.values import new_image


class TokenMatch(Enum):
    """What a stored token item says about a block."""

    FREE = "the token was not used, or its time is over"
    SAME = "the block was applied"
    PERHAPS = "this block or another one was applied"
    OTHER = "another block was applied"


# The mark of the present formula. The first one, which took the ``repr`` of some values, has none.
_MARK: Final = "2:"


def token_item_of(merged: Sequence[ItemIntents], unit: UnitOfWork) -> Planned:
    """The action that puts the token item of a block. Raises UsageError if its table cannot hold one."""
    assert unit.token is not None
    assert unit.remember is not None
    present, first_formula = fingerprints(merged), fingerprints(merged, is_first=True)
    # Where both formulas give the same, an earlier release can read the item, too.
    mark = "" if present == first_formula else _MARK
    first, held = merged[0], Remembered(unit.token, ":".join(first_formula))
    return TOKEN_ITEMS.remember((first.mapping, first.key), mark + ":".join(present), held, unit)


def compare(ours: Planned, stored: Item | None, now: float) -> TokenMatch:
    """What a stored token item says about the block that puts its own, ``ours``."""
    if stored is None or is_over(stored, now):
        return TokenMatch.FREE
    first = _fingerprints_in(stored)
    if first is None or revision_in(stored) is None:
        return TokenMatch.OTHER
    present, former = _fingerprints_in(ours.after or {}), _fingerprints_of(ours.label.first_formula)
    is_marked = _text_in(stored).startswith(_MARK)
    # Without a mark, it may have been stored by the first formula.
    found = [_match(first, again) for again in (present, None if is_marked else former) if again is not None]
    return next((one for one in (TokenMatch.SAME, TokenMatch.PERHAPS) if one in found), TokenMatch.OTHER)


def _match(first: Fingerprints, again: Fingerprints) -> TokenMatch:
    """What the fingerprints of an applied block say about those of another one, by the same formula."""
    if first.outline != again.outline:
        return TokenMatch.OTHER
    if first.changes == again.changes or first.values == again.values:
        return TokenMatch.SAME
    return TokenMatch.PERHAPS if LOADED in (first.origin, again.origin) else TokenMatch.OTHER


def _fingerprints_in(item: Item) -> Fingerprints | None:
    """The fingerprints in a token item; None if another program wrote it."""
    return _fingerprints_of(_text_in(item).removeprefix(_MARK))


def _text_in(item: Item) -> str:
    return str(item.get(BLOCK, {}).get("S", ""))


def _fingerprints_of(text: str) -> Fingerprints | None:
    parts = text.split(":")
    return Fingerprints(*parts) if len(parts) == len(Fingerprints._fields) else None


def revision_in(stored: Item) -> str | None:
    """The revision that the items of a remembered block got; None if another program wrote the token item."""
    found: str | None = stored.get(REVISION, {}).get("S")
    return found


def is_of_block(plan: Plan, merged: Sequence[ItemIntents], unit: UnitOfWork) -> bool:
    """Whether a plan under the caller's token is that of a block with these intents."""
    if plan.token_item is None or unit.remember is None:
        revision = revision_under_token(merged, unit)
        return any(planned.revision == revision for planned in plan.actions)
    return compare(token_item_of(merged, unit), plan.token_item.after, NEVER_EXPIRED) is TokenMatch.SAME


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
