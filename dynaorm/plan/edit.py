"""Partial updates: the fields that an edit changes, and the image that it makes of a known item."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import is_dataclass
from math import isfinite
from typing import Any, TypeAlias

from pydantic import BaseModel

from dynaorm.entity.codec.of_type import Codec
from dynaorm.entity.codec.value import EMPTY, NULL
from dynaorm.entity.key import Key
from dynaorm.entity.mapping.derive import is_index_key
from dynaorm.entity.mapping.field import FieldMapping
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.mapping.validate import (
    Validated,
    refuse_iterators,
    validated,
    validated_field,
    validated_part,
    values_in,
    with_made_values,
    with_stored_defaults,
)
from dynaorm.entity.mapping.validation_rules import is_equal
from dynaorm.entity.resolve import FieldResolver
from dynaorm.entity.state import Loaded
from dynaorm.errors import DecodeError, InvalidValue, KeyChanged, UsageError
from dynaorm.item.path import Path, value_at
from dynaorm.item.update import (
    AddTo,
    Append,
    Change,
    Discard,
    Prepend,
    Remove,
    SetIfMissing,
    SetTo,
    apply_changes,
    by_whole_fields,
    changed_value,
    resolve_changes,
    with_part,
)
from dynaorm.item.value import AttributeValue, Item, same
from dynaorm.plan.intent import NEVER_EXPIRED
from dynaorm.plan.stored import loaded_key
from dynaorm.plan.values import (
    apply_field_changes,
    over_stored,
    says,
    times_of_changed,
    times_of_new,
    with_current_names,
)
from dynaorm.record import replace

# The values that the changes of an edit give: each is judged by the type of the place it goes to.
#
# Rule 1. The value of ``set`` goes to its path, those of ``append`` and ``prepend`` to elements of the list, and
#         those of ``add`` to members of the set. Each becomes what setting the whole field would make of it.
# Rule 2. A value whose validators look at the fields beside it is judged with the entity (``validate_with_entity``).
# Rule 3. What is discarded is not stored: if it breaks a rule, it is looked for as it is.


_Judge: TypeAlias = Callable[[Path, Any], Any]
"""The value to store for one that goes to a path. An index leads to the elements of a list or set."""


def validate_changes(mapping: EntityMapping, changes: tuple[Change, ...]) -> tuple[Change, ...]:
    """The changes with the values that the validators of their places give. Raises InvalidValue.

    A value whose validators may look at other fields stays as it is (see ``validate_with_entity``).
    """

    def judge(path: Path, value: Any) -> Any:
        if depends_on_other_fields(mapping, path):
            return _repeatable(mapping, path, value)
        return valid_at(mapping, path, value, {})

    return tuple(_judged(mapping, change, judge) for change in changes)


def validate_with_entity(
    mapping: EntityMapping, changes: tuple[Change, ...], values: Callable[[], Mapping[str, Any]]
) -> tuple[Change, ...]:
    """The changes with the values whose validators may look at other fields, too.

    ``values`` returns those of the entity before the changes. It is called only if they are looked at.
    """
    given = {str(one.path[0]): one.value for one in changes if isinstance(one, SetTo) and len(one.path) == 1}
    found: Mapping[str, Any] | None = None

    def judge(path: Path, value: Any) -> Any:
        nonlocal found
        if not depends_on_other_fields(mapping, path):
            return value
        if found is None:
            found = values()
        nested = mapping.rules.nested.at(path)
        if nested is None or nested.depth == 0:
            # Validators see what the same edit sets, too, as if all of it were given to the constructor.
            return valid_at(mapping, path, value, {**found, **given})
        return valid_at(mapping, path, value, _members(found.get(str(path[0])), path[1 : nested.depth]))

    return tuple(_judged(mapping, change, judge) for change in changes)


def depends_on_other_fields(mapping: EntityMapping, path: Path) -> bool:
    """Whether the validators of a place may look at other fields."""
    if len(path) == 1:
        return mapping.rules.fields[str(path[0])].takes_info
    nested = mapping.rules.nested.at(path)
    return nested is not None and nested.looks_beside


def _judged(mapping: EntityMapping, change: Change, judge: _Judge) -> Change:
    """The change with the values that ``judge`` gives for its own."""
    field, path = mapping.fields.get(str(change.path[0])), change.path
    if field is None:
        return change  # resolving the change says that there is no such field
    match change:
        case SetTo(value=value) | SetIfMissing(value=value):
            found = judge(path, value)
            return change if found is value else replace(change, value=found)
        case Append(values=values) | Prepend(values=values) if not field.in_key:
            elements = _listed(values, _codec_at(mapping, (*path, 0)))
            return replace(change, values=tuple(judge((*path, 0), element) for element in elements))
        case AddTo(value=value) if _is_set(mapping, field, path):
            members = [judge((*path, 0), one) for one in _members_of([value])]
            return replace(change, value=_set_of(mapping, field.name, members))
        case Discard(values=values) if _is_set(mapping, field, path):
            return replace(change, values=tuple(_sought(judge, path, one) for one in _members_of(values)))
    return change


def _is_set(mapping: EntityMapping, field: FieldMapping, path: Path) -> bool:
    codec = field.codec if len(path) == 1 else _codec_at(mapping, path)
    return codec is not None and codec.is_set and not field.in_key


def _listed(values: Sequence[Any], element: Codec | None) -> Sequence[Any]:
    """The elements that are given one by one, or as one list if no element of the type is a list."""
    if len(values) != 1 or not isinstance(values[0], list | tuple) or element is None:
        return values
    # A codec without tags takes values of any type, lists among them.
    return values if "L" in (element.tags or "L") else values[0]


def _members_of(values: Iterable[Any]) -> Iterator[Any]:
    """The members of a set that are given, each alone or in a collection, in the same order in every process."""
    for value in values:
        if isinstance(value, set | frozenset):
            yield from sorted(value, key=repr)
        elif isinstance(value, list | tuple):
            yield from value
        else:
            yield value


def _set_of(mapping: EntityMapping, name: str, members: Sequence[Any]) -> AbstractSet[Any]:
    try:
        return frozenset(members)
    except TypeError as problem:
        raise mapping.errors.invalid(name, members, "has what cannot be a member of a set") from problem


def _sought(judge: _Judge, path: Path, value: Any) -> Any:
    try:
        return judge((*path, 0), value)
    # Rule 3.
    except InvalidValue:
        return value


def valid_at(mapping: EntityMapping, path: Path, value: Any, beside: Mapping[str, Any]) -> Any:
    """The value for a path that its validators give, which may look at those beside it. Raises InvalidValue."""
    if len(path) == 1:
        return validated_field(mapping, str(path[0]), {**beside, str(path[0]): value})
    codec = _codec_at(mapping, path)
    return value if codec is None else validated_part(mapping, path, codec, value, beside=beside)


def _codec_at(mapping: EntityMapping, path: Path) -> Codec | None:
    """The codec of a part of a field, or of the members of a set; None if there is none at the path."""
    resolver = FieldResolver(mapping)
    try:
        whole = resolver.codec(path[:-1])
        return whole.element if whole.is_set else resolver.codec(path)
    except UsageError:
        return None  # resolving the change says what is wrong with its path


def _repeatable(mapping: EntityMapping, path: Path, value: Any) -> Any:
    """A value that may be validated several times: a list in place of an iterator."""
    if isinstance(value, Iterator):
        return list(value)
    refuse_iterators(mapping.errors, {str(path[0]): value}, [str(path[0])])
    return value


def _members(value: Any, steps: Path) -> Mapping[str, Any]:
    """The members of the record at these steps of a field's value; none where the steps lead nowhere."""
    for step in steps:
        if isinstance(value, list | tuple) and isinstance(step, int):
            value = value[step] if step < len(value) else None
        else:
            value = _named(value).get(step)
    return _named(value)


