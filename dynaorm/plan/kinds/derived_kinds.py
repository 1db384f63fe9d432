"""Every kind of items that follow from entities, in the order in which a plan has their actions."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.errors import InvalidValue
from dynaorm.item.value import Item
from dynaorm.plan.intent import Reads, UnitOfWork
from dynaorm.plan.kinds.derived import DerivedKind, EntitySide, before_and_after
from dynaorm.plan.kinds.guards import GUARDS, guard_actions
from dynaorm.plan.kinds.totals import TOTALS, targets_of
from dynaorm.plan.kinds.versions import VERSIONS, kept_version
from dynaorm.plan.plan import Planned
from dynaorm.plan.stored import ItemChange, ItemUpdate

DERIVED_KINDS: Final[tuple[DerivedKind[Any], ...]] = (VERSIONS, GUARDS, TOTALS)


def has_derived(mapping: EntityMapping) -> bool:
    """Whether an entity of a class can hold items that follow from it."""
    for kind in DERIVED_KINDS:  # noqa: SIM110 - a loop, because every deletion by key asks
        if kind.follows_from(mapping):
            return True
    return False


def holds_derived(created: EntitySide) -> bool:
    """Whether an entity that is created holds an item that follows from it, or is refused because of one."""
    kinds = [kind for kind in DERIVED_KINDS if kind.follows_from(created.mapping)]
    try:
        return any(kind.is_permanent or next(iter(kind.held_by(created)), None) for kind in kinds)
    except InvalidValue:
        return True


def reason_to_read(mapping: EntityMapping, writer: str) -> str:
    """What a Put would lose or leave behind in place of an entity that was not read; empty for nothing."""
    return next(filter(None, (kind.reason_to_read(mapping, writer) for kind in DERIVED_KINDS)), "")


def levels_of(mappings: Iterable[EntityMapping]) -> dict[EntityMapping, int]:
    """How many classes each class waits for, because its entities change theirs. Of a circle, nobody waits."""
    own = list(mappings)
    found: dict[EntityMapping, int] = {}

    def level(one: EntityMapping, waiting: frozenset[int]) -> int:
        if one not in found:
            roots = [each.root for each in targets_of(one)]
            families = [each for each in own if each.root in roots]
            before = [each for each in families if id(each) not in waiting and each is not one]
            found[one] = 1 + max((level(each, waiting | {id(one)}) for each in before), default=-1)
        return found[one]

    for one in own:
        level(one, frozenset())
    return found


def derived_actions(
    changes: Sequence[ItemChange], finals: Sequence[Item | None], reads: Reads, unit: UnitOfWork
) -> list[list[Planned]]:
    """For each change the version that it keeps, and the actions on the guard items that it is the first to concern.

    ``finals``: the items of the changes as they will be stored, where that is known. Raises StoreError.
    """
    actions: list[list[Planned]] = [[]] if len(changes) == 1 else [[] for _ in changes]
    keeps_versions, has_guards = _is_concerned(VERSIONS, changes), _is_concerned(GUARDS, changes)
    if not (keeps_versions or has_guards):  # Most classes have nothing but their own items.
        return actions
    has_rivals = len(changes) > 1
    sides = [
        before_and_after(one, at, item, has_rivals=has_rivals)
        for at, (one, item) in enumerate(zip(changes, finals, strict=True))
    ]
    if keeps_versions:
        for own, (_, after) in zip(actions, sides, strict=True):
            own.extend(kept_version(after, unit) if after is not None else ())
    if has_guards:
        for own, guards in zip(actions, guard_actions(changes, sides, reads, unit), strict=True):
            own.extend(guards)
    return actions


def _is_concerned(kind: DerivedKind[Any], changes: Sequence[ItemChange]) -> bool:
    """Whether an item of a kind may differ afterwards."""
    for change in changes:  # a loop, because every save asks
        before, mapping = change.before, change.mapping
        if kind.follows_from(mapping) or (
            before is not None and before.mapping is not mapping and kind.follows_from(before.mapping)
        ):
            # A version is also kept of an item that never had one.
            return (
                len(changes) > 1
                or kind.is_permanent
                or type(change) is not ItemUpdate
                or kind.can_differ(mapping, change.changed)
            )
    return False
