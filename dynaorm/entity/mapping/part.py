"""Some fields and computed fields of a stored item, as loading the whole item would give them."""

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from dynaorm.entity.core_schema import validates_default
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.mapping.validate import loaded_field
from dynaorm.entity.template import KeyValueError
from dynaorm.errors import DecodeError
from dynaorm.item.value import Item


def attributes_of(mapping: EntityMapping, names: Sequence[str]) -> frozenset[str] | None:
    """The attributes from which the values of fields follow; None if that takes the whole item."""
    if mapping.rules.of_class or any(
        name in mapping.computed or _depends_on_others(mapping, name) for name in names
    ):
        return None
    found: set[str] = set()
    for name in names:
        field = mapping.fields[name]
        if field.in_key:
            found |= {part.attribute.name for part in mapping.key_parts() if name in part.lossless}
        else:
            found.update(field.attributes)
    return frozenset(found)


def _depends_on_others(mapping: EntityMapping, name: str) -> bool:
    info = mapping.entity.model_fields[name]
    return mapping.rules.fields[name].takes_info or bool(info.default_factory_takes_validated_data)


def values_in(mapping: EntityMapping, item: Item, names: Sequence[str]) -> tuple[Any, ...]:
    """The values of fields in an item that has at least their attributes. Raises DecodeError."""
    if attributes_of(mapping, names) is None:
        try:
            values = mapping.with_computed(vars(mapping.loader.hydrate(item)), names)
        except KeyValueError as problem:
            text = f"{problem.field}: {problem.problem}"
            raise mapping.errors.unreadable(item, (text,)) from mapping.errors.cause_of(
                problem.field, problem
            )
        return tuple(values[name] for name in names)
    return tuple(_value(mapping, item, name) for name in names)


def _value(mapping: EntityMapping, item: Item, name: str) -> Any:
    errors, in_keys, value = mapping.errors, mapping.loader.only_in_keys, None
    try:
        value, is_valid = _decoded(mapping, item, name)
        return value if is_valid else loaded_field(mapping, name, value)
    except ValidationError as problem:
        cause = errors.cause_of_refusal(problem, (name,))
        raise errors.unloadable(problem, item, {name: value}, in_keys) from cause
    except DecodeError:
        raise
    except ValueError as problem:
        text = errors.misfit(name, mapping.fields[name].stored_in(item), problem)
        raise errors.unreadable(item, (text,)) from errors.cause_of(name, problem)
    except Exception as raised:  # noqa: BLE001 - a validator of the user's may raise anything
        raise errors.unloadable(raised, item, {}, in_keys) from errors.cause_of(name, raised)


def _decoded(mapping: EntityMapping, item: Item, name: str) -> tuple[Any, bool]:
    """The value of a field, and whether it is a default that no validator judges."""
    field, info = mapping.fields[name], mapping.entity.model_fields[name]
    if field.in_key:
        return mapping.subject(item)[name], False
    stored = field.stored_in(item) or field.implied
    if stored is not None:
        return field.codec.decode(stored), False
    if info.is_required():
        where = mapping.loader.only_in_keys.place_of(name, is_missing=True)
        raise mapping.errors.unreadable(item, (f"{name}: Field required{where}",))
    default = info.get_default(call_default_factory=True)
    return default, not validates_default(mapping.entity, name)