def _named(value: Any) -> Mapping[Any, Any]:
    """The parts of a value by name, as paths have them."""
    if isinstance(value, Mapping):
        return {**{str(name): one for name, one in value.items()}, **value}
    if isinstance(value, BaseModel):
        is_root = type(value).__pydantic_root_model__
        return _named(vars(value)["root"]) if is_root else vars(value)
    if is_dataclass(value):
        return vars(value)
    fields = getattr(value, "_fields", ())
    return dict(zip(fields, value, strict=True)) if fields else {}


def check_changes(mapping: EntityMapping, changes: tuple[Change, ...]) -> None:
    """Raises UnknownField, InvalidValue or UsageError for a change that can never be made, whatever is stored."""
    resolver, names = FieldResolver(mapping), list[str]()
    for change in changes:
        field = resolver.field(change.path)
        if field.name in mapping.key_fields:
            raise UsageError(
                problem=f"{mapping.entity.__name__}.{field.name} is part of the primary key, which stays in an update",
                remedy="load the entity, change the field and session.move(entity)",
            )
        if len(change.path) == 1:
            _check_whole_field(mapping, field, change)
        if not field.in_key and not (isinstance(change, SetTo) and len(change.path) == 1):
            _check_kind(mapping, resolver.codec(change.path), change)
        if field.name in mapping.kept:
            raise UsageError(
                problem=f"{mapping.entity.__name__}.{field.name} is kept by the session, and is not written by hand",
                remedy="leave it out: every write of the entity sets it",
            )
        names.append(field.name)
    refuse_maintained(mapping, names)


