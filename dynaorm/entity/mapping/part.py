"""Some fields and computed fields of a stored item, as loading the whole item would give them."""

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from dynaorm.entity.core_schema import validates_default
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.mapping.secret import problems_of
from dynaorm.entity.mapping.validate import loaded_field
from dynaorm.entity.template.template import KeyValueError
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
    if not found.isdisjoint(mapping.prefixes):
        return None  # no projection names all members
    return frozenset(found)


def _depends_on_others(mapping: EntityMapping, name: str) -> bool:
    info = mapping.entity.model_fields[name]
    return mapping.rules.fields[name].takes_info or bool(info.default_factory_takes_validated_data)


def values_in(mapping: EntityMapping, item: Item, names: Sequence[str]) -> tuple[Any, ...]:
    """The values of fields in an item that has at least their attributes. Raises DecodeError."""
    if attributes_of(mapping, names) is None:
        try:
            values = mapping.with_computed(vars(mapping.hydrate(item)), names)
        except KeyValueError as problem:
            text = f"{problem.field}: {problem.problem}"
            raise mapping.unreadable(item, (text,)) from mapping.cause_of(problem.field, problem)
        return tuple(values[name] for name in names)
    return tuple(_value(mapping, item, name) for name in names)


def _value(mapping: EntityMapping, item: Item, name: str) -> Any:
    try:
        return _loaded(mapping, item, name)
    except ValidationError as problem:
        problems, cause = problems_of(mapping.entity, problem, {name: None}, mapping.only_in_keys.place_of)
        raise mapping.unreadable(item, problems) from cause
    except DecodeError:
        raise
    except ValueError as problem:
        text = mapping.secrets.misfit(name, mapping.fields[name].stored_in(item), problem)
        raise mapping.unreadable(item, (text,)) from mapping.secrets.cause(name, problem)
    except Exception as raised:  # noqa: BLE001 - a validator of the user's may raise anything
        raise mapping.unvalidated(item, raised) from mapping.secrets.cause(name, raised)


def _loaded(mapping: EntityMapping, item: Item, name: str) -> Any:
    field, info = mapping.fields[name], mapping.entity.model_fields[name]
    if field.in_key:
        return loaded_field(mapping, name, mapping.subject(item)[name])
    stored = field.stored_in(item)
    if stored is not None:
        return loaded_field(mapping, name, field.codec.decode(stored))
    try:
        absent = field.decode_absent()
    except KeyError:
        if info.is_required():
            where = mapping.only_in_keys.place_of(name, is_missing=True)
            raise mapping.unreadable(item, (f"{name}: Field required{where}",)) from None
    else:
        return loaded_field(mapping, name, absent)
    default = info.get_default(call_default_factory=True)
    return loaded_field(mapping, name, default) if validates_default(mapping.entity, name) else default
