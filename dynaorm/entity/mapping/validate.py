"""Validation before a write: the field values that are stored are those that loading will give.

Rule 1. The values are validated together, as constructing the entity would. Nothing is changed: the caller's object
        gets the values that validation changed once they are stored.
Rule 2. Values that are valid by their types alone are not shown to pydantic, which would give equal ones (``exact``).
Rule 3. What validators may change again when it is loaded is loaded before it is stored (``as_loaded``).
Rule 4. What validation takes, but not as it was given, is refused. It makes an instance of the nested class from one of
        a subclass, so that what is stored, and loads, would lack the other fields. It reads an iterator to its end, so
        that the next one would find nothing.
Rule 5. A default that pydantic does not validate, such as ``lo: int = None``, is no input as long as nobody set the
        field and nothing is stored of it: loading takes it again. One that a write stores is an input: what is stored
        has to load.

A value for a key that is read is of the type of its field. Another one is converted as constructing the entity does it
(``fit``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import SchemaValidator

from dynaorm.entity.codec.value import Codec, CodecError, inside
from dynaorm.entity.core_schema import validates_default
from dynaorm.entity.mapping.derive import keys_in
from dynaorm.entity.mapping.field import FieldMapping
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.mapping.secret import ClassErrors
from dynaorm.entity.mapping.validation_rules import is_equal
from dynaorm.entity.state import LOADING
from dynaorm.entity.template import KeyValueError
from dynaorm.errors import DecodeError, DynaormError, InvalidValue
from dynaorm.failure import remedy_of, without_remedy
from dynaorm.item.path import Path, dotted
from dynaorm.item.value import AttributeValue, Item, same
from dynaorm.late import late
from dynaorm.record import record

if TYPE_CHECKING:
    from dynaorm.entity.codec import model
else:
    late(globals(), model="dynaorm.entity.codec.model")

T = TypeVar("T")

_MISSING: Final = object()
_NOTHING: Final[Mapping[str, Any]] = {}
_NO_FIELDS: Final[frozenset[str]] = frozenset()


@record(quick=True)
class Validated:
    """Validated field values.

    Attributes:
        values: the field values to store.
        altered: those of them that validation changed.
        encoded: their attributes as ``ItemEncoder.encode`` gives them, if validation has made them.
    """

    values: Mapping[str, Any]
    altered: Mapping[str, Any] = _NOTHING
    encoded: Mapping[str, AttributeValue] | None = None


def validated(
    mapping: EntityMapping,
    given: Mapping[str, Any],
    *,
    kept: frozenset[str] = _NO_FIELDS,
    untouched: frozenset[str] = _NO_FIELDS,
    strict: bool | None = None,
) -> Validated:
    """The field values of an entity, as constructing it would give them. Nothing is changed.

    ``kept`` are the fields that are as they were loaded. They may break a rule that spares loaded values: a validator
    can tell by ``info.context is LOADING``. ``untouched`` are those that have a default which is no input
    (rule 5). ``strict`` is False for values that a codec has decoded, such as dicts in
    place of dataclasses.

    Raises:
        InvalidValue: a value or the entity breaks a rule, or loading would give other values than these.
    """
    if (encoded := mapping.encoder.encode_exact(given)) is not None:
        return Validated({**given}, _NOTHING, encoded)
    rules = mapping.rules
    present = given
    # An entity's values may include others, such as cached properties, and validators may change a dict.
    if not rules.is_separate or untouched or len(given) != len(mapping.fields):
        present = {name: given[name] for name in mapping.fields if name in given and name not in untouched}
    is_separate = rules.is_separate and mapping.is_exact
    if kept and strict is None and is_separate and len(present) + len(untouched) == len(mapping.fields):
        return _with_changed(mapping, given, kept)
    try:
        entity = rules.whole.validate_python(present, strict=strict, by_alias=False, by_name=True)
    except ValidationError as problem:
        entity = _with_kept(mapping, present, kept, problem)
    except Exception as raised:  # noqa: BLE001 - a function of the user's may raise anything
        raise mapping.errors.refused(raised, given) from mapping.errors.cause_of_refusal(raised)
    values: Mapping[str, Any] = vars(entity)
    # Rule 3.
    if not (rules.is_stable and mapping.is_exact):
        values = as_loaded(mapping, values, untouched)
    return Validated(values, _altered(mapping, given, values))


def _altered(mapping: EntityMapping, given: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The validated values that differ from the given ones. Raises InvalidValue for one that cannot be given."""
    altered = {}
    for name in mapping.fields:
        # Most values are the same objects.
        if (value := values[name]) is not (before := given.get(name, _MISSING)) and not is_equal(
            value, before
        ):
            if mapping.rules.fields[name].holds_instances:
                try:
                    refuse_subclasses(before, value)
                except CodecError as problem:
                    raise mapping.errors.invalid(name, before, problem) from None
            altered[name] = value
    refuse_iterators(mapping.errors, given, altered)
    return altered


