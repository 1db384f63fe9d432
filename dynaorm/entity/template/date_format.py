"""Date formats in keys, ``{at:%Y-%m-%d}``: the directives of strftime that write a fixed number of digits.

Names of days and months are not supported, because they differ by locale and do not sort. Datetimes are written in UTC.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time
from typing import Any, Final

from dynaorm.entity.text.scalar import NaiveDatetime, in_utc
from dynaorm.entity.text.shape import CharacterRun, Shape, digits, pattern_of
from dynaorm.record import record


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
