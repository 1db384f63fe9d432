"""Placeholders, ``{field:spec}``: how a field's value becomes part of a key, and back.

Rule 1. A spec that loses a part of the value (``upper``, ``shard8``, the day of a datetime) cannot be read back, so
        ``match`` does not return its field.
Rule 2. Texts sort as the values do, or in reverse with ``desc``. The texts of unpadded numbers do not, which
        ``ordered`` says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final
from zlib import crc32

from dynaorm.entity.text.scalar import (
    ANYTHING,
    DIGITS,
    CharacterRun,
    NaiveDatetime,
    Scalar,
    Shape,
    digits,
    in_utc,
    may_meet,
    pattern_of,
)
from dynaorm.failure import ValueErrorWithRemedy, counted, nearest, with_article
from dynaorm.record import record, replace


@record
class DateFormat:
    """A compiled format.

    Attributes:
        write: value to text; raises ValueError for a value of another type.
        read: the reverse; None where the format omits a part of the value.
        shape: the texts as a shape.
        letters: the letters of its directives, in order.
    """

    write: Callable[[Any], str]
    read: Callable[[str], Any] | None
    shape: Shape
    letters: str


_OF_DAYS: Final[Mapping[str, tuple[int, Callable[[Any], int]]]] = {
    "Y": (4, lambda day: day.year),
    "m": (2, lambda day: day.month),
    "d": (2, lambda day: day.day),
    "j": (3, lambda day: day.timetuple().tm_yday),
    "y": (2, lambda day: day.year % 100),
    "G": (4, lambda day: day.isocalendar().year),
    "V": (2, lambda day: day.isocalendar().week),
    "u": (1, lambda day: day.isoweekday()),
    "w": (1, lambda day: day.isoweekday() % 7),
    # As strftime counts weeks: from the first Sunday of the year (U) or its first Monday (W), with week 0 before it.
    "U": (2, lambda day: (day.timetuple().tm_yday + 6 - day.isoweekday() % 7) // 7),
    "W": (2, lambda day: (day.timetuple().tm_yday + 6 - day.weekday()) // 7),
}
_OF_TIMES: Final[Mapping[str, tuple[int, Callable[[Any], int]]]] = {
    "H": (2, lambda at: at.hour),
    "M": (2, lambda at: at.minute),
    "S": (2, lambda at: at.second),
    "f": (6, lambda at: at.microsecond),
    "I": (2, lambda at: at.hour % 12 or 12),
}
_DIRECTIVES: Final = {
    datetime: {**_OF_DAYS, **_OF_TIMES},
    NaiveDatetime: {**_OF_DAYS, **_OF_TIMES},
    date: _OF_DAYS,
    time: _OF_TIMES,
}
_ARGUMENTS: Final = {
    "Y": "year",
    "m": "month",
    "d": "day",
    "H": "hour",
    "M": "minute",
    "S": "second",
    "f": "microsecond",
}
_WHOLE: Final = {
    datetime: frozenset("YmdHMSf"),
    NaiveDatetime: frozenset("YmdHMSf"),
    date: frozenset("Ymd"),
    time: frozenset("HMSf"),
}
# A pattern that re compiles on first use, because most programs have no date format.
_TOKEN: Final = r"(?s)%(.?)|([^%]+)"


def date_format(python: type, text: str, to_text: Callable[[Any], str]) -> DateFormat:
    """Compile a format for a datetime, a date or a time. ``to_text`` raises for a value of another type.

    Raises:
        ValueError: the format does not fit. The message ends with the remedy.
    """
    known = _DIRECTIVES.get(python)
    if known is None:
        raise ValueError(f"a date format is for datetime, date and time, not for {python.__name__}; drop it")
    letters: list[str] = []
    parts: list[str | CharacterRun] = []
    for token in re.finditer(_TOKEN, text):
        letter, literal = token.groups()
        if literal is not None or letter == "%":
            parts.append(literal or "%")
        elif letter in known:
            letters.append(letter)
            parts.append(digits(known[letter][0], known[letter][0]))
        else:
            raise ValueError(_unknown(python, letter, known))
    if not letters:
        raise ValueError(f"{text!r} has no directive; write one, such as %Y-%m-%d")
    shape = tuple(parts)
    write = _writer(python, shape, [known[letter][1] for letter in letters], to_text)
    read = _reader(python, shape, letters) if _WHOLE[python] <= set(letters) else None
    return DateFormat(write, read, shape, "".join(letters))


_DAYS: Final = ("Ymd", "Yj", "GVu", "YWu", "YUw")  # each names a day, from the year on
_TIMES: Final = "HMSf"


def sorts(python: type, letters: str) -> bool:
    """Whether texts with these directives sort as the dates or times do: larger units first, and none left out."""
    distinct = "".join(dict.fromkeys(letters))
    if python is time:
        return _TIMES.startswith(distinct)
    for day in _DAYS:
        if distinct.startswith(day):
            # Once the day is written, its other parts add nothing.
            rest = "".join(letter for letter in distinct[len(day) :] if letter not in _OF_DAYS)
            return _TIMES.startswith(rest)
    return any(day.startswith(distinct) for day in _DAYS)


def _unknown(python: type, letter: str, known: Mapping[str, object]) -> str:
    name = f"%{letter}"
    if letter in _OF_DAYS or letter in _OF_TIMES:
        return f"a {python.__name__} has no {name}; use {_listed(known)}"
    return f"{name} does not write a fixed number of digits; use {_listed(known)}"


def _listed(known: Mapping[str, object]) -> str:
    return " ".join(f"%{letter}" for letter in known)


def _writer(
    python: type, shape: Shape, getters: list[Callable[[Any], int]], to_text: Callable[[Any], str]
) -> Callable[[Any], str]:
    formatted = "".join(
        part.replace("%", "%%") if isinstance(part, str) else f"%0{part.least}d" for part in shape
    )

    def write(value: Any) -> str:
        to_text(value)
        moment = in_utc(value) if python is datetime else value
        return formatted % tuple([get(moment) for get in getters])

    return write


def _reader(python: type, shape: Shape, letters: list[str]) -> Callable[[str], Any]:
    groups = (re.escape(part) if isinstance(part, str) else f"({pattern_of((part,))})" for part in shape)
    pattern = re.compile("".join(groups))

    def read(text: str) -> Any:
        found = pattern.fullmatch(text)
        if found is None:
            raise ValueError(f"{text!r} does not fit {pattern.pattern}")
        arguments = {
            _ARGUMENTS[letter]: int(group)
            for letter, group in zip(letters, found.groups(), strict=True)
            if letter in _ARGUMENTS
        }
        if python is NaiveDatetime:
            # A datetime made without a zone is what the linter (DTZ) is to find: here it is meant.
            return datetime(**arguments, tzinfo=UTC).replace(tzinfo=None)
        return python(**arguments, tzinfo=UTC) if python is datetime else python(**arguments)

    return read


class SpecError(ValueError):
    """A spec does not fit its field. The message ends with the remedy."""


@record
class Placeholder:
    """One field in a template.

    Attributes:
        field: the field's name.
        source: the placeholder as declared.
        scalar: the field's type.
        write: value to text, not yet escaped; raises ValueError for a value without one.
        read: the reverse; None where the spec loses a part of the value.
        pattern: a regular expression of the texts.
        shape: the texts as a shape.
        grows: the characters that can continue one text into another.
        open: the texts may contain any character, so they are escaped.
        raw: they are not escaped although they are open, at the author's risk.
        plain: there is no spec.
        number: the texts are numbers, so they can be a number key.
        ordered: the texts sort as the values do, or in reverse.
        shards: the number of different texts if the field only chooses a shard; 0 otherwise.
        change: the function that changes the case of an open text.
        desc: the texts sort in the reverse order of the values.
        directives: the letters of a date format.
    """

    field: str
    source: str
    scalar: Scalar
    write: Callable[[Any], str]
    read: Callable[[str], Any] | None
    pattern: str
    shape: Shape
    grows: frozenset[str]
    open: bool
    raw: bool = False
    plain: bool = False
    number: bool = False
    ordered: bool = True
    shards: int = 0
    change: Callable[[str], str] | None = None
    desc: bool = False
    directives: str = ""

    @property
    def choices(self) -> tuple[str, ...]:
        """Its only texts, which a query asks one by one without a value of the field; nothing where there are more."""
        if self.shards:
            return tuple(map(str, range(1, self.shards + 1)))
        return tuple(map(self.write, self.scalar.values))


_CASES: Final[Mapping[str, Callable[[str], str]]] = {
    "upper": str.upper,
    "lower": str.lower,
    "casefold": str.casefold,
}
_EPOCHS: Final[Mapping[str, timedelta]] = {
    "epoch": timedelta(seconds=1),
    "epoch_ms": timedelta(milliseconds=1),
}
# Patterns that re compiles on first use, because most templates have no spec.
_PADDED: Final = "0([1-9][0-9]?)d"
_SHARD: Final = "shard([1-9][0-9]{0,4})"
# The specs that change the text of any value.
_OF_TEXT: Final = f"|raw|(?:{'|'.join(_CASES)})(?::raw)?|{_SHARD}"
_KNOWN: Final = (*_CASES, "05d", "desc", "shard8", *_EPOCHS, "raw", "%Y-%m-%d")
_MOST_DIGITS: Final = 38  # of a DynamoDB number


def placeholder_of(field: str, scalar: Scalar, spec: str, source: str) -> Placeholder:
    """The placeholder of a field with a spec (``""`` for none); ``source`` is its text as declared.

    Raises:
        SpecError: the spec is unknown, or does not fit the field's type.
    """
    # A field with a stored form of its own: a spec of texts applies to what is stored, any other to the value.
    if scalar.formatted is not None and not re.fullmatch(_OF_TEXT, spec):
        scalar = scalar.formatted
    placeholder = Placeholder(
        field=field,
        source=source,
        scalar=scalar,
        write=scalar.to_text,
        read=scalar.from_text,
        pattern=scalar.pattern,
        shape=scalar.shape,
        grows=scalar.grows,
        open=scalar.open,
        plain=not spec,
        number=scalar.tag == "N",
        ordered=scalar.tag != "N",
    )
    if not spec:
        return placeholder
    if "%" in spec:
        return _formatted(placeholder, spec)
    words = spec.split(":")
    modifiers = {word for word in words if word in ("desc", "raw")}
    others = [word for word in words if word not in modifiers]
    if len(others) > 1 or len(words) != len(set(words)):
        raise SpecError(f"{source} has specs that exclude each other; keep one")
    word = others[0] if others else ""
    if modifiers == {"raw"} and not word:
        return replace(placeholder, raw=True)
    fitting = {"raw"} if word in _CASES else {"desc"} if not word or re.fullmatch(_PADDED, word) else set()
    if not modifiers <= fitting:
        raise SpecError(f"{source} has specs that exclude each other; keep one")
    desc, raw = ("desc" in modifiers), ("raw" in modifiers)
    return replace(_with(placeholder, word, desc=desc), raw=raw, desc=desc)


def _with(placeholder: Placeholder, word: str, *, desc: bool) -> Placeholder:
    if padded := re.fullmatch(_PADDED, word):
        return _padded(placeholder, int(padded[1]), desc=desc)
    if desc:
        return _descending(placeholder)
    if word in _CASES:
        return _cased(placeholder, _CASES[word])
    if shard := re.fullmatch(_SHARD, word):
        return _sharded(placeholder, int(shard[1]))
    if word in _EPOCHS:
        return _counted(placeholder, _EPOCHS[word])
    close = nearest(word, _KNOWN)
    remedy = f"did you mean {close!r}?" if close else f"use one of {', '.join(_KNOWN)}"
    raise SpecError(f"{placeholder.source} has an unknown spec {word!r}; {remedy}")


def beginning(placeholder: Placeholder, text: object) -> str:
    """The beginning of a placeholder's texts, for the beginning of a value's text; not yet escaped.

    Raises:
        ValueError: no text of the placeholder begins with it.
    """
    if not isinstance(text, str):
        raise ValueError(f"is {text!r}, not a str with the beginning of the text")
    if placeholder.open:
        return placeholder.change(text) if placeholder.change is not None else text
    if not may_meet((text, ANYTHING), placeholder.shape):
        raise ValueError(f"does not begin any text that {placeholder.source} renders")
    return text


def _kind(placeholder: Placeholder) -> type | None:
    # The members of an Enum whose values are dates are not dates.
    scalar = placeholder.scalar
    return scalar.python if scalar.name == scalar.python.__name__ else None


def _formatted(placeholder: Placeholder, spec: str) -> Placeholder:
    if spec.endswith(":desc"):
        raise SpecError(
            f"{placeholder.source}: a date format cannot be reversed; write {{{placeholder.field}:desc}}"
        )
    python = _kind(placeholder) or placeholder.scalar.python
    try:
        found = date_format(python, spec, placeholder.scalar.to_text)
    except ValueError as problem:
        raise SpecError(f"{placeholder.source}: {problem}") from problem
    closed = _closed(placeholder, found.write, found.read, shape=found.shape)
    return replace(closed, directives=found.letters, ordered=sorts(python, found.letters))


def _closed(
    placeholder: Placeholder,
    write: Callable[[Any], str],
    read: Callable[[str], Any] | None,
    *,
    shape: Shape,
    pattern: str = "",
) -> Placeholder:
    return replace(
        placeholder,
        write=write,
        read=read,
        pattern=pattern or pattern_of(shape),
        shape=shape,
        grows=frozenset(),
        open=False,
        number=False,
        ordered=True,
    )


def _digits(
    placeholder: Placeholder, write: Callable[[Any], str], read: Callable[[str], Any], width: int
) -> Placeholder:
    return _closed(placeholder, write, read, shape=(digits(width, width),))


def _cased(placeholder: Placeholder, change: Callable[[str], str]) -> Placeholder:
    if not placeholder.open:
        raise SpecError(
            f"{placeholder.source}: only text has a case, not {with_article(placeholder.scalar.name)}; drop the spec"
        )
    to_text = placeholder.scalar.to_text
    return replace(placeholder, write=lambda value: change(to_text(value)), read=None, change=change)


def _sharded(placeholder: Placeholder, shards: int) -> Placeholder:
    to_text = placeholder.scalar.to_text
    width = len(str(shards))
    sharded = _closed(
        placeholder,
        # CRC-32 is part of the format of stored keys. Python's own hash differs in each process.
        lambda value: str(crc32(to_text(value).encode()) % shards + 1),
        None,
        pattern=f"[1-9][0-9]{{0,{width - 1}}}",
        shape=(digits(1, width),),
    )
    return replace(sharded, shards=shards, grows=DIGITS if width > 1 else frozenset())


def _padded(placeholder: Placeholder, width: int, *, desc: bool) -> Placeholder:
    if placeholder.scalar.python is not int or width > _MOST_DIGITS:
        is_number = placeholder.scalar.python in (float, Decimal)
        remedy = (
            f"sort by an index with sk=NumberKey({placeholder.field!r})" if is_number else "drop the spec"
        )
        raise SpecError(
            f"{placeholder.source}: only an int can be padded, to at most {_MOST_DIGITS} digits; {remedy}"
        )
    to_text, from_text, top = placeholder.scalar.to_text, placeholder.scalar.from_text, 10**width - 1
    is_any_int = placeholder.scalar.name == "int"  # not those of a Literal or an Enum

    def write(value: Any) -> str:
        number = value if is_any_int and type(value) is int else int(to_text(value))
        if not 0 <= number <= top:
            why = "is negative" if number < 0 else f"has more than {counted(width, 'digit')}"
            raise ValueErrorWithRemedy(
                f"{why}, and {placeholder.source} holds 0 to {top}",
                f"give it one of these, or sort by an index with sk=NumberKey({placeholder.field!r})",
            )
        return str(top - number if desc else number).zfill(width)

    def read(text: str) -> Any:
        return from_text(str(top - int(text) if desc else int(text)))

    return _digits(placeholder, write, read, width)


_FIRST: Final = datetime.min.replace(tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_LAST_MICROSECOND: Final = 315_537_897_599_999_999  # of the year 9999, counted from the first of the year 1
_LAST_DAY: Final = date.max.toordinal()


def _descending(placeholder: Placeholder) -> Placeholder:
    to_text = placeholder.scalar.to_text

    def write_time(value: Any) -> str:
        to_text(value)
        return f"{_LAST_MICROSECOND - (in_utc(value) - _FIRST) // _MICROSECOND:018d}"

    def read_time(text: str) -> Any:
        return _FIRST + (_LAST_MICROSECOND - int(text)) * _MICROSECOND

    def write_day(value: Any) -> str:
        to_text(value)
        return f"{_LAST_DAY - value.toordinal():07d}"

    def read_day(text: str) -> Any:
        return date.fromordinal(_LAST_DAY - int(text))

    if _kind(placeholder) is datetime:
        return _digits(placeholder, write_time, read_time, 18)
    if _kind(placeholder) is date:
        return _digits(placeholder, write_day, read_day, 7)
    remedy = (
        f"write {{{placeholder.field}:08d:desc}}"
        if placeholder.scalar.python is int
        else "drop it, and query with .descending()"
    )
    raise SpecError(f"{placeholder.source}: desc is for datetimes, dates and padded ints; {remedy}")


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY: Final = _EPOCH.date()


def _counted(placeholder: Placeholder, step: timedelta) -> Placeholder:
    to_text = placeholder.scalar.to_text
    a_day = timedelta(days=1) // step

    def write_time(value: Any) -> str:
        to_text(value)
        return str((in_utc(value) - _EPOCH) // step)

    def write_day(value: Any) -> str:
        to_text(value)
        return str((value - _EPOCH_DAY).days * a_day)

    def read_day(text: str) -> Any:
        days, rest = divmod(int(text), a_day)
        if rest:
            raise ValueError(f"{text!r} is not the beginning of a day")
        return date.fromordinal(_EPOCH_DAY.toordinal() + days)

    if _kind(placeholder) not in (datetime, date):
        raise SpecError(
            f"{placeholder.source}: only a datetime or a date counts from the epoch; drop the spec"
        )
    is_time = _kind(placeholder) is datetime
    minus = CharacterRun(frozenset("-"), 0, 1)
    # The rest of a step is cut off, so a datetime cannot be read back.
    counted = _closed(
        placeholder,
        write_time if is_time else write_day,
        None if is_time else read_day,
        pattern="0|-?[1-9][0-9]*",
        shape=(minus, digits(1, None)),
    )
    return replace(counted, grows=DIGITS, number=True, ordered=False)