def _with_changed(mapping: EntityMapping, values: Mapping[str, Any], kept: frozenset[str]) -> Validated:
    """The values where each is valid on its own, and those that were loaded are known to be."""
    altered = _spelled_alike(mapping, values, kept)
    for name in mapping.fields.keys() - kept:
        value = validated_field(mapping, name, values)
        if not is_equal(value, values[name]):
            altered[name] = value
    refuse_iterators(mapping.errors, values, altered)
    return Validated({**values, **altered}, altered)


def unchanged(mapping: EntityMapping, given: Mapping[str, Any]) -> Validated:
    """The values of an entity that would store what is stored already; they are not validated again.

    Only values that are stored alike change: an int becomes a Decimal, a plain value a member of an enum, and a time is
    as exact as it is stored.
    """
    altered = _spelled_alike(mapping, given, mapping.fields.keys())
    return Validated({**given, **altered} if altered else given, altered)


def _spelled_alike(
    mapping: EntityMapping, given: Mapping[str, Any], kept: AbstractSet[str]
) -> dict[str, Any]:
    """What loading gives for values that would store what is stored already, where that is another value."""
    altered = {}
    for name, kind in mapping.alike.items():
        if name not in kept or (kind is not None and type(given[name]) is kind):
            continue
        with suppress(ValueError):  # what cannot be encoded is refused where it is stored
            value = validated_field(mapping, name, given)
            encode = mapping.fields[name].encode
            if not is_equal(value, given[name]) and same(encode(value), encode(given[name])):
                altered[name] = value
    return altered


def validated_field(mapping: EntityMapping, name: str, values: Mapping[str, Any]) -> Any:
    """The value of one field as its own validators give it; ``values`` has it, and what they may look at beside it.

    Raises:
        InvalidValue: the value breaks a rule, or loading would give another value.
    """
    rules, field = mapping.rules, mapping.fields[name]
    holds_instances = rules.fields[name].holds_instances
    place = _Place((name,), name, rules.single, holds_instances, field.encode, field.codec.decode)
    return _judged(mapping, place, values)


def fit(
    mapping: EntityMapping, make: Callable[[Mapping[str, Any]], T], given: Mapping[str, Any]
) -> tuple[T, Mapping[str, Any]]:
    """What a function makes of field values, with the values: those that it refuses are ``fitted``.

    Raises:
        InvalidValue: it refuses a value that constructing the entity refuses, too, or leaves as it is.
    """
    try:
        return make(given), given
    except InvalidValue as refused:
        name = refused.field
        if name not in given:
            raise
        value = fitted(mapping, refused, given[name], given)
    return fit(mapping, make, {**given, name: value})


def fitted(mapping: EntityMapping, refused: InvalidValue, value: Any, beside: Mapping[str, Any]) -> Any:
    """A value that was refused, as constructing the entity converts it.

    Raises ``refused`` if that refuses it, too, or leaves it as it is. ``beside``: the fields beside it.
    """
    name = refused.field
    try:
        found = validated_field(mapping, name, {**beside, name: value}) if name in mapping.fields else value
    except InvalidValue:
        raise refused from refused.__cause__
    if is_equal(found, value):
        raise refused
    return found


