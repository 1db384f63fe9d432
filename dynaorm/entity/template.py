"""Key templates: ``"TICKET#{number:06d}"`` renders keys, and matches keys back to field values.

Rule 1. Different values have different keys. In a template with literal text, ``%``, ``#`` and the first character of
        every literal that follows a field are escaped in texts that may hold any character. Which characters are
        escaped depends on the template alone, so a class declared later never changes a stored key. Texts of numbers
        and dates are never escaped, so the literal after one must not begin with a character that could continue
        it. ``{field:raw}`` turns escaping off. In a table with ``escape=False`` nothing is escaped, and a text that
        contains the literal after its field is refused, because the key would not say where the text ends.
Rule 2. Keys sort as the values do, or in reverse with ``desc``. A number without padding is refused in a string sort
        key, unless its placeholder says that the order does not matter: ``{number!s}``.
Rule 3. Text in braces is a field or an error, never a constant.
Rule 4. A spec that loses a part of the value (``upper``, ``shard8``, the day of a datetime) cannot be read back, so
        ``match`` does not return its field.
Rule 5. In ``v{version}_{sk}``, the latest copy of a versioned class has version ``0``, never padded; the versions have
        ``1``, ``2``, ..., padded or not. The characters beside the digits are never digits, so two versions never
        share a key, and the key of a version follows from the key of the latest copy.

Whether classes may share a table does not belong here, but in ``declare``; key ranges belong in ``dynaorm.query``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import cached_property
from itertools import product
from typing import Any, Final, Self
from zlib import crc32

from dynaorm.entity.table import KeyKind
from dynaorm.entity.text.scalar import (
    ANY_TEXT,
    ANYTHING,
    DIGITS,
    STR,
    BinaryForm,
    CharacterRun,
    NaiveDatetime,
    Scalar,
    Shape,
    digits,
    in_utc,
    is_fixed,
    listed,
    may_meet,
    pattern_of,
)
from dynaorm.failure import ValueErrorWithRemedy, counted, nearest, remedy_of, with_article
from dynaorm.item.value import NUMBER_DIGITS
from dynaorm.record import record, replace


class TemplateError(ValueError):
    """A template is refused. ``problems`` are sentences, each ending with its remedy."""

    def __init__(self, *problems: str) -> None:
        super().__init__(*problems)
        self.problems = problems


class SpecError(ValueError):
    """A spec does not fit its field. The message ends with the remedy."""


class KeyValueError(ValueError):
    """A value cannot be part of a key. ``problem`` says why: ``is negative, and {n:05d} holds 0 to 99999``.

    If there is a ``remedy``, ``problem`` ends with it. ``has_value`` is False for a value that cannot be computed.
    """

    has_value = True

    def __init__(self, field: str, value: object, problem: str, remedy: str = "") -> None:
        super().__init__(field, value, problem, remedy)
        self.field = field
        self.value = value
        self.problem = problem
        self.remedy = remedy

    @classmethod
    def of(cls, field: str, value: object, problem: ValueError) -> Self:
        """The error of a field whose text cannot be made."""
        return cls(field, value, str(problem), remedy_of(problem))


@record
class TemplateField:
    """A field in a template, with the literal before it.

    Attributes:
        field: the field's name.
        source: the placeholder as declared.
        scalar: the field's type.
        write: value to text, escaped where the template escapes; raises ValueError for a value without one.
        read: the reverse; None where the spec loses a part of the value.
        pattern: a regular expression of the texts.
        shape: the texts as a shape.
        grows: the characters that can continue one text into another.
        open: the texts may contain any character, so they are escaped.
        raw: they are not escaped although they are open, at the author's risk.
        plain: there is no spec.
        number: the texts are numbers, so they can be a number key.
        ordered: the texts sort as the values do, or in reverse.
        desc: the texts sort in the reverse order of the values.
        shards: the number of different texts if the field only chooses a shard; 0 otherwise.
        change: the function that changes the case of an open text.
        directives: the letters of a date format.
        before: the literal.
        escape: a part of a text, as it stands in the key.
        escaped: the characters that are escaped in a str; None if it is not known that a str is written as it is.
        unescaped: ``write`` before escaping, for its enumerated texts.
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
    plain: bool = True
    number: bool = False
    ordered: bool = True
    desc: bool = False
    shards: int = 0
    change: Callable[[str], str] | None = None
    directives: str = ""
    before: str = ""
    escape: Callable[[str], str] = str
    escaped: frozenset[str] | None = None
    unescaped: Callable[[Any], str] | None = None

    @property
    def enumerated_texts(self) -> tuple[str, ...]:
        """Its only texts, which a query asks one by one without a value of the field; nothing where there are more."""
        if self.shards:
            return tuple(map(str, range(1, self.shards + 1)))
        return tuple(map(self.unescaped or self.write, self.scalar.values))

    def text(self, value: Any) -> str:
        """The text of a value in the key. Raises KeyValueError."""
        try:
            return self.write(value)
        except ValueError as problem:
            raise KeyValueError.of(self.field, value, problem) from problem

    def beginning(self, text: object) -> str:
        """The beginning of its texts for the beginning of a value's text, as it stands in the key.

        Raises:
            ValueError: none of its texts begins with it.
        """
        if not isinstance(text, str):
            raise ValueError(f"is {text!r}, not a str with the beginning of the text")
        if self.open:
            return self.escape(self.change(text) if self.change is not None else text)
        if not may_meet((text, ANYTHING), self.shape):
            raise ValueError(f"does not begin any text that {self.source} renders")
        return text

    @property
    def kind(self) -> type | None:
        """The type of its values; None for a Literal or an Enum, whose members are not what their values are."""
        return self.scalar.python if self.scalar.name == self.scalar.python.__name__ else None


