"""The base of all errors, with fields, a message that ends with the remedy, and pickling; and helpers for messages.

Fields are given by keyword. The message is ``problem`` and ``remedy``. Their defaults name other fields in braces; the
values are filled in when the error is created. Texts given by the caller are used unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, field
from reprlib import Repr
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, dataclass_transform

from dynaorm.late import late

if TYPE_CHECKING:
    import difflib
else:
    late(globals(), difflib="difflib")

MASK: Final = "**********"
"""What messages show in place of a secret."""

SITE = ""
"""The address of the documentation site, with ``/`` at its end; empty while it has none.

The message of an error then ends with the place of its class in the reference, and the site is built for this address.
"""

_SHOWN: Final = 200
# Repr shortens a long value before it makes its text.
_REPR: Final = Repr()
_REPR.maxstring = _REPR.maxother = _REPR.maxlong = _SHOWN


class ValueErrorWithRemedy(ValueError):
    """A value does not fit. The message ends with ``remedy``, if there is one."""

    def __init__(self, problem: str, remedy: str = "") -> None:
        super().__init__(f"{problem}; {remedy}" if remedy else problem)
        self.remedy = remedy


def remedy_of(problem: str | Exception) -> str:
    """The remedy that the message ends with; empty if it has none, as those of other people's functions."""
    return problem.remedy if isinstance(problem, ValueErrorWithRemedy) else ""


def without_remedy(problem: Exception) -> str:
    """The message without its remedy."""
    remedy = remedy_of(problem)
    return str(problem).removesuffix(f"; {remedy}") if remedy else str(problem)


class Address(Protocol):
    """An entity's key in an error: its class, its key fields and the raw key. Messages show its ``repr``.

    Examples:
        >>> try:
        ...     session.get_one(User, user_id="9")
        ... except EntityNotFound as error:
        ...     print(error.key.entity.__name__, error.key.fields)
        User {'user_id': '9'}
    """

    @property
    def entity(self) -> type[Any] | None: ...
    @property
    def fields(self) -> Mapping[str, Any]: ...
    @property
    def primary_key(self) -> Mapping[str, Mapping[str, Any]]: ...


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(field,))
class DynaormError(Exception):
    """Base of all errors. ``problem`` says what is wrong, ``remedy`` what to do about it.

    Attributes:
        problem: what is wrong.
        remedy: what to do about it.

    Examples:
        >>> try:
        ...     session.get(User, user="1")
        ... except DynaormError as error:
        ...     print(error.remedy)
        did you mean 'user_id'?
    """

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
            raise TypeError(
                f"{type(self).__name__} misses {missing}, and has no {sorted(unknown)}; give exactly its fields"
            )
        vars(self).update(values)
        self.__post_init__()

    def __post_init__(self) -> None:
        for name, words in (("problem", self.problem), ("remedy", self.remedy)):
            # Only the class's own words have names in braces. A caller's text may have braces of its own, as those of a
            # value.
            if words is getattr(type(self), name, None):
                setattr(self, name, format_message(words, vars(self)))

    def __str__(self) -> str:
        return f"{message_of(self)}\n{SITE}{place_of(type(self))}" if SITE else message_of(self)

    def _message(self) -> str:
        """The message. A class that says more than its problem and its remedy has its own."""
        return f"{self.problem}; {self.remedy}"

    def __repr__(self) -> str:
        fields = (
            f"{name}={_writable(getattr(self, name))}" for name, one in self._fields.items() if one.repr
        )
        return f"{type(self).__qualname__}({', '.join(fields)})"

    def __reduce__(self) -> tuple[Any, ...]:
        # Created empty and filled afterwards, because an error may be among its own causes.
        return _blank, (type(self),), vars(self)


def message_of(error: DynaormError) -> str:
    """The message without the link at its end, for a place inside of another text."""
    return error._message()


def place_of(error: type[DynaormError]) -> str:
    """Where the reference explains an error, relative to the site. A class of another module stands with its base."""
    public = next(one for one in error.__mro__ if one.__module__ in ("dynaorm.errors", __name__))
    return f"reference/errors/#dynaorm.errors.{public.__name__}"


def shown(value: object) -> str:
    """A value as messages show it, shortened."""
    try:
        text = _REPR.repr(value)
    except ValueError:  # Python refuses to write an int of so many digits
        text = f"<{type(value).__name__}>"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def _writable(value: object) -> str:
    """The ``repr`` of a value; of one that has none, such as an int of too many digits, what messages show."""
    try:
        return repr(value)
    except Exception:  # noqa: BLE001 - a repr of the user's may raise anything, and an error has to be shown
        return shown(value)


class RedactedDict(dict[str, Any]):
    """A dict whose ``repr`` masks the values of some names. Its values are the real ones."""

    __slots__ = ("hidden",)

    def __init__(self, values: Mapping[str, Any], hidden: frozenset[str]) -> None:
        super().__init__(values)
        self.hidden = hidden

    def __repr__(self) -> str:
        return f"{{{', '.join(f'{name!r}: {text}' for name, text in texts_of(self, _writable).items())}}}"

    def __reduce__(self) -> tuple[Any, ...]:
        return RedactedDict, (dict(self), self.hidden)


def hidden_in(values: Mapping[str, Any]) -> frozenset[str]:
    """The names whose values messages do not show."""
    return values.hidden if isinstance(values, RedactedDict) else frozenset()


def texts_of(values: Mapping[str, Any], text: Callable[[Any], str] = repr) -> dict[str, str]:
    """The values as messages show them, with those that are hidden masked."""
    hidden = hidden_in(values)
    return {name: MASK if name in hidden else text(value) for name, value in values.items()}


def counted(count: float, one: str, many: str = "") -> str:
    """``1 item``, ``2 items``, ``0.5 units``. ``many``: the plural, where it is not made by an ``s``."""
    number = str(count) if isinstance(count, int) else f"{count:.1f}".removesuffix(".0")
    return f"{number} {one if count == 1 else many or f'{one}s'}"


class _MessageFields(dict[str, Any]):
    """Values for the braces of a text. ``{counted attempts}`` is the number with its noun: ``1 attempt``."""

    def __missing__(self, name: str) -> str:
        verb, _, field = name.partition(" ")
        if verb != "counted":
            raise KeyError(name)
        return counted(self[field], field.removesuffix("s"))


def format_message(text: str, values: Mapping[str, Any]) -> str:
    """A text with values in place of names in braces, and counted nouns in place of ``{counted attempts}``."""
    return text.format_map(_MessageFields(values))


def with_article(name: str) -> str:
    """``a Cat``, ``an Address``."""
    return f"{'an' if name[0] in 'aeioAEIO' else 'a'} {name}"


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant, or None."""
    return next(iter(difflib.get_close_matches(word, known, n=1)), None)


def suggestion(word: str, known: Iterable[str]) -> str:
    """The remedy for an unknown name: the one that was probably meant, or all that there are."""
    known = list(known)
    close = nearest(word, known)
    return f"did you mean {close!r}?" if close else f"name one of {', '.join(known)}"


def _declared(error: type[Any], name: str) -> Field[Any]:
    """A field as its class declares it. Only its default remains an attribute of the class."""
    given: Any = vars(error).get(name, MISSING)
    declared: Field[Any] = given if isinstance(given, Field) else field(default=given)
    if given is declared:
        delattr(error, name)
        if declared.default is not MISSING:
            setattr(error, name, declared.default)
    return declared


def _blank(error: type[BaseException]) -> BaseException:
    return error.__new__(error)
