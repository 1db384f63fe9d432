"""The condition on which an edit that does not read the item keeps to the rules of its fields.

Rule 1. An outcome is valid if the value itself is, or if a condition on the stored attribute says so: of a sum, that
        the number is at most so much; of a longer list, that it has room. If no condition says it, the item must be
        read, and ``UnknownAttribute`` is raised.
Rule 2. A condition is stricter than the rule where the attribute is absent or an element is already in a set. If it
        fails, the edit is planned again with the item that was found.
"""

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from decimal import Decimal, DecimalException
from typing import Any, Final

from dynaorm.entity.mapping.field import FieldMapping
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.mapping.validation_rules import FieldRules
from dynaorm.entity.resolve import FieldResolver
from dynaorm.errors import InvalidValue
from dynaorm.item.condition import (
    Attr,
    Compare,
    Condition,
    SizeOf,
    UnknownAttribute,
    all_of,
    any_of_conditions,
    exists,
    missing,
)
from dynaorm.item.update import AddTo, Append, Change, Discard, Prepend, Remove, SetIfMissing, SetTo
from dynaorm.item.value import EXACT, SET_TAGS, number_text

_OPERATORS: Final = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}


def bounds_of(
    mapping: EntityMapping, changes: tuple[Change, ...], *, creates: bool = False
) -> Condition | None:
    """The condition on which the outcome of an edit is valid, whatever else is stored; None if it always is.

    ``creates``: for an item that is stored already, where the edit would also make one.

    Raises:
        UnknownAttribute: no condition says whether the outcome is valid.
    """
    bounds = [bound for change in changes for bound in _bounds(mapping, change)]
    names = {str(change.path[0]) for change in changes}
    relied_on = _made_of(mapping, names) | (_never_invented(mapping, names) if creates else set())
    return all_of(*bounds, *(exists(mapping.fields[name].attribute) for name in sorted(relied_on)))


def limits(attribute: str, bounds: Mapping[str, Any], added: Decimal) -> Iterator[Condition]:
    """The conditions under which a number keeps to its bounds, such as ``{"ge": 0}``, if another is added to it."""
    for name, bound in bounds.items():
        limit = EXACT.subtract(Decimal(str(bound)), added)
        yield Compare(Attr((attribute,)), _OPERATORS[name], {"N": number_text(limit)})


def _bounds(mapping: EntityMapping, change: Change) -> Iterator[Condition]:
    """The conditions for one change. Raises UnknownAttribute."""
    field = mapping.fields[str(change.path[0])]
    rules = mapping.rules.fields[field.name]
    if field.in_key:
        _require(not rules.takes_info, change)
        return
    _check_start(mapping, change)
    if len(change.path) > 1:
        _require(_is_part_valid(mapping, rules, change), change)
    else:
        yield from _bounds_of_whole(mapping, field, rules, change)


def _bounds_of_whole(
    mapping: EntityMapping, field: FieldMapping, rules: FieldRules, change: Change
) -> Iterator[Condition]:
    match change:
        case SetTo() | SetIfMissing():
            _require(not rules.takes_info, change)
        case Remove():
            _require(not mapping.dependence.looking([field.name]), change)
        case Discard():
            _require(rules.lengths is not None and rules.lengths[0] == 0, change)
            if not field.empty_is_absent:
                # DynamoDB would remove a set that becomes empty, and absence means another value.
                rest = Compare(_size(field), ">", {"N": str(len(change.values))})
                yield any_of_conditions(missing(field.attribute), rest)
        case AddTo() if not field.codec.is_set:
            yield from _bounds_of_sum(mapping, field, rules, change)
        case AddTo() | Append() | Prepend():
            _require(rules.lengths is not None, change)
            yield from _bounds_of_length(field, rules.lengths or (0, None), _count(change))


def _unread(change: Change) -> UnknownAttribute:
    return UnknownAttribute(
        f"only what is stored says what this change of {change.path[0]} makes, and whether it is valid"
    )


def _require(is_decided: bool, change: Change) -> None:
    if not is_decided:
        raise _unread(change)


def _check_start(mapping: EntityMapping, change: Change) -> None:
    """Raises UnknownAttribute if what a change stores depends on the stored value as no expression of DynamoDB says."""
    resolver = FieldResolver(mapping)
    if isinstance(change, SetTo):
        _require(not resolver.codec(change.path).is_open, change)  # members that no class knows stay
    if isinstance(change, AddTo | Discard):
        # DynamoDB would add to what stands for an empty set, or discard from it; of nested sets, it does neither.
        start, is_nested = resolver.start(change.path), len(change.path) > 1
        _require(start is None or start.keys().isdisjoint(SET_TAGS.values()), change)
        _require(not (is_nested and resolver.codec(change.path).is_set), change)


def _is_part_valid(mapping: EntityMapping, rules: FieldRules, change: Change) -> bool:
    if isinstance(change, Remove):
        # A member of a nested model may be required.
        return rules.is_plain and FieldResolver(mapping).codec(change.path[:-1]).members is None
    return rules.is_plain and not (isinstance(change, AddTo) and rules.has_choices)


def _bounds_of_sum(
    mapping: EntityMapping, field: FieldMapping, rules: FieldRules, change: AddTo
) -> Iterator[Condition]:
    if rules.bounds is None:
        # To what is no number nothing can be added: resolving the change says so.
        _require("N" not in (field.codec.tags or "N"), change)
    elif rules.bounds:
        _require(field.exact, change)  # an encoding of the field's own may store another number
        try:
            added = Decimal(FieldResolver(mapping).encode(change.path, change.value)["N"])
            yield from limits(field.attribute, rules.bounds, added)
        except InvalidValue:
            return  # resolving the change says what is wrong with it
        except (ValueError, DecimalException):
            raise _unread(change) from None


def _bounds_of_length(
    field: FieldMapping, lengths: tuple[int, int | None], added: int
) -> Iterator[Condition]:
    least, most = lengths
    if least:
        yield Compare(_size(field), ">=", {"N": str(least)})
    if most is not None:
        fits = Compare(_size(field), "<=", {"N": str(most - added)})
        absent_fits = field.empty_is_absent and least <= added <= most
        yield any_of_conditions(missing(field.attribute), fits) if absent_fits else fits


def _count(change: AddTo | Append | Prepend) -> int:
    if isinstance(change, AddTo):
        return len(change.value) if isinstance(change.value, set | frozenset) else 1
    return len(change.values)


def _size(field: FieldMapping) -> Any:
    return SizeOf((field.attribute,))


def _made_of(mapping: EntityMapping, names: AbstractSet[str]) -> AbstractSet[str]:
    """The fields that must be stored: their absence means what a factory makes of the fields that change."""
    dependence = mapping.dependence
    if not dependence.made:
        return frozenset()
    made = dependence.dependents(names) - dependence.in_items.dependents(names)
    return {name for name in made if name in mapping.fields and _is_made_if_absent(mapping, name)}


def _never_invented(mapping: EntityMapping, names: AbstractSet[str]) -> AbstractSet[str]:
    """The fields that must be stored: the edit has values for new items, which an older item does not get."""
    own = {field.name for field in mapping.created}
    others = mapping.fields.keys() - names
    return own | {name for name in others if _is_made_if_absent(mapping, name)}


def _is_made_if_absent(mapping: EntityMapping, name: str) -> bool:
    """Whether the absence of a field means what a factory makes, not an empty set or what a key has."""
    field = mapping.fields[name]
    has_factory = mapping.entity.model_fields[name].default_factory is not None
    return has_factory and not (field.empty_is_absent or field.in_key)
