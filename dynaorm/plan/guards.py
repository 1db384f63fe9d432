"""Which guard items a unit of work claims, passes on and releases: one action per guard, judged on the final state.

Rule 1. A claim passes where nothing is stored, or the guard is already the claimer's, or it expired a minute ago.
Rule 2. A release passes where the guard is the releaser's, or has no owner (written by hand, as AWS published them), or
        is missing. Somebody else's guard is left alone.
Rule 3. A value that stays with its entity costs nothing.
Rule 4. Two that end up with one value are refused here, unless both had it already: one of them is stale, and DynamoDB,
        which knows which, will say so.
"""

from collections.abc import Sequence
from functools import cache
from itertools import islice
from typing import Any, TypeAlias

from dynaorm.entity.key import stored_key
from dynaorm.entity.mapping.constraint import OWNER, TABLE
from dynaorm.entity.mapping.mapping import Claim, EntityMapping
from dynaorm.entity.table import Table
from dynaorm.errors import UniqueViolation, Violation
from dynaorm.item.action import Delete, Pattern, Put
from dynaorm.item.condition import Attr, Compare, Condition, Or, missing
from dynaorm.item.value import AttributeValue, Item
from dynaorm.plan.image import subject_of, values_of
from dynaorm.plan.known import Known, Setting, ident_of
from dynaorm.plan.net import DELETE, PUT, UPDATE, Net
from dynaorm.plan.planned import Planned, Purpose
from dynaorm.record import record

# How long a guard stays claimed after its entity's expiry, for clocks that differ between writers.
CLAIM_MARGIN = 60

_CLAIM = Purpose.CLAIM  # looking a member up in its class is no cheaper than making a tuple of ten


@record(frozen=False)
class Holder:
    """Who holds guards, before or after: the entity's net, its class, where its guards are and what they say of it.

    ``claim`` is the condition under which it takes a guard that nobody of the unit of work held: one for all of them.
    """

    net: Net
    mapping: EntityMapping
    home: Table
    owner: AttributeValue
    expiry: int | None
    claim: Condition | None = None


@record(frozen=False)
class Guard:
    """One guard item that the unit of work may touch.

    ``value`` is what it stands for, as a person would name it; ``kept``: the new holder had it before.
    """

    constraint: str
    text: str
    value: Any = None
    old: Holder | None = None
    new: Holder | None = None
    kept: bool = False


_Guards: TypeAlias = dict[tuple[str, str], Guard]
"""Those met so far, by table and key."""


def guards_of(nets: Sequence[Net]) -> list[list[Guard]]:
    """For each net the guards first met with it, held before or after.

    Raises:
        UniqueViolation: two entities of the unit of work end up with one value, which not both had.
    """
    known: _Guards = {}
    clashes: list[tuple[Net, Violation]] = []
    found: list[list[Guard]] = []
    for net in nets:
        start = len(known)
        _meet(net, known, clashes)
        found.append([*islice(known.values(), start, None)])
    if clashes:
        entity = clashes[0][0].mapping.entity.__name__
        raise UniqueViolation(entity=entity, violations=tuple(clash for _, clash in clashes))
    return found


def _meet(net: Net, known: _Guards, clashes: list[tuple[Net, Violation]]) -> None:
    ends_with_values = net.write is PUT or net.write is UPDATE
    before, mapping = net.before, net.before_mapping
    if before is not None and mapping is not None and (ends_with_values or net.write is DELETE):
        for holder, (name, text, value) in _held_by(net, mapping, before):
            guard = _known(known, holder, name, text)
            guard.old = holder
            if guard.new is None:
                guard.value = value
    if ends_with_values and net.after is not None:
        for holder, (name, text, value) in _held_by(net, net.mapping, net.after):
            guard = _known(known, holder, name, text)
            kept = guard.old is not None and guard.old.net is net
            if guard.new is not None and not (kept and guard.kept):
                clashes.append((net, _clash(guard, net, value)))
            guard.new, guard.value, guard.kept = holder, value, kept


def _known(known: _Guards, holder: Holder, name: str, text: str) -> Guard:
    return known.setdefault((holder.home.name, text), Guard(name, text))


def _held_by(net: Net, mapping: EntityMapping, item: Item) -> list[tuple[Holder, Claim]]:
    claims = _held(net, mapping, item)
    if not claims:
        return []
    holder = _holder(net, mapping, item)
    return [(holder, claim) for claim in claims]


def _holder(net: Net, mapping: EntityMapping, item: Item) -> Holder:
    """Who holds the guards of one image."""
    table, home = mapping.table, mapping.table.guards
    owner = net.key if home is table else {TABLE: {"S": table.name}, **net.key}
    return Holder(net, mapping, home, {"M": owner}, mapping.expiry_of(item))


