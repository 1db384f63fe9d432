"""Edits by key that are sent without reading: which these are, and the conditions that hold them to the fields' rules.

Rule 1. An edit is sent without reading only if the edit itself and its conditions decide everything that follows from
        it: that the outcome is valid, and which keys, guards, versions and totals it has.
Rule 2. What else follows from it is the question who looks at what changes (``Dependence``). Index keys are computed as
        those of a stored item, of which only a part is known here.
Rule 3. A condition on a bound is stricter than the rule where the attribute is absent or an element is already in a
        set. If it fails, the edit is compiled again with the item that was found.
"""

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from decimal import Decimal, DecimalException
from typing import Any, Final

from dynaorm.entity.mapping.derive import index_keys
from dynaorm.entity.mapping.field import FieldMapping
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.mapping.place import IndexPlaces
from dynaorm.entity.mapping.rules import FieldRules
from dynaorm.entity.mapping.stored import StoredValues
from dynaorm.entity.resolve import FieldResolver
from dynaorm.entity.template.template import KeyValueError
from dynaorm.errors import InvalidValue
from dynaorm.item.condition import (
    Attr,
    Compare,
    Condition,
    SizeOf,
    all_of,
    any_of_conditions,
    exists,
    missing,
)
from dynaorm.item.known import KnownPart, Unread
from dynaorm.item.update import AddTo, Append, Change, Discard, Prepend, Remove, SetIfMissing, SetTo
from dynaorm.item.value import EXACT, SET_TAGS, Item, number_text
from dynaorm.plan.edit import in_their_indexes, stored_changes, touched
from dynaorm.plan.item_change import ItemEdit

_OPERATORS: Final = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}


def edit_without_reading(
    mapping: EntityMapping, key: Item, changes: tuple[Change, ...], *, creates: bool = False
) -> ItemEdit | None:
    """An edit by key, with the index keys that follow from it, and the condition on which its outcome is valid.

    None if the edit needs the stored item: for its rules, or for a key, guard, version or total.
    """
    made = in_their_indexes(mapping, changes)
    if _needs_reading(mapping, made):
        return None
    try:
        keys = index_changes(mapping, key, made)
    except Unread:
        return None
    bounds = bounds_of(mapping, changes, creates=creates)
    return ItemEdit(mapping, key, (*stored_changes(mapping, made), *keys), bounds, creates=creates)


def _needs_reading(mapping: EntityMapping, changes: tuple[Change, ...]) -> bool:
    """Whether an edit needs the stored item whatever the indexes of the class are."""
    if not all(_is_decided(mapping, change) for change in changes):
        return True
    fields = touched(mapping, changes)
    # The value may be stored under a former name; an index key is made of what is stored, not of what was given.
    if any(mapping.fields[name].formerly for name in fields):
        return True
    # The bounds require what a factory would make of these fields to be stored.
    dependence = mapping.dependence.in_items
    changed = dependence.dependents(fields)
    if dependence.looking(changed):
        return True
    if not mapping.computed_key.isdisjoint(changed):
        return True
    if any(not one.depends_on.isdisjoint(changed) for one in mapping.constraints.values()):
        return True
    if any(not one.depends_on.isdisjoint(changed) for one in mapping.aggregates.values()):
        return True
    if mapping.versioning is not None and not changed.isdisjoint(mapping.versioning.fields or mapping.fields):
        return True
    return mapping.expires is not None and mapping.expires.name in changed and bool(mapping.constraints)


def index_changes(mapping: EntityMapping, key: Item, changes: tuple[Change, ...]) -> tuple[Change, ...]:
    """The changes of index keys that follow from an edit.

    Raises:
        InvalidValue: a value cannot be part of a key, or two places of one index hold the entity.
        Unread: they depend on what is stored.
    """
    names = {str(change.path[0]) for change in changes}
    touched_indexes = [index for index in mapping.places.values() if not index.depends_on.isdisjoint(names)]
    if not touched_indexes:
        return ()
    values = _values_after(mapping, key, changes)
    written = [index for index in touched_indexes if index.made_up]
    for index in touched_indexes:
        if not index.made_up:
            _check_own_keys(mapping, index, values, names)
    wanted = index_keys(mapping, values, written)
    made_up = dict.fromkeys(name for index in written for name in index.made_up)
    return tuple(SetTo((name,), wanted[name]) if name in wanted else Remove((name,)) for name in made_up)


