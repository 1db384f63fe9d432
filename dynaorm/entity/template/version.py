"""The sort keys of a versioned class: ``v{version}_{sk}`` around the class's own sort key.

Rule 1. The latest copy has version ``0``, never padded. The versions have ``1``, ``2``, ..., padded or not.
Rule 2. The characters beside the digits are never digits, so two versions never share a key, and the key of a version
        follows from the key of the latest copy.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, AnyStr, Final

from dynaorm.entity.table import KeyKind
from dynaorm.entity.template.template import KeyTemplate, TemplateError
from dynaorm.entity.text.scalar import Shape, digits
from dynaorm.item.value import AttributeValue
from dynaorm.record import record

VERSION: Final = "version"
VERSION_AT: Final = "version_at"
DELETED: Final = "deleted"
VERSION_TYPE: Final = "version_type"
PREVIOUS_DELETION: Final = "previous_deletion"
BOOKKEEPING: Final = {
    VERSION: "the version's number",
    VERSION_AT: "the version's time",
    DELETED: "the mark of a deletion",
    VERSION_TYPE: "the class of a version",
    PREVIOUS_DELETION: "the time of the deletion before a version",
}
"""The attributes that only dynaorm writes, in items of versioned classes, and what each holds."""

_VERSION: Final = "{version}"
_SORT: Final = "{sk}"
_LATEST: Final = "0"
_MOST_DIGITS: Final = 10  # ten versions a second for thirty years
_BYTEWISE: Final = "latin-1"  # one character for each byte
_MOST_PADDING: Final = 38  # digits of a DynamoDB number, which the attribute version is


def version_number(stored: AttributeValue) -> int:
    """The number of a version, from the item's attribute ``version``. Raises ValueError."""
    try:
        number = Decimal(stored["N"])
    except (InvalidOperation, LookupError, TypeError, ValueError):  # it need not even be an attribute value
        number = Decimal("NaN")
    # The next number must fit into DynamoDB's 38 digits, too.
    if number.is_nan() or number != number.to_integral_value() or not 0 <= number < 10 ** (_MOST_PADDING - 1):
        raise ValueError(f"is stored as {stored}, not as a version's number")
    return int(number)


@record(eq=False)
class VersionTemplate:
    """The compiled template of a versioned class.

    Attributes:
        text: the template as declared: ``v{version}_{sk}``.
        inner: the template of the class's own sort key, which replaces ``{sk}``; None if it has none.
        kind: the DynamoDB type of the sort key: S or B.
        padding: the smallest number of digits of a version's number.
        shape: the keys it can render, including those of versions.
        reserve: the bytes by which the key of a version can be longer than that of the latest copy.
        head: the text before ``{sk}``, which may contain ``{version}``.
        tail: the text after ``{sk}``.
    """

    text: str
    inner: KeyTemplate | None
    kind: KeyKind
    padding: int
    shape: Shape
    reserve: int
    head: str
    tail: str

    def latest(self, values: Mapping[str, Any]) -> str | bytes | None:
        """The sort key of the latest copy; None where a field is None. Raises KeyValueError."""
        return self._around(_LATEST, self._own(values))

    def number(self, number: int, values: Mapping[str, Any]) -> str | bytes | None:
        """The sort key of a version; None where a field is None. Raises KeyValueError."""
        return self._around(self._digits(number), self._own(values))

    def rewrap(self, stored_latest: str | bytes, number: int) -> str | bytes:
        """The sort key of a version, from that of the latest copy.

        Raises:
            ValueError: the key is not that of a latest copy.
        """
        own = self.inside(stored_latest)
        wrapped = self._around(self._digits(number), own)
        if wrapped is None:
            raise ValueError(f"{stored_latest!r} is not the sort key of a latest copy under {self.text!r}")
        return wrapped

    def match(self, key: str | bytes) -> dict[str, Any] | None:
        """The lossless fields of the latest copy's sort key; None for any other key."""
        own = self.inside(key)
        if own is None:
            return None
        if self.inner is None:
            return None if own else {}
        return self.inner.match(own)

    def number_in(self, key: str | bytes) -> int | None:
        """The number of the version with this sort key; None for any other key, including that of the latest copy."""
        found = self._parts_of(key)
        return None if found is None else found[0]

    def latest_of(self, key: str | bytes) -> str | bytes | None:
        """The sort key of the latest copy, from that of one of its versions; None for any other key."""
        if (found := self._parts_of(key)) is None:
            return None
        number, own = found
        # A key with another spelling of the number (v01_ instead of v1_) is not a key of this class.
        return self._around(_LATEST, own) if self._around(self._digits(number), own) == key else None

    def _parts_of(self, key: str | bytes) -> tuple[int, str | bytes] | None:
        """The number of a version and its own part of the key; None for any other key."""
        if isinstance(key, bytes) is not (self.kind == "B"):
            return None
        found = self._pattern.fullmatch(key if isinstance(key, str) else key.decode(_BYTEWISE))
        if found is None or (number := int(found["number"])) == 0:
            return None
        own: str | bytes = found["own"] if isinstance(key, str) else found["own"].encode(_BYTEWISE)
        inside = not own if self.inner is None else self.inner.match(own) is not None
        return (number, own) if inside else None

    @property
    def _pattern(self) -> re.Pattern[str]:
        sides = [self.head, self.tail]
        if self.kind == "B":
            sides = [side.encode().decode(_BYTEWISE) for side in sides]
        head, tail = (re.escape(side).replace(re.escape(_VERSION), "(?P<number>[0-9]+)") for side in sides)
        return re.compile(f"{head}(?P<own>[\\s\\S]*){tail}")

    def latest_around(self, own: str | bytes) -> str | bytes | None:
        """The sort key of the latest copy, from the class's own sort key; None for any other key."""
        matches = self.inner is not None and self.inner.match(own) is not None
        return self._around(_LATEST, own) if matches else None

    def _digits(self, number: int) -> str:
        return str(number).zfill(self.padding)

    def _own(self, values: Mapping[str, Any]) -> str | bytes | None:
        if self.inner is None:
            return b"" if self.kind == "B" else ""
        return self.inner.render(values)

    def _around(self, version: str, own: str | bytes | None) -> str | bytes | None:
        if own is None:
            return None
        head, tail = self.head.replace(_VERSION, version), self.tail.replace(_VERSION, version)
        return head + own + tail if isinstance(own, str) else head.encode() + own + tail.encode()

    @property
    def latest_head(self) -> str:
        """The text before ``{sk}`` in the key of a latest copy."""
        return self.head.replace(_VERSION, _LATEST)

    @property
    def latest_tail(self) -> str:
        """The text after ``{sk}`` in the key of a latest copy."""
        return self.tail.replace(_VERSION, _LATEST)

    def inside(self, key: str | bytes) -> str | bytes | None:
        """The class's own sort key in the key of a latest copy; None for any other key."""
        head, tail = self.latest_head, self.latest_tail
        if isinstance(key, str):
            return None if self.kind == "B" else _between(key, head, tail)
        return _between(key, head.encode(), tail.encode()) if self.kind == "B" else None


