"""Key attributes that a class writes: their templates, and the numbers of versions around its own sort key."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import Any, Final

from dynaorm.entity.codec.leaf import checked
from dynaorm.entity.table import KeyAttribute, KeyKind
from dynaorm.entity.template import KeyTemplate, KeyValueError, TemplateError
from dynaorm.entity.text.scalar import (
    Scalar,
    Shape,
    digits,
    scalar_of,
)
from dynaorm.failure import MASK, counted
from dynaorm.item.value import NUMBER_DIGITS, AttributeValue, Item
from dynaorm.record import record, replace

# The text of a field with its own ``encode=`` in a key.
#
# A spec that formats values, such as ``%Y-%m`` or ``06d``, depends on the field's type, not on ``encode=``.

_TYPES: Final[dict[KeyKind, type]] = {"S": str, "N": Decimal, "B": bytes}


def encoded_scalar(
    encode: Callable[[Any], AttributeValue],
    decode: Callable[[AttributeValue], Any],
    kind: KeyKind,
    formatted: Scalar | None = None,
) -> Scalar:
    """The scalar that writes a field into a key attribute of type ``kind`` with the field's own encoding.

    ``formatted``: the scalar of the field's type, for specs that format values.

    Examples:
        >>> day = encoded_scalar(lambda at: {"S": f"{at:%d.%m.%Y}"}, lambda av: parse(av["S"]), "S")
        >>> day.to_text(date(2020, 4, 24))
        '24.04.2020'
    """
    encoded = checked(encode)

    def to_text(value: Any) -> str:
        found = encoded(value)
        if found.keys() != {kind}:
            raise ValueError(f"is encoded as {'/'.join(found)}, and the key attribute is of type {kind}")
        key = found[kind]
        return key.hex() if kind == "B" else str(key)

    def from_text(text: str) -> Any:
        return decode({kind: bytes.fromhex(text) if kind == "B" else text})

    outline = scalar_of(_TYPES[kind])
    assert outline is not None
    return replace(outline, to_text=to_text, from_text=from_text, formatted=formatted)


# -- versions: v{version}_ around the class's own sort key ------------------------------------------------------------

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
_VERSION_DIGITS: Final = 10  # ten versions a second for thirty years
_BYTEWISE: Final = "latin-1"  # one character for each byte


def version_number(stored: AttributeValue) -> int:
    """The number of a version, from the item's attribute ``version``. Raises ValueError."""
    try:
        number = Decimal(stored["N"])
    except (InvalidOperation, LookupError, TypeError, ValueError):  # it need not even be an attribute value
        number = Decimal("NaN")
    # The next number must fit into DynamoDB's 38 digits, too.
    if number.is_nan() or number != number.to_integral_value() or not 0 <= number < 10 ** (NUMBER_DIGITS - 1):
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
    """

    text: str
    inner: KeyTemplate | None
    kind: KeyKind
    padding: int

    @cached_property
    def shape(self) -> Shape:
        """The keys it can render, including those of versions."""
        sides = [side.partition(_VERSION) for side in self.text.partition(_SORT)[::2]]
        head, tail = [(before, digits(1, None) if mark else "", after) for before, mark, after in sides]
        own = () if self.inner is None else self.inner.shape
        return tuple(part for part in (*head, *own, *tail) if part)

    @property
    def reserve(self) -> int:
        """The bytes by which the key of a version can be longer than that of the latest copy."""
        return max(self.padding, _VERSION_DIGITS) - 1

    def ends(self, number: int = 0) -> tuple[Any, Any]:
        """What stands before and after the class's own key in the key of a version; 0 is the latest copy."""
        text = self.text.replace(_VERSION, str(number).zfill(self.padding if number else 1))
        head, _, tail = text.partition(_SORT)
        return (head.encode(), tail.encode()) if self.kind == "B" else (head, tail)

    latest_ends = cached_property(ends)

    def _wrap(self, own: Any, number: int = 0) -> Any:
        head, tail = self.ends(number) if number else self.latest_ends
        return None if own is None else head + own + tail

    def render(self, values: Mapping[str, Any]) -> Any:
        """The sort key of the latest copy; None where a field is None. Raises KeyValueError."""
        empty = b"" if self.kind == "B" else ""
        return self._wrap(empty if self.inner is None else self.inner.render(values))

    def rewrap(self, stored_latest: str | bytes, number: int) -> Any:
        """The sort key of a version, from that of the latest copy.

        Raises:
            ValueError: the key is not that of a latest copy.
        """
        if (own := self.inside(stored_latest)) is None:
            raise ValueError(f"{stored_latest!r} is not the sort key of a latest copy under {self.text!r}")
        return self._wrap(own, number)

    def inside(self, key: Any) -> Any:
        """The class's own sort key in the key of a latest copy; None for any other key."""
        head, tail = self.latest_ends
        is_latest = type(key) is type(head) and key.startswith(head) and key.endswith(tail)
        return key[len(head) : len(key) - len(tail)] if is_latest and len(key) >= len(head + tail) else None

    def match(self, key: str | bytes) -> dict[str, Any] | None:
        """The lossless fields of the latest copy's sort key; None for any other key."""
        own = self.inside(key)
        return None if own is None else self._match_own(own)

    def _match_own(self, own: Any) -> dict[str, Any] | None:
        if self.inner is None:
            return None if own else {}
        return self.inner.match(own)

    def latest_around(self, own: str | bytes) -> Any:
        """The sort key of the latest copy, from the class's own sort key; None for any other key."""
        matches = self.inner is not None and self.inner.match(own) is not None
        return self._wrap(own) if matches else None

    def number_in(self, key: str | bytes) -> int | None:
        """The number of the version with this sort key; None for any other key, including that of the latest copy."""
        parts = self._parts_of(key)
        return None if parts is None else parts[0]

    def latest_of(self, key: str | bytes) -> Any:
        """The sort key of the latest copy, from that of one of its versions; None for any other key."""
        if (parts := self._parts_of(key)) is None:
            return None
        number, own = parts
        # A key with another spelling of the number (v01_ instead of v1_) is not a key of this class.
        return self._wrap(own) if self._wrap(own, number) == key else None

    def _parts_of(self, key: str | bytes) -> tuple[int, Any] | None:
        """The number of a version and its own part of the key; None for any other key."""
        if isinstance(key, bytes) is not (self.kind == "B"):
            return None
        parts = self._pattern.fullmatch(key if isinstance(key, str) else key.decode(_BYTEWISE))
        if parts is None or (number := int(parts["number"])) == 0:
            return None
        own: Any = parts["own"] if isinstance(key, str) else parts["own"].encode(_BYTEWISE)
        return None if self._match_own(own) is None else (number, own)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        text = self.text if _SORT in self.text else self.text + _SORT
        pattern = re.escape(text if self.kind == "S" else text.encode().decode(_BYTEWISE))
        number, own = "(?P<number>[0-9]+)", r"(?P<own>[\s\S]*)"
        return re.compile(pattern.replace(re.escape(_VERSION), number).replace(re.escape(_SORT), own))