def validated_part(
    mapping: EntityMapping, path: Path, codec: Codec, value: Any, *, beside: Mapping[str, Any]
) -> Any:
    """The value for a part of a field, as setting the whole field would give it.

    Args:
        mapping: the class.
        path: where the part is: ``("address", "city")``. Any index leads to the elements of a list or set.
        codec: the codec of the part.
        beside: what its validators may look at: the values of the fields beside it.

    Raises:
        InvalidValue: the value breaks a rule, or loading would give another value.
    """
    nested = mapping.rules.nested.at(path)
    if nested is None:
        return value  # encoding judges it
    judge, holds_instances = nested.validator, nested.holds_instances
    place = _Place(path, nested.name, judge, holds_instances, codec.encode, codec.decode)
    return _judged(mapping, place, {**beside, nested.name: value})


@record(quick=True)
class _Place:
    """Where a value goes: its path, and what validates it there, as the value of the field ``name``."""

    path: Path
    name: str
    validator: SchemaValidator
    holds_instances: bool
    encode: Callable[[Any], AttributeValue | None]
    decode: Callable[[AttributeValue], Any]


def _judged(mapping: EntityMapping, place: _Place, values: Mapping[str, Any]) -> Any:
    """The value for a place, which is among ``values``, as validation gives it. Raises InvalidValue."""
    field, given = str(place.path[0]), values[place.name]
    # An element of a list or set may have any index.
    steps = place.path[1:-1] if isinstance(place.path[-1], int) else place.path[1:]
    where = f"at {dotted(steps)}: " if steps else ""
    try:
        first = _assigned(place.validator, place.name, values)
        if place.holds_instances:
            refuse_subclasses(given, first)
        if mapping.rules.is_stable and mapping.fields[field].exact:
            return first
        encoded = place.encode(first)
        if not encoded:
            return first
        loaded = {**values, place.name: place.decode(encoded)}
        second = _assigned(place.validator, place.name, loaded, LOADING)
        is_stable = same(encoded, place.encode(second))
    except Exception as raised:  # noqa: BLE001 - as in ``validated``
        errors = mapping.errors
        if isinstance(raised, ValueError) and not isinstance(raised, ValidationError):
            text = CodecError(f"{where}{without_remedy(raised)}", remedy=remedy_of(raised))
            raise errors.invalid(field, given, text) from errors.cause_of(field, raised)
        refused = errors.refused(raised, {field: given}, field, before=where)
        raise refused from errors.cause_of_refusal(raised, (field,))
    if not is_stable:
        raise unstable(mapping, field, given, where)
    return second


def loaded_field(mapping: EntityMapping, name: str, value: Any) -> Any:
    """The value that loading makes of a decoded one, for a field that looks at no others. Raises ValidationError."""
    return _assigned(mapping.rules.single, name, {name: value}, LOADING)


def _assigned(
    validator: SchemaValidator, name: str, values: Mapping[str, Any], context: object = None
) -> Any:
    strict = None if context is None else False
    found: Any = validator.validate_assignment(
        dict(values), name, values[name], strict=strict, context=context, by_alias=False, by_name=True
    )
    return found[0][name]


def _with_kept(
    mapping: EntityMapping, given: Mapping[str, Any], kept: frozenset[str], problem: ValidationError
) -> Any:
    """The entity, if only values that were loaded break a rule, and the rule spares these."""
    wrong = {error["loc"][0] if error["loc"] else None for error in problem.errors(include_url=False)}
    # Only a validator that is shown ``info`` can spare what was loaded.
    if not (mapping.rules.takes_info and wrong <= kept):
        raise mapping.errors.refused(problem, given) from mapping.errors.cause_of_refusal(problem)
    values = {name: given[name] for name in mapping.fields if name in given}
    # The whole is then judged as loaded, so what changed is judged as new before.
    values |= {name: validated_field(mapping, name, values) for name in values.keys() - kept}
    try:
        return mapping.rules.whole.validate_python(
            values, strict=False, context=LOADING, by_alias=False, by_name=True
        )
    except Exception as raised:  # noqa: BLE001 - as in ``validated``
        raise mapping.errors.refused(raised, values) from mapping.errors.cause_of_refusal(raised)


# -- what is not taken as it is given ----------------------------------------------------------------------------------


