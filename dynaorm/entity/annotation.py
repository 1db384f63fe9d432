"""The markers of a field, and the errors for markers in the wrong place and for types that are not defined.

A marker applies to the field in ``Annotated[str, Unique()]``, ``Annotated[str | None, Unique()]``,
``Annotated[str, Unique()] | None`` and aliases of these. In ``list[Annotated[str, Unique()]]`` it would apply to the
members, which dynaorm does not support, so the class is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal

from pydantic import BaseModel
from pydantic.errors import PydanticUndefinedAnnotation
from pydantic.fields import FieldInfo

from dynaorm.entity.marker import MARKERS, Attribute, OneOf, argument_problems
from dynaorm.entity.text.of_type import scalar_of
from dynaorm.entity.text.scalar import Scalar
from dynaorm.entity.type_tree import TypeTree, type_tree
from dynaorm.errors import DeclarationError
from dynaorm.record import record, replace


@record
class Marked:
    """A field's type, the markers, what else stands beside it, and the problems with the markers' places."""

    tree: TypeTree
    metadata: tuple[object, ...]
    markers: tuple[object, ...]
    problems: tuple[str, ...] = ()

    @property
    def scalar(self) -> Scalar | None:
        """The scalar of the type, with the values of ``OneOf``."""
        found = scalar_of(self.tree)
        values = [value for one in self.find(OneOf) for value in one.values]
        return found if found is None or not values else replace(found, values=tuple(values))

    def find(self, kind: type) -> list[Any]:
        return [marker for marker in self.markers if isinstance(marker, kind)]


def marked(name: str, info: FieldInfo) -> Marked:
    """The markers of one field."""
    tree = type_tree(info.annotation)
    metadata = [one for one in info.metadata if not _is_marker(one)]
    found = [*filter(_is_marker, info.metadata), *_outer_markers(tree)]
    markers = [one for one in found if not isinstance(one, type)]
    problems = [
        f"{name}: {one.__name__} is a class; write {one.__name__}()" for one in found if isinstance(one, type)
    ]
    if _is_marker(info.default):
        kind = _kind(info.default)
        problems.append(f"{name}: {kind}() is its default value; write Annotated[<its type>, {kind}()]")
    misplaced = sorted({_kind(marker) for marker in _inner_markers(tree, set(), outer=True)})
    problems += [
        f"{name}: {kind}() stands inside the type, where it would mean a part of the value; "
        f"write Annotated[<the whole type>, {kind}()]"
        for kind in misplaced
    ]
    wrong = {
        id(one): found for one in markers if (found := [*argument_problems(one), *_not_of_type(one, tree)])
    }
    problems += [f"{name}: {problem}" for found in wrong.values() for problem in found]
    markers = [marker for marker in markers if id(marker) not in wrong]
    kinds = [type(marker) for marker in markers]
    problems += [
        f"{name}: {kind.__name__}() is given twice; keep one{_instead(kind, markers)}"
        for kind in MARKERS
        if kinds.count(kind) > 1
    ]
    return Marked(_with_values(tree, markers), tuple(metadata), tuple(markers), tuple(problems))


def _instead(kind: type, markers: list[object]) -> str:
    """How to get what a marker that is given twice may have been meant for: one value in two attributes."""
    names = [one.name for one in markers if isinstance(one, Attribute) and one.name is not None]
    if kind is not Attribute or len({*names}) < 2:
        return ""
    return f", and keep the value in {names[-1]!r}, too, with a computed field that has Stored({names[-1]!r})"


def tree_of_field(info: FieldInfo) -> TypeTree:
    """The type of a field: with ``OneOf(values)`` it is the Literal of these values."""
    return marked("", info).tree


def _with_values(tree: TypeTree, markers: list[object]) -> TypeTree:
    for one in markers:
        if isinstance(one, OneOf):
            none = (None,) if tree.accepts_none else ()
            return type_tree(Literal[(*one.values, *none)])
    return tree


def _not_of_type(marker: object, tree: TypeTree) -> Iterator[str]:
    """Why the values of ``OneOf`` are not those of the field's type, one sentence each."""
    kind = tree.without_none.plain
    for one in marker.values if isinstance(marker, OneOf) else ():
        if type(one) is not kind:
            yield (
                f"OneOf() has the value {one!r}, which is no value of {tree.without_none.name}; "
                f"give values of the field's type, or change the type"
            )
            return


def complete(entity: type[BaseModel]) -> None:
    """Resolve the forward references of a class. Raises DeclarationError for one whose type is not known."""
    try:
        entity.model_rebuild()
    except PydanticUndefinedAnnotation as problem:
        kind, name = entity.__name__, str(problem.name)
        fields = [
            f"{field}: its annotation names"
            for field, info in entity.model_fields.items()
            if _names(type_tree(info.annotation), name)
        ]
        raise DeclarationError(
            entity=kind,
            problems=tuple(
                f"{names} {name!r}, which is not defined; define or import {name} before the class is first used, or "
                f"call {kind}.model_rebuild() where {name} is known"
                for names in fields or ["an annotation in one of its types names"]
            ),
        ) from problem


def _names(tree: TypeTree, name: str) -> bool:
    """Whether a name stands in a type that is not resolved, or in a field of a nested record."""
    written = re.compile(rf"\b{re.escape(name)}\b")
    return any(written.search(str(one.written)) for one in tree.walk())


def _is_marker(one: object) -> bool:
    """Whether it is a marker, or the class of one (a forgotten call)."""
    return isinstance(one, MARKERS) or (isinstance(one, type) and one in MARKERS)


def _kind(marker: object) -> str:
    return (marker if isinstance(marker, type) else type(marker)).__name__


def _outer_markers(tree: TypeTree) -> Iterator[object]:
    """Markers of the type, or of the only member of ``X | None``: both apply to the field."""
    yield from filter(_is_marker, tree.metadata)
    if len(tree.members) == 1:
        yield from _outer_markers(tree.members[0])


def _inner_markers(tree: TypeTree, seen: set[tuple[int, bool]], *, outer: bool) -> Iterator[object]:
    """Markers that apply to a part of the value: members of a container or union, fields of a nested record."""
    if (id(tree), outer) in seen:
        return
    seen.add((id(tree), outer))
    if not outer:
        yield from filter(_is_marker, tree.metadata)
    for field in tree.fields.values():
        # Attribute may rename the fields of a nested model; the other markers make no sense there.
        yield from (one for one in field.metadata if _is_marker(one) and not isinstance(one, Attribute))
        yield from _outer_markers(field.tree)
        yield from _inner_markers(field.tree, seen, outer=True)
    for part in tree.parts:
        yield from _inner_markers(part, seen, outer=outer and tree.members == (part,))