def refuse_maintained(mapping: EntityMapping, fields: Iterable[str]) -> None:
    """Raises UsageError if a field that other entities keep is among those that a caller writes."""
    maintained = mapping.maintained
    if maintained and (name := next((field for field in fields if field in maintained), None)) is not None:
        raise UsageError(
            problem=f"{mapping.entity.__name__}.{name} is kept by {maintained[name]}, and is not written by hand",
            remedy=f"leave it as it is: saving and deleting what {maintained[name]} counts changes it",
        )


def changes_beside(
    mapping: EntityMapping, now: float, *, creates: bool = False
) -> tuple[SetTo | SetIfMissing, ...]:
    """The changes that every edit makes beside its own: those of the times that sessions keep.

    ``creates``: it creates the entity if there is none. A write that is only asked about has none.
    """
    if not mapping.kept or not isfinite(now):
        return ()
    changed = times_of_changed(mapping, now)
    first = times_of_new(mapping, now) if creates else {}
    return (
        *(SetIfMissing((name,), time) for name, time in first.items() if name not in changed),
        *(SetTo((name,), time) for name, time in changed.items()),
    )


def _check_whole_field(mapping: EntityMapping, field: FieldMapping, change: Change) -> None:
    if isinstance(change, Remove) and field.is_always_stored:
        raise mapping.errors.invalid(
            field.name,
            None,
            "cannot be removed, because the class requires it",
            f"set F.{field.name} to a value",
        )
    makes = mapping.entity.model_fields[field.name].default_factory is not None
    if isinstance(change, Remove) and makes and is_index_key(mapping, field):
        raise UsageError(
            problem=f"{mapping.entity.__name__}.{field.name} is an index key, and its removal would take the item out "
            f"of the index, though the class makes a value for it",
            remedy=f"write F.{field.name}.set(...)",
        )
    if field.in_key and not isinstance(change, SetTo):
        value = "None" if isinstance(change, Remove) and field.codec.nullable else "..."
        raise UsageError(
            problem=f"{mapping.entity.__name__}.{field.name} lives in an index key alone",
            remedy=f"write F.{field.name}.set({value})",
        )


def _check_kind(mapping: EntityMapping, codec: Codec, change: Change) -> None:
    # DynamoDB would make a list of an absent attribute, whatever the class says it is.
    if isinstance(change, Append | Prepend) and (codec.is_set or "L" not in (codec.tags or "L")):
        wanted, remedy = "a list", "F.field.add({...}) for a set, F.field.set(...) for anything else"
    elif isinstance(change, Discard) and codec.tags and not codec.is_set:
        wanted, remedy = "a set", "F.field.set(...), or F.field[0].remove() for an element of a list"
    else:
        return
    raise UsageError(
        problem=f"{mapping.entity.__name__}.{'.'.join(map(str, change.path))} is not {wanted}",
        remedy=f"write {remedy}",
    )


def in_their_indexes(mapping: EntityMapping, changes: tuple[Change, ...]) -> tuple[Change, ...]:
    """The changes, with the default in place of the removal of a field that is itself an index key.

    Absence means the default, and DynamoDB leaves an item without the attribute out of the index.
    """
    return tuple(_in_its_index(mapping, change) for change in changes)


