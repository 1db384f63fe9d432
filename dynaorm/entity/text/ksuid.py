"""KSUIDs: identifiers of 27 characters that sort by the second (or the 4 milliseconds) of their creation.

``Ksuid`` and ``KsuidMs`` extend those of svix-ksuid so that they can be the type of a field. Anything that is not a
KSUID raises a ValueError, a comparison with any other object works, and a datetime without a time zone is refused
instead of being taken as local time. Two made within one step sort in random order, except those of ``new_ksuid`` in
one process. The order between machines depends on their clocks.
"""

import re
import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Final, Self

import ksuid
from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from dynaorm.failure import counted, shown

_TEXT: Final = re.compile(r"[0-9A-Za-z]{27}")
_HIGHEST: Final = "aWgEPTl1tmebfsQzFP4bxwgy80V"  # 160 bits, all set. base62's digits are in ASCII order.
_EPOCH: Final = datetime.fromtimestamp(1_400_000_000, UTC)
_END: Final = _EPOCH + timedelta(seconds=2**32)
_TICK: Final = timedelta(microseconds=1)
_SECOND: Final = timedelta(seconds=1)
_FOUR_MILLISECONDS: Final = timedelta(milliseconds=4)

# For each of the latest seconds, the numbers of the KSUIDs that ``new_ksuid`` makes in it. Instead of a lock, which
# could stay locked in a forked process, threads rely on dict.setdefault and next(count), which are atomic.
_NUMBERS: Final[dict[bytes, Iterator[int]]] = {}
_SECONDS: Final = 60


def _is_text(data: object) -> bool:
    return isinstance(data, str) and _TEXT.fullmatch(data) is not None and data <= _HIGHEST


def _since_epoch(time: datetime, end: datetime = _END - _TICK) -> timedelta:
    if not isinstance(time, datetime):
        raise ValueError(
            f"{shown(time)} is not a datetime; give one with a time zone, such as datetime.now(UTC)"
        )
    if time.utcoffset() is None:
        raise ValueError(f"{time!r} has no time zone; give it one, as in datetime.now(UTC)")
    if not _EPOCH <= time <= end:
        raise ValueError(
            f"{time!r} is outside the range of KSUIDs; give a time from {_EPOCH} and before {_END}"
        )
    return time - _EPOCH


