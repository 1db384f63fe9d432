"""The values that the changes of an edit give: each is judged by the type of the place it goes to.

Rule 1. The value of ``set`` goes to its path, those of ``append`` and ``prepend`` to elements of the list, and those of
        ``add`` to members of the set. Each becomes what setting the whole field would make of it.
Rule 2. A value whose validators look at the fields beside it is judged with the entity (``judged_with``).
Rule 3. What is discarded is not stored: if it breaks a rule, it is looked for as it is.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import is_dataclass
from typing import Any, TypeAlias

from pydantic import BaseModel

from dynaorm.entity.codec.of_type import Codec
from dynaorm.entity.mapping.field import FieldMapping
from dynaorm.entity.mapping.given import refuse_iterators
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.mapping.validate import validated_field, validated_part
from dynaorm.entity.resolve import FieldResolver
from dynaorm.errors import InvalidValue, UsageError
from dynaorm.item.path import Path
from dynaorm.item.update import AddTo, Append, Change, Discard, Prepend, SetIfMissing, SetTo
from dynaorm.record import replace

_Judge: TypeAlias = Callable[[Path, Any], Any]
"""The value to store for one that goes to a path. An index leads to the elements of a list or set."""


def valid_changes(mapping: EntityMapping, changes: tuple[Change, ...]) -> tuple[Change, ...]:
    """The changes with the values that the validators of their places give. Raises InvalidValue.

    A value whose validators may look at other fields stays as it is (see ``judged_with``).
    """

    def judge(path: Path, value: Any) -> Any:
        if looks_around(mapping, path):
            return _repeatable(mapping, path, value)
        return valid_at(mapping, path, value, {})

    return tuple(_judged(mapping, change, judge) for change in changes)


def judged_with(
    mapping: EntityMapping, changes: tuple[Change, ...], values: Callable[[], Mapping[str, Any]]
) -> tuple[Change, ...]:
    """The changes with the values whose validators may look at other fields, too.

    ``values`` returns those of the entity before the changes. It is called only if they are looked at.
    """
    given = {str(one.path[0]): one.value for one in changes if isinstance(one, SetTo) and len(one.path) == 1}
    found: Mapping[str, Any] | None = None

    def judge(path: Path, value: Any) -> Any:
        nonlocal found
        if not looks_around(mapping, path):
            return value
        if found is None:
            found = values()
        nested = mapping.rules.nested.at(path)
        if nested is None or nested.depth == 0:
            # Validators see what the same edit sets, too, as if all of it were given to the constructor.
            return valid_at(mapping, path, value, {**found, **given})
        return valid_at(mapping, path, value, _members(found.get(str(path[0])), path[1 : nested.depth]))

    return tuple(_judged(mapping, one, judge) for one in changes)


def looks_around(mapping: EntityMapping, path: Path) -> bool:
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
            return replace(change, values=tuple(judge((*path, 0), one) for one in elements))
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