def _between(key: AnyStr, head: AnyStr, tail: AnyStr) -> AnyStr | None:
    if len(key) < len(head) + len(tail) or not (key.startswith(head) and key.endswith(tail)):
        return None
    return key[len(head) : len(key) - len(tail)]


def versioned(
    text: str, inner: KeyTemplate | None, padding: int = 0, *, kind: KeyKind = "S"
) -> VersionTemplate:
    """Compile the template of a versioned class's sort keys. ``kind`` is used only without ``inner``.

    Raises:
        TemplateError: with every problem of the template.
    """
    if problems := tuple(_problems(text, inner, padding)):
        raise TemplateError(*problems)
    kind = kind if inner is None else inner.kind
    head, _, tail = text.partition(_SORT)
    own = () if inner is None else inner.shape
    return VersionTemplate(
        text=text,
        inner=inner,
        kind=kind,
        padding=padding,
        shape=(*_shape(head), *own, *_shape(tail)),
        reserve=max(padding, _MOST_DIGITS) - len(_LATEST),
        head=head,
        tail=tail,
    )


def _shape(text: str) -> Shape:
    before, found, after = text.partition(_VERSION)
    return tuple(part for part in (before, digits(1, None) if found else "", after) if part)


def _problems(text: str, inner: KeyTemplate | None, padding: int) -> Iterator[str]:
    if text.count(_VERSION) != 1:
        yield "{version} must occur exactly once; write v{version}_{sk}"
    if inner is not None and text.count(_SORT) != 1:
        yield "{sk}, the class's own sort key, must occur exactly once; write v{version}_{sk}"
    if inner is None and _SORT in text:
        yield "{sk} is the class's own sort key, which has no template; add sk=, or drop {sk}"
    others = text.replace(_VERSION, "").replace(_SORT, "")
    if re.search("[{}]", others):
        yield "only {version} and {sk} can stand in braces here; write v{version}_{sk}, with version_padding= for zeros"
    if re.search(r"[0-9]\{version\}|\{version\}[0-9]|\{version\}\{sk\}|\{sk\}\{version\}", text):
        yield "the digits of the version must not be next to {sk} or other digits; write v{version}_{sk}"
    if not 0 <= padding <= _MOST_PADDING:
        yield f"version_padding={padding} is not between 0 and {_MOST_PADDING}; choose a number of digits, such as 4"


@record
class Versioning:
    """How a class keeps versions. ``fields``: the fields whose change writes a version; None for all fields."""

    template: VersionTemplate
    fields: frozenset[str] | None
