"""The markers of a field, and the errors for markers in the wrong place and for types that are not defined.

A marker applies to the field in ``Annotated[str, Unique()]``, ``Annotated[str | None, Unique()]``,
``Annotated[str, Unique()] | None`` and aliases of these. In ``list[Annotated[str, Unique()]]`` it would apply to the
members, which dynaorm does not support, so the class is refused.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NewType,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import BaseModel, Secret, SecretBytes, SecretStr
from pydantic.errors import PydanticUndefinedAnnotation
from pydantic.fields import FieldInfo
from typing_extensions import is_typeddict

from dynaorm.entity.marker import MARKERS, Attribute, argument_problems
from dynaorm.errors import DeclarationError
from dynaorm.record import record

_SECRETS = (Secret, SecretStr, SecretBytes)


@record
class Marked:
    """A field's type without its markers, the markers, and the problems with their places."""

    annotation: Any
    metadata: tuple[object, ...]
    markers: tuple[object, ...]
    problems: tuple[str, ...] = ()

    def find(self, kind: type) -> list[Any]:
        return [marker for marker in self.markers if isinstance(marker, kind)]


def marked(name: str, info: FieldInfo) -> Marked:
    """The markers of one field."""
    annotation = info.annotation
    metadata = [one for one in info.metadata if not _is_marker(one)]
    found = [*(one for one in info.metadata if _is_marker(one)), *_outer_markers(annotation)]
    markers = [one for one in found if not isinstance(one, type)]
    problems = [
        f"{name}: {one.__name__} is a class; write {one.__name__}()" for one in found if isinstance(one, type)
    ]
    if _is_marker(info.default):
        kind = _kind(info.default)
        problems.append(f"{name}: {kind}() is its default value; write Annotated[<its type>, {kind}()]")
    misplaced = sorted({_kind(marker) for marker in _inner_markers(annotation, frozenset(), outer=True)})
    problems += [
        f"{name}: {kind}() stands inside the type, where it would mean a part of the value; "
        f"write Annotated[<the whole type>, {kind}()]"
        for kind in misplaced
    ]
    wrong = {id(marker): found for marker in markers if (found := [*argument_problems(marker)])}
    problems += [f"{name}: {problem}" for found in wrong.values() for problem in found]
    markers = [marker for marker in markers if id(marker) not in wrong]
    kinds = [type(marker) for marker in markers]
    problems += [
        f"{name}: {kind.__name__}() is given twice; keep one" for kind in MARKERS if kinds.count(kind) > 1
    ]
    return Marked(annotation, tuple(metadata), tuple(markers), tuple(problems))


def complete(entity: type[BaseModel]) -> None:
    """Resolve the forward references of a class. Raises DeclarationError for one whose type is not known."""
    try:
        entity.model_rebuild()
    except PydanticUndefinedAnnotation as problem:
        kind, name = entity.__name__, str(problem.name)
        fields = [
            f"{field}: its annotation names"
            for field, info in entity.model_fields.items()
            if _names(info.annotation, name, frozenset())
        ]
        raise DeclarationError(
            entity=kind,
            problems=tuple(
                f"{names} {name!r}, which is not defined; define or import {name} before the class is first used, or "
                f"call {kind}.model_rebuild() where {name} is known"
                for names in fields or ["an annotation in one of its types names"]
            ),
        ) from problem


def _names(annotation: Any, name: str, seen: frozenset[Any]) -> bool:
    """Whether a name stands in a type that is not resolved, or in a field of a nested record."""
    if re.search(rf"\b{re.escape(name)}\b", str(annotation)):
        return True
    if isinstance(annotation, type) and annotation not in seen:
        own = vars(annotation).get("__annotations__", {}).values()
        inner = (
            _record_fields(annotation) if issubclass(annotation, BaseModel) else [(one, ()) for one in own]
        )
        return any(_names(one, name, seen | {annotation}) for one, _ in inner)
    return any(_names(member, name, seen) for member in get_args(annotation))


def accepts_none(annotation: Any) -> bool:
    """Whether None is a value of the type."""
    named = _named(annotation)
    if named is not None:
        return accepts_none(named)
    origin, members = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return accepts_none(members[0])
    if origin is Literal:
        return None in members
    return annotation in (None, NoneType) or (
        origin in (Union, UnionType) and any(map(accepts_none, members))
    )


def without_none(annotation: Any) -> Any:
    """The type behind aliases, ``Annotated`` and ``X | None``; a union of several types as it is."""
    named = _named(annotation)
    if named is not None:
        return without_none(named)
    if get_origin(annotation) is Annotated:
        return without_none(get_args(annotation)[0])
    members = _members(annotation)
    return without_none(members[0]) if len(members) == 1 else annotation