def versioned(
    text: str, inner: KeyTemplate | None, padding: int = 0, *, kind: KeyKind = "S"
) -> VersionTemplate:
    """Compile the template of a versioned class's sort keys. ``kind`` is used only without ``inner``.

    Raises:
        TemplateError: with every problem of the template.
    """
    if problems := tuple(_version_problems(text, inner, padding)):
        raise TemplateError(*problems)
    return VersionTemplate(text, inner, kind if inner is None else inner.kind, padding)


def _version_problems(text: str, inner: KeyTemplate | None, padding: int) -> Iterator[str]:
    if text.count(_VERSION) != 1:
        yield "{version} must occur exactly once; write v{version}_{sk}"
    if inner is not None and text.count(_SORT) != 1:
        yield "{sk}, the class's own sort key, must occur exactly once; write v{version}_{sk}"
    if inner is None and _SORT in text:
        yield "{sk} is the class's own sort key, which has no template; add sk=, or drop {sk}"
    if re.search("[{}]", text.replace(_VERSION, "").replace(_SORT, "")):
        yield "only {version} and {sk} can stand in braces here; write v{version}_{sk}, with version_padding= for zeros"
    if re.search(r"[0-9]\{version\}|\{version\}[0-9]|\{version\}\{sk\}|\{sk\}\{version\}", text):
        yield "the digits of the version must not be next to {sk} or other digits; write v{version}_{sk}"
    if not 0 <= padding <= NUMBER_DIGITS:
        yield f"version_padding={padding} is not between 0 and {NUMBER_DIGITS}; choose a number of digits, such as 4"


@record
class Versioning:
    """How a class keeps versions. ``fields``: the fields whose change writes a version; None for all fields."""

    template: VersionTemplate
    fields: frozenset[str] | None


# -- key parts ---------------------------------------------------------------------------------------------------------

# Length limits in UTF-8 bytes, on the table and on indexes alike (Developer Guide, "Quotas": partition and sort key).
PARTITION_KEY_LIMIT: Final = 2048
SORT_KEY_LIMIT: Final = 1024


