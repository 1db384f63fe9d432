"""Every kind of items that follow from entities, and the target of a total that is made of its key."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from dynaorm.entity.key import stored_key
from dynaorm.entity.mapping.derive import index_keys
from dynaorm.entity.mapping.field import FieldMapping
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.errors import DecodeError, InvalidValue, UsageError
from dynaorm.item.condition import UnknownAttribute
from dynaorm.item.update import Change, SetIfMissing
from dynaorm.item.value import AttributeValue, Item
from dynaorm.plan.derived import DerivedKind, EntitySide, before_and_after
from dynaorm.plan.guards import GUARDS, guard_actions
from dynaorm.plan.intent import NEVER_EXPIRED, Reads, UnitOfWork
from dynaorm.plan.plan import Planned
from dynaorm.plan.stored import ItemChange, ItemUpdate, KnownEntity, check_in_every, known_by_key
from dynaorm.plan.totals import TOTALS, targets_of
from dynaorm.plan.values import times_of_new
from dynaorm.plan.versions import VERSIONS, kept_version

# Every kind of items that follow from entities, in the order in which a plan has their actions.

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


# A target of totals that is made of its key: an upsert makes the item that inserting it would make.
#
# It has the type, the key fields, index keys, the times of its creation and the values of default factories. Other
# defaults stay absent, because absence means them. It is made only if no other item follows from it, and if every
# target that may be stored under the key is in the same indexes.


def can_create_from_key(mapping: EntityMapping, key: Item) -> bool:
    """Whether an item can be made of its key; also where that is tried, and refused because of a value in the key."""
    values = stored_key(mapping, key).fields
    try:
        return create_from_key(mapping, key, values, added=mapping.maintained, now=NEVER_EXPIRED) is not None
    except UsageError:
        return True


def create_from_key(
    mapping: EntityMapping, key: Item, values: Mapping[str, Any], *, added: Collection[str], now: float
) -> tuple[Change, ...] | None:
    """The changes that make an item of its key, as far as it is not stored; None if the key does not say all of it.

    ``values``: those of the key fields. ``added``: the totals to which numbers are added in any case.

    Raises:
        UsageError: the class refuses a value in the key.
    """
    given_by_none = mapping.key_field_set | mapping.managed
    is_incomplete = any(field.required for name, field in mapping.fields.items() if name not in given_by_none)
    if is_incomplete or mapping.made_of.computed_key:
        return None
    item: dict[str, AttributeValue] = dict(key)
    if mapping.type_value is not None and mapping.table.type_attribute is not None:
        item[mapping.table.type_attribute] = mapping.type_value
    item |= {**_encoded(mapping, mapping.key_fields, values), **key}
    # As in an insert, validators and factories find the times.
    times = times_of_new(mapping, now)
    try:
        values = vars(mapping.loader.hydrate({**item, **_encoded(mapping, times, times)}))
    except DecodeError as problem:
        raise UsageError(
            problem=f"{mapping.entity.__name__} cannot be made of its key: {'; '.join(problem.problems)}",
            remedy="correct the fields it is named by, or save it first",
        ) from problem
    made = [name for name, info in mapping.entity.model_fields.items() if info.default_factory is not None]
    # Without a total that is an index key, the item would miss in the index.
    in_index = {name for index in mapping.indexes.values() for name in index.key_fields}
    begun = [name for name in mapping.maintained if name in in_index and name not in added]
    item |= _encoded(mapping, times, values)
    others = _encoded(mapping, (*made, *begun), values)
    created = EntitySide(mapping, key, {**item, **others}, values, is_stored=False)
    if holds_derived(created):
        return None
    subject = mapping.subject(created.item, values)
    try:
        check_in_every(mapping, _known(mapping, key, values, made), subject, mapping.places.values())
    except UnknownAttribute:
        return None
    item |= {**index_keys(mapping, subject), **others}
    return tuple(SetIfMissing((name,), value) for name, value in item.items() if name not in key)


def _known(mapping: EntityMapping, key: Item, values: Mapping[str, Any], made: Iterable[str]) -> KnownEntity:
    """What is known of every target under a key once it is written: where these are missing, the write stores them."""
    known = known_by_key(mapping, key, values)
    never_none = (name for name in made if not _may_be_none(mapping.fields[name]))
    there = {name: values[name] for name in (*mapping.managed, *never_none)}
    begun = _encoded(mapping, mapping.maintained, values)
    return KnownEntity(known.item.plus(begun), {**there, **known.values})


def _may_be_none(field: FieldMapping) -> bool:
    """Whether a stored target may have no value in a field, as an absent attribute or as NULL."""
    return field.can_be_absent or field.codec.nullable


def _encoded(
    mapping: EntityMapping, names: Iterable[str], values: Mapping[str, Any]
) -> dict[str, AttributeValue]:
    fields = [mapping.fields[name] for name in names if not mapping.fields[name].in_key]
    encoded = {field.attribute: mapping.encoder.encode_field(field, values) for field in fields}
    return {name: value for name, value in encoded.items() if value is not None}
