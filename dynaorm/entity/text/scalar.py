"""Scalars: classes whose values have exactly one text, which can stand in keys and unique values.

Rule 1. Equal values have equal texts, and different values have different texts.
Rule 2. A value of another type is refused, never converted: ``1``, ``"1"`` and ``True`` are different.
Rule 3. All texts of dates and times have the same width, so they sort as the times do.
Rule 4. A datetime is an instant or a wall time, never both. A field declared ``datetime`` holds instants, which have a
        time zone and are written in UTC, with ``Z``. One declared ``NaiveDatetime`` holds wall times, without either.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from functools import cache
from ipaddress import IPv4Address, IPv6Address
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import UUID

import pydantic

from dynaorm.entity.text.shape import ANYTHING, DIGITS, CharacterRun, Shape, digits, pattern_of
from dynaorm.failure import Remedied, shown, with_article
from dynaorm.item.value import number_text
from dynaorm.record import record, replace

if TYPE_CHECKING:
    from dynaorm.entity.text.ksuid import Ksuid, KsuidMs


@record
class Packing:
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
            holds them faster; None where both are alike.
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
    packing: Packing | None = None
    in_attribute: tuple[Callable[[Any], str], Callable[[str], Any]] | None = None
    takes_ints: bool = False
    node: str = ""
    values: tuple[Any, ...] = ()
    is_json: bool = False


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
        raise Remedied("is a datetime without a time zone", "give it one (datetime.now(UTC))")
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
        raise Remedied("without a time zone", _WALL)
    return in_utc(value)


class NaiveDatetime(datetime):
    """Stands for pydantic's ``NaiveDatetime`` among the types of scalars. Its values are plain datetimes."""


def _wall_text(value: Any) -> str:
    if not isinstance(value, datetime):
        raise _mistyped(value, datetime)
    if value.utcoffset() is not None:
        raise Remedied(
            "is a datetime with a time zone, in a field declared NaiveDatetime",
            "give its wall time (.replace(tzinfo=None)), or declare the field datetime",
        )
    return value.replace(tzinfo=None).isoformat("T", "microseconds")


def _parse_wall_time(text: str) -> datetime:
    value = datetime.fromisoformat(text)
    if value.utcoffset() is not None:
        raise Remedied("with a time zone", "declare it datetime, or correct the item")
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
        return Remedied(problem, f"give {kind.__name__}(...) of it")
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
        raise Remedied("is a datetime, not a date", "give its .date()")
    return value.isoformat()


def _time_of_day(value: time) -> str:
    if value.tzinfo is not None:
        raise Remedied("is a time with a time zone, which cannot be ordered without a day", "use a datetime")
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


def _any_time_text(value: Any) -> str:
    if not isinstance(value, time):
        raise _mistyped(value, time)
    if value.tzinfo is not None and value.utcoffset() is None:
        raise Remedied(
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
_NUMBER_GROWS: Final = DIGITS | frozenset(".E")

STR: Final = Scalar(
    "str",
    "S",
    _text,
    str,
    ANY_TEXT,
    open=True,
    packing=Packing(str.encode, bytes.decode),
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
    return Scalar(
        kind.__name__, "S", to_text, from_text, pattern_of(shape), python=kind, shape=shape, node=node
    )


def opaque(kind: type, to_text: Callable[[Any], str] = str) -> Scalar:
    return Scalar(kind.__name__, "S", _checked(kind, to_text), kind, ANY_TEXT, open=True, python=kind)


@cache
def ksuid_scalar(kind: type[Ksuid | KsuidMs]) -> Scalar:
    """The scalar of a class of KSUIDs."""
    found = _fixed(kind, str, kind.from_base62, _KSUID_SHAPE)
    packing = Packing(lambda text: bytes(kind.from_base62(text)), lambda key: str(kind.from_bytes(key)))
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
        packing=Packing(lambda text: UUID(text).bytes, lambda key: str(UUID(bytes=key))),
    ),
    datetime: replace(
        _fixed(datetime, datetime_text, parse_datetime, (*_WALL_SHAPE, "Z"), node="datetime"),
        in_attribute=(_fast_datetime_text, parse_datetime),
    ),
    NaiveDatetime: Scalar(
        "NaiveDatetime",
        "S",
        _wall_text,
        _parse_wall_time,
        pattern_of(_WALL_SHAPE),
        python=NaiveDatetime,
        shape=_WALL_SHAPE,
    ),
    date: _fixed(date, _day, date.fromisoformat, _DATE_SHAPE, node="date"),
    time: replace(
        _fixed(time, _time_of_day, time.fromisoformat, _TIME_SHAPE, node="time"),
        in_attribute=(_any_time_text, time.fromisoformat),
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
        packing=Packing(bytes.fromhex, bytes.hex),
        node="bytes",
    ),
    pydantic.SecretStr: opaque(pydantic.SecretStr, _secret_text),
    IPv4Address: opaque(IPv4Address),
    IPv6Address: opaque(IPv6Address),
}
"""All of them but those of KSUIDs, by type."""

NODES: Final[Mapping[str, Scalar]] = {one.node: one for one in SCALARS.values() if one.node}
"""Those for which pydantic has a kind of node, by its name."""