class _Safe(ksuid.Ksuid):
    """The base of both kinds. A KsuidMs must not be a Ksuid, as it is in svix-ksuid."""

    def __init__(
        self, datetime: datetime | None = None, payload: bytes | None = None, _raw: bytes | None = None
    ) -> None:
        if payload is not None and not isinstance(payload, bytes):
            raise ValueError(
                f"the payload {shown(payload)} is not bytes; give {counted(self.PAYLOAD_LENGTH_IN_BYTES, 'byte')}"
            )
        if payload is not None and len(payload) != self.PAYLOAD_LENGTH_IN_BYTES:
            raise ValueError(
                f"the payload has {counted(len(payload), 'byte')}; give {self.PAYLOAD_LENGTH_IN_BYTES}"
            )
        super().__init__(payload=payload, _raw=_raw)
        if datetime is not None and _raw is None:
            # svix-ksuid computes in floats, which are sometimes off by a millisecond.
            self._uid = self._stamp(_since_epoch(datetime)) + self.payload

    @staticmethod
    def _stamp(age: timedelta) -> bytes:
        return struct.pack(">L", age // _SECOND)

    @classmethod
    def from_base62(cls, data: str) -> Self:
        """The KSUID with this text. Raises ValueError for any other text.

        Args:
            data: 27 characters.

        Examples:
            >>> Ksuid.from_base62("0ujtsYcgvSTl8PAuAdqWYSMnLOv").datetime
            datetime.datetime(2017, 10, 10, 4, 0, 47, tzinfo=datetime.timezone.utc)
        """
        if not _is_text(data):
            raise ValueError(
                f"{shown(data)} is not a KSUID; give 27 characters 0-9, A-Z, a-z, up to {_HIGHEST}"
            )
        return super().from_base62(data)

    @classmethod
    def from_bytes(cls, value: bytes) -> Self:
        """The KSUID with these 20 bytes. Raises ValueError for any other number of bytes.

        Args:
            value: 20 bytes.

        Examples:
            >>> one = Ksuid()
            >>> Ksuid.from_bytes(bytes(one)) == one
            True
        """
        if not isinstance(value, bytes):
            raise ValueError(f"{shown(value)} is not bytes; give {counted(cls.BYTES_LENGTH, 'byte')}")
        if len(value) != cls.BYTES_LENGTH:
            raise ValueError(f"{value!r} has {counted(len(value), 'byte')}; give {cls.BYTES_LENGTH}")
        return super().from_bytes(value)

    def _bytes_of(self, other: object) -> bytes | None:
        """The bytes of another KSUID of the same kind, of this module or of svix-ksuid; None for anything else."""
        if not isinstance(other, ksuid.Ksuid):
            return None
        return bytes(other) if isinstance(self, ksuid.KsuidMs) is isinstance(other, ksuid.KsuidMs) else None

    def __eq__(self, other: object) -> bool:
        return bytes(self) == self._bytes_of(other)

    __hash__ = ksuid.Ksuid.__hash__

    def __lt__(self, other: object) -> bool:
        found = self._bytes_of(other)
        return NotImplemented if found is None else bytes(self) < found

    def __le__(self, other: object) -> bool:
        found = self._bytes_of(other)
        return NotImplemented if found is None else bytes(self) <= found

    def __gt__(self, other: object) -> bool:
        found = self._bytes_of(other)
        return NotImplemented if found is None else bytes(self) > found

    def __ge__(self, other: object) -> bool:
        found = self._bytes_of(other)
        return NotImplemented if found is None else bytes(self) >= found

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    @classmethod
    def _validate(cls, value: object) -> Self:
        if isinstance(value, cls):
            return value
        if isinstance(value, ksuid.Ksuid) and isinstance(value, ksuid.KsuidMs) is issubclass(
            cls, ksuid.KsuidMs
        ):
            return cls.from_bytes(bytes(value))
        if isinstance(value, str):
            return cls.from_base62(value)
        raise ValueError(f"{value!r} is not a {cls.__name__}; give one, or its text")

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        text = core_schema.str_schema(pattern=f"^{_TEXT.pattern}$")
        return core_schema.json_or_python_schema(
            json_schema=core_schema.no_info_after_validator_function(cls.from_base62, text),
            python_schema=core_schema.lax_or_strict_schema(
                lax_schema=core_schema.no_info_plain_validator_function(cls._validate),
                strict_schema=core_schema.is_instance_schema(cls),
            ),
            serialization=core_schema.to_string_ser_schema(when_used="json"),
        )


class Ksuid(_Safe):
    """A KSUID: the second of its creation, and 128 random bits.

    Args:
        datetime: the time of creation with a time zone, from 2014-05-13 to 2150; by default the current time.
        payload: the 16 bytes that follow; by default random bytes.

    Raises:
        ValueError: a datetime without a time zone or out of range, or a payload of another length.

    Examples:
        >>> when = datetime(2024, 5, 1, tzinfo=UTC)
        >>> Ksuid(datetime=when).datetime == when
        True
        >>> len(str(Ksuid()))
        27
    """


class KsuidMs(_Safe, ksuid.KsuidMs):
    """A KSUID in steps of 4 milliseconds, and 120 random bits. Its texts sort among those of ``Ksuid`` by time.

    Args:
        datetime: the time of creation with a time zone, from 2014-05-13 to 2150; by default the current time.
        payload: the 15 bytes that follow; by default random bytes.

    Raises:
        ValueError: a datetime without a time zone or out of range, or a payload of another length.

    Examples:
        >>> when = datetime(2024, 5, 1, microsecond=500_000, tzinfo=UTC)
        >>> abs(KsuidMs(datetime=when).datetime - when) < timedelta(milliseconds=4)
        True
    """

    @staticmethod
    def _stamp(age: timedelta) -> bytes:
        return struct.pack(">LB", age // _SECOND, age % _SECOND // _FOUR_MILLISECONDS)


def new_ksuid() -> str:
    """Return the text of a new KSUID, for ``Field(default_factory=new_ksuid)``.

    The KSUIDs of one process come in order, unless its clock is set back: the first half of the payload counts up from
    a random number in each second, and the second half is random.

    Examples:
        >>> from pydantic import Field
        >>> class Event(Entity, table=app, pk="EVENT#{id}", sk="EVENT"):
        ...     id: str = Field(default_factory=new_ksuid)
        >>> len(Event().id)
        27
    """
    fresh = bytes(Ksuid())
    second, start = fresh[:4], int.from_bytes(fresh[4:12], "big") >> 1
    numbers = _NUMBERS.setdefault(second, count(start))
    for old in sorted([*_NUMBERS])[:-_SECONDS]:
        _NUMBERS.pop(old, None)
    return str(Ksuid.from_bytes(second + next(numbers).to_bytes(8, "big") + fresh[12:]))


def ksuid_range(start: datetime, end: datetime) -> tuple[str, str]:
    """The lowest and the highest text of the KSUIDs made from ``start`` up to, but not including, ``end``.

    The range covers both kinds and counts in whole seconds, so it also includes KSUIDs made earlier in the first second
    or later in the last one.

    Args:
        start: the first time.
        end: the time after the last.

    Examples:
        >>> low, high = ksuid_range(datetime(2020, 3, 7, tzinfo=UTC), datetime(2020, 3, 8, tzinfo=UTC))
        >>> low <= "1YnlHOfSSk3DhX4BR6lMAceAo1V" <= high
        True

    Raises:
        ValueError: a datetime without a time zone or out of range, or an ``end`` that is not after ``start``.
    """
    first, last = _since_epoch(start), _since_epoch(end, _END) - _TICK
    if last < first:
        raise ValueError(f"the range from {start!r} to {end!r} is empty; give an end after the start")
    low, high = (struct.pack(">L", age // _SECOND) for age in (first, last))
    return str(Ksuid.from_bytes(low + bytes(16))), str(Ksuid.from_bytes(high + b"\xff" * 16))
