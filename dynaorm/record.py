"""Values with named fields, like ``dataclass(frozen=True, slots=True)``, but much faster to declare.

dynaorm declares about a hundred such classes, which delays a process that serves one request. The standard library
compiles up to eight methods for each class. This module compiles only ``__init__``, and only for classes with many
objects; the other methods are shared by all classes. If it compiled every ``__init__``, the first get of a new process
would take 5 % more instructions; with that of every class that has an object, 3 % more (direct transport).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, FrozenInstanceError, field
from functools import cached_property
from operator import attrgetter
from typing import Any, ClassVar, Final, TypeVar, dataclass_transform, get_origin, overload

T = TypeVar("T")

FIELDS: Final = "__record_fields__"
"""The attribute of a record class that holds its fields, those of its bases first: name -> ``dataclasses.Field``."""

_VALUES: Final = "__record_values__"

_REQUIRED: Final[Field[Any]] = field()
"""Stands for every field that is only annotated."""

_FEW: Final = 32
"""So many objects of a class take less time than compiling its ``__init__``. Most classes never have more."""


@overload
def record(cls: type[T], /) -> type[T]: ...
@overload
def record(*, frozen: bool = True, quick: bool = False, eq: bool = True) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(
    cls: type[Any] | None = None,
    /,
    *,
    frozen: bool = True,
    quick: bool = False,
    eq: bool = True,
) -> Any:
    """Give a class with annotated fields a constructor, equality, a hash and a ``repr``.

    Defaults, ``field(default=, default_factory=, repr=)``, ``__post_init__``, bases that are records, patterns, copies
    and pickles work as with a dataclass. Objects have slots. Cached properties are stored in a ``__dict__``, which
    copies do not take over.

    Args:
        cls: the class. A new class is returned, because slots cannot be added to an existing one.
        frozen: refuse to set fields. Objects that are not frozen have no hash.
        quick: leave that to type checkers. For what every request makes: a frozen object takes twice as long to make,
            and a named tuple half as long again.
        eq: compare by the values of the fields; otherwise an object is equal only to itself.
    """
    guarded = frozen and not quick
    if cls is None:
        return lambda one: _made(one, guarded=guarded, hashed=frozen, eq=eq)
    return _made(cls, guarded=guarded, hashed=frozen, eq=eq)


def replace(one: T, /, **changes: Any) -> T:
    """A copy of a record with other values in some of its fields. Raises TypeError for a name that is not a field."""
    cls: Any = type(one)
    # By position, which takes two thirds of the time that names take.
    made: T = cls(*map(changes.pop, cls.__record_fields__, cls.__record_values__(one)))
    if changes:
        raise TypeError(f"{cls.__name__} has no field {', '.join(changes)}")
    return made


def _made(cls: type[Any], *, guarded: bool, hashed: bool, eq: bool) -> type[Any]:
    own = {
        name: _field(cls, name)
        for name, kind in vars(cls).get("__annotations__", {}).items()
        if _is_own(kind)
    }
    fields: dict[str, Field[Any]] = {}
    for base in reversed(cls.__mro__[1:]):
        fields |= vars(base).get(FIELDS, {})
    fields |= own
    names = tuple(fields)
    shared: dict[str, Any] = {
        "__repr__": _repr,
        "__getstate__": _state,
        "__setstate__": _set_state,
    }
    if guarded:
        shared |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
    if eq:
        shared |= {"__eq__": _equal, "__hash__": _hash if hashed else None}
    # A default as an attribute of the class would be in the way of its slot.
    left_behind = {*own, "__dict__", "__weakref__"}
    written = {name: value for name, value in vars(cls).items() if name not in left_behind}
    slots = (*own, "__dict__") if _caches(cls) else tuple(own)
    kept = {"__slots__": slots, "__match_args__": names, FIELDS: fields, _VALUES: _values_of(names)}
    metaclass: Any = type(cls)
    made: type[Any] = metaclass(cls.__name__, cls.__bases__, shared | written | kept)
    made.__qualname__ = cls.__qualname__
    if "__init__" not in written:
        _compile_when_worth_it(made, fields, guarded=guarded)
    return made


def _is_own(kind: object) -> bool:
    """Whether an annotation declares a field, not a ClassVar."""
    if isinstance(kind, str):
        return not kind.startswith("ClassVar")
    return kind is not ClassVar and get_origin(kind) is not ClassVar


def _caches(cls: type[Any]) -> bool:
    return any(isinstance(value, cached_property) for value in vars(cls).values())


def _field(cls: type[Any], name: str) -> Field[Any]:
    default = vars(cls).get(name, MISSING)
    if default is MISSING:
        return _REQUIRED
    return default if isinstance(default, Field) else field(default=default)


def _values_of(names: tuple[str, ...]) -> object:
    if len(names) > 1:
        return staticmethod(attrgetter(*names))
    # For one name, ``attrgetter`` gives the value itself, not a tuple.
    return staticmethod(lambda one: tuple(getattr(one, name) for name in names))


def _compile_when_worth_it(cls: type[Any], fields: Mapping[str, Field[Any]], *, guarded: bool) -> None:
    """Give a class an ``__init__`` that sets the fields of the first objects itself, and compiled code for others."""
    left = _FEW
    compiled: Any = None
    defaults = {name: one.default for name, one in fields.items() if one.default is not MISSING}
    factories: dict[str, Callable[[], Any]] = {
        name: one.default_factory for name, one in fields.items() if one.default_factory is not MISSING
    }

    def interpreted(self: Any, *values: Any, **named: Any) -> None:
        nonlocal left
        left -= 1
        given = {**dict(zip(fields, values, strict=False)), **named}
        # A field that is given twice, or a value too many, leaves fewer.
        if left >= 0 and len(given) == len(values) + len(named):
            made = {name: make() for name, make in factories.items() if name not in given}
            given = {**defaults, **made, **given}
            if given.keys() == fields.keys():
                _set_fields(self, given)
                return
        # It raises TypeError, as any function does, if the arguments do not fit.
        constructor()(self, *values, **named)

    def constructor() -> Any:
        nonlocal compiled
        if compiled is None:
            compiled = _constructor(cls, fields, guarded=guarded)
        # A test may have put another one in its place.
        if cls.__init__ is interpreted:
            cls.__init__ = compiled
        return compiled

    cls.__init__ = interpreted
    cls.__signature__ = _CompileForSignature(constructor)


def _set_fields(one: Any, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        object.__setattr__(one, name, value)
    if hasattr(one, "__post_init__"):
        one.__post_init__()


class _CompileForSignature:
    """``__signature__``, which ``inspect.signature`` reads first: compiles the constructor and returns None."""

    def __init__(self, constructor: Callable[[], object]) -> None:
        self._constructor = constructor

    def __get__(self, one: Any, cls: type[Any]) -> None:
        self._constructor()


def _constructor(cls: type[Any], fields: Mapping[str, Field[Any]], *, guarded: bool) -> Any:
    """The compiled ``__init__``. For a guarded record it sets the slots directly, because ``__setattr__`` refuses."""
    known: dict[str, Any] = {"_ABSENT": MISSING}
    parameters, lines = ["self"], []
    for number, (name, one) in enumerate(fields.items()):
        if guarded:
            known[f"_set{number}"] = getattr(cls, name).__set__
        value = name
        if one.default is not MISSING:
            known[f"_default{number}"] = one.default
            parameters.append(f"{name}=_default{number}")
        elif one.default_factory is not MISSING:
            known[f"_make{number}"] = one.default_factory
            parameters.append(f"{name}=_ABSENT")
            value = f"_make{number}() if {name} is _ABSENT else {name}"
        else:
            parameters.append(name)
        lines.append(f" _set{number}(self, {value})" if guarded else f" self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    exec(f"def __init__({', '.join(parameters)}):\n" + "\n".join(lines or [" pass"]), known)  # noqa: S102 - of a class's own field names
    constructor = known["__init__"]
    constructor.__qualname__ = f"{cls.__qualname__}.__init__"
    constructor.__module__ = cls.__module__
    return constructor


# -- methods shared by all records -------------------------------------------------------------------------------------


def _equal(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    values = self.__record_values__
    return values(self) == values(other)


def _hash(self: Any) -> int:
    return hash(self.__record_values__(self))


def _repr(self: Any) -> str:
    shown = (f"{name}={getattr(self, name)!r}" for name, one in getattr(self, FIELDS).items() if one.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _state(self: Any) -> tuple[Any, ...]:
    values: tuple[Any, ...] = self.__record_values__(self)
    return values


def _set_state(self: Any, state: tuple[Any, ...]) -> None:
    for name, value in zip(getattr(self, FIELDS), state, strict=True):
        object.__setattr__(self, name, value)


def _refuse_to_set(self: Any, name: str, value: object) -> None:  # noqa: ARG001 - Python's signature
    raise FrozenInstanceError(
        f"{type(self).__name__}.{name} cannot be set; make a changed copy with replace(...)"
    )


def _refuse_to_delete(self: Any, name: str) -> None:
    raise FrozenInstanceError(
        f"{type(self).__name__}.{name} cannot be deleted; make a changed copy with replace(...)"
    )
