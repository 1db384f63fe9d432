"""Defaults that pydantic does not validate, such as ``lo: int = None``: which of them a write judges.

Rule 1. A default is no input as long as nobody set the field and nothing is stored of it: loading takes it again.
Rule 2. A default that a write stores is an input: what is stored has to load.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from pydantic import BaseModel

from dynaorm.entity.mapping.equal import is_equal
from dynaorm.entity.mapping.field import FieldMapping
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.item.value import Item

_MISSING: Final = object()
_NONE: Final[frozenset[str]] = frozenset()


def untouched_defaults(
    mapping: EntityMapping,
    entity: BaseModel,
    stored: Item | None = None,
    kept: frozenset[str] = _NONE,
) -> frozenset[str]:
    """The fields of an object that have a default which is no input (rule 1).

    Args:
        mapping: its class.
        entity: the object.
        stored: the item that it was loaded from; None for a new one.
        kept: the fields that did not change since.
    """
    if not mapping.rules.spared:
        return _NONE
    found = set[str]()
    for name, default in mapping.rules.spared.items():
        field = mapping.fields[name]
        if not is_equal(vars(entity).get(name, _MISSING), default):
            continue
        if stored is not None and name in kept:
            is_untouched = field.stored_in(stored) is None
        else:
            is_untouched = name not in entity.model_fields_set and _is_absent(field, default)
        if is_untouched and not field.in_key:
            found.add(name)
    return frozenset(found)


def _is_absent(field: FieldMapping, value: Any) -> bool:
    with suppress(ValueError):
        return field.encode(value) is None
    return False


def with_stored_defaults(mapping: EntityMapping, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Given values, with the static defaults that would be stored beside them without being validated (rule 2)."""
    found = {
        name: default
        for name, default in mapping.rules.spared.items()
        if not mapping.fields[name].in_key and not _is_absent(mapping.fields[name], default)
    }
    return {**found, **given}


def with_made_values(
    mapping: EntityMapping, given: Mapping[str, Any], values: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Given values, with those among all values that factories made: pydantic does not validate them either."""
    info = mapping.entity.model_fields
    made = (name for name, one in info.items() if one.default_factory is not None and name not in given)
    return {**{name: values[name] for name in made if not mapping.fields[name].in_key}, **given}