def _in_its_index(mapping: EntityMapping, change: Change) -> Change:
    if not isinstance(change, Remove) or len(change.path) > 1:
        return change
    field = mapping.fields[str(change.path[0])]
    if field.default is None or not is_index_key(mapping, field):
        return change
    return SetTo(change.path, field.default)


def stored_changes(mapping: EntityMapping, changes: tuple[Change, ...]) -> tuple[Change, ...]:
    """The changes in stored names and attribute values."""
    plain, resolver = list[Change](), FieldResolver(mapping)
    for change in changes:
        if isinstance(change, SetTo | SetIfMissing):
            # It has no attribute: the index keys that follow from its value are written instead.
            if len(change.path) == 1 and mapping.fields[str(change.path[0])].in_key:
                continue
            member = resolver.member(change.path)
            # Without the present name in a map, a former one would be read.
            is_renamed = len(change.path) > 1 and member is not None and bool(member.formerly)
            if member is not None and not is_renamed and member.is_absence(change.value):
                # What absence means is stored by removing the attribute; where it is missing, ``set_if_missing`` has
                # nothing to do.
                if isinstance(change, SetTo):
                    plain.append(Remove(change.path))
                continue
        plain.append(change)
    return resolve_changes(plain, resolver)


def edited_image(
    mapping: EntityMapping, before: Item, changes: tuple[Change, ...]
) -> tuple[dict[str, AttributeValue], frozenset[str]]:
    """The image an edit makes of a stored one, and the fields that it names.

    Fields that validation changed are named, too.

    Raises:
        InvalidValue: the outcome breaks a rule of the class.
        UsageError: DynamoDB could not make the change (appending to a number, say).
        DecodeError: the stored item cannot become an entity.
    """
    changes = validate_with_entity(
        mapping, in_their_indexes(mapping, changes), lambda: vars(mapping.loader.hydrate(before))
    )
    plain = tuple(change for change in changes if not mapping.fields[str(change.path[0])].in_key)
    # What lives in keys alone has no attribute: index keys are made of the new value itself.
    overrides = {
        str(change.path[0]): change.value
        for change in changes
        if isinstance(change, SetTo) and mapping.fields[str(change.path[0])].in_key
    }
    resolved = _over_stored(mapping, before, plain)
    names = frozenset(str(change.path[0]) for change in changes)
    renamed = with_current_names(mapping, before)
    start = with_parents(mapping, renamed, plain, lambda name: values_in(mapping, before, (name,))[0])
    outcome = outcome_of(mapping, start, plain, resolved, refusal="cannot be changed so")
    changed = {
        name: outcome.get(mapping.fields[name].attribute) for name in names if not mapping.fields[name].in_key
    }
    try:
        after = apply_field_changes(mapping, before, {**changed, **dict.fromkeys(overrides)}, overrides)
    except DecodeError:
        # A function of the declaration was called before the outcome was validated.
        _validated_outcome(mapping, before, outcome, names)
        raise
    return _corrected(mapping, before, after, names)


def with_parents(
    mapping: EntityMapping, item: Item, changes: Sequence[Change], values: Callable[[str], Any]
) -> Item:
    """The item, with the maps that changes lead through: as they load, or with their defaults in place of None.

    ``values`` returns the value of a field as the item loads. It is called where a map is absent.
    """
    for change in changes:
        if len(change.path) > 1:
            item = _with_parents(mapping, item, change, values)
    return item


def _with_parents(mapping: EntityMapping, item: Item, change: Change, values: Callable[[str], Any]) -> Item:
    resolver, name = FieldResolver(mapping), str(change.path[0])
    path, loaded = resolver.attribute(change.path), dict[str, AttributeValue]()
    for depth in range(1, len(path)):
        place, before = path[:depth], value_at(item, path[:depth])
        if before not in (None, NULL) or (before is None and isinstance(place[-1], int)):
            continue
        value = None if loaded else values(name)
        # Where nothing can be made, applying the change says that its path leads nowhere.
        with suppress(ValueError):
            if value is not None:
                loaded = {mapping.fields[name].attribute: resolver.codec((name,)).encode(value)}
            made = value_at(loaded, place)
            if made in (None, NULL) and not isinstance(change, Remove | Discard):
                part = change.path[:depth]
                made = resolver.codec(part).encode(valid_at(mapping, part, {}, {}))
            item = with_part({"M": item}, place, made)["M"]
    return item