def _values_after(mapping: EntityMapping, key: Item, changes: tuple[Change, ...]) -> StoredValues:
    """What is known of an entity after an edit: the fields that the edit sets as a whole, and those of its key."""
    present, absent, given = dict(key), set[str](), dict[str, Any]()
    for part in mapping.primary_parts:
        matched = part.match(key[part.attribute.name][part.attribute.kind]) or {}
        given |= {
            name: value
            for name, value in matched.items()
            if name in mapping.fields and mapping.fields[name].exact
        }
    for change in changes:
        field = mapping.fields[str(change.path[0])]
        if not isinstance(change, SetTo) or len(change.path) > 1:
            continue  # what it makes depends on what is stored
        if field.in_key:
            given[field.name] = change.value
        elif (value := mapping.encode_field(field, {field.name: change.value})) is None:
            absent |= {field.attribute, *field.formerly}
        else:
            present[field.attribute] = value
    return mapping.subject(KnownPart(present, absent), given)


def _check_own_keys(
    mapping: EntityMapping, index: IndexPlaces, values: StoredValues, names: AbstractSet[str]
) -> None:
    """Check what an edit stores in fields that are themselves the key of an index. Raises InvalidValue, Unread."""
    for part in (part for place in index.places for part in place.parts):
        # Whatever number the field may have can be a key; a text or binary may be too long, or empty.
        if names.isdisjoint(part.fields) or part.attribute.kind == "N":
            continue
        try:
            part.value(values)
        except KeyValueError as problem:
            raise mapping.invalid_key(problem) from mapping.cause_of(problem.field, problem)


def _is_of_stored(mapping: EntityMapping, change: Change) -> bool:
    """Whether what a change stores depends on what is stored, in another way than DynamoDB's expressions say it."""
    resolver = FieldResolver(mapping)
    if isinstance(change, SetTo):
        return resolver.codec(change.path).is_open  # members that no class knows stay
    if isinstance(change, AddTo | Discard):
        # DynamoDB would add to an empty set, or discard from it.
        start = resolver.start(change.path)
        return start is not None and not start.keys().isdisjoint(SET_TAGS.values())
    return False


def bounds_of(
    mapping: EntityMapping, changes: tuple[Change, ...], *, creates: bool = False
) -> Condition | None:
    """The condition under which an edit that is decided without reading keeps to the rules of its fields.

    ``creates``: for an item that is stored already, where the edit would also make one.
    """
    bounds = (one for change in changes for one in _bounds(mapping, change))
    names = {str(change.path[0]) for change in changes}
    relied_on = _made_of(mapping, names) | (_never_invented(mapping, names) if creates else set())
    return all_of(*bounds, *(exists(mapping.fields[name].attribute) for name in sorted(relied_on)))


def _made_of(mapping: EntityMapping, names: AbstractSet[str]) -> AbstractSet[str]:
    """The fields that must be stored: their absence means what a factory makes of the fields that change."""
    dependence = mapping.dependence
    if not dependence.made:
        return frozenset()
    made = dependence.dependents(names) - dependence.in_items.dependents(names)
    return {name for name in made if name in mapping.fields and _is_made_if_absent(mapping, name)}


def _never_invented(mapping: EntityMapping, names: AbstractSet[str]) -> AbstractSet[str]:
    """The fields that must be stored: the edit has values for new items, which an older item does not get."""
    own = set() if mapping.created is None else {mapping.created.name}
    others = mapping.fields.keys() - names
    return own | {name for name in others if _is_made_if_absent(mapping, name)}


