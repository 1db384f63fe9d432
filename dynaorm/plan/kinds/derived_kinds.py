"""Every kind of items that follow from entities, in the order in which a plan has their actions."""

from collections.abc import Iterable
from typing import Any, Final

from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.errors import InvalidValue
from dynaorm.plan.kinds.derived import DerivedKind, EntitySide
from dynaorm.plan.kinds.guards import GUARDS
from dynaorm.plan.kinds.totals import TOTALS
from dynaorm.plan.kinds.versions import VERSIONS

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
            roots = [each.root for kind in DERIVED_KINDS for each in kind.stored_before(one)]
            families = [each for each in own if each.root in roots]
            before = [each for each in families if id(each) not in waiting and each is not one]
            found[one] = 1 + max((level(each, waiting | {id(one)}) for each in before), default=-1)
        return found[one]

    for one in own:
        level(one, frozenset())
    return found
