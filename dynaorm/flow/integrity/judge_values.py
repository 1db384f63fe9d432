"""Judge the stored values of an entity: it must be stored as it loads.

Rule 1. Validators run whenever an item is loaded. If they changed since the item was stored, other values load than are
        stored, and its index keys and guards are not those of the entity. The repair stores it as it loads.
Rule 2. An entity is not renewed while a guard item of its values is another entity's: people have to decide.
Rule 3. Version items are history: they stay as they are. Each is validated when it is loaded.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from dynaorm.entity.ident import Ident
from dynaorm.entity.mapping.constraint import OWNER
from dynaorm.errors import DynaormError
from dynaorm.failure import shown
from dynaorm.flow.integrity.finding import Diagnosis, Finding, FindingKind
from dynaorm.flow.integrity.judge_guard import guards_of
from dynaorm.flow.integrity.repair_actions import unchanged
from dynaorm.flow.integrity.scope import Scope
from dynaorm.flow.integrity.stored_check import ItemAddress, StoredCheck
from dynaorm.flow.integrity.unexplained import not_a_guard, not_ours
from dynaorm.flow.lookup import guard_expired
from dynaorm.item.action import Update
from dynaorm.item.value import AttributeValue, Item, same
from dynaorm.plan.kinds.guards import owner_of
from dynaorm.plan.kinds.totals import contributions
from dynaorm.plan.planned import Planned
from dynaorm.plan.reads import Reads
from dynaorm.plan.renewal import Renewal, renewal_actions
from dynaorm.record import record

_Items: TypeAlias = Mapping[Ident, Item | None]


@record
class _Guards:
    """The guard items of an entity.

    Attributes:
        held: those of its stored values.
        claimed: those of the values that load, by constraint.
        stored: what is stored at their addresses.
        mine: the owner that they must name.
    """

    held: Iterable[ItemAddress]
    claimed: Mapping[str, ItemAddress]
    stored: _Items
    mine: AttributeValue

    @property
    def not_to_release(self) -> frozenset[Ident]:
        """Those that do not exist, or name another owner."""
        return frozenset(
            ident for ident, found in self.stored.items() if found is None or self._is_of_another(found)
        )

    def _is_of_another(self, found: Item) -> bool:
        return OWNER in found and not same(found[OWNER], self.mine)

    def obstacles(self, now: float) -> Iterator[str]:
        """Why the entity cannot be renewed."""
        for guard in (*self.held, *self.claimed.values()):
            if (found := self.stored[guard.ident]) is not None:
                yield not_a_guard(guard.table, found)
        for constraint, guard in self.claimed.items():
            found = self.stored[guard.ident]
            if found is None or same(found.get(OWNER), self.mine) or guard_expired(guard.table, found, now):
                continue
            yield f"the guard of {constraint} names another owner, which is reported by itself"


def judge_values(renewal: Renewal, scope: Scope) -> StoredCheck[list[Diagnosis]]:
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


def _renewed(renewal: Renewal, scope: Scope) -> StoredCheck[Diagnosis]:
    mapping, unit = renewal.mapping, scope.new_unit()
    images = (renewal.item, renewal.image)
    held, claimed = (guards_of(mapping, image) for image in images)
    guards = yield from _read([*held.values(), *claimed.values()])
    totals = yield from _read(
        ItemAddress(delta.mapping.table, delta.key)
        for image in images
        for delta in contributions(mapping, image)
    )
    found = _Guards(held.values(), claimed, guards, owner_of(mapping, mapping.key_of(renewal.item)))
    reasons = (not_ours(mapping, renewal.item, scope), *found.obstacles(unit.now))
    if doubt := next(filter(None, reasons), ""):
        return _diagnosis(renewal, doubt=doubt)
    planned = renewal_actions(renewal, Reads(totals, found.not_to_release), unit)
    return _diagnosis(renewal, actions=_as_read(renewal, planned))


def _read(addresses: Iterable[ItemAddress]) -> StoredCheck[_Items]:
    wanted = {one.ident: one for one in addresses}
    items = yield list(wanted.values())
    return dict(zip(wanted, items, strict=True))


def _as_read(renewal: Renewal, planned: list[Planned]) -> tuple[Planned, ...]:
    """The actions, on condition that everything that changes is as it was read."""
    mapping, item, image = renewal.mapping, renewal.item, renewal.image
    own, *others = planned
    assert isinstance(own.action, Update)
    # A version item repeats the whole item.
    also = item if mapping.versioning is not None else {*item, *image}
    names = [name for name in also if also is item or not same(item.get(name), image.get(name))]
    action = Update(own.action.table, own.action.key, own.action.changes, unchanged(mapping, item, names))
    return (own._replace(action=action), *others)


def _diagnosis(renewal: Renewal, *, doubt: str = "", actions: tuple[Planned, ...] = ()) -> Diagnosis:
    mapping = renewal.mapping
    finding = Finding(
        FindingKind.STORED_VALUES,
        mapping.table.name,
        mapping.key_of(renewal.item),
        mapping.name,
        "; ".join(_words(renewal)),
        mendable=bool(actions),
        doubt=doubt,
    )
    return Diagnosis(finding, actions=actions)


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