def _is_made_if_absent(mapping: EntityMapping, name: str) -> bool:
    """Whether the absence of a field means what a factory makes, not an empty set or what a key has."""
    field = mapping.fields[name]
    has_factory = mapping.entity.model_fields[name].default_factory is not None
    return has_factory and not (field.empty_is_absent or field.in_key)


def _is_decided(mapping: EntityMapping, change: Change) -> bool:
    """Whether a change and its bounds alone decide that the outcome is valid."""
    field = mapping.fields[str(change.path[0])]
    rules = mapping.rules.fields[field.name]
    if field.in_key:
        return not rules.takes_info
    if _is_of_stored(mapping, change):
        return False
    if len(change.path) > 1:
        return _is_part_decided(mapping, rules, change)
    match change:
        case SetTo() | SetIfMissing():
            return not rules.takes_info
        case Remove():
            return not mapping.dependence.looking([field.name])
        case Discard():
            return rules.lengths is not None and rules.lengths[0] == 0
        case AddTo() if not field.codec.is_set:
            return _is_sum_decided(mapping, field, rules, change)
    return rules.lengths is not None


def _is_part_decided(mapping: EntityMapping, rules: FieldRules, change: Change) -> bool:
    if isinstance(change, Remove):
        # A member of a nested model may be required.
        return rules.is_plain and FieldResolver(mapping).codec(change.path[:-1]).members is None
    return rules.is_plain and not (isinstance(change, AddTo) and rules.has_choices)


def _is_sum_decided(mapping: EntityMapping, field: FieldMapping, rules: FieldRules, change: Change) -> bool:
    if rules.bounds is None:
        return "N" not in (field.codec.tags or "N")  # resolving the change says that nothing can be added
    try:
        # A field with an encoding of its own may be stored as another number.
        return not rules.bounds or (field.exact and bounds_of(mapping, (change,)) is not None)
    except InvalidValue:
        return True  # resolving the change says what is wrong with it
    except (ValueError, DecimalException):
        return False


def _bounds(mapping: EntityMapping, change: Change) -> Iterator[Condition]:
    field = mapping.fields[str(change.path[0])]
    if isinstance(change, Discard) and len(change.path) == 1 and not field.empty_is_absent:
        # DynamoDB would remove a set that becomes empty, and absence means another value.
        size: Any = SizeOf((field.attribute,))
        rest = Compare(size, ">", {"N": str(len(change.values))})
        yield any_of_conditions(missing(field.attribute), rest)
    if len(change.path) > 1 or not isinstance(change, AddTo | Append | Prepend):
        return
    rules = mapping.rules.fields[field.name]
    if isinstance(change, AddTo) and not field.codec.is_set:
        if rules.bounds:
            added = FieldResolver(mapping).encode(change.path, change.value)["N"]
            yield from limits(field.attribute, rules.bounds, Decimal(added))
    elif rules.lengths is not None:
        yield from _length_bounds(field, rules.lengths, _count(change))


def limits(attribute: str, bounds: Mapping[str, Any], added: Decimal) -> Iterator[Condition]:
    """The conditions under which a number keeps to its bounds, such as ``{"ge": 0}``, if another is added to it."""
    for name, bound in bounds.items():
        limit = EXACT.subtract(Decimal(str(bound)), added)
        yield Compare(Attr((attribute,)), _OPERATORS[name], {"N": number_text(limit)})


def _count(change: AddTo | Append | Prepend) -> int:
    if isinstance(change, AddTo):
        return len(change.value) if isinstance(change.value, set | frozenset) else 1
    return len(change.values)


def _length_bounds(field: FieldMapping, lengths: tuple[int, int | None], added: int) -> Iterator[Condition]:
    least, most = lengths
    size: Any = SizeOf((field.attribute,))
    if least:
        yield Compare(size, ">=", {"N": str(least)})
    if most is not None:
        fits = Compare(size, "<=", {"N": str(most - added)})
        absent_fits = field.empty_is_absent and least <= added <= most
        yield any_of_conditions(missing(field.attribute), fits) if absent_fits else fits