# -- specs -----------------------------------------------------------------------------------------------------------

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
_MICROSECOND: Final = timedelta(microseconds=1)
_FIRST: Final = datetime.min.replace(tzinfo=UTC)
_LAST_MICROSECOND: Final = 315_537_897_599_999_999  # of the year 9999, counted from the first of the year 1
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def template_field(field: str, scalar: Scalar, spec: str, source: str) -> TemplateField:
    """A field with a spec (``""`` for none), not yet escaped; ``source`` is its placeholder as declared.

    Raises:
        SpecError: the spec is unknown, or does not fit the field's type.
    """
    # A field with a stored form of its own: a spec of texts applies to what is stored, any other to the value.
    if scalar.formatted is not None and not re.fullmatch(_OF_TEXT, spec):
        scalar = scalar.formatted
    plain = TemplateField(
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
        return plain
    if "%" in spec:
        return _dated(plain, spec)
    words = spec.split(":")
    desc, raw = "desc" in words, "raw" in words
    rest = [word for word in words if word not in ("desc", "raw")]
    word = rest[0] if rest else ""
    is_excluded = (raw and (desc or word not in ("", *_CASES))) or (
        desc and word and not re.fullmatch(_PADDED, word)
    )
    if len(rest) > 1 or len(words) != len(set(words)) or is_excluded:
        raise SpecError(f"{source} has specs that exclude each other; keep one")
    return replace(_with_word(plain, word, desc=desc) if word or desc else plain, raw=raw, desc=desc)


def _with_word(plain: TemplateField, word: str, *, desc: bool) -> TemplateField:
    if padded := re.fullmatch(_PADDED, word):
        return _padded(plain, int(padded[1]), desc=desc)
    if desc:
        return _descending(plain)
    to_text = plain.scalar.to_text
    if change := _CASES.get(word):
        if not plain.open:
            name = with_article(plain.scalar.name)
            raise SpecError(f"{plain.source}: only text has a case, not {name}; drop the spec")
        return replace(plain, write=lambda value: change(to_text(value)), read=None, change=change)
    if shard := re.fullmatch(_SHARD, word):
        shards, width = int(shard[1]), len(shard[1])
        # CRC-32 is part of the format of stored keys. Python's own hash differs in each process.
        return _closed(
            plain,
            lambda value: str(crc32(to_text(value).encode()) % shards + 1),
            None,
            (digits(1, width),),
            pattern=f"[1-9][0-9]{{0,{width - 1}}}",
            shards=shards,
            grows=DIGITS if width > 1 else frozenset(),
        )
    if word in _EPOCHS:
        return _since_epoch(plain, _EPOCHS[word])
    close = nearest(word, _KNOWN)
    remedy = f"did you mean {close!r}?" if close else f"use one of {', '.join(_KNOWN)}"
    raise SpecError(f"{plain.source} has an unknown spec {word!r}; {remedy}")


def _closed(
    plain: TemplateField,
    write: Callable[[Any], str],
    read: Callable[[str], Any] | None,
    shape: Shape,
    **others: Any,
) -> TemplateField:
    """The field with texts that its spec defines."""
    fixed = {
        "pattern": pattern_of(shape),
        "grows": frozenset(),
        "open": False,
        "number": False,
        "ordered": True,
    }
    return replace(plain, write=write, read=read, shape=shape, **{**fixed, **others})


def _padded(plain: TemplateField, width: int, *, desc: bool) -> TemplateField:
    scalar, top = plain.scalar, 10**width - 1
    by_index = f"sort by an index with sk=NumberKey({plain.field!r})"
    if scalar.python is not int or width > NUMBER_DIGITS:
        remedy = by_index if scalar.python in (float, Decimal) else "drop the spec"
        raise SpecError(
            f"{plain.source}: only an int can be padded, to at most {NUMBER_DIGITS} digits; {remedy}"
        )
    to_text, from_text = scalar.to_text, scalar.from_text
    is_any_int = scalar.name == "int"  # not those of a Literal or an Enum

    def write(value: Any) -> str:
        number = value if is_any_int and type(value) is int else int(to_text(value))
        if not 0 <= number <= top:
            why = "is negative" if number < 0 else f"has more than {counted(width, 'digit')}"
            raise ValueErrorWithRemedy(
                f"{why}, and {plain.source} holds 0 to {top}", f"give it one of these, or {by_index}"
            )
        return str(top - number if desc else number).zfill(width)

    def read(text: str) -> Any:
        return from_text(str(top - int(text) if desc else int(text)))

    return _closed(plain, write, read, (digits(width, width),))


def _descending(plain: TemplateField) -> TemplateField:
    to_text = plain.scalar.to_text
    count: Callable[[Any], int]
    value_of: Callable[[int], Any]
    if plain.kind is datetime:
        width, last = 18, _LAST_MICROSECOND
        count, value_of = (
            (lambda at: (in_utc(at) - _FIRST) // _MICROSECOND),
            (lambda n: _FIRST + n * _MICROSECOND),
        )
    elif plain.kind is date:
        width, last, count, value_of = 7, date.max.toordinal(), date.toordinal, date.fromordinal
    else:
        is_int = plain.scalar.python is int
        remedy = f"write {{{plain.field}:08d:desc}}" if is_int else "drop it, and query with .descending()"
        raise SpecError(f"{plain.source}: desc is for datetimes, dates and padded ints; {remedy}")

    def write(value: Any) -> str:
        to_text(value)
        return str(last - count(value)).zfill(width)

    return _closed(plain, write, lambda text: value_of(last - int(text)), (digits(width, width),))


def _since_epoch(plain: TemplateField, step: timedelta) -> TemplateField:
    to_text, a_day, is_time = plain.scalar.to_text, timedelta(days=1) // step, plain.kind is datetime
    if plain.kind not in (datetime, date):
        raise SpecError(f"{plain.source}: only a datetime or a date counts from the epoch; drop the spec")

    def write(value: Any) -> str:
        to_text(value)
        return str((in_utc(value) - _EPOCH) // step if is_time else (value - _EPOCH.date()).days * a_day)

    def read_day(text: str) -> Any:
        days, rest = divmod(int(text), a_day)
        if rest:
            raise ValueError(f"{text!r} is not the beginning of a day")
        return date.fromordinal(_EPOCH.toordinal() + days)

    # The rest of a step is cut off, so a datetime cannot be read back.
    return _closed(
        plain,
        write,
        None if is_time else read_day,
        (CharacterRun(frozenset("-"), 0, 1), digits(1, None)),
        pattern="0|-?[1-9][0-9]*",
        grows=DIGITS,
        number=True,
        ordered=False,
    )


# -- date formats: the directives of strftime that write a fixed number of digits --------------------------------------

# The letter of a directive: how many digits, their number, and the argument of the type's constructor.
_OF_DAYS: Final[Mapping[str, tuple[int, Callable[[Any], int], str]]] = {
    "Y": (4, lambda day: day.year, "year"),
    "m": (2, lambda day: day.month, "month"),
    "d": (2, lambda day: day.day, "day"),
    "j": (3, lambda day: day.timetuple().tm_yday, ""),
    "y": (2, lambda day: day.year % 100, ""),
    "G": (4, lambda day: day.isocalendar().year, ""),
    "V": (2, lambda day: day.isocalendar().week, ""),
    "u": (1, lambda day: day.isoweekday(), ""),
    "w": (1, lambda day: day.isoweekday() % 7, ""),
    # As strftime counts weeks: from the first Sunday of the year (U) or its first Monday (W), with week 0 before it.
    "U": (2, lambda day: (day.timetuple().tm_yday + 6 - day.isoweekday() % 7) // 7, ""),
    "W": (2, lambda day: (day.timetuple().tm_yday + 6 - day.weekday()) // 7, ""),
}
_OF_TIMES: Final[Mapping[str, tuple[int, Callable[[Any], int], str]]] = {
    "H": (2, lambda at: at.hour, "hour"),
    "M": (2, lambda at: at.minute, "minute"),
    "S": (2, lambda at: at.second, "second"),
    "f": (6, lambda at: at.microsecond, "microsecond"),
    "I": (2, lambda at: at.hour % 12 or 12, ""),
}
_DIRECTIVES: Final = {
    datetime: {**_OF_DAYS, **_OF_TIMES},
    NaiveDatetime: {**_OF_DAYS, **_OF_TIMES},
    date: _OF_DAYS,
    time: _OF_TIMES,
}
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


def _dated(plain: TemplateField, spec: str) -> TemplateField:
    if spec.endswith(":desc"):
        raise SpecError(f"{plain.source}: a date format cannot be reversed; write {{{plain.field}:desc}}")
    python, to_text = plain.kind or plain.scalar.python, plain.scalar.to_text
    letters, shape = _directives(plain.source, python, spec)
    known = _DIRECTIVES[python]
    getters, arguments = [known[letter][1] for letter in letters], [known[letter][2] for letter in letters]
    text = "".join(part.replace("%", "%%") if isinstance(part, str) else f"%0{part.least}d" for part in shape)
    groups = (re.escape(part) if isinstance(part, str) else f"({pattern_of((part,))})" for part in shape)
    pattern = re.compile("".join(groups))

    def write(value: Any) -> str:
        to_text(value)
        moment = in_utc(value) if python is datetime else value
        return text % tuple([get(moment) for get in getters])

    def read(stored: str) -> Any:
        if (match := pattern.fullmatch(stored)) is None:
            raise ValueError(f"{stored!r} does not fit {pattern.pattern}")
        given: Any = {name: int(group) for name, group in zip(arguments, match.groups(), strict=True) if name}
        if python is NaiveDatetime:
            # A datetime made without a zone is what the linter (DTZ) is to find: here it is meant.
            return datetime(**given, tzinfo=UTC).replace(tzinfo=None)
        return python(**given, tzinfo=UTC) if python is datetime else python(**given)

    is_whole = {argument for _, _, argument in known.values()} <= {"", *arguments}
    dated = _closed(plain, write, read if is_whole else None, shape, ordered=sorts(python, letters))
    return replace(dated, directives=letters)


def _directives(source: str, python: type, spec: str) -> tuple[str, Shape]:
    """The letters of a format's directives, and its texts as a shape."""
    if (known := _DIRECTIVES.get(python)) is None:
        kinds = f"a date format is for datetime, date and time, not for {python.__name__}"
        raise SpecError(f"{source}: {kinds}; drop it")
    letters, parts = "", list[str | CharacterRun]()
    for letter, literal in re.findall(r"(?s)%(.?)|([^%]+)", spec):
        if literal or letter == "%":
            parts.append(literal or "%")
        elif letter in known:
            letters += letter
            parts.append(digits(known[letter][0], known[letter][0]))
        else:
            fault = "%{} does not write a fixed number of digits"
            if letter in _DIRECTIVES[datetime]:
                fault = f"a {python.__name__} has no %{{}}"
            raise SpecError(
                f"{source}: {fault.format(letter)}; use {' '.join(f'%{letter}' for letter in known)}"
            )
    if not letters:
        raise SpecError(f"{source}: {spec!r} has no directive; write one, such as %Y-%m-%d")
    return letters, tuple(parts)


# -- the grammar -------------------------------------------------------------------------------------------------------

_HALF_PAIR: Final = re.compile("[\ud800-\udfff]")
_BRACES: Final = re.compile(r"(\{[^{}]*\}|[{}])")
_PLACEHOLDER: Final = re.compile(
    r"\{(?P<field>[^\W\d]\w*(?:\.[^\W\d]\w*)*)(?P<text>!s)?(?::(?P<spec>[^{}]+))?\}"
)


def is_template(given: object) -> bool:
    """Whether it is a text that a request can hold: half a surrogate pair cannot be sent."""
    return isinstance(given, str) and _HALF_PAIR.search(given) is None


def _parse(
    text: str, scalars: Mapping[str, Scalar], known: Collection[str], problems: list[str]
) -> tuple[list[str], list[TemplateField]]:
    """Literals and fields: between two literals, which may be empty, there is one field."""
    literals, pieces = [""], list[TemplateField]()
    for place, part in enumerate(_BRACES.split(text)):
        parsed = _parse_placeholder(part, scalars, known) if place % 2 else part
        if isinstance(parsed, TemplateField):
            pieces.append(parsed)
            literals.append("")
        else:
            # What is refused stays a literal, so that the fields around it are not reported as adjacent.
            literals[-1] += part
            problems += [] if parsed is part else [parsed]
    if not text:
        problems.append("it is empty, and a key cannot be; write literal text, a {field}, or both")
    elif not pieces and (text in scalars or text in known):
        problems.append(
            f"it is the constant {text!r}, which is also the name of a field; write {{{text}}} for its value"
        )
    return literals, pieces


def _parse_placeholder(
    source: str, scalars: Mapping[str, Scalar], known: Collection[str]
) -> TemplateField | str:
    """The field of a placeholder, or what is wrong with it."""
    if source in ("{", "}"):
        return (
            f"a {source!r} is not part of a placeholder, and literal text cannot contain it; write {{field}}"
        )
    if (parts := _PLACEHOLDER.fullmatch(source)) is None:
        names = re.findall(r"[^\W\d]\w*", source)
        close = next(filter(None, (nearest(name, scalars) for name in names)), None)
        remedy = f"did you mean {{{close}}}?" if close else "write {field} or {field:spec}"
        return f"{source} is not understood; {remedy}"
    field = parts["field"]
    if (scalar := scalars.get(field)) is not None:
        try:
            piece = template_field(field, scalar, parts["spec"] or "", source)
        except SpecError as problem:
            return str(problem)
        return replace(piece, ordered=True) if parts["text"] else piece
    if field in known:
        return (
            f"{source}: a value of this field's type has no single text; "
            f"use a field of type str, int, bool, datetime, date, UUID, Ksuid, Enum or the like"
        )
    close = nearest(field, scalars)
    remedy = f"did you mean {{{close}}}?" if close else f"use one of {', '.join(scalars) or 'its fields'}"
    return f"{source} names no field{'' if known else ' with a single text'}; {remedy}"


# -- what is refused ---------------------------------------------------------------------------------------------------


def _not_one_field(
    kind: KeyKind, text: str, pieces: Sequence[TemplateField], *, is_wrong: bool
) -> Iterator[str]:
    """The problems of a number or binary key, which must be one field and nothing else."""
    what, example = ("a number key", "{created_at:epoch}") if kind == "N" else ("a binary key", "{digest}")
    if len(pieces) != 1 or pieces[0].source != text:
        if not is_wrong:
            yield f"{what} is one field and nothing else; write one, such as {example}"
        return
    (piece,) = pieces
    if kind == "B":
        if piece.scalar.packing is None or not (piece.plain or piece.raw):
            yield (
                f"{piece.source} is not binary, as the key is; "
                "use a field of type bytes, UUID, Ksuid or str, without spec"
            )
    elif not piece.number:
        remedy = "use an int, Decimal, date or datetime field"
        if piece.scalar.tag == "N":
            remedy = f"write {{{piece.field}}}"
        elif piece.scalar.python in (datetime, date):
            remedy = f"write {{{piece.field}:epoch}}"
        yield f"{piece.source} is text, and the key is a number; {remedy}"


def _unordered(pieces: Sequence[TemplateField]) -> Iterator[str]:
    """The problems of a string sort key: numbers and dates whose texts do not sort as they do."""
    written: dict[str, str] = {}
    for piece in pieces:
        python, name = piece.scalar.python, piece.scalar.python.__name__
        # {at:%Y}#{at:%m} sorts, as {at:%Y-%m} does.
        letters = written[piece.field] = written.get(piece.field, "") + piece.directives
        if piece.ordered or (piece.directives and sorts(python, letters)):
            continue
        loose = piece.source.replace(piece.field, f"{piece.field}!s", 1)
        if piece.directives:
            yield (
                f"{piece.source} does not sort as the {name} does; begin with the largest unit (%Y-%m-%d, %H:%M)"
                f", or write {loose} if the order does not matter"
            )
            continue
        # A time that is stored as a number is its digits in a key without a spec.
        iso = (":%Y-%m-%dT%H:%M:%S", ":%Y-%m-%d") if piece.scalar.tag == "N" else ("", "")
        better = {"int": ":06d", "datetime": iso[0], "date": iso[1]}.get(name)
        yield (
            f"{piece.source} sorts as text in a string key, 10 before 9; "
            f"write {'' if better is None else f'{{{piece.field}{better}}}, or '}{loose} if the order does not matter"
            + f"; any number sorts in an index with sk=NumberKey({piece.field!r})"
            * (python in (int, float, Decimal))
        )


def _ambiguous(pieces: Sequence[TemplateField], literals: Sequence[str]) -> Iterator[str]:
    """The problems of a template that renders one key for different values."""
    for number, (piece, literal) in enumerate(zip(pieces, literals[1:], strict=True), start=1):
        if not literal:
            if number < len(pieces) and not is_fixed(piece.shape):
                yield (
                    f"{piece.source}{pieces[number].source}: different values would have the same key, because "
                    f"nothing separates the fields; write {piece.source}#{pieces[number].source}"
                )
        elif not piece.raw and (literal[0] == "%" if piece.open else literal[0] in piece.grows):
            yield (
                f"{literal!r} after {piece.source} could be part of its text, "
                f"so different values would have the same key; "
                f"begin it with another character, such as '#'"
            )


# -- escaping ----------------------------------------------------------------------------------------------------------

_ALWAYS_ESCAPED: Final = frozenset("%#")
_ESCAPED: Final = re.compile("(?:%[0-9A-F]{2})+")
_HEX: Final = frozenset("0123456789ABCDEF")
_UPPER: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_LOWER: Final = frozenset("abcdefghijklmnopqrstuvwxyz")


def finder(characters: frozenset[str]) -> Callable[[str], object]:
    """A function that finds the first of these characters in a text; None for none."""
    return re.compile(f"[{listed(characters)}]").search


def _unescape(text: str) -> str:
    """The text before escaping, for any set of characters. Raises ValueError where the bytes are not UTF-8."""
    if "%" not in text:
        return text
    return _ESCAPED.sub(lambda run: bytes.fromhex(run[0].replace("%", "")).decode(), text)


def _without(characters: frozenset[str]) -> Shape:
    return (CharacterRun(characters, but=True),) if characters else (ANYTHING,)


def _in_key(piece: TemplateField, before: str, special: frozenset[str], end: str) -> TemplateField:
    """A field as it stands in its template.

    Args:
        piece: the field.
        before: the literal before it.
        special: the characters that are escaped in it.
        end: the literal after it, which its text must not contain; "" where its text is escaped.
    """
    write, read = piece.write, piece.read
    piece = replace(piece, before=before, unescaped=write)
    if not piece.open:
        return replace(piece, pattern=f"(?:{piece.pattern})")
    never = frozenset[str]() if piece.change is None else _LOWER if piece.change is str.upper else _UPPER
    if end and not piece.raw:
        return _unescaped(piece, end, never)
    is_itself = piece.plain and write is STR.to_text
    if piece.raw or not special:
        escaped = frozenset[str]() if is_itself else None
        return replace(piece, pattern=ANY_TEXT, shape=_without(never), escaped=escaped)
    find, regular = finder(special), f"[^{listed(special)}]*"
    table = {ord(character): "".join(f"%{byte:02X}" for byte in character.encode()) for character in special}

    def escape(text: str) -> str:
        return text.translate(table) if find(text) else text

    def write_str(value: Any) -> str:
        # The fast path: the text is the str itself.
        if type(value) is str and value.isascii() and not find(value):
            return value
        return escape(write(value))

    return replace(
        piece,
        write=write_str if is_itself else lambda value: escape(write(value)),
        escape=escape,
        read=None if read is None else lambda text: read(_unescape(text)),
        pattern=f"{regular}(?:%[0-9A-F]{{2}}{regular})*",
        # Escapes consist of these characters, even where such a character is special itself.
        shape=_without((never | special) - _HEX - {"%"}),
        escaped=special if is_itself else None,
    )


def _unescaped(piece: TemplateField, end: str, never: frozenset[str]) -> TemplateField:
    """A field whose text ends where ``end`` first occurs; any other text is refused."""
    write = piece.write

    def ended(text: str) -> str:
        # Also an end that the text begins and the literal completes: before "##", the text "a#" would end after its
        # "a".
        if (text + end).find(end) < len(text):
            raise ValueErrorWithRemedy(
                f"contains {end!r}, which ends {piece.source} in the key, and its table has escape=False",
                f"use another value, or {{{piece.field}:raw}}",
            )
        return text

    return replace(
        piece,
        write=lambda value: ended(write(value)),
        escape=lambda text: ended(text) if end in text else text,
        pattern=rf"(?:(?!{re.escape(end)})[\s\S])*",
        shape=_without(never | ({end} if len(end) == 1 else frozenset())),
    )


# -- templates ---------------------------------------------------------------------------------------------------------


@record(eq=False)
class KeyTemplate:
    """A compiled template.

    Attributes:
        text: the template as declared.
        kind: the DynamoDB type of its keys: S, N or B.
        pieces: its fields in order, each with the literal before it.
        after: the literal at the end.
        fields: the names of the fields in it, in order, each once.
        lossless: the fields that ``match`` restores exactly.
        is_single_field: the template is one field without spec or literal text.
        packing: how a text becomes a binary key; None for other kinds.
        pattern: a regular expression of its texts, one group for each field.
        render: field values to the key, a str (the text of the number for N) or bytes; None where a field is None.
            Raises KeyValueError for a value that cannot be part of the key.
    """

    text: str
    kind: KeyKind
    pieces: tuple[TemplateField, ...]
    after: str
    fields: tuple[str, ...]
    lossless: frozenset[str]
    is_single_field: bool
    packing: BinaryForm | None
    pattern: re.Pattern[str]
    render: Callable[[Mapping[str, Any]], str | bytes | None]

    @cached_property
    def shape(self) -> Shape:
        """The keys it can render."""
        parts = (part for piece in self.pieces for part in (piece.before, *piece.shape))
        return (
            (ANYTHING,) if self.packing is not None else tuple(part for part in (*parts, self.after) if part)
        )

    @cached_property
    def shards(self) -> Mapping[str, int]:
        """The fields that only choose a shard, and how many shards there are."""
        # A field that is also in the key itself does more than choose a shard.
        own = {name: [piece.shards for piece in self.pieces if piece.field == name] for name in self.fields}
        return {name: max(shards) for name, shards in own.items() if all(shards)}

    @cached_property
    def optional(self) -> frozenset[str]:
        """These, and the fields with ``OneOf``: a query need not give them."""
        required = {piece.field for piece in self.pieces if not (piece.shards or piece.scalar.values)}
        return frozenset(self.fields) - required

    def match(self, key: str | bytes) -> dict[str, Any] | None:
        """The values of the lossless fields of a key; None for a key that this template never renders."""
        text = self._text(key)
        parts = None if text is None else self.pattern.fullmatch(text)
        if parts is None:
            return None
        values: dict[str, Any] = {}
        for piece, part in zip(self.pieces, parts.groups(), strict=True):
            field = piece.field
            if piece.read is None or field not in self.lossless:
                continue
            try:
                value = piece.read(part)
                # DynamoDB may spell a number in another way; any other text has only one spelling.
                if self.kind != "N" and piece.write(value) != part:
                    return None
            except ValueError:
                return None
            # A field that is in the key twice has one value.
            if values.setdefault(field, value) != value:
                return None
        return values

    def _text(self, key: str | bytes) -> str | None:
        if isinstance(key, str):
            return key if self.packing is None else None
        try:
            return None if self.packing is None else self.packing.unpack(key)
        except ValueError:
            return None

    def renders(self, values: Mapping[str, Any]) -> tuple[str | bytes, ...]:
        """Every key of some field values: one key for each choice of a field that is not given and has only a few.

        There is no key where any other field is None or not given. Raises KeyValueError as ``render`` does.
        """
        choices: list[tuple[str, ...]] = []
        for piece in self.pieces:
            value = values.get(piece.field)
            if value is not None and self.kind == "S":
                choices.append((piece.before + piece.text(value),))
            elif value is None and (texts := piece.enumerated_texts):
                choices.append(tuple(piece.before + piece.escape(text) for text in texts))
            else:
                key = self.render(values)
                return () if key is None else (key,)
        keys = ("".join((*parts, self.after)) for parts in product(*choices))
        return tuple(keys if self.packing is None else map(self.packing.pack, keys))

    def gap(self, missing: str, field: str, value: object) -> KeyValueError:
        """The error for a field that is given although a field before it is missing."""
        problem = ValueErrorWithRemedy(f"comes after {missing} in {self.text!r}", f"give {missing} too")
        return KeyValueError.of(field, value, problem)


def compile_template(
    text: str,
    scalars: Mapping[str, Scalar],
    *,
    kind: KeyKind,
    sort: bool,
    known: Collection[str] = (),
    escape: bool = True,
) -> KeyTemplate:
    """Compile a template.

    Args:
        text: the template.
        scalars: the fields of the class whose values have one text.
        kind: the type of the key attribute.
        sort: whether it is a sort key, so that its order matters.
        known: the names of all fields of the class, so that the error can tell a wrong type from a wrong name.
        escape: whether texts that may hold any character are escaped.

    Raises:
        TemplateError: with every problem of the template.
    """
    problems: list[str] = []
    literals, declared = _parse(text, scalars, known, problems)
    if kind != "S":
        problems += _not_one_field(kind, text, declared, is_wrong=bool(problems))
    elif sort:
        problems += _unordered(declared)
    problems += _ambiguous(declared, literals)
    if problems:
        raise TemplateError(*dict.fromkeys(problems))
    after, special = literals[-1], frozenset[str]()
    if any(literals):
        special = _ALWAYS_ESCAPED | {literal[0] for literal in literals[1:] if literal}
    pieces = tuple(
        _in_key(piece, before, special if escape else frozenset(), "" if escape else end)
        for before, piece, end in zip(literals, declared, literals[1:], strict=False)
    )
    packing = declared[0].scalar.packing if kind == "B" else None
    patterns = (f"{re.escape(piece.before)}({piece.pattern})" for piece in pieces)
    return KeyTemplate(
        text=text,
        kind=kind,
        pieces=pieces,
        after=after,
        fields=tuple(dict.fromkeys(piece.field for piece in pieces)),
        lossless=_lossless(declared),
        is_single_field=len(declared) == 1 and not special and declared[0].plain,
        packing=packing,
        pattern=re.compile("".join(patterns) + re.escape(after)),
        render=_renderer(pieces, after, packing),
    )


def _lossless(pieces: Sequence[TemplateField]) -> frozenset[str]:
    lossless = frozenset[str]()
    for piece in pieces:
        # A key does not say where a raw text ends, unless it is the last one.
        if piece.raw and piece.open and piece is not pieces[-1]:
            return lossless - {piece.field}
        if piece.read is not None:
            lossless |= {piece.field}
    return lossless


def _renderer(
    pieces: tuple[TemplateField, ...], after: str, packing: BinaryForm | None
) -> Callable[[Mapping[str, Any]], Any]:
    if len(pieces) == 1:
        return _single_renderer(pieces[0], after, packing)
    steps = tuple((piece.before, piece.field, piece.write) for piece in pieces)

    def render(values: Mapping[str, Any]) -> str | None:
        texts = []
        get = values.get
        for before, field, write in steps:
            value = get(field)
            if value is None:
                return None
            try:
                texts.append(before + write(value))
            except ValueError as problem:
                raise KeyValueError.of(field, value, problem) from problem
        return "".join(texts) + after

    return render


def _single_renderer(
    piece: TemplateField, after: str, packing: BinaryForm | None
) -> Callable[[Mapping[str, Any]], Any]:
    before, field, write = piece.before, piece.field, piece.write
    # The fast path: the key is the str itself.
    is_itself = (
        not before and not after and piece.escaped is not None and not piece.escaped and packing is None
    )

    def render(values: Mapping[str, Any]) -> Any:
        value = values.get(field)
        if value is None:
            return None
        if is_itself and type(value) is str and value.isascii():
            return value
        try:
            text = f"{before}{write(value)}{after}"
        except ValueError as problem:
            raise KeyValueError.of(field, value, problem) from problem
        return text if packing is None else packing.pack(text)

    return render
