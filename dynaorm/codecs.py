"""Ready codecs: how other libraries store times, JSON and long texts.

Give one to a field, and it holds wherever the field is stored: in its attribute, in key templates and unique values, in
conditions and updates, and in ``verify``.

Examples:
    >>> class Order(Entity, table=app, pk="ORDER#{id}", sk="{placed}"):
    ...     id: str
    ...     placed: Annotated[datetime, Attribute("placedAt", codec=codecs.ISO_MILLISECONDS)]
"""

import json
import zlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from dynaorm.entity.codec.container import PLAIN
from dynaorm.entity.codec.value import content
from dynaorm.entity.marker import StoredForm
from dynaorm.entity.text.scalar import (
    BETWEEN,
    ISO_TYPES,
    SCALARS,
    CharacterRun,
    NaiveDatetime,
    Scalar,
    Shape,
    digits,
    in_utc,
    pattern_of,
)
from dynaorm.failure import counted, shown, with_article
from dynaorm.item.value import AttributeValue, number_text
from dynaorm.record import replace

__all__ = [
    "ANY_ISO",
    "COMPRESSED_TEXT",
    "EPOCH_MILLISECONDS",
    "EPOCH_SECONDS",
    "ISO_MILLISECONDS",
    "ISO_NAIVE_MILLISECONDS",
    "ISO_NAIVE_SECONDS",
    "ISO_SECONDS",
    "PYNAMODB_JSON",
    "PYNAMODB_UTC",
    "PYTHON_ISO",
]

_DATETIME: Final = SCALARS[datetime]
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NAIVE: Final = SCALARS[NaiveDatetime]


def _time(value: Any) -> datetime:
    if not isinstance(value, datetime):
        raise ValueError(f"is {with_article(type(value).__name__)}, not a datetime")
    return in_utc(value)


def _wall_time(value: Any) -> datetime:
    # For its errors: it is no datetime, or has a time zone.
    _NAIVE.to_text(value)
    found: datetime = value
    return found


def _iso(
    name: str,
    timespec: str,
    step: timedelta,
    *,
    ending: str = "Z",
    fraction: Shape = (),
    kind: Scalar = _DATETIME,
    read: Callable[[Any], datetime] = _time,
) -> StoredForm:
    """Times as ISO 8601, cut to a step. They sort as the times do. ``read``: checks a value of the type."""

    def to_text(value: Any) -> str:
        # A datetime without its zone, so that isoformat writes none.
        return read(value).replace(tzinfo=None).isoformat("T", timespec) + ending

    def bound(value: Any) -> str:
        is_cut = (read(value).replace(tzinfo=UTC) - _EPOCH) % step
        # As a bound, a time that would be cut lies after the stored text of its step, and before that of the next.
        return to_text(value) + (BETWEEN if is_cut else "")

    day: Shape = (digits(4, 4), "-", digits(2, 2), "-", digits(2, 2))
    shape = (*day, "T", digits(2, 2), ":", digits(2, 2), ":", digits(2, 2), *fraction, ending)
    pattern = pattern_of(shape)
    return StoredForm(name, replace(kind, to_text=to_text, shape=shape, pattern=pattern, bound=bound))


def _fraction(places: int) -> Shape:
    return ".", digits(places, places)


