"""Partial updates: the fields that an edit changes, and the image that it makes of a known item."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from math import isfinite
from typing import Any

from dynaorm.entity.codec.field import EMPTY
from dynaorm.entity.codec.of_type import Codec
from dynaorm.entity.codec.value import NULL, merge
from dynaorm.entity.mapping.derive import is_index_key
from dynaorm.entity.mapping.equal import is_equal
from dynaorm.entity.mapping.field import FieldMapping
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.mapping.part import values_in
from dynaorm.entity.mapping.validate import Validated, validated
from dynaorm.entity.resolve import FieldResolver
from dynaorm.entity.state import Loaded
from dynaorm.errors import DecodeError, InvalidValue, KeyChanged, UsageError
from dynaorm.item.path import Path, value_at
from dynaorm.item.prefix import Prefix
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
from dynaorm.plan.changed_fields import over_stored, says
from dynaorm.plan.edit_values import judged_with, valid_at
from dynaorm.plan.image import advance, under_present_names
from dynaorm.plan.kept_times import times_of_changed, times_of_new
from dynaorm.plan.writable import loaded_key
from dynaorm.record import replace


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
    if maintained and (name := next((one for one in fields if one in maintained), None)) is not None:
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
    changes = judged_with(
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
    renamed = under_present_names(mapping, before)
    start = with_parents(mapping, renamed, plain, lambda name: values_in(mapping, before, (name,))[0])
    outcome = outcome_of(mapping, start, plain, resolved, refusal="cannot be changed so")
    changed = {
        name: outcome.get(mapping.fields[name].attribute) for name in names if not mapping.fields[name].in_key
    }
    try:
        after = advance(mapping, before, {**changed, **dict.fromkeys(overrides)}, overrides)
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
        found = apply_changes(start, [_of_whole_set(resolver, paths, start, change) for change in resolved])
    except ValueError as problem:
        raise UsageError(
            problem=f"{mapping.entity.__name__} {refusal}: {problem}", remedy=by_whole_fields(changes)
        ) from problem
    for prefix in [name for name in found if isinstance(name, Prefix)]:
        if not found[prefix]["M"]:
            del found[prefix]
    return found


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
    return advance(mapping, after, found, valid.values), names | found.keys()


def _validated_outcome(mapping: EntityMapping, before: Item, after: Item, names: frozenset[str]) -> Validated:
    """What validation makes of an image in which the edit changed these fields.

    Raises:
        InvalidValue, KeyChanged: the edit breaks a rule of the class.
        DecodeError: the stored item broke it already.
    """
    kept = frozenset(mapping.fields) - names
    try:
        values = _decoded(mapping, before, after, names)
        spared = frozenset(mapping.rules.spared) - values.keys()
        # Decoded values may be dicts in place of dataclasses, which a strict class would refuse.
        valid = validated(mapping, values, kept=kept, spared=spared, strict=False)
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
        resolver.attribute(path): codec for path in set_ones if (codec := resolver.codec(path)).merge_parts
    }
    if not codecs:
        return resolved
    if (loaded := _loaded(mapping, before)) is None:
        return resolved
    stored, was = under_present_names(mapping, before), mapping.encoder.encode(loaded)
    return tuple(_merged(one, codecs, stored, was) for one in resolved)


def _merged(change: Change, codecs: Mapping[Path, Codec], stored: Item, loaded: Item) -> Change:
    one, was = value_at(stored, change.path), value_at(loaded, change.path)
    if not isinstance(change, SetTo) or change.path not in codecs or one is None or was is None:
        return change
    return replace(change, value=merge(codecs[change.path], one, was, change.value))
