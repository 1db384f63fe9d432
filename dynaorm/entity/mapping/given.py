"""Refuses given values that validation takes, but not as they are: instances of subclasses, and iterators.

Rule 1. Validation makes an instance of the nested class from one of a subclass: what is stored, and loads, would lack
        the other fields.
Rule 2. Validation reads an iterator to its end, so the next one would find nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel

from dynaorm.entity.codec.value import CodecError, inside
from dynaorm.entity.mapping.secret import ClassErrors
from dynaorm.late import late

if TYPE_CHECKING:
    from dynaorm.entity.codec import model
else:
    late(globals(), model="dynaorm.entity.codec.model")

_NOTHING: Final[Mapping[str, Any]] = {}


def refuse_subclasses(given: Any, value: Any) -> None:
    """Raises CodecError if validation made an instance of a class from one of a subclass."""
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
