"""Scalars: classes whose values have exactly one text, which can stand in keys and unique values.

Rule 1. Equal values have equal texts, and different values have different texts.
Rule 2. A value of another type is refused, never converted: ``1``, ``"1"`` and ``True`` are different.
Rule 3. All texts of dates and times have the same width, so they sort as the times do.
Rule 4. A datetime is an instant or a wall time, never both. A field declared ``datetime`` holds instants, which have a
        time zone and are written in UTC, with ``Z``. One declared ``NaiveDatetime`` holds wall times, without either.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from enum import Enum
from functools import cache
from ipaddress import IPv4Address, IPv6Address
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias
from uuid import UUID

import pydantic

from dynaorm.entity.type_tree import type_tree
from dynaorm.failure import ValueErrorWithRemedy, shown, with_article
from dynaorm.item.value import number_text
from dynaorm.record import record, replace

if TYPE_CHECKING:
    from dynaorm.entity.text.ksuid import Ksuid, KsuidMs


# Shapes: sets of texts, and whether two such sets have a text in common.
#
# A shape is a sequence of literal texts and runs of characters. Shapes have no alternatives, so the shape of a key
# may include texts that no key has. ``may_meet`` may therefore return True for keys that never meet; False is always
# right.


@record
class CharacterRun:
    """``least`` to ``most`` characters, each in ``chars`` or, with ``but``, each outside of ``chars``.

    Attributes:
        chars: the characters that can occur, or those that cannot.
        least: the smallest number of characters.
        most: the largest number of characters; None for no limit.
        but: ``chars`` are those that cannot occur.
    """

    chars: frozenset[str]
    least: int = 0
    most: int | None = None
    but: bool = False


Shape: TypeAlias = tuple[str | CharacterRun, ...]
"""Literal texts and runs, in order."""

ANYTHING: Final = CharacterRun(frozenset(), but=True)
DIGITS: Final = frozenset("0123456789")

_State: TypeAlias = tuple[int, int]  # the index of a part, and how many of its characters have been passed


def digits(least: int, most: int | None) -> CharacterRun:
    """A run of decimal digits."""
    return CharacterRun(DIGITS, least, most)


def shape_of_text(prefix: str) -> Shape:
    """The shape of every text that begins with ``prefix``."""
    return (prefix, ANYTHING)


def is_fixed(shape: Shape) -> bool:
    """Whether all texts of a shape have one length."""
    return all(isinstance(part, str) or part.least == part.most for part in shape)


def listed(characters: frozenset[str]) -> str:
    """Characters as they stand between the brackets of a regular expression."""
    return "".join(map(re.escape, sorted(characters)))


def pattern_of(shape: Shape) -> str:
    """A regular expression of the texts of a shape."""
    return "".join(re.escape(part) if isinstance(part, str) else _run_pattern(part) for part in shape)


def _run_pattern(run: CharacterRun) -> str:
    characters = f"[{'^' if run.but else ''}{listed(run.chars)}]" if run.chars else r"[\s\S]"
    return f"{characters}{{{run.least},{'' if run.most is None else run.most}}}"


def may_meet(a: Shape, b: Shape) -> bool:
    """Whether a text belongs to both shapes.

    Examples:
        >>> may_meet(("USER#", ANYTHING), ("ORDER#", ANYTHING)), may_meet(("v", digits(1, None)), ("v10",))
        (False, True)
    """
    start = _Pair((0, 0), (0, 0))
    seen = {start}
    waiting = [start]
    while waiting:
        pair = waiting.pop()
        if pair.one[0] == len(a) and pair.other[0] == len(b):
            return True
        for found in _after(a, b, pair):
            if found not in seen:
                seen.add(found)
                waiting.append(found)
    return False


class _Pair(NamedTuple):
    """How far one text has come in two shapes."""

    one: _State
    other: _State


def _after(a: Shape, b: Shape, pair: _Pair) -> Iterator[_Pair]:
    """The next pairs: past the end of a part in one shape, or over a character in both."""
    chars, target, beyond = _moves(a, pair.one)
    other_chars, other_target, other_beyond = _moves(b, pair.other)
    if beyond is not None:
        yield _Pair(beyond, pair.other)
    if other_beyond is not None:
        yield _Pair(pair.one, other_beyond)
    if target is not None and other_target is not None and _share(chars, other_chars):
        yield _Pair(target, other_target)


_NOTHING: Final = CharacterRun(frozenset(), 0, 0)


def _moves(shape: Shape, state: _State) -> tuple[CharacterRun, _State | None, _State | None]:
    """The characters that may come next, the state after one of them, and the state after the part if it can end."""
    part, passed = state
    if part == len(shape):
        return _NOTHING, None, None
    here = shape[part]
    if isinstance(here, str):
        if passed == len(here):
            return _NOTHING, None, (part + 1, 0)
        return CharacterRun(frozenset(here[passed])), (part, passed + 1), None
    beyond = (part + 1, 0) if passed >= here.least else None
    if here.most is None:
        # Without an upper limit, counts above the lower one need not be told apart.
        return here, (part, min(passed + 1, here.least)), beyond
    return here, (part, passed + 1) if passed < here.most else None, beyond


def _share(one: CharacterRun, other: CharacterRun) -> bool:
    if one.but:
        return other.but or bool(other.chars - one.chars)
    return bool(one.chars - other.chars) if other.but else not one.chars.isdisjoint(other.chars)


@record
class BinaryForm:
    """The bytes that stand for a text in a binary key. They sort as the texts do.

    ``pack`` takes a text of the type. ``unpack`` raises ValueError for bytes that stand for no text.
    """

    pack: Callable[[str], bytes]
    unpack: Callable[[bytes], str]


@record
class Scalar:
    """A type whose values have one text.

    Attributes:
        name: its name in messages.
        tag: the DynamoDB type of its attribute value: S, N, B or BOOL.
        to_text: value to text; raises ValueError for a value of another type.
        from_text: the reverse; raises ValueError for any other text.
        pattern: a regular expression of its texts.
        open: its texts may contain any character, so keys escape them.
        python: the type itself; for Enum and Literal the type of their values.
        shape: its texts as a shape, which may include other texts too.
        grows: the characters that can continue one text into another, as ``2`` continues ``1`` into ``12``; empty for
            open types.
        formatted: for a field with its own ``encode=``, which gives the texts: the scalar of its type, which specs such
            as ``%Y`` and ``06d`` write.
        bound: a text to compare with, for a type whose texts drop a part of the value; None where ``to_text`` is one.
            It lies between the texts of the next smaller and the next larger value.
        packing: how a binary key holds it: a str in UTF-8, an identifier as its own bytes; None if it cannot.
        in_attribute: value to text and back where it is no key, for a type of which an attribute holds more values, or
            holds them faster, or which other programs spell otherwise; None where both are alike.
        takes_ints: an int is a value of the type, too, where it is no key.
        node: the kind of node that pydantic's schemas have for the type; empty for none of its own.
        values: the only values of a field with ``OneOf``; nothing for any other.
        is_json: pydantic reads the content of the attribute value in the JSON of a reply as the codec does.
    """

    name: str
    tag: Literal["S", "N", "B", "BOOL"]
    to_text: Callable[[Any], str]
    from_text: Callable[[str], Any]
    pattern: str
    open: bool = False
    python: type = str
    shape: Shape = (ANYTHING,)
    grows: frozenset[str] = frozenset()
    formatted: Scalar | None = None
    bound: Callable[[Any], str] | None = None
    packing: BinaryForm | None = None
    in_attribute: tuple[Callable[[Any], str], Callable[[str], Any]] | None = None
    takes_ints: bool = False
    node: str = ""
    values: tuple[Any, ...] = ()
    is_json: bool = False


ANY_SPELLING: Final = ContextVar("any spelling", default=False)
"""Whether attributes are read in other spellings than dynaorm writes. ``repair`` does so, to rewrite them."""
_REWRITE: Final = "let repair rewrite it"
ISO_REMEDY: Final = (
    "declare Attribute(codec=codecs.ANY_ISO) if other programs write the field, or encode= and decode= if it is in a "
    f"key; or {_REWRITE}"
)


def only_written(
    name: str, to_text: Callable[[Any], str], from_text: Callable[[str], Any], remedy: str = _REWRITE
) -> Callable[[str], Any]:
    """``from_text``, which refuses a text that ``to_text`` does not write: DynamoDB compares texts, not values."""

    def read(text: str) -> Any:
        value = from_text(text)
        if (written := to_text(value)) == text:
            return value
        if ANY_SPELLING.get() and from_text(written) == value and not _FINER(text):
            return value
        raise ValueErrorWithRemedy(f"another spelling of {with_article(name)} than dynaorm writes", remedy)

    return read


_FINER: Final = re.compile("[.,][0-9]{6}0*[1-9]").search
"""Finds a fraction of a microsecond, which Python drops."""


_WALL: Final = (
    "declare it pydantic's NaiveDatetime, give it Attribute(encode=..., decode=...) that knows the zone, "
    "or correct the item"
)
BETWEEN: Final = "~"
"""The end of a bound: with it, a text lies after itself, and before the text of any later time."""


def datetime_text(value: datetime | float) -> str:
    """The text of a datetime with a time zone, or of epoch seconds: ``2024-01-01T00:00:00.000000Z``.

    Raises:
        ValueError: the datetime has no time zone, or is outside the years 1 to 9999 in UTC.
    """
    return _instant_text(in_utc(value) if isinstance(value, datetime) else datetime.fromtimestamp(value, UTC))


_TWO_DIGITS: Final = tuple(f"{number:02d}" for number in range(100))


def _instant_text(value: datetime) -> str:
    """The text of a datetime in UTC. ``isoformat`` takes five times as long."""
    two, micro = _TWO_DIGITS, value.microsecond
    year = value.year
    return (
        f"{two[year // 100]}{two[year % 100]}-{two[value.month]}-{two[value.day]}T{two[value.hour]}:"
        f"{two[value.minute]}:{two[value.second]}.{two[micro // 10000]}{two[micro // 100 % 100]}{two[micro % 100]}Z"
    )


def in_utc(value: datetime) -> datetime:
    """A datetime in UTC. Raises ValueError as ``datetime_text`` does."""
    if value.tzinfo is UTC:
        return value
    if value.utcoffset() is None:
        raise ValueErrorWithRemedy("is a datetime without a time zone", "give it one (datetime.now(UTC))")
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise ValueError("is a datetime outside the years 1 to 9999 in UTC") from None


def parse_datetime(text: str) -> datetime:
    """The datetime of a stored text, in UTC. Any ISO 8601 form with a time zone is read.

    Raises:
        ValueError: the text is not such a datetime.
    """
    value = datetime.fromisoformat(text)
    if value.utcoffset() is None:
        raise ValueErrorWithRemedy("without a time zone", _WALL)
    return in_utc(value)


class NaiveDatetime(datetime):
    """Stands for pydantic's ``NaiveDatetime`` among the types of scalars. Its values are plain datetimes."""


