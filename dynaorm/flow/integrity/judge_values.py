"""Judge the stored values of an entity: it must be stored as it loads.

Rule 1. Validators run whenever an item is loaded. If they changed since the item was stored, other values load than are
        stored, and its index keys and guards are not those of the entity. The repair stores it as it loads.
Rule 2. An entity is not renewed while an item that it would take is another entity's: people have to decide.
Rule 3. Version items are history: they stay as they are. Each is validated when it is loaded.
"""

from collections.abc import Iterable, Iterator, Mapping

from dynaorm.entity.table import Ident
from dynaorm.errors import DynaormError
from dynaorm.failure import shown
from dynaorm.flow.integrity.finding import FindingKind, RepairableFinding, finding_of
from dynaorm.flow.integrity.kinds.judged_kinds import KINDS
from dynaorm.flow.integrity.repair_actions import unchanged
from dynaorm.flow.integrity.scope import Scope
from dynaorm.flow.integrity.stored_check import ItemAddress, StoredCheck
from dynaorm.flow.integrity.unexplained import reason_not_to_write
from dynaorm.item.action import Update
from dynaorm.item.value import AttributeValue, Item, same
from dynaorm.plan.compiler import Renewal, renewal_actions
from dynaorm.plan.intent import Reads
from dynaorm.plan.kinds.derived import EntitySide
from dynaorm.plan.plan import Planned
from dynaorm.record import replace


def judge_values(renewal: Renewal, scope: Scope) -> StoredCheck[list[RepairableFinding]]:
    """The values that validators change whenever the entity is loaded."""
    if not renewal.changes:
        return []
    if not renewal.is_stable:
        return [
            _diagnosis(
                renewal, doubt="its validators change what they return, so nothing loads as it is stored"
            )
        ]
    try:
        return [(yield from _renewed(renewal, scope))]
    except DynaormError as problem:
        return [_diagnosis(renewal, doubt=str(problem))]


def _renewed(renewal: Renewal, scope: Scope) -> StoredCheck[RepairableFinding]:
    mapping, unit = renewal.mapping, scope.new_unit()
    key = mapping.key_of(renewal.item)
    # Items that nobody gives up are new.
    kinds = [kind for kind in KINDS if not kind.derived.is_permanent]
    held = [
        (kind, one, image is renewal.image)
        for image in (renewal.item, renewal.image)
        for kind in kinds
        for one in kind.derived.held_by(EntitySide(mapping, key, image))
    ]
    addresses = [ItemAddress(*kind.derived.place(one)) for kind, one, _ in held]
    stored = yield from _read(addresses)
    found = [(*one, stored[address.ident]) for one, address in zip(held, addresses, strict=True)]
    obstacles = (kind.obstacle(one, item, unit.now, is_new=is_new) for kind, one, is_new, item in found)
    if doubt := next(filter(None, (reason_not_to_write(mapping, renewal.item, scope), *obstacles)), ""):
        return _diagnosis(renewal, doubt=doubt)
    not_given_up = {
        address.ident
        for address, (kind, one, _, item) in zip(addresses, found, strict=True)
        if not kind.derived.should_release(one, item)
    }
    planned = renewal_actions(renewal, Reads(stored, frozenset(not_given_up)), unit)
    return _diagnosis(renewal, actions=_as_read(renewal, planned))


def _read(addresses: Iterable[ItemAddress]) -> StoredCheck[Mapping[Ident, Item | None]]:
    wanted = {one.ident: one for one in addresses}
    items = yield list(wanted.values())
    return dict(zip(wanted, items, strict=True))


def _as_read(renewal: Renewal, planned: list[Planned]) -> tuple[Planned, ...]:
    """The actions, on condition that everything that changes is as it was read."""
    mapping, item, image = renewal.mapping, renewal.item, renewal.image
    own, *others = planned
    assert isinstance(own.action, Update)
    # What keeps a copy of an item needs all of it to be as it was read.
    also = item if any(one.kind.is_permanent for one in others) else {*item, *image}
    names = [name for name in also if also is item or not same(item.get(name), image.get(name))]
    action = Update(own.action.table, own.action.key, own.action.changes, unchanged(mapping, item, names))
    return (replace(own, action=action), *others)


def _diagnosis(renewal: Renewal, *, doubt: str = "", actions: tuple[Planned, ...] = ()) -> RepairableFinding:
    mapping = renewal.mapping
    key, words = mapping.key_of(renewal.item), "; ".join(_words(renewal))
    finding = finding_of(FindingKind.STORED_VALUES, mapping, key, words, repairable=bool(actions))
    return RepairableFinding(replace(finding, uncertain_because=doubt), actions=actions)


def _words(renewal: Renewal) -> Iterator[str]:
    mapping = renewal.mapping
    for name, value in renewal.changes.items():
        field = mapping.fields[name]
        if field.in_key or mapping.secrets.include(name):
            yield f"{name} loads as another value than is stored"
        else:
            yield f"{name} is {_shown(field.stored_in(renewal.item))} and loads as {_shown(value)}"


def _shown(value: AttributeValue | None) -> str:
    return "absent" if value is None else shown(next(iter(value.values())))