@record
class KeyPart:
    """One key attribute of a class, of its primary key or of an index.

    Attributes:
        attribute: the key attribute's name and type.
        template: the compiled template; of a versioned class, that of its own sort key.
        limit: the largest length of the key, in UTF-8 bytes.
        synthetic: the attribute exists only for this key; False where it is a field's own attribute or a table key.
        version: the template that a versioned class puts around it.
    """

    attribute: KeyAttribute
    template: KeyTemplate | None
    limit: int
    synthetic: bool = True
    version: VersionTemplate | None = None

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """The fields in it."""
        return () if self.template is None else self.template.fields

    @cached_property
    def lossless(self) -> frozenset[str]:
        """The fields that ``match`` restores exactly."""
        return frozenset() if self.template is None else self.template.lossless

    @cached_property
    def _outer(self) -> KeyTemplate | VersionTemplate:
        outer = self.version or self.template
        assert outer is not None
        return outer

    @property
    def is_single_field(self) -> bool:
        """The template is one field without literal text, so its values could equal keys of guards and versions."""
        return self.version is None and self.template is not None and self.template.is_single_field

    @property
    def shape(self) -> Shape:
        """The keys it can render, including those of versions."""
        return self._outer.shape

    @property
    def text(self) -> str:
        """The template as declared."""
        return self._outer.text

    @cached_property
    def render(self) -> Callable[[Mapping[str, Any]], str | bytes | None]:
        """Field values to the key's text or bytes; None where a field is None."""
        return self._outer.render

    @cached_property
    def match(self) -> Callable[[str | bytes], dict[str, Any] | None]:
        """Key to the values of the lossless fields; None for a key that it never renders."""
        return self._outer.match

    @cached_property
    def constant(self) -> str | None:
        """The key itself, if the template has no fields."""
        key = None if self.fields else self.render({})
        return key if isinstance(key, str) and key.isascii() and 0 < len(key) <= self.limit else None

    def value(self, values: Mapping[str, Any]) -> AttributeValue | None:
        """The key's attribute value; None where a field is None. Raises KeyValueError."""
        if self.constant is not None:
            return {"S": self.constant}
        key = self.render(values)
        if key is None:
            return None
        # The fast path: in ASCII, every character is one byte.
        if type(key) is str and 0 < len(key) <= self.limit and key.isascii():
            return {self.attribute.kind: key}
        return self.checked(key)

    def matches(self, item: Item) -> bool:
        """Whether this key attribute of an item matches the template."""
        stored = item.get(self.attribute.name, {}).get(self.attribute.kind)
        return stored is not None and self.match(stored) is not None

    def checked(self, key: str | bytes) -> AttributeValue:
        """A rendered key as an attribute value. Raises KeyValueError if DynamoDB would refuse its length."""
        size = len(key) if isinstance(key, bytes) or key.isascii() else len(key.encode())
        if not 0 < size <= self.limit and self.attribute.kind != "N":
            much = f"a key of {counted(size, 'byte')}, more than the {self.limit} allowed"
            remedy = f"give the key {self.attribute.name!r} 1 to {counted(self.limit, 'byte')}"
            problem = f"{self.text!r} renders {much if size else 'an empty key'}; {remedy}"
            raise KeyValueError(", ".join(self.fields), key, problem, remedy)
        return {self.attribute.kind: key}


def differs(
    part: KeyPart, stored: AttributeValue | None, rendered: AttributeValue | None, secret: frozenset[str]
) -> str:
    """The problem of a stored key that its template renders differently. Keys in ``secret`` are masked."""
    was, now = (repr(next(iter(key.values())) if key else None) for key in (stored, rendered))
    was, now = (MASK, "another key") if part.attribute.name in secret else (was, now)
    return (
        f"{part.attribute.name} is {was}, but {part.text!r} renders {now}; "
        f"{_remedy_of_version(part, stored, rendered) or f'if the stored key is right, {_remedy(part)}'}"
    )


def _remedy_of_version(
    part: KeyPart, stored: AttributeValue | None, rendered: AttributeValue | None
) -> str | None:
    """What to do if the class had no versions when the item was stored, or has none now."""
    was, now = (key.get("S") if key else None for key in (stored, rendered))
    if was is None or now is None:
        return None
    if part.version is None:
        is_latest = was == f"v0_{now}"
        return "if the stored key is right, declare the class with versioned=True" if is_latest else None
    if part.template is None or part.template.match(was) is None:
        return None
    return "if it was stored before its class had versions, backfill moves it"


def _remedy(part: KeyPart) -> str:
    """What makes a template render keys that are spelled in another way."""
    pieces = part.template.pieces if part.template is not None else ()
    encoded = ", ".join(piece.field for piece in pieces if piece.open and piece.scalar.formatted is not None)
    escaped = ", ".join(
        f"{{{piece.field}:raw}}" for piece in pieces if piece.open and piece.scalar.formatted is None
    )
    others = ", ".join(piece.field for piece in pieces if not piece.open)
    ways = [f"write {escaped} in the template"] if escaped else []
    ways += [f"let encode= of {encoded} return what it has"] if encoded else []
    ways += [f"give {others} an Attribute(encode=..., decode=...) that writes it so"] if others else []
    return ", or ".join(ways) or "write another literal in the template"