def outcome_of(
    mapping: EntityMapping,
    start: Item,
    changes: Sequence[Change],
    resolved: Sequence[Change],
    *,
    refusal: str,
) -> dict[str, AttributeValue]:
    """What changes make of an item, given in field names and in stored ones. Raises UsageError with the ``refusal``."""
    resolver = FieldResolver(mapping)
    paths = {resolver.attribute(change.path): change.path for change in changes}
    try:
        return apply_changes(start, [_of_whole_set(resolver, paths, start, change) for change in resolved])
    except ValueError as problem:
        raise UsageError(
            problem=f"{mapping.entity.__name__} {refusal}: {problem}", remedy=by_whole_fields(changes)
        ) from problem


def _of_whole_set(resolver: FieldResolver, paths: Mapping[Path, Path], item: Item, change: Change) -> Change:
    """The change; of a set, the setting of what it makes: DynamoDB has no empty set to add to or discard from."""
    if not isinstance(change, Discard) and not (isinstance(change, AddTo) and "N" not in change.value):
        return change
    before = value_at(item, change.path)
    after = changed_value(change, None if before == EMPTY else before)
    if after is None and before is None and change.start is None:
        return change
    # Absence may mean a default.
    is_absent = after is None and resolver.absent_value(paths[change.path]) == EMPTY
    return Remove(change.path) if is_absent else SetTo(change.path, after or EMPTY)


def _corrected(
    mapping: EntityMapping, before: Item, after: dict[str, AttributeValue], names: frozenset[str]
) -> tuple[dict[str, AttributeValue], frozenset[str]]:
    """The image with what validation makes of it, and the fields that the edit or validation changed."""
    valid = _validated_outcome(mapping, before, after, names)
    corrected = [name for name in valid.altered if _is_corrected(mapping, name, valid.values, after)]
    if not corrected:
        return after, names
    loaded = _loaded(mapping, before)
    # Values that are altered without the edit, because validators were added later, stay as they are stored.
    if loaded is not None:
        corrected = [
            name
            for name in corrected
            if name in names
            or name in mapping.derived_fields
            or not is_equal(valid.values[name], loaded[name])
        ]
    encoded = mapping.encoder.encode(valid.values)
    found: dict[str, AttributeValue | None] = {}
    for name in corrected:
        field = mapping.fields[name]
        found[name], stored = encoded.get(field.attribute), field.stored_in(before)
        if loaded is not None and stored is not None and not field.in_key:
            is_renewed = name in mapping.derived_fields
            found[name] = over_stored(
                mapping, field, (stored, loaded[name], found[name]), is_renewed=is_renewed
            )
    return apply_field_changes(mapping, after, found, valid.values), names | found.keys()


def _validated_outcome(mapping: EntityMapping, before: Item, after: Item, names: frozenset[str]) -> Validated:
    """What validation makes of an image in which the edit changed these fields.

    Raises:
        InvalidValue, KeyChanged: the edit breaks a rule of the class.
        DecodeError: the stored item broke it already.
    """
    kept = frozenset(mapping.fields) - names
    try:
        values = _decoded(mapping, before, after, names)
        untouched = frozenset(mapping.rules.untouched) - values.keys()
        # Decoded values may be dicts in place of dataclasses, which a strict class would refuse.
        valid = validated(mapping, values, kept=kept, untouched=untouched, strict=False)
    except InvalidValue as broken:
        # The stored item may have broken the rule already: then its DecodeError is the error.
        if broken.field not in names:
            mapping.loader.hydrate(before)
        raise
    if mapping.made_of.computed_key:
        _check_key_stays(mapping, valid.values, before)
    return valid