def _wall_text(value: Any) -> str:
    if not isinstance(value, datetime):
        raise _mistyped(value, datetime)
    if value.utcoffset() is not None:
        raise ValueErrorWithRemedy(
            "is a datetime with a time zone, in a field declared NaiveDatetime",
            "give its wall time (.replace(tzinfo=None)), or declare the field datetime",
        )
    return value.replace(tzinfo=None).isoformat("T", "microseconds")


def _parse_wall_time(text: str) -> datetime:
    value = datetime.fromisoformat(text)
    if value.utcoffset() is not None:
        raise ValueErrorWithRemedy("with a time zone", "declare it datetime, or correct the item")
    return value


# -- values to texts and back ------------------------------------------------------------------------------------------


def _checked(kind: type, to_text: Callable[[Any], str]) -> Callable[[Any], str]:
    def text(value: Any) -> str:
        if not isinstance(value, kind):
            raise _mistyped(value, kind)
        return to_text(value)

    return text


def _mistyped(value: object, kind: type) -> ValueError:
    found = "None" if value is None else with_article(type(value).__name__)
    problem = f"is {found}, not {with_article(kind.__name__)}"
    if issubclass(kind, pydantic.SecretStr | pydantic.SecretBytes):
        return ValueErrorWithRemedy(problem, f"give {kind.__name__}(...) of it")
    return ValueError(problem)


