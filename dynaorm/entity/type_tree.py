"""The tree of a type: what an annotation says, taken apart by one module. Whoever asks about a type walks its tree.

Rule 1. Aliases, ``NewType``, ``Annotated`` and ``NotRequired`` are no levels of the tree. The type that they name is.
Rule 2. A type may contain itself. The tree then contains itself, too.
Rule 3. The levels below are read when they are asked for: a class may be declared before what its annotations name.
"""

from __future__ import annotations

import sys
import typing
from collections.abc import Iterator, Mapping, MutableMapping, MutableSet
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import is_dataclass
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NewType,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
)

import typing_extensions
from pydantic import BaseModel
from typing_extensions import ReadOnly, TypeAliasType, is_typeddict

from dynaorm.record import record

# The ``type`` statement makes aliases of another class than typing_extensions does.
_ALIASES: Final = (TypeAliasType, getattr(typing, "TypeAliasType", TypeAliasType))
_QUALIFIERS: Final = (Required, NotRequired, ReadOnly)
# Two of these may be equal and yet differ in metadata, or in the order of their members.
_WRITTEN_ONLY: Final = (Annotated, Literal, Union, UnionType)

CONTAINERS: Final[Mapping[Any, type]] = {
    list: list,
    tuple: tuple,
    set: set,
    frozenset: frozenset,
    dict: dict,
    AbstractSet: set,
    MutableSet: set,
    Mapping: dict,
    MutableMapping: dict,
}
"""The origins of types with elements, and the class of their values."""


@record(quick=True)
class Part:
    """A field of a record.

    Attributes:
        tree: the type of its annotation.
        metadata: what pydantic keeps beside the annotation of a model's field.
    """

    tree: TypeTree
    metadata: tuple[object, ...] = ()


class TypeTree:
    """A type without its names.

    Attributes:
        written: the annotation.
        plain: the type that it names: a class, a generic such as ``list[int]``, or a union.
        origin: of a generic its class, ``list`` for ``list[int]``; ``Union`` of all unions; otherwise ``plain``.
        arguments: of a generic, ``(int,)`` for ``list[int]``; the values of a Literal; the members of a union.
        metadata: all that ``Annotated`` adds to the type, the innermost first, as if it stood in a single one.
        aliases: the aliases that were resolved, the outermost first.
        qualifiers: ``Required``, ``NotRequired`` and ``ReadOnly``, the outermost first.
        unresolved: why ``plain`` is an alias: a name in it is not defined.
    """

    __slots__ = (
        "_fields", "_known", "_parts", "aliases", "arguments", "metadata", "origin", "plain", "qualifiers",
        "unresolved", "written",
    )  # fmt: skip

    def __init__(self, annotation: Any, known: dict[Any, TypeTree]) -> None:
        self._known = known
        self._fields: Mapping[str, Part] | None = None
        self._parts: tuple[TypeTree, ...] | None = None
        self.written = annotation
        self.metadata: tuple[object, ...] = ()
        self.aliases: tuple[Any, ...] = ()
        self.qualifiers: tuple[Any, ...] = ()
        self.unresolved: NameError | None = None
        self.plain = NoneType if annotation is None else self._named(annotation)
        origin = get_origin(self.plain)
        self.origin: Any = Union if origin is UnionType else origin or self.plain
        self.arguments = get_args(self.plain)

    def _named(self, annotation: Any) -> Any:
        """The type that an annotation names. Notes what stands around it."""
        while True:
            origin = get_origin(annotation)
            if origin is Annotated:
                annotation, *metadata = get_args(annotation)
                self.metadata = (*metadata, *self.metadata)
            elif origin in _QUALIFIERS:
                self.qualifiers = (*self.qualifiers, origin)
                (annotation,) = get_args(annotation)
            elif isinstance(annotation, NewType):
                annotation = annotation.__supertype__
            elif isinstance(annotation, _ALIASES) or isinstance(origin, _ALIASES):
                self.aliases = (*self.aliases, annotation)
                try:
                    annotation = _value_of(annotation, origin)
                except NameError as problem:
                    self.unresolved = problem
                    return annotation
            else:
                return NoneType if annotation is None else annotation

    # -- the levels below ----------------------------------------------------------------------------------------------

    @property
    def parts(self) -> tuple[TypeTree, ...]:
        """The members of a union, and the types in the brackets of a generic; without an ellipsis."""
        if self._parts is None:
            given = () if self.origin is Literal else self.arguments
            self._parts = tuple(self._below(one) for one in given if one is not Ellipsis)
        return self._parts

    @property
    def fields(self) -> Mapping[str, Part]:
        """The fields of a model, dataclass, typed dict or named tuple; none of any other type."""
        if self._fields is None:
            self._fields = {
                name: Part(self._below(annotation), metadata)
                for name, annotation, metadata in _fields_of(self.origin, self.variables)
            }
        return self._fields

    def _below(self, annotation: Any) -> TypeTree:
        if get_origin(annotation) in _WRITTEN_ONLY:
            return TypeTree(annotation, self._known)
        try:
            found = self._known.get(annotation)
        except TypeError:  # an argument is not hashable
            return TypeTree(annotation, self._known)
        if found is None:
            found = self._known[annotation] = TypeTree(annotation, self._known)
        return found

    @property
    def variables(self) -> Mapping[Any, Any]:
        """The type variables of a generic class, and what its arguments put in their place."""
        return dict(zip(getattr(self.origin, "__parameters__", ()), self.arguments, strict=False))

    def walk(self) -> Iterator[TypeTree]:
        """The tree and all trees below it, each once."""
        waiting, known = [self], {id(self)}
        while waiting:
            yield (tree := waiting.pop())
            for below in (*tree.parts, *(field.tree for field in tree.fields.values())):
                if id(below) not in known:
                    known.add(id(below))
                    waiting.append(below)

    # -- what is asked most --------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The name of the type in messages."""
        named = self.written
        while get_origin(named) is Annotated:
            named = get_args(named)[0]
        if isinstance(named, type) and not get_args(named):
            return named.__name__
        return str(named).replace("typing.", "")

    @property
    def members(self) -> tuple[TypeTree, ...]:
        """The members of a union without None; nothing for any other type."""
        return tuple(one for one in self.parts if one.plain is not NoneType) if self.origin is Union else ()

    @property
    def alternatives(self) -> tuple[TypeTree, ...]:
        """The types of which a value that is not None has one: those of a union, and of the unions in it."""
        return tuple(kind for one in self.members for kind in one.alternatives) or (self,)

    def member(self, name: str) -> Part | None:
        """The field of a record that is stored under its name. A named tuple is stored as a list, without names."""
        if isinstance(self.origin, type) and issubclass(self.origin, tuple):
            return None
        return self.fields.get(name)

    @property
    def accepts_none(self) -> bool:
        """Whether None is a value of the type."""
        if self.origin is Literal:
            return None in self.arguments
        return self.plain is NoneType or (
            self.origin is Union and any(part.accepts_none for part in self.parts)
        )

    @property
    def without_none(self) -> TypeTree:
        """The X of ``X | None``; any other type as it is."""
        members = self.members
        return members[0].without_none if len(members) == 1 else self