def _decoded(mapping: EntityMapping, before: Item, after: Item, names: frozenset[str]) -> Mapping[str, Any]:
    """The field values of an image that an edit of these fields made. Raises InvalidValue, DecodeError."""
    try:
        return mapping.loader.decode(after)
    except DecodeError as problem:
        mapping.loader.decode(before)  # raises if the stored item could not be read either
        field = next(iter(names)) if len(names) == 1 else ""
        text = "; ".join(problem.problems).removeprefix(f"{field}: ")
        found = mapping.errors.invalid(field, None, f"its new value {text}")
        found.has_value = False
        raise found from problem


def _check_key_stays(mapping: EntityMapping, values: Mapping[str, Any], before: Item) -> None:
    """Raises KeyChanged as for a loaded entity, but the caller need not hold one."""
    try:
        loaded_key(mapping, values, Loaded(before))
    except KeyChanged as changed:
        raise KeyChanged(
            entity=changed.entity,
            before=changed.before,
            after=changed.after,
            fields=changed.fields,
            problem=f"this update would change the primary key of {changed.before!r} to that of {changed.after!r}",
            remedy="load the entity, change its fields and call session.move(entity)",
        ) from None


def _loaded(mapping: EntityMapping, item: Item) -> Mapping[str, Any] | None:
    """The values that a stored item loads as; None if it does not load, which an edit may repair."""
    try:
        loaded: Mapping[str, Any] = vars(mapping.loader.hydrate(item))
    except DecodeError:
        return None
    return loaded


def _is_corrected(mapping: EntityMapping, name: str, values: Mapping[str, Any], after: Item) -> bool:
    """Whether validation gave a field another value to store; an absent one stays absent where that means the same."""
    field = mapping.fields[name]
    if name in mapping.key_fields:
        return False
    if field.in_key:
        return True
    now, stored = mapping.encoder.encode_field(field, values), field.stored_in(after)
    if stored is None and name in mapping.dependence.made:
        return now is not None  # as an insert stores it: what is made of it must not change behind it
    if stored is None:
        has_factory = mapping.entity.model_fields[name].default_factory is not None
        return not has_factory and not same(
            now, mapping.encoder.encode_field(field, {name: field.value_in(after)})
        )
    return now is None or not says(field, stored, now)


def _over_stored(mapping: EntityMapping, before: Item, changes: tuple[Change, ...]) -> tuple[Change, ...]:
    """The changes in stored names and values. A nested value that is set preserves what the class does not know."""
    resolved, resolver = stored_changes(mapping, changes), FieldResolver(mapping)
    set_ones = [change.path for change in changes if isinstance(change, SetTo)]
    codecs = {
        resolver.attribute(path): codec
        for path in set_ones
        if not (codec := resolver.codec(path)).tags.isdisjoint(("L", "M"))
    }
    if not codecs:
        return resolved
    if (loaded := _loaded(mapping, before)) is None:
        return resolved
    stored, was = with_current_names(mapping, before), mapping.encoder.encode(loaded)
    return tuple(_merged(one, codecs, stored, was) for one in resolved)


def _merged(change: Change, codecs: Mapping[Path, Codec], stored: Item, loaded: Item) -> Change:
    one, was = value_at(stored, change.path), value_at(loaded, change.path)
    if not isinstance(change, SetTo) or change.path not in codecs or one is None or was is None:
        return change
    return replace(change, value=codecs[change.path].merge(one, was, change.value))


_NOTHING: Mapping[str, Any] = {}


def created(
    mapping: EntityMapping, key: Key[Any], changes: tuple[Change, ...], now: float = NEVER_EXPIRED
) -> Mapping[str, Any]:
    """The field values of the entity that an upsert creates at this time.

    Raises:
        InvalidValue: they break a rule of the class, or validation changes the key.
        UsageError: DynamoDB could not make the changes where nothing is stored.
    """
    given = {name: value for name, value in key.fields.items() if name in mapping.fields}
    # Nothing is stored, so what would be set where it is missing is set.
    beside = changes_beside(mapping, now, creates=True)
    changes = (*changes, *(SetTo(one.path, one.value) for one in beside))
    changes = validate_with_entity(mapping, changes, lambda: {**_defaults(mapping), **given})
    others: list[Change] = []
    for change in changes:
        if isinstance(change, SetTo) and len(change.path) == 1:
            given[str(change.path[0])] = change.value
        else:
            others.append(change)
    if others:
        given |= _changed(mapping, others, given)
    # Values that a codec has decoded may be dicts in place of dataclasses.
    strict = False if others else None
    stored = with_stored_defaults(mapping, given)
    values = validated(mapping, stored, strict=strict).values
    if len(made := with_made_values(mapping, stored, values)) > len(stored):
        values = validated(mapping, made, strict=strict).values
    _check_key(mapping, key, values)
    return values


