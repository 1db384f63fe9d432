"""The times that sessions keep: when an entity was created (``CreatedAt``), and when it last changed (``UpdatedAt``).

Rule 1. Only a write of the entity sets them, from the clock of the session.
Rule 2. A unit of work has one time. It is no part of what the caller asked for, so an equal block under the same token
        has the same revision at any time.
"""

from datetime import UTC, datetime
from math import isfinite
from typing import Any

from dynaorm.entity.mapping.field import FieldMapping
from dynaorm.entity.mapping.mapping import EntityMapping


def times_of_new(mapping: EntityMapping, now: float) -> dict[str, Any]:
    """The times of an entity that is created now; None for a write that is only asked about."""
    return {field.name: _time(field, now) for field in mapping.kept.values()}


def times_of_changed(mapping: EntityMapping, now: float) -> dict[str, Any]:
    """The times that a change of an entity sets."""
    return {field.name: _time(field, now) for field in mapping.updated} if isfinite(now) else {}


def _time(field: FieldMapping, now: float) -> Any:
    return as_loaded(field, datetime.fromtimestamp(now, UTC)) if isfinite(now) else None


def as_loaded(field: FieldMapping, time: Any) -> Any:
    """A time as a field will load it, whose own encoding may store less than microseconds; None for none."""
    encoded = field.encode(time)
    return None if encoded is None else field.codec.decode(encoded)