def _held(net: Net, mapping: EntityMapping, item: Item) -> list[Claim]:
    """The guards of one image."""
    if not mapping.constraints or mapping.is_tombstone(item):
        return []
    given = net.values if item is net.after else None
    values = given if given is not None else values_of(mapping, item)
    return mapping.claims(values, lambda: subject_of(mapping, item))


def _clash(guard: Guard, net: Net, value: Any) -> Violation:
    assert guard.new is not None
    return Violation(
        constraint=guard.constraint,
        fields=net.mapping.constraints[guard.constraint].fields,
        value=value,
        owner=stored_key(guard.new.mapping, guard.new.net.key),
    )


def claims_of(net: Net, setting: Setting) -> list[Planned]:
    """What the guards of a net need that is the only one of its unit of work, and finds nothing stored.

    Most saves are such a net. All it holds is new, and no two of its guards are one, so there is nothing to compare.
    """
    if net.after is None or not net.mapping.constraints:
        return []
    new = _holder(net, net.mapping, net.after)
    free = _free(None, new, setting)
    return [_claim(new, claim, free, setting) for claim in _held(net, net.mapping, net.after)]


def guard_action(guard: Guard, known: Known, setting: Setting) -> Planned | None:
    """The one action a guard needs, None where it stays as it is."""
    old, new = guard.old, guard.new
    if new is None:
        return _release(guard, known, setting)
    if old is not None and old.owner == new.owner and old.expiry == new.expiry:
        return None
    claim = (guard.constraint, guard.text, guard.value)
    taken = _claim(new, claim, _free(old, new, setting), setting)
    if old is None:
        return taken
    purpose = _CLAIM if old.owner == new.owner else Purpose.PASS_ON
    return taken._replace(purpose=purpose, before={**taken.item_key, OWNER: old.owner})


def _claim(new: Holder, claim: Claim, free: Condition, setting: Setting) -> Planned:
    constraint, text, value = claim
    home, key = new.home, _key_of(new.home, text)
    item = {**key, OWNER: new.owner}
    if new.expiry is not None and new.mapping.expires is not None:
        item[new.mapping.expires.attribute] = {"N": str(new.expiry)}
    return Planned.__new__(
        Planned,
        Put(setting.table_name(home.name), item, free),
        _CLAIM,
        new.mapping,
        new.net.key,
        key,
        None,
        item,
        constraint,
        value,
    )


def _key_of(home: Table, text: str) -> dict[str, AttributeValue]:
    one = {"S": text}
    return {home.pk.name: one} if home.sk is None else {home.pk.name: one, home.sk.name: one}


def _release(guard: Guard, known: Known, setting: Setting) -> Planned | None:
    old = guard.old
    assert old is not None
    home, key = old.home, _key_of(old.home, guard.text)
    if known.foreign and ident_of(home, key) in known.foreign:
        return None
    return Planned.__new__(
        Planned,
        Delete(setting.table_name(home.name), key, _RELEASES.of(old.owner)),
        Purpose.RELEASE,
        old.mapping,
        old.net.key,
        key,
        {**key, OWNER: old.owner},
        None,
        guard.constraint,
        guard.value,
    )


# -- conditions --------------------------------------------------------------------------------------------------------

_OWNER = Attr((OWNER,))
_UNOWNED = missing(OWNER)


def _free(old: Holder | None, new: Holder, setting: Setting) -> Condition:
    """The condition under which the new holder takes a guard."""
    home = new.home
    if old is None:
        if new.claim is None:
            new.claim = _unclaimed(home, new.owner, setting)
        return new.claim
    owners = [new.owner] if old.owner == new.owner else [new.owner, old.owner]
    mine = [Compare(_OWNER, "=", owner) for owner in owners]
    return Or((_UNOWNED, *mine, *_expired(home, setting)))


def _unclaimed(home: Table, owner: AttributeValue, setting: Setting) -> Condition:
    """Nothing is stored, or the guard is the claimer's already, or it has expired."""
    if home.ttl_attribute is None:
        return _claims(home.pk.name).of(owner)
    return Or((missing(home.pk.name), Compare(_OWNER, "=", owner), *_expired(home, setting)))


def _expired(home: Table, setting: Setting) -> tuple[Condition, ...]:
    if home.ttl_attribute is None:
        return ()
    return (Compare(Attr((home.ttl_attribute,)), "<", {"N": str(int(setting.now) - CLAIM_MARGIN)}),)


@cache
def _claims(pk: str) -> Pattern:
    absent = missing(pk)
    return Pattern(lambda owner: Or((absent, Compare(_OWNER, "=", owner))))


_RELEASES = Pattern(lambda owner: Or((_UNOWNED, Compare(_OWNER, "=", owner))))
