"""Edits by key that are sent without reading: which these are, and the conditions that hold them to the fields' rules.

Rule 1. An edit is sent without reading only if the edit itself and its conditions decide everything that follows from
        it: that the outcome is valid, and which keys, guards, versions and totals it has.
Rule 2. A condition on a bound is stricter than the rule where the attribute is absent or an element is already in a
        set. If it fails, the edit is compiled again with the item that was found.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal, DecimalException
from typing import Any, Final

from dynaorm.entity.mapping.derive import keys_in
from dynaorm.entity.mapping.field import FieldMapping
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.mapping.place import IndexPlaces
from dynaorm.entity.mapping.rules import FieldRules
from dynaorm.entity.mapping.when import When
from dynaorm.entity.resolve import FieldResolver
from dynaorm.errors import InvalidValue
from dynaorm.item.condition import Attr, Compare, Condition, SizeOf, all_of, any_of_conditions, missing
from dynaorm.item.update import AddTo, Append, Change, Discard, Prepend, Remove, SetIfMissing, SetTo
from dynaorm.item.value import EXACT, SET_TAGS, AttributeValue, Item, number_text
from dynaorm.plan.edit import stored_changes, touched

_OPERATORS: Final = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}


def edits_without_reading(
    mapping: EntityMapping, key: Item, changes: tuple[Change, ...]
) -> tuple[Change, ...] | None:
    """An edit by key, in stored names and values, with the index keys that follow from it.

    None if the edit needs the stored item: for its rules, or for a key, guard, version or total.
    """
    if _needs_reading(mapping, changes):
        return None
    keys = decided_index_keys(mapping, key, changes)
    return None if keys is None else (*stored_changes(mapping, changes), *keys)


def _needs_reading(mapping: EntityMapping, changes: tuple[Change, ...]) -> bool:
    """Whether an edit needs the stored item whatever the indexes of the class are."""
    if mapping.rules.of_class or not all(_is_decided(mapping, change) for change in changes):
        return True
    fields = touched(mapping, changes)
    if not mapping.computed_key.isdisjoint(fields):
        return True
    if any(not one.depends_on.isdisjoint(fields) for one in mapping.constraints.values()):
        return True
    if any(not one.depends_on.isdisjoint(fields) for one in mapping.aggregates.values()):
        return True
    # The value may be stored under a former name; an index key is made of what is stored, not of what was given.
    if any(mapping.fields[name].formerly for name in fields):
        return True
    if mapping.versioning is not None and not fields.keys().isdisjoint(
        mapping.versioning.fields or mapping.fields
    ):
        return True
    return mapping.expires is not None and mapping.expires.name in fields and bool(mapping.constraints)


def decided_index_keys(
    mapping: EntityMapping, key: Item, changes: tuple[Change, ...]
) -> tuple[Change, ...] | None:
    """The changes of index keys that follow from an edit alone; None where they depend on what is stored."""
    names = {str(change.path[0]) for change in changes}
    touched_indexes = [index for index in mapping.places.values() if not index.depends_on.isdisjoint(names)]
    if not touched_indexes:
        return ()
    fixed = _fixed_fields(mapping, key, changes)
    found: dict[str, AttributeValue] = {}
    for index in touched_indexes:
        keys = _decided_keys(mapping, index, fixed)
        if keys is None:
            return None
        found |= keys
    made_up = dict.fromkeys(name for index in touched_indexes for name in index.made_up)
    return tuple(SetTo((name,), found[name]) if name in found else Remove((name,)) for name in made_up)


def _fixed_fields(mapping: EntityMapping, key: Item, changes: tuple[Change, ...]) -> dict[str, Any]:
    """The fields whose loaded values follow from the edit alone: those that it sets, and those that the key holds."""
    found: dict[str, Any] = {}
    for part in mapping.primary_parts:
        found |= part.match(key[part.attribute.name][part.attribute.kind]) or {}
    found |= {
        str(change.path[0]): change.value
        for change in changes
        if isinstance(change, SetTo) and len(change.path) == 1
    }
    return {name: found[name] for name in found.keys() & mapping.fields.keys() if mapping.fields[name].exact}


def _decided_keys(
    mapping: EntityMapping, index: IndexPlaces, fixed: Mapping[str, Any]
) -> dict[str, AttributeValue] | None:
    """The keys that the fixed fields decide, empty outside the index; None where they decide nothing."""
    found: dict[str, AttributeValue] = {}
    for place in index.places:
        holds = place.when is None or _holds(mapping, place.when, fixed)
        if holds is False:
            continue
        if holds is None or not place.key_fields <= fixed.keys():
            return None
        keys = keys_in(mapping, place, fixed)
        if keys is not None and found:
            return None  # two places: the edit of the stored item says what is wrong
        found |= keys or {}
    return found


def _holds(mapping: EntityMapping, when: When, fixed: Mapping[str, Any]) -> bool | None:
    known = [mapping.fields[name] for name in when.fields & fixed.keys()]
    item = {
        field.attribute: value for field in known if (value := field.encode(fixed[field.name])) is not None
    }
    return when.decided(item, frozenset(field.attribute for field in known))


def _starts_from_a_set(mapping: EntityMapping, change: Change) -> bool:
    start = FieldResolver(mapping).start(change.path)
    return start is not None and not start.keys().isdisjoint(SET_TAGS.values())


def bounds_of(mapping: EntityMapping, changes: tuple[Change, ...]) -> Condition | None:
    """The condition under which an edit that is decided without reading keeps to the rules of its fields."""
    return all_of(*(one for change in changes for one in _bounds(mapping, change)))


def _is_decided(mapping: EntityMapping, change: Change) -> bool:
    """Whether a change and its bounds alone decide that the outcome is valid."""
    field = mapping.fields[str(change.path[0])]
    rules = mapping.rules.fields[field.name]
    if field.in_key:
        return not rules.takes_info
    if isinstance(change, AddTo | Discard) and _starts_from_a_set(mapping, change):
        return False  # DynamoDB adds to and discards from what is stored
    if len(change.path) > 1:
        return _is_part_decided(mapping, rules, change)
    match change:
        case SetTo() | SetIfMissing():
            return not rules.takes_info
        case Remove():
            return True
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
    if len(change.path) > 1 or not isinstance(change, AddTo | Append | Prepend):
        return
    field = mapping.fields[str(change.path[0])]
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