def refuse_subclasses(given: Any, value: Any) -> None:
    """Raises CodecError if validation made an instance of a class from one of a subclass (rule 4)."""
    if given is value:
        return
    if isinstance(given, type(value)) and (isinstance(value, BaseModel) or is_dataclass(value)):
        model.refuse_other_class(given, type(value))
    for step, one, other in _parts(given, value):
        try:
            refuse_subclasses(one, other)
        except CodecError as problem:
            raise inside(step, problem) from None


def _parts(given: Any, value: Any) -> Iterator[tuple[int | str, Any, Any]]:
    """The parts of a value, each with what it was validated from and the step to it."""
    if isinstance(value, list | tuple):
        if isinstance(given, list | tuple):
            yield from ((step, *both) for step, both in enumerate(zip(given, value, strict=False)))
        return
    held, whole = _named_parts(given), _named_parts(value)
    yield from ((str(name), held[name], whole[name]) for name in whole.keys() & held.keys())


def _named_parts(value: Any) -> Mapping[Any, Any]:
    if isinstance(value, BaseModel):
        return vars(value)
    if is_dataclass(value):
        return {one.name: getattr(value, one.name) for one in fields(value) if hasattr(value, one.name)}
    return value if isinstance(value, Mapping) else _NOTHING


def refuse_iterators(errors: ClassErrors, given: Mapping[str, Any], altered: Iterable[str]) -> None:
    """Raises InvalidValue for an iterator among given values: the next validation would find it used up."""
    found = False
    for name in altered:
        with suppress(RecursionError):  # encoding refuses a value that is nested so deeply
            found = _has_iterator(given.get(name))
        if found:
            problem = "is or contains an iterator, which can be read only once"
            raise errors.invalid(name, given[name], problem, "give it a list")


def _has_iterator(value: Any) -> bool:
    if isinstance(value, list | tuple | set | frozenset):
        return any(map(_has_iterator, value))
    return isinstance(value, Iterator) or any(map(_has_iterator, _named_parts(value).values()))


# -- defaults that pydantic does not validate --------------------------------------------------------------------------


def untouched_defaults(
    mapping: EntityMapping,
    entity: BaseModel,
    stored: Item | None = None,
    kept: frozenset[str] = _NO_FIELDS,
) -> frozenset[str]:
    """The fields of an object that have a default which is no input (rule 5).

    Args:
        mapping: its class.
        entity: the object.
        stored: the item that it was loaded from; None for a new one.
        kept: the fields that did not change since.
    """
    if not mapping.rules.untouched:
        return _NO_FIELDS
    found = set[str]()
    for name, default in mapping.rules.untouched.items():
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
    """Given values, with the static defaults that would be stored beside them without being validated."""
    found = {
        name: default
        for name, default in mapping.rules.untouched.items()
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


# Loads values before anything is stored: what loading will make of them must be stored as they are.
#
# Validators run again whenever an item is loaded. A class whose validators may change a value is therefore validated
# twice before a write, the second time as loading would. Both must give the same item.

_REFUSED_AGAIN: Final = "is changed by its validators into a value that they refuse: "
_UNSTABLE: Final = (
    "is changed by its validators again when it is loaded, so what loads would not be what is stored"
)
_REPEATABLE: Final = "write validators that leave alone what they have returned: f(f(x)) == f(x)"


def as_loaded(
    mapping: EntityMapping, first: Mapping[str, Any], untouched: frozenset[str]
) -> Mapping[str, Any]:
    """The values that loading will give. Raises InvalidValue if they make another item than the values to store."""
    keys = _keys(mapping, first)
    item = mapping.encoder.encode(first)
    # They are not stored: loading takes these defaults again (rule 5 of ``validate``).
    for name in untouched:
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
        _refuse_unrepeatable(mapping, first, untouched)
    return found


def _refuse_unrepeatable(mapping: EntityMapping, first: Mapping[str, Any], untouched: frozenset[str]) -> None:
    """Raises InvalidValue if a validator that spares loaded values does not repeat itself: the next save calls it."""
    try:
        again = mapping.rules.whole.validate_python(
            {name: first[name] for name in mapping.fields if name not in untouched},
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


# Some fields and computed fields of a stored item, as loading the whole item would give them.


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
