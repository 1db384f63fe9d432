"""Loads values before anything is stored: what loading will make of them must be stored as they are.

Validators run again whenever an item is loaded. A class whose validators may change a value is therefore validated
twice before a write, the second time as loading would. Both must give the same item.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

from dynaorm.entity.mapping.derive import keys_in
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.errors import DecodeError, DynaormError, InvalidValue
from dynaorm.item.value import same

_NOTHING: Final[Mapping[str, Any]] = {}
_REFUSED_AGAIN: Final = "is changed by its validators into a value that they refuse: "
_UNSTABLE: Final = (
    "is changed by its validators again when it is loaded, so what loads would not be what is stored"
)
_REPEATABLE: Final = "write validators that leave alone what they have returned: f(f(x)) == f(x)"


def as_loaded(mapping: EntityMapping, first: Mapping[str, Any], spared: frozenset[str]) -> Mapping[str, Any]:
    """The values that loading will give. Raises InvalidValue if they make another item than the values to store."""
    keys = _keys(mapping, first)
    item = mapping.encoder.encode(first)
    # They are not stored: loading takes these defaults again (rule 5 of ``validate``).
    for name in spared:
        item.pop(mapping.fields[name].attribute, None)
    try:
        values = mapping.loader.decode({**keys, **item})
        second = mapping.loader.validate(values)
    except DecodeError as problem:
        remedy = "give the fields values that load as they are stored"
        raise mapping.errors.invalid_whole("; ".join(problem.problems), remedy) from problem
    except DynaormError:
        raise
    except Exception as raised:  # noqa: BLE001 - as in ``validated``
        refused = mapping.errors.refused(raised, first, before=_REFUSED_AGAIN)
        raise refused from mapping.errors.cause_of_refusal(raised)
    found: Mapping[str, Any] = vars(second)
    _compare(mapping, first, found)
    if mapping.rules.takes_info:
        _refuse_unrepeatable(mapping, first, spared)
    return found


def _refuse_unrepeatable(mapping: EntityMapping, first: Mapping[str, Any], spared: frozenset[str]) -> None:
    """Raises InvalidValue if a validator that spares loaded values does not repeat itself: the next save calls it."""
    try:
        again = mapping.rules.whole.validate_python(
            {name: first[name] for name in mapping.fields if name not in spared},
            strict=False,
            by_alias=False,
            by_name=True,
        )
    except ValidationError:
        return  # a loaded value may break a rule for new ones
    except Exception as raised:  # noqa: BLE001 - as in ``validated``
        raise mapping.errors.refused(raised, first) from mapping.errors.cause_of_refusal(raised)
    _compare(mapping, first, vars(again))


def _keys(mapping: EntityMapping, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """The key attributes of which fields that live in them are read. Raises InvalidValue."""
    if not any(field.in_key for field in mapping.fields.values()):
        return _NOTHING
    found = mapping.primary_key.of(values)
    for index in mapping.places.values():
        # A field that lives in an index key alone is in every item, so no condition decides about that key.
        if index.is_plain:
            found |= keys_in(mapping, index.places[0], values) or {}
    return found


def _compare(mapping: EntityMapping, first: Mapping[str, Any], second: Mapping[str, Any]) -> None:
    """Raises InvalidValue if two validations give other items."""
    one, other = mapping.encoder.encode(first), mapping.encoder.encode(second)
    for name, field in mapping.fields.items():
        if field.in_key:
            is_same = first[name] == second[name]
        else:
            is_same = one.get(field.attribute) == other.get(field.attribute) or same(
                one.get(field.attribute), other.get(field.attribute)
            )
        if not is_same:
            raise unstable(mapping, name, first[name])


def unstable(mapping: EntityMapping, field: str, value: Any, where: str = "") -> InvalidValue:
    """The error for a value of which loading makes another. ``where``: the place in the field, as a prefix."""
    return mapping.errors.invalid(field, value, f"{where}{_UNSTABLE}", _REPEATABLE)