def _epoch(name: str, step: timedelta) -> StoredForm:
    """Times as a number of steps since 1970. Numbers sort; in a string key they need ``{field!s}``, or a spec."""

    def to_text(value: Any) -> str:
        return str((_time(value) - _EPOCH) // step)

    def from_text(text: str) -> datetime:
        try:
            microseconds = Decimal(text) * (step // timedelta(microseconds=1))
            return _EPOCH + timedelta(microseconds=int(microseconds))
        except (InvalidOperation, OverflowError, ValueError):
            raise ValueError(f"{shown(text)} is not a time in {name.lower().replace('_', ' ')}") from None

    def bound(value: Any) -> str:
        microseconds = (_time(value) - _EPOCH) // timedelta(microseconds=1)
        return number_text(Decimal(microseconds) / (step // timedelta(microseconds=1)))

    scalar = replace(
        SCALARS[int],
        name=name.lower().replace("_", " "),
        to_text=to_text,
        from_text=from_text,
        python=datetime,
        formatted=_DATETIME,
        bound=bound,
    )
    return StoredForm(name, scalar)


ISO_SECONDS: Final = _iso("ISO_SECONDS", "seconds", timedelta(seconds=1))
"""Times as ``2024-05-01T10:15:00Z``. Fractions of a second are dropped."""

ISO_MILLISECONDS: Final = _iso(
    "ISO_MILLISECONDS", "milliseconds", timedelta(milliseconds=1), fraction=_fraction(3)
)
"""Times as ``2024-05-01T10:15:00.000Z``, which JavaScript's ``toISOString`` writes. Microseconds are dropped."""

ISO_NAIVE_SECONDS: Final = _iso(
    "ISO_NAIVE_SECONDS", "seconds", timedelta(seconds=1), ending="", kind=_NAIVE, read=_wall_time
)
"""Wall times, of a ``NaiveDatetime``, as ``2024-05-01T10:15:00``. Fractions of a second are dropped."""

ISO_NAIVE_MILLISECONDS: Final = _iso(
    "ISO_NAIVE_MILLISECONDS",
    "milliseconds",
    timedelta(milliseconds=1),
    ending="",
    fraction=_fraction(3),
    kind=_NAIVE,
    read=_wall_time,
)
"""Wall times, of a ``NaiveDatetime``, as ``2024-05-01T10:15:00.000``. Microseconds are dropped."""

PYNAMODB_UTC: Final = _iso(
    "PYNAMODB_UTC", "microseconds", timedelta(microseconds=1), ending="+0000", fraction=_fraction(6)
)
"""Times as ``2024-05-01T10:15:00.000000+0000``, which pynamodb's ``UTCDateTimeAttribute`` writes."""

PYTHON_ISO: Final = _iso(
    "PYTHON_ISO",
    "auto",
    timedelta(microseconds=1),
    ending="+00:00",
    fraction=(CharacterRun(frozenset("."), 0, 1), digits(0, 6)),
)
"""Times as Python's ``isoformat()`` writes those in UTC: ``2024-05-01T10:15:00+00:00``, with microseconds only where
there are any. Such texts sort as the times do, because ``+`` sorts before ``.``."""

EPOCH_SECONDS: Final = _epoch("EPOCH_SECONDS", timedelta(seconds=1))
"""Times as a number of seconds since 1970. Fractions of a second are dropped."""

EPOCH_MILLISECONDS: Final = _epoch("EPOCH_MILLISECONDS", timedelta(milliseconds=1))
"""Times as a number of milliseconds since 1970, which JavaScript's ``Date.now()`` gives. Microseconds are dropped."""

ANY_ISO: Final = StoredForm("ANY_ISO", spellings_of=ISO_TYPES)
"""Dates and times in every spelling of ISO 8601 that Python reads, for tables that several programs write. They are
written as without a codec, and are no part of keys and unique values. Their order is that of the values, not that of
the stored texts. So filters, ``when=`` and conditions of writes that name such a field are judged after reading."""


# -- forms that wrap what the field's type is stored as ----------------------------------------------------------------


def _not_json(value: Any) -> Any:
    raise ValueError(f"contains {shown(value)}, which JSON cannot hold")


def _to_json(stored: AttributeValue) -> AttributeValue:
    return {"S": json.dumps(PLAIN.decode(stored), default=_not_json)}


def _from_json(stored: AttributeValue) -> AttributeValue:
    text = content(stored, "S")
    try:
        # Not strict, as pynamodb reads it: texts may hold control characters that are not escaped.
        value = json.loads(text, parse_float=_float, strict=False)
    except (ValueError, RecursionError):
        raise ValueError(f"is stored as {shown(text)}, which is not JSON") from None
    try:
        return PLAIN.encode(value)
    except RecursionError:
        raise ValueError(f"is stored as {shown(text)}, which is nested too deeply") from None


def _float(text: str) -> float | Decimal:
    near = float(text)
    # A number with more digits than a float has would be changed by loading and saving it.
    return near if Decimal(repr(near)) == Decimal(text) else Decimal(text)


_GZIP: Final = 31  # zlib's window size for the gzip format


def _compress(stored: AttributeValue) -> AttributeValue:
    # Without a time in the header, equal texts have equal bytes.
    made = zlib.compressobj(wbits=_GZIP)
    return {"B": made.compress(content(stored, "S").encode()) + made.flush()}


def _decompress(stored: AttributeValue) -> AttributeValue:
    packed = content(stored, "B")
    try:
        return {"S": _unpacked(bytes(packed))}
    except (zlib.error, ValueError):
        raise ValueError(
            f"is stored as {counted(len(packed), 'byte')}, which is not a text compressed by gzip"
        ) from None


_LARGEST: Final = 64 * 1024 * 1024
"""The largest text that is unpacked, in bytes: an item of 400 KB could unpack to 400 MB."""


def _unpacked(packed: bytes) -> str:
    unpacker = zlib.decompressobj(wbits=_GZIP)
    found = unpacker.decompress(packed, _LARGEST)
    if unpacker.unconsumed_tail or not unpacker.eof:
        raise ValueError("the text is too long, or incomplete")
    return found.decode()


PYNAMODB_JSON: Final = StoredForm(
    "PYNAMODB_JSON",
    wrap=_to_json,
    unwrap=_from_json,
    inner=frozenset({"S", "N", "BOOL", "NULL", "L", "M"}),
)
"""A value as JSON text, which pynamodb's ``JSONAttribute`` writes. It is not compared: another text may be equal."""

COMPRESSED_TEXT: Final = StoredForm(
    "COMPRESSED_TEXT", wrap=_compress, unwrap=_decompress, inner=frozenset({"S"}), tag="B"
)
"""A text compressed by gzip, stored as B. It is not compared."""