def created_if_valid(
    mapping: EntityMapping, key: Key[Any], changes: tuple[Change, ...], now: float
) -> Mapping[str, Any]:
    """The same; no values where an entity can be changed so, but not created."""
    try:
        return created(mapping, key, changes, now)
    except UsageError:
        return _NOTHING


def _changed(mapping: EntityMapping, changes: Sequence[Change], given: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the fields that changes make of nothing."""
    resolved = resolve_changes(changes, FieldResolver(mapping))
    start = with_parents(mapping, _NOTHING, changes, lambda name: _default(mapping, name, given))
    outcome = outcome_of(mapping, start, changes, resolved, refusal="is not stored, and cannot be created so")
    return _values(mapping, {str(change.path[0]) for change in changes}, outcome)


def _values(mapping: EntityMapping, names: set[str], item: Item) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in names:
        field = mapping.fields[name]
        stored = item.get(field.attribute) or field.implied
        if stored is None:
            continue
        try:
            found[name] = field.codec.decode(stored)
        except ValueError as problem:
            text = f"its new value {problem}"
            raise mapping.errors.invalid(name, None, text) from mapping.errors.cause_of(name, problem)
    return found


def _default(mapping: EntityMapping, name: str, given: Mapping[str, Any]) -> Any:
    """The value of a field of which nothing is given; None if there is none."""
    info = mapping.entity.model_fields[name]
    if info.default_factory is None:
        return mapping.fields[name].value_in({})
    return info.get_default(call_default_factory=True, validated_data={**_defaults(mapping), **given})


def _defaults(mapping: EntityMapping) -> Mapping[str, Any]:
    """The values of the fields of which nothing is given."""
    return {name: one.value_in({}) for name, one in mapping.fields.items() if not one.in_key}


def _check_key(mapping: EntityMapping, key: Key[Any], values: Mapping[str, Any]) -> None:
    rendered = mapping.primary_key.of(values)
    if all(same(rendered[name], key.primary_key.get(name)) for name in rendered):
        return
    values = mapping.with_computed(values, mapping.key_fields)
    name = next(one for one in mapping.key_fields if values[one] != key.fields.get(one))
    raise mapping.errors.invalid(
        name,
        key.fields.get(name),
        f"is part of the key, and validation makes {mapping.secrets.hiding(values)[name]!r} of it",
        "give the key the value that validation gives",
    )


def check_complete(mapping: EntityMapping, key: Key[Any], changes: tuple[Change, ...]) -> None:
    """Raises UsageError if an upsert could not create the entity, because nothing gives a required field a value."""
    given = {str(change.path[0]) for change in changes if not isinstance(change, Remove | Discard)}
    known = given.union(key.fields)
    missing = [name for name, field in mapping.fields.items() if field.required and name not in known]
    if not missing:
        return
    try:
        created(mapping, key, changes)  # a validator of the class may complete it
    except InvalidValue as problem:
        raise UsageError(
            problem=f"upsert() may have to create {key!r}, and nothing gives {', '.join(missing)} a value",
            remedy=f"{_completed(mapping, missing)}; to change only what is stored, call update()",
        ) from problem


def _completed(mapping: EntityMapping, missing: list[str]) -> str:
    """What gives fields a value. A change cannot, if they are in the key, and its text does not give them back."""
    name = mapping.entity.__name__
    in_key = [f"{one}=..." for one in missing if one in mapping.key_fields]
    others = [f"F.{one}.set(...)" for one in missing if one not in mapping.key_fields]
    texts = [f"name the key by all its fields: Key({name}, {', '.join(in_key)}, ...)"] if in_key else []
    texts += [f"give {' and '.join(others)}, or declare a default in {name}"] if others else []
    return "; ".join(texts)
