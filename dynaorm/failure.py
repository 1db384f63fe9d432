"""What all errors have in common: fields, a message that ends with what to do, and a pickle.

Every error has fields, given by keyword. Its message is ``problem`` and ``remedy``; their defaults name other fields in
braces, filled in when the error is made. Given by the caller, they are taken as they are.
"""

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, dataclass_transform

from dynaorm.late import late

if TYPE_CHECKING:
    import difflib
else:
    late(globals(), difflib="difflib")

_SHOWN = 200


class Address(Protocol):
    """What an error knows of an entity's key: its class, its key fields, the raw key. ``repr`` shows it."""

    @property
    def entity(self) -> type[Any] | None: ...
    @property
    def fields(self) -> Mapping[str, Any]: ...
    @property
    def primary_key(self) -> Mapping[str, Mapping[str, Any]]: ...


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(field,))
class DynaormError(Exception):
    """Base of all errors. ``problem``: what is wrong; ``remedy``: what to do about it."""

    problem: str
    remedy: str
    _fields: ClassVar[Mapping[str, Field[Any]]] = {"problem": field(), "remedy": field()}

    def __init_subclass__(cls) -> None:
        own = vars(cls).get("__annotations__", {})
        cls._fields = {**cls._fields, **{name: _declared(cls, name) for name in own}}

    def __init__(self, /, **given: Any) -> None:
        super().__init__()
        values = {**{name: one.default for name, one in self._fields.items()}, **given}
        unknown = given.keys() - self._fields.keys()
        missing = [name for name, value in values.items() if value is MISSING]
        if missing or unknown:
            raise TypeError(f"{type(self).__name__} misses {missing}, and has no {sorted(unknown)}")
        vars(self).update(values)
        self.__post_init__()

    def __post_init__(self) -> None:
        for name, words in (("problem", self.problem), ("remedy", self.remedy)):
            if words is getattr(type(self), name, None):
                setattr(self, name, words.format_map(vars(self)))

    def __str__(self) -> str:
        return f"{self.problem}; {self.remedy}"

    def __repr__(self) -> str:
        fields = (f"{name}={getattr(self, name)!r}" for name, one in self._fields.items() if one.repr)
        return f"{type(self).__qualname__}({', '.join(fields)})"

    def __reduce__(self) -> tuple[Any, ...]:
        # Made blank and filled afterwards, because an error may be among its own causes.
        return _blank, (type(self),), vars(self)


def shown(value: object) -> str:
    """A value for a message, shortened."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant; None for none."""
    return next(iter(difflib.get_close_matches(word, known, n=1)), None)


def suggestion(word: str, known: Iterable[str]) -> str:
    """The remedy for an unknown name: the one that was probably meant, or all that there are."""
    known = list(known)
    close = nearest(word, known)
    return f"did you mean {close!r}?" if close else f"name one of {', '.join(known)}"


def _declared(error: type[Any], name: str) -> Field[Any]:
    """A field as its class declares it; only what is a default stays on the class."""
    given: Any = vars(error).get(name, MISSING)
    declared: Field[Any] = given if isinstance(given, Field) else field(default=given)
    if given is declared:
        delattr(error, name)
        if declared.default is not MISSING:
            setattr(error, name, declared.default)
    return declared


def _blank(error: type[BaseException]) -> BaseException:
    return error.__new__(error)