def holds_secret(annotation: Any) -> bool:
    """Whether a type is or contains a pydantic secret or a field with ``repr=False``, in a member or nested record."""
    return _holds_secret(annotation, frozenset())


def _holds_secret(annotation: Any, seen: frozenset[Any]) -> bool:
    named = _named(annotation)
    if named is not None:
        return annotation not in seen and _holds_secret(named, seen | {annotation})
    if get_origin(annotation) is Annotated:
        return _holds_secret(get_args(annotation)[0], seen)
    kind = get_origin(annotation) or annotation
    if isinstance(kind, type):
        if issubclass(kind, _SECRETS):
            return True
        if kind not in seen and (
            _has_hidden(kind) or any(_holds_secret(one, seen | {kind}) for one, _ in _record_fields(kind))
        ):
            return True
    return any(_holds_secret(member, seen) for member in get_args(annotation))


def _has_hidden(kind: type) -> bool:
    """Whether a nested record has a field with ``repr=False``."""
    if issubclass(kind, BaseModel):
        return not all(info.repr for info in kind.model_fields.values())
    if is_dataclass(kind):
        defaults = (one.default for one in fields(kind))
        return not all(one.repr for one in fields(kind)) or any(
            isinstance(default, FieldInfo) and not default.repr for default in defaults
        )
    return False


def _is_marker(one: object) -> bool:
    """Whether it is a marker, or the class of one (a forgotten call)."""
    return isinstance(one, MARKERS) or (isinstance(one, type) and one in MARKERS)


def _kind(marker: object) -> str:
    return (marker if isinstance(marker, type) else type(marker)).__name__


def _named(annotation: Any) -> Any | None:
    """The type behind an alias or NewType; None for any other type."""
    if isinstance(annotation, NewType):
        return annotation.__supertype__
    # An alias of the ``type`` statement and one of typing_extensions are of different classes.
    generic = getattr(get_origin(annotation), "__value__", None)
    return getattr(annotation, "__value__", None) if generic is None else generic[get_args(annotation)]


def _members(annotation: Any) -> tuple[Any, ...]:
    if get_origin(annotation) in (Union, UnionType):
        return tuple(one for one in get_args(annotation) if one is not NoneType)
    return ()


def _outer_markers(annotation: Any) -> Iterator[object]:
    """Markers of an alias, or of the only member of ``X | None``: both apply to the field."""
    named = _named(annotation)
    if named is not None:
        yield from _outer_markers(named)
    elif get_origin(annotation) is Annotated:
        inner, *metadata = get_args(annotation)
        yield from filter(_is_marker, metadata)
        yield from _outer_markers(inner)
    elif len(members := _members(annotation)) == 1:
        yield from _outer_markers(members[0])


def _inner_markers(annotation: Any, seen: frozenset[Any], *, outer: bool) -> Iterator[object]:
    """Markers that apply to a part of the value: members of a container or union, fields of a nested record."""
    named = _named(annotation)
    if named is not None:
        if annotation not in seen:
            yield from _inner_markers(named, seen | {annotation}, outer=outer)
        return
    if get_origin(annotation) is Annotated:
        inner, *metadata = get_args(annotation)
        if not outer:
            yield from filter(_is_marker, metadata)
        yield from _inner_markers(inner, seen, outer=outer)
        return
    if isinstance(annotation, type) and annotation not in seen:
        yield from _record_markers(annotation, seen | {annotation})
    members = _members(annotation)
    for member in members or get_args(annotation):
        yield from _inner_markers(member, seen, outer=outer and len(members) == 1)


def _record_markers(kind: type, seen: frozenset[Any]) -> Iterator[object]:
    """Markers in the fields of a nested model, dataclass, typed dict or named tuple."""
    for annotation, metadata in _record_fields(kind):
        # Attribute may rename the fields of a nested model; the other markers make no sense there.
        yield from (one for one in metadata if _is_marker(one) and not isinstance(one, Attribute))
        yield from _outer_markers(annotation)
        yield from _inner_markers(annotation, seen, outer=True)


def _record_fields(kind: type) -> list[tuple[Any, Sequence[object]]]:
    if issubclass(kind, BaseModel):
        return [(info.annotation, info.metadata) for info in kind.model_fields.values()]
    if is_dataclass(kind) or is_typeddict(kind) or (issubclass(kind, tuple) and hasattr(kind, "_fields")):
        return [(annotation, ()) for annotation in get_type_hints(kind, include_extras=True).values()]
    return []
