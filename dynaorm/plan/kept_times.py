"""The times that sessions keep: when an entity was created (``CreatedAt``), and when it last changed (``UpdatedAt``).

Rule 1. Only a write of the entity sets them, from the clock of the session. What an object has in these fields is
        ignored, and becomes what is stored. A write that changes nothing else is no write.
Rule 2. The time of creation stays as long as the entity: over updates, overwrites, moves and restorations.
Rule 3. A unit of work has one time. It is no part of what the caller asked for, so an equal block under the same token
        has the same revision at any time.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from math import isfinite
from typing import Any

from dynaorm.entity.mapping.default import untouched_defaults
from dynaorm.entity.mapping.equal import is_equal
from dynaorm.entity.mapping.field import FieldMapping
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.mapping.validate import Validated, validated
from dynaorm.entity.state import Loaded
from dynaorm.errors import UsageError
from dynaorm.item.update import Change, SetIfMissing, SetTo
from dynaorm.item.value import AttributeValue
from dynaorm.plan.item_change import StoredItem


def times_of_new(mapping: EntityMapping, now: float) -> dict[str, Any]:
    """The times of an entity that is created now."""
    if not mapping.kept:
        return {}
    return {field.name: _time(field, now) for field in mapping.kept.values()}


def times_of_loaded(mapping: EntityMapping, state: Loaded) -> dict[str, Any]:
    """The times of a loaded entity, as they are stored."""
    if not mapping.kept:
        return {}
    values = mapping.subject(state.item)
    return {name: values[name] for name in mapping.kept}


def times_of_changed(mapping: EntityMapping, now: float) -> dict[str, Any]:
    """The times that a change of an entity sets."""
    return {field.name: _time(field, now) for field in mapping.updated} if isfinite(now) else {}


def _time(field: FieldMapping, now: float) -> Any:
    """The time as it will load: an encoding of the field's own may store less than microseconds.

    It is None for a write that is only asked about.
    """
    if not isfinite(now):
        return None
    return _as_loaded(field, datetime.fromtimestamp(now, UTC))


def _as_loaded(field: FieldMapping, time: Any) -> Any:
    """A time as a field will load it; None for none."""
    encoded = field.encode(time)
    return None if encoded is None else field.codec.decode(encoded)


def validated_at(
    mapping: EntityMapping,
    values: Mapping[str, Any],
    times: Mapping[str, Any],
    *,
    kept: frozenset[str] = frozenset(),
    spared: frozenset[str] = frozenset(),
) -> Validated:
    """The values of an object as ``validated`` gives them, with these times in place of its own."""
    if not times:
        return validated(mapping, values, kept=kept, spared=spared)
    spared -= times.keys()
    return with_times(validated(mapping, {**values, **times}, kept=kept, spared=spared), values, times)


def with_times(valid: Validated, values: Mapping[str, Any], times: Mapping[str, Any]) -> Validated:
    """Validated values with these times; ``values`` are those of the object, which gets the times that it lacks."""
    if not times:
        return valid
    found = {**valid.values, **{name: times[name] for name in times if name not in valid.altered}}
    differing = {name: found[name] for name in times if not is_equal(found[name], values.get(name))}
    return Validated(found, {**valid.altered, **differing}, valid.encoded)


def as_created(mapping: EntityMapping, valid: Validated, entity: Any, before: StoredItem) -> Validated:
    """The values of an entity that replaces a stored item, with the time at which that was created."""
    former = before.mapping.created
    if not (mapping.created and former) or before.mapping.undeleted(before.item) is None:
        return valid
    stored, names = before.mapping.subject(before.item), {field.name for field in former}
    times = {name: valid.values[name] for name in mapping.kept}
    for field in mapping.created:
        # A class of another declaration may have stored the time under another name, or more exactly.
        name = field.name if field.name in names else former[0].name
        times[field.name] = _as_loaded(field, stored[name])
    return validated_at(mapping, vars(entity), times, spared=untouched_defaults(mapping, entity))


def stamped(
    mapping: EntityMapping,
    changes: tuple[Change, ...],
    now: float,
    *,
    creates: bool = False,
    touches: bool = False,
) -> tuple[Change, ...]:
    """The changes of a partial update, and those of its times.

    ``creates``: it creates the entity if there is none. ``touches``: it is a write even without changes.
    """
    if not (changes or touches):
        return changes
    created = mapping.created if creates else ()
    first = (SetIfMissing((field.name,), _time(field, now)) for field in created)
    return (
        *changes,
        *first,
        *(SetTo((name,), time) for name, time in times_of_changed(mapping, now).items()),
    )


def changes_of_new(mapping: EntityMapping, now: float) -> tuple[Change, ...]:
    """The times of an entity that is created now, as changes; none where only a question is asked."""
    if not isfinite(now):
        return ()
    return tuple(SetTo((name,), time) for name, time in times_of_new(mapping, now).items())


def refuse_written_times(mapping: EntityMapping, changes: tuple[Change, ...]) -> None:
    """Raises UsageError if a partial update changes a time that the session keeps."""
    for change in changes:
        if (name := str(change.path[0])) in mapping.kept:
            raise UsageError(
                problem=f"{mapping.entity.__name__}.{name} is kept by the session, and is not written by hand",
                remedy="leave it out: every write of the entity sets it",
            )


def asked_for(mapping: EntityMapping, image: Mapping[str, AttributeValue]) -> dict[str, AttributeValue]:
    """An image without what depends on the time of the write: an equal block has an equal one."""
    timed = _timed(mapping)
    return {name: value for name, value in image.items() if name not in timed}


def edits_asked_for(mapping: EntityMapping, edits: tuple[Change, ...]) -> tuple[Change, ...]:
    """The same for changes in stored names."""
    timed = _timed(mapping)
    return tuple(change for change in edits if change.path[0] not in timed)


def _timed(mapping: EntityMapping) -> set[str]:
    """The attributes that may depend on the time of the write."""
    if not mapping.kept:
        return set()
    found = {field.attribute for field in mapping.kept.values()}
    return found | mapping.made_up