def _text(value: Any) -> str:
    if type(value) is str and value.isascii():
        return value
    if not isinstance(value, str):
        raise _mistyped(value, str)
    return _utf8(str.__str__(value))


def _utf8(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("contains a lone surrogate, which UTF-8 cannot encode") from None
    return text


def _integer(value: Any) -> str:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _mistyped(value, int)
    return number_text(value)


def _from_integer(text: str) -> int:
    return whole(_decimal(text))


def whole(number: Decimal) -> int:
    """The int of a whole number. Raises ValueError for any other, and for one that is larger than DynamoDB's numbers.

    Python would make an int of ``1E99999999`` for hours.
    """
    if not number.is_finite() or number.adjusted() > _LARGEST or number != number.to_integral_value():
        raise ValueError(f"{shown(str(number))} is not a whole number of at most {_LARGEST + 1} digits")
    return int(number)


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError(f"{text!r} is not a number") from None


def _boolean(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(f"{text!r} is neither 'true' nor 'false'")
    return text == "true"


def _day(value: date) -> str:
    if isinstance(value, datetime):
        raise ValueErrorWithRemedy("is a datetime, not a date", "give its .date()")
    return value.isoformat()


def _time_of_day(value: time) -> str:
    if value.tzinfo is not None:
        raise ValueErrorWithRemedy(
            "is a time with a time zone, which cannot be ordered without a day", "use a datetime"
        )
    return value.isoformat(timespec="microseconds")


_LARGEST: Final = 125  # the exponent of DynamoDB's largest numbers, 9.99E+125
_MICROSECOND: Final = timedelta(microseconds=1)


def _seconds(value: timedelta) -> str:
    return number_text(Decimal(value // _MICROSECOND).scaleb(-6))


def _from_seconds(text: str) -> timedelta:
    number = _decimal(text)
    if not number.is_finite() or number.adjusted() > _LARGEST:
        raise ValueError(f"{shown(text)} is not a number of seconds")
    try:
        return timedelta(microseconds=whole(number.scaleb(6)))
    except OverflowError:
        raise ValueError(f"{shown(text)} seconds are more than a timedelta holds") from None


# -- the same for attributes that are no keys --------------------------------------------------------------------------


def _float_text(value: Any) -> str:
    if isinstance(value, float):
        return number_text(value)
    text = _int_text(value, float)
    if float(text) != value:
        raise ValueError(f"is {shown(value)}, an int that no float equals exactly")
    return text


def _decimal_text(value: Any) -> str:
    return number_text(value) if isinstance(value, Decimal) else _int_text(value, Decimal)


def _int_text(value: Any, kind: type) -> str:
    """The text of an int in place of a value of the type."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise _mistyped(value, kind)
    return number_text(value)


def _finite_float(text: str) -> float:
    value = float(text)
    if value - value != 0:  # true only for NaN and the infinities
        raise ValueError(f"{text} is not finite")
    return value


def _finite_decimal(text: str) -> Decimal:
    value = Decimal(text)
    if not value.is_finite():
        raise ValueError(f"{text} is not finite")
    return value


def _fast_datetime_text(value: Any) -> str:
    if not isinstance(value, datetime):
        raise _mistyped(value, datetime)
    return _instant_text(value if value.tzinfo is UTC else in_utc(value))


def _read_instant(text: str) -> Any:
    # Every text that dynaorm writes, without making it again.
    if text[4:20:3] == "--T::." and text[26:] == "Z" and "T24" not in text:
        return datetime.fromisoformat(text)
    return _read_slowly(text)


_read_slowly: Final = only_written("datetime", _fast_datetime_text, parse_datetime, ISO_REMEDY)


def _any_time_text(value: Any) -> str:
    if not isinstance(value, time):
        raise _mistyped(value, time)
    if value.tzinfo is not None and value.utcoffset() is None:
        raise ValueErrorWithRemedy(
            f"is {shown(value)}, whose time zone has no offset without a day", remedy="use a datetime"
        )
    return value.isoformat(timespec="microseconds")


def _secret_text(value: pydantic.SecretStr) -> str:
    return _utf8(value.get_secret_value())


# -- the types ---------------------------------------------------------------------------------------------------------

ANY_TEXT: Final = r"[\s\S]*"
_INTEGER: Final = "0|-?[1-9][0-9]*"
_NUMBER: Final = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:E[+-][0-9]+)?"

_MINUS: Final = CharacterRun(frozenset("-"), 0, 1)
_INTEGER_SHAPE: Final[Shape] = (_MINUS, digits(1, None))
_NUMBER_SHAPE: Final[Shape] = (_MINUS, digits(1, None), CharacterRun(frozenset("0123456789.E+-")))
_DATE_SHAPE: Final[Shape] = (digits(4, 4), "-", digits(2, 2), "-", digits(2, 2))
_TIME_SHAPE: Final[Shape] = (digits(2, 2), ":", digits(2, 2), ":", digits(2, 2), ".", digits(6, 6))
_WALL_SHAPE: Final[Shape] = (*_DATE_SHAPE, "T", *_TIME_SHAPE)
_HEX_DIGITS: Final = frozenset("0123456789abcdef")
_UUID_SHAPE: Final[Shape] = (
    CharacterRun(_HEX_DIGITS, 8, 8),
    *(part for _ in range(3) for part in ("-", CharacterRun(_HEX_DIGITS, 4, 4))),
    "-",
    CharacterRun(_HEX_DIGITS, 12, 12),
)
_KSUID_SHAPE: Final[Shape] = (
    CharacterRun(frozenset("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"), 27, 27),
)
_uuid_text: Final = re.compile(pattern_of(_UUID_SHAPE)).fullmatch
_read_other_uuid: Final = only_written("UUID", str, UUID)


def _read_uuid(text: str) -> Any:
    # UUID(text) takes longer, and does not tell the spellings apart.
    return UUID(int=int(text.replace("-", ""), 16)) if _uuid_text(text) else _read_other_uuid(text)


_NUMBER_GROWS: Final = DIGITS | frozenset(".E")

STR: Final = Scalar(
    "str",
    "S",
    _text,
    str,
    ANY_TEXT,
    open=True,
    packing=BinaryForm(str.encode, bytes.decode),
    node="str",
    is_json=True,
)


def _number(kind: type, to_text: Callable[[Any], str], from_text: Callable[[str], Any]) -> Scalar:
    return Scalar(
        kind.__name__,
        "N",
        _checked(kind, to_text),
        from_text,
        _NUMBER,
        python=kind,
        shape=_NUMBER_SHAPE,
        grows=_NUMBER_GROWS,
        node=kind.__name__.lower(),
    )


def _fixed(
    kind: type,
    to_text: Callable[[Any], str],
    from_text: Callable[[str], Any],
    shape: Shape,
    *,
    node: str = "",
) -> Scalar:
    to_text = _checked(kind, to_text)
    found = Scalar(
        kind.__name__, "S", to_text, from_text, pattern_of(shape), python=kind, shape=shape, node=node
    )
    return _strict(found)


def _strict(scalar: Scalar, to_text: Callable[[Any], str] | None = None, remedy: str = _REWRITE) -> Scalar:
    """The scalar whose attributes are read as they are written. ``to_text``: that of attributes, if it differs."""
    to_text = to_text or scalar.to_text
    read = only_written(scalar.name, to_text, scalar.from_text, remedy)
    return replace(scalar, in_attribute=(to_text, read))


def opaque(kind: type, to_text: Callable[[Any], str] = str) -> Scalar:
    to_text = _checked(kind, to_text)
    return _strict(Scalar(kind.__name__, "S", to_text, kind, ANY_TEXT, open=True, python=kind))


@cache
def ksuid_scalar(kind: type[Ksuid | KsuidMs]) -> Scalar:
    """The scalar of a class of KSUIDs."""
    found = _fixed(kind, str, kind.from_base62, _KSUID_SHAPE)
    packing = BinaryForm(lambda text: bytes(kind.from_base62(text)), lambda key: str(kind.from_bytes(key)))
    return replace(found, packing=packing)


SCALARS: Final[Mapping[type, Scalar]] = {
    str: STR,
    bool: Scalar(
        "bool",
        "BOOL",
        _checked(bool, lambda value: "true" if value else "false"),
        _boolean,
        "true|false",
        python=bool,
        shape=(CharacterRun(frozenset("truefals"), 4, 5),),
        node="bool",
        is_json=True,
    ),
    int: Scalar(
        "int",
        "N",
        _integer,
        _from_integer,
        _INTEGER,
        python=int,
        shape=_INTEGER_SHAPE,
        grows=DIGITS,
        node="int",
        is_json=True,
    ),
    Decimal: replace(
        _number(Decimal, number_text, _decimal),
        in_attribute=(_decimal_text, _finite_decimal),
        takes_ints=True,
        is_json=True,
    ),
    float: replace(
        _number(float, number_text, float),
        in_attribute=(_float_text, _finite_float),
        takes_ints=True,
        is_json=True,
    ),
    timedelta: _number(timedelta, _seconds, _from_seconds),
    UUID: replace(
        _fixed(UUID, str, UUID, _UUID_SHAPE, node="uuid"),
        in_attribute=(_checked(UUID, str), _read_uuid),
        packing=BinaryForm(lambda text: UUID(text).bytes, lambda key: str(UUID(bytes=key))),
    ),
    datetime: replace(
        _fixed(datetime, datetime_text, parse_datetime, (*_WALL_SHAPE, "Z"), node="datetime"),
        in_attribute=(_fast_datetime_text, _read_instant),
    ),
    NaiveDatetime: _strict(
        Scalar(
            "NaiveDatetime",
            "S",
            _wall_text,
            _parse_wall_time,
            pattern_of(_WALL_SHAPE),
            python=NaiveDatetime,
            shape=_WALL_SHAPE,
        ),
        remedy=ISO_REMEDY,
    ),
    date: _strict(_fixed(date, _day, date.fromisoformat, _DATE_SHAPE, node="date"), remedy=ISO_REMEDY),
    time: _strict(
        _fixed(time, _time_of_day, time.fromisoformat, _TIME_SHAPE, node="time"), _any_time_text, ISO_REMEDY
    ),
    bytes: Scalar(
        "bytes",
        "B",
        _checked(bytes, bytes.hex),
        bytes.fromhex,
        "(?:[0-9a-f]{2})*",
        python=bytes,
        shape=(CharacterRun(_HEX_DIGITS),),
        grows=_HEX_DIGITS,
        packing=BinaryForm(bytes.fromhex, bytes.hex),
        node="bytes",
    ),
    pydantic.SecretStr: opaque(pydantic.SecretStr, _secret_text),
    IPv4Address: opaque(IPv4Address),
    IPv6Address: opaque(IPv6Address),
}
"""All of them but those of KSUIDs, by type."""

ISO_TYPES: Final = (datetime, NaiveDatetime, date, time)
"""Those that other programs write in other forms of ISO 8601."""

NODES: Final[Mapping[str, Scalar]] = {one.node: one for one in SCALARS.values() if one.node}
"""Those for which pydantic has a kind of node, by its name."""


_KSUIDS: Final = "dynaorm.entity.text.ksuid"
"""The module of KSUIDs, by its name: a class that has none of them does not import it."""

# pydantic's names for constrained types, whose values are those of a plain type.
_PYDANTIC: Final[Mapping[Any, type]] = {
    pydantic.AwareDatetime: datetime,
    pydantic.NaiveDatetime: NaiveDatetime,
    pydantic.PastDatetime: datetime,
    pydantic.FutureDatetime: datetime,
    pydantic.PastDate: date,
    pydantic.FutureDate: date,
}


def scalar_of(annotation: Any) -> Scalar | None:
    """The scalar of a type; None if it has none. ``X | None``, ``Annotated`` and aliases count as X.

    Examples:
        >>> scalar_of(int | None).to_text(5), scalar_of(date).to_text(date(2024, 2, 29)), scalar_of(list[int])
        ('5', '2024-02-29', None)
    """
    tree = type_tree(annotation).without_none
    if tree.origin is Literal:
        return _literal(tree.arguments)
    return _class_scalar(tree.plain) if isinstance(tree.plain, type) else None


def _class_scalar(kind: type) -> Scalar | None:
    if issubclass(kind, Enum):
        return _enum(kind)
    if is_of_networks(kind):
        return _network_scalar(kind)
    if (ksuid := next((base for base in kind.__mro__ if base.__module__ == _KSUIDS), None)) is not None:
        return ksuid_scalar(ksuid)
    return next((SCALARS[base] for base in plain_class(kind).__mro__ if base in SCALARS), None)


def plain_class(kind: type) -> type:
    """The class that has the values of a class: another one than itself for pydantic's names of constrained types."""
    return _PYDANTIC.get(kind, kind)


def is_of_networks(kind: type) -> bool:
    """Whether a class belongs to ``pydantic.networks``. Checks the name, so that this module need not be imported."""
    return any(base.__module__ == "pydantic.networks" for base in kind.__mro__)


def _network_scalar(kind: type) -> Scalar | None:
    if issubclass(kind, pydantic.AnyUrl):
        return opaque(kind)
    return STR if kind is pydantic.EmailStr else None


# -- types of a few values ---------------------------------------------------------------------------------------------


def _enum(kind: type[Enum]) -> Scalar | None:
    inner = _shared_scalar([member.value for member in kind])
    if inner is None:
        return None
    texts = {inner.to_text(member.value): member for member in kind}

    def to_text(value: Any) -> str:
        if isinstance(value, kind):
            return inner.to_text(value.value)
        # With use_enum_values pydantic stores the value instead of the member.
        text = inner.to_text(value)
        if text not in texts:
            raise ValueError(f"is {value!r}, which is not a value of {kind.__name__}")
        return text

    return _chosen(kind.__name__, inner, to_text, texts)


def _literal(values: tuple[Any, ...]) -> Scalar | None:
    members = [value for value in values if value is not None]
    plain = [value.value if isinstance(value, Enum) else value for value in members]
    inner = _shared_scalar(plain)
    if inner is None:
        return None
    texts = {inner.to_text(one): member for one, member in zip(plain, members, strict=True)}

    def to_text(value: Any) -> str:
        text = inner.to_text(value.value if isinstance(value, Enum) else value)
        if text not in texts:
            raise ValueError(f"is {value!r}, not one of {', '.join(map(repr, members))}")
        return text

    return _chosen("Literal", inner, to_text, texts)


def _shared_scalar(values: Iterable[Any]) -> Scalar | None:
    kinds = {_class_scalar(type(value)) for value in values}
    return kinds.pop() if len(kinds) == 1 else None


def _chosen(name: str, inner: Scalar, to_text: Callable[[Any], str], texts: Mapping[str, Any]) -> Scalar:
    def from_text(text: str) -> Any:
        try:
            return texts[text]
        except KeyError:
            raise ValueError(f"{text!r} is not a value of {name}") from None

    pattern = "|".join(map(re.escape, texts))
    return replace(inner, name=name, to_text=to_text, from_text=from_text, pattern=pattern)