def type_tree(annotation: Any) -> TypeTree:
    """The tree of a type; of a tree, that tree.

    Examples:
        >>> tree = type_tree(Annotated[list[int | None], "a note"] | None)
        >>> tree.accepts_none, tree.without_none.origin, tree.without_none.metadata
        (True, <class 'list'>, ('a note',))
    """
    return annotation if isinstance(annotation, TypeTree) else TypeTree(annotation, {})


def is_record(kind: Any) -> bool:
    """Whether a type is a class with declared fields: a model, dataclass, typed dict or named tuple."""
    return isinstance(kind, type) and (
        issubclass(kind, BaseModel)
        or is_dataclass(kind)
        or is_typeddict(kind)
        or (issubclass(kind, tuple) and hasattr(kind, "_fields"))
    )


def substituted(annotation: Any, given: Mapping[Any, Any]) -> Any:
    """An annotation with other types in place of some, such as its type variables."""
    if not given:
        return annotation
    with suppress(TypeError):  # an annotation may hold what is not hashable
        if annotation in given:
            return given[annotation]
    origin, arguments = get_origin(annotation), get_args(annotation)
    # A class has been made of its arguments. There are no types in a Literal.
    if not arguments or origin is Literal or isinstance(annotation, type):
        return annotation
    if origin is Annotated:
        return Annotated[substituted(arguments[0], given), *arguments[1:]]
    made = tuple(substituted(argument, given) for argument in arguments)
    if made == arguments:
        return annotation
    kind: Any = Union if origin is UnionType else origin
    return kind[made]


# -- annotations that are written as text ------------------------------------------------------------------------------


def hints_of(kind: Any) -> Mapping[str, Any]:
    """The annotations of a class, resolved. Raises NameError if a name in them is unknown."""
    return typing_extensions.get_type_hints(kind, None, {kind.__name__: kind}, include_extras=True)


def _value_of(alias: Any, origin: Any) -> Any:
    """The type that an alias stands for, resolved. Raises NameError."""
    if origin is not None:
        return _value_of(origin, None)[get_args(alias)]
    written = type(alias.__name__, (), {"__annotations__": {"value": alias.__value__}})
    module = vars(sys.modules[alias.__module__])
    known = {alias.__name__: alias}
    return typing_extensions.get_type_hints(written, module, known, include_extras=True)["value"]


def _fields_of(kind: Any, variables: Mapping[Any, Any]) -> Iterator[tuple[str, Any, tuple[object, ...]]]:
    """The names, annotations and metadata of the fields of a record."""
    if not is_record(kind):
        return
    if issubclass(kind, BaseModel):
        yield from ((name, one.annotation, tuple(one.metadata)) for name, one in kind.model_fields.items())
        return
    try:
        hints = hints_of(kind)
    except NameError:
        hints = vars(kind).get("__annotations__", {})
    yield from ((name, substituted(hint, variables), ()) for name, hint in hints.items())
