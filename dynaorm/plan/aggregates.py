"""Totals: what the writes of a unit of work add to them and take from them, one action per target.

Rule 1. What an entity contributes follows from its stored images: taken away as it was, added as it will be. The write
        of the entity is bound to the image that is taken away, so a total never counts what was not there.
Rule 2. A total belongs to the key it is stored under, not to an object: replacing an item keeps it, a new one begins
        at 0, and only contributions change it.
Rule 3. A target written in the same unit takes its contributions in that write. Any other gets one blind ADD, which
        needs no read and does not care who else counts; contributions that cancel send nothing.
Rule 4. Nobody joins a target that does not exist, unless the target can be made of its key. Who leaves one that does
        not exist any more leaves nothing behind: that action is dropped.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from decimal import Context, Decimal, Inexact
from typing import Any, Final

from dynaorm.entity.declare.registry import is_of
from dynaorm.entity.key import stored_key
from dynaorm.entity.mapping.aggregate import AggregateMapping
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.state import state_of
from dynaorm.errors import EntityNotFound, InvalidValue, UsageError
from dynaorm.item.update import AddTo, Change
from dynaorm.item.value import AttributeValue, Item, number_text, same
from dynaorm.plan.fold import Slot, target
from dynaorm.plan.image import subject_of, values_of
from dynaorm.plan.known import Ident, ident_of
from dynaorm.plan.net import CHECK, DELETE, EDIT, KNOWN, PUT, UNKNOWN, UPDATE, Net
from dynaorm.record import record

# Exact: two numbers of DynamoDB's together span fewer than 300 digits.
EXACT: Final = Context(prec=300, traps=[Inexact])
_ZERO: Final[AttributeValue] = {"N": "0"}


@record(frozen=False)
class Due:
    """What a unit of work adds to the totals of one target.

    Attributes:
        mapping: the target's class.
        key: its primary key.
        values: the values of its key fields.
        totals: the target's fields, each with what is added.
        joined: an entity comes to name the target that did not before, so it has to exist, or to be made.
    """

    mapping: EntityMapping
    key: Item
    values: Mapping[str, Any]
    totals: dict[str, Decimal] = field(default_factory=dict)
    joined: bool = False

    @property
    def ident(self) -> Ident:
        return ident_of(self.mapping.table, self.key)

    @property
    def additions(self) -> tuple[Change, ...]:
        """What is added, as changes of the stored item. Raises InvalidValue."""
        return tuple(
            AddTo((self.mapping.fields[name].attribute,), _number(self.mapping, name, total))
            for name, total in self.totals.items()
        )


def settle_totals(nets: list[Net], slots: Sequence[Slot]) -> list[Due]:
    """Work out what is due, and let the targets that are written themselves have it; what is due to others.

    Targets that were only checked, or saved without a change, are written if something is due to them.

    Raises:
        UsageError (and InvalidValue, where it is inserted): a total is written by hand.
        EntityNotFound: an entity joins what is no target of its kind.
    """
    for net in nets:
        if kept := net.mapping.maintained:
            _refuse_own(net, kept)
    dues = _dues(nets)
    if not dues:
        return []
    written = {ident_of(net.mapping.table, net.key): net for net in nets}
    named = {ident_of(slot.mapping.table, slot.key): slot for slot in slots}
    left: list[Due] = []
    for ident, due in dues.items():
        slot = named.get(ident)
        own = written.get(ident) or (_unchanged(slot) if slot is not None else None)
        if slot is None or own is None:
            left.append(due)
            continue
        if ident not in written:
            nets.append(own)
        _add(own, due, slot)
    return left


def refuse_kept(mapping: EntityMapping, fields: Iterable[str]) -> None:
    """Raises UsageError where a total is among the fields that a caller writes."""
    kept = mapping.maintained
    if kept and (name := next((one for one in fields if one in kept), None)) is not None:
        raise UsageError(
            problem=f"{mapping.entity.__name__}.{name} is kept by {kept[name]}, and is not written by hand",
            remedy=f"leave it as it is: saving and deleting what {kept[name]} counts changes it",
        )


# -- what is due -------------------------------------------------------------------------------------------------------


def _dues(nets: Iterable[Net]) -> dict[Ident, Due]:
    found: dict[Ident, Due] = {}
    for net in nets:
        was = _sides(net, net.before_mapping, net.before, old=True)
        will_be = _sides(net, net.mapping, net.after, old=False)
        before, after = ({(one.name, due.ident): due for one, due in side} for side in (was, will_be))
        for side, sign in ((before, Decimal(-1)), (after, Decimal(1))):
            for (name, ident), due in side.items():
                total = found.setdefault(ident, Due(due.mapping, due.key, due.values))
                if is_of(due.mapping, total.mapping):
                    total.mapping = due.mapping
                total.joined |= sign > 0 and (name, ident) not in before
                for each, number in due.totals.items():
                    added = EXACT.multiply(sign, number)
                    total.totals[each] = EXACT.add(total.totals.get(each, Decimal(0)), added)
    for due in found.values():
        due.totals = {name: total for name, total in due.totals.items() if total}
    return {ident: due for ident, due in found.items() if due.totals}


def _sides(
    net: Net, mapping: EntityMapping | None, item: Item | None, *, old: bool
) -> Iterator[tuple[AggregateMapping, Due]]:
    """What an entity contributes, as it was or as it will be, where that may differ."""
    if net.write is CHECK or mapping is None or item is None:
        return
    if not mapping.aggregates or mapping.is_tombstone(item):
        return
    values = values_of(mapping, item)
    for one in mapping.aggregates.values():
        if net.write is UPDATE and not one.depends_on(net.changed):
            continue
        try:
            due = _contribution(mapping, one, item, values)
        except InvalidValue:
            if old:  # what cannot be a target's key was never counted
                continue
            raise
        if due is not None:
            yield one, due


def contributions(mapping: EntityMapping, item: Item) -> Iterator[Due]:
    """What an entity, as it is stored, adds to each total. Raises DecodeError, UsageError."""
    values = values_of(mapping, item)
    for one in mapping.aggregates.values():
        try:
            due = _contribution(mapping, one, item, values)
        except InvalidValue:  # what cannot be a target's key was never counted
            continue
        if due is not None:
            yield due


def _contribution(
    mapping: EntityMapping, one: AggregateMapping, item: Item, values: Mapping[str, Any]
) -> Due | None:
    key = {name: values[own] for name, own in one.key.items()}
    if any(value is None for value in key.values()) or not _counts(mapping, one, item):
        return None
    target = mapping_of(one.target)
    totals = {} if one.count is None else {one.count: Decimal(1)}
    totals |= {total: _summed(mapping, name, item, values) for name, total in one.sums.items()}
    return Due(target, target.primary_key(key), key, totals)


def _counts(mapping: EntityMapping, one: AggregateMapping, item: Item) -> bool:
    if one.when is None:
        return True
    try:
        return bool(one.when(subject_of(mapping, item)))
    except AttributeError as problem:
        if problem.name is None or problem.name not in mapping.maintained:
            raise
        raise UsageError(
            problem=f"when= of {mapping.entity.__name__}.{one.name} looks at {problem.name}, which "
            f"{mapping.maintained[problem.name]} keeps without asking it again",
            remedy="let it look at fields that are saved",
        ) from problem


def _summed(mapping: EntityMapping, name: str, item: Item, values: Mapping[str, Any]) -> Decimal:
    """A summed number as stored, exactly; 0 for None."""
    one = mapping.fields[name]
    stored = None if one.in_key else one.stored_in(item)
    if stored is None and values[name] is not None:
        stored = one.codec.encode(values[name])
    return Decimal(stored["N"]) if stored is not None and "N" in stored else Decimal(0)


# -- targets that are written themselves -------------------------------------------------------------------------------


def _refuse_own(net: Net, kept: Mapping[str, str]) -> None:
    """Raises UsageError where a total is written by hand; lets what is put have the totals of what it replaces."""
    attributes = {net.mapping.fields[name].attribute: name for name in kept}
    if net.write is UPDATE:
        refuse_kept(net.mapping, net.changed)
    elif net.write is PUT:
        for attribute, name in attributes.items():
            _take_over(net, attribute, name)


def _take_over(net: Net, attribute: str, name: str) -> None:
    assert net.after is not None
    given = net.after.get(attribute, _ZERO)
    replaced = net.before_mapping is not None and name in net.before_mapping.maintained
    stored = (net.before or {}).get(attribute, _ZERO) if replaced else _ZERO
    state = state_of(net.entities[0])
    loaded = state.item.get(attribute) if state is not None else None
    if not any(same(given, one) for one in (_ZERO, stored, loaded)):
        keeper = net.mapping.maintained[name]
        raise net.mapping.invalid(
            name,
            net.mapping.subject(net.after)[name],
            f"is kept by {keeper}, and begins at 0",
            f"leave it out (detached(..., {name}=0) for a copy): saving what {keeper} counts changes it",
        )
    if not same(given, stored):
        net.after[attribute] = stored
        net.settled |= {name}


def _unchanged(slot: Slot) -> Net | None:
    """A loaded target that was saved without a change, now to be written; None where its key named it."""
    state = slot.state
    if state is None or slot.write is None:
        return None
    return Net(
        slot.mapping, slot.key, KNOWN, UPDATE, state.item, slot.mapping, after=dict(state.item),
        entities=(target(slot.write),),
    )  # fmt: skip


def _add(net: Net, due: Due, slot: Slot) -> None:
    """Let the write of a target add what is due to it."""
    if net.write is DELETE:
        return
    if not is_of(net.mapping, due.mapping):
        if net.knowledge is UNKNOWN and is_of(due.mapping, net.mapping):
            name = due.mapping.entity.__name__
            raise slot.refuse(f"is written as a {net.mapping.entity.__name__} and counted in as a {name}")
        if due.joined:
            raise EntityNotFound(key=stored_key(due.mapping, due.key))
        return
    if net.write is CHECK:
        _write_checked(net, slot)
    if net.write is EDIT:
        net.edits += due.additions
        return
    assert net.after is not None
    for name, total in due.totals.items():
        attribute = net.mapping.fields[name].attribute
        stored = Decimal(net.after.get(attribute, _ZERO)["N"])
        net.after[attribute] = _number(net.mapping, name, EXACT.add(stored, total))
    net.settled |= due.totals.keys()
    net.changed |= due.totals.keys()


def _write_checked(net: Net, slot: Slot) -> None:
    """A target that is checked becomes one that is written, under the same condition."""
    if net.before is None:
        net.write = EDIT
        return
    net.write, net.after = UPDATE, dict(net.before)
    # The object that was checked would be stale after this commit, by our own doing.
    loaded = tuple(check.target for check in slot.checks if state_of(check.target) is not None)
    net.entities = net.entities or loaded[:1]


def _number(mapping: EntityMapping, name: str, total: Decimal) -> AttributeValue:
    try:
        return {"N": number_text(total)}
    except ValueError as problem:
        raise mapping.invalid(name, total, str(problem), "sum numbers that end alike, or fewer") from problem
