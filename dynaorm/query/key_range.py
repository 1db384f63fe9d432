"""The range of one key attribute that a query reads: a condition for DynamoDB, and an exact check of the rest.

Rule 1. A condition on a field compares the texts that the template renders, within the fields given before it: with
        ``{country}#{state}``, the country US never matches USA. A field written with ``desc`` is compared by value.
Rule 2. DynamoDB takes one condition on a sort key. It may match more keys than the query wants, never fewer; ``admits``
        parses the key and is exact.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias

from dynaorm.entity.table import KeyAttribute
from dynaorm.entity.template.key_part import KeyPart
from dynaorm.entity.template.template import KeyValueError, Piece
from dynaorm.entity.text.ksuid import Ksuid, KsuidMs
from dynaorm.entity.text.scalar import ANY_TEXT, STR, NaiveDatetime
from dynaorm.failure import Remedied
from dynaorm.item.condition import Condition
from dynaorm.item.value import AttributeValue
from dynaorm.query.interval import (
    BYTEWISE,
    EVERYTHING,
    Interval,
    comparable,
    range_condition,
    successor,
)
from dynaorm.query.spelling import spellings_from, spellings_of, spellings_to
from dynaorm.record import record, replace

Operator: TypeAlias = Literal["<", "<=", ">", ">=", "between", "begins_with"]


@record
class Bound:
    """A condition on one field of a key; ``between`` has two values, both included."""

    field: str
    operator: Operator
    values: tuple[Any, ...]


@record
class KeyRange:
    """The values of a key attribute that a query reads.

    Attributes:
        attribute: the key attribute; None for every key.
        interval: the interval that is read, closed, with contents as ``comparable`` gives them.
        admits: whether a stored value is wanted; None where every key in the interval is.
        is_empty: no key can match.
        is_prefix: the keys in the interval are those that begin with one text.
        is_wide: the interval is wider than the query, to include other spellings of times.
        own: the interval that has exactly those of the keys of the template that are wanted; None if no interval has.
    """

    attribute: KeyAttribute | None = None
    interval: Interval = EVERYTHING
    admits: Callable[[AttributeValue], bool] | None = None
    is_empty: bool = False
    is_prefix: bool = False
    is_wide: bool = False
    own: Interval | None = None

    @property
    def condition(self) -> Condition | None:
        """The condition in stored names; None for every key."""
        return range_condition(self.attribute, self.interval) if self.attribute is not None else None

    @property
    def is_exact(self) -> bool:
        """Whether every key that is read is wanted."""
        return self.admits is None or (self.is_prefix and not self.is_wide)

    def contains(self, stored: AttributeValue) -> bool:
        """Whether a stored value is wanted. It need not match the condition."""
        if self.admits is not None:
            return self.admits(stored)
        return not self.is_empty and comparable(stored) in self.interval


EVERY_KEY: Final = KeyRange()
_MINUTES: Final = 16  # characters of a time up to its minute
_NOTHING: Final = KeyRange(is_empty=True)
_REVERSED: Final[Mapping[str, str]] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def key_range(part: KeyPart, equal: Mapping[str, Any], bounds: Sequence[Bound], *, zones: bool) -> KeyRange:
    """The range of a key whose leading fields have values and whose next field has bounds, in any spelling of a time.

    Args:
        part: the key attribute.
        equal: field values; fields that the key does not have are ignored.
        bounds: conditions on one field of the key that is not among ``equal``.
        zones: include the spellings of times in any time zone, not only those in UTC.

    Raises:
        KeyValueError: a value cannot be part of the key, or is not given in order.
    """
    exact = exact_range(part, equal, bounds)
    if exact.is_empty or (wide := _widened(part, equal, bounds, zones=zones)) is None:
        return exact
    admits = exact.admits or exact.contains
    return replace(exact, interval=wide, admits=admits, is_wide=True)


def exact_range(part: KeyPart, equal: Mapping[str, Any], bounds: Sequence[Bound]) -> KeyRange:
    """The same of the keys that the template renders."""
    if all(equal.get(name) is not None for name in part.fields):
        value = part.value(equal)
        assert value is not None
        content = comparable(value)
        point = Interval(content, content)
        return KeyRange(part.attribute, point, own=point)
    if part.attribute.kind == "N":
        return _of_numbers(part, bounds)
    return _TextRange(part, equal, bounds).key_range()


def _widened(
    part: KeyPart, equal: Mapping[str, Any], bounds: Sequence[Bound], *, zones: bool
) -> Interval | None:
    """The interval with all spellings of the times of a key; None where no time is given."""
    if part.template is None or part.version is not None or part.attribute.kind != "S":
        return None
    before = ""
    for piece in part.template.pieces:
        before += piece.before
        value = equal.get(piece.placeholder.field)
        if _is_time(piece):
            found = _spelled(bounds, zones=zones) if value is None else spellings_of(value, zones=zones)
            return found.shifted(before) if found != EVERYTHING else None
        if value is None:
            return None
        before += piece.write(value)
    return None


def _is_time(piece: Piece) -> bool:
    scalar = piece.placeholder.scalar
    is_time = scalar.python in (datetime, NaiveDatetime) and scalar.name == scalar.python.__name__
    return piece.placeholder.plain and is_time


def _spelled(bounds: Sequence[Bound], *, zones: bool) -> Interval:
    found = EVERYTHING
    for bound in bounds:
        low, high = bound.values[0], bound.values[-1]
        if bound.operator == "begins_with":
            # Every key begins with an empty text, and DynamoDB refuses to compare a key with one.
            if prefix := low[:_MINUTES]:
                found = found.cut(">=", prefix)
                found = found.cut("<", end) if (end := successor(prefix)) else found
            continue
        if bound.operator in (">", ">=", "between"):
            found = found.cut(">=", spellings_from(low, zones=zones).low)
        if bound.operator in ("<", "<=", "between"):
            found = found.cut("<", spellings_to(high, zones=zones).high)
    return found


def _comparisons(piece: Piece, bounds: Sequence[Bound]) -> list[tuple[str, str]]:
    """Each bound as comparisons with texts, in the order of the keys."""
    found: list[tuple[str, Any]] = []
    for bound in bounds:
        if bound.operator == "between":
            found += [(">=", bound.values[0]), ("<=", bound.values[1])]
        elif bound.operator != "begins_with":
            found.append((bound.operator, bound.values[0]))
    signs = _REVERSED if piece.placeholder.desc else {}
    return [(signs.get(sign, sign), _written(piece, value)) for sign, value in found]


def _written(piece: Piece, value: Any) -> str:
    placeholder = piece.placeholder
    try:
        # The texts of ksuid_range bound a Ksuid, too.
        if placeholder.plain and placeholder.scalar.bound is not None:
            return placeholder.scalar.bound(value)
        spoken = isinstance(value, str) and placeholder.scalar.python in (Ksuid, KsuidMs)
        return piece.write(placeholder.scalar.from_text(value) if spoken else value)
    except ValueError as problem:
        raise KeyValueError.of(placeholder.field, value, problem) from problem


def _of_numbers(part: KeyPart, bounds: Sequence[Bound]) -> KeyRange:
    assert part.template is not None
    if prefix := next((bound for bound in bounds if bound.operator == "begins_with"), None):
        raise _no_beginning(part, prefix)
    interval = EVERYTHING
    for sign, text in _comparisons(part.template.pieces[0], bounds):
        interval = interval.cut(sign, Decimal(text))
    interval = interval.closed("N")
    if interval.is_empty:
        return _NOTHING
    return KeyRange(part.attribute, interval, own=interval)


def _no_beginning(part: KeyPart, prefix: Bound) -> KeyValueError:
    value = prefix.values[0]
    problem = Remedied(f"is no beginning of a key {part.text!r}", "use .ge(...) and .lt(...)")
    return KeyValueError.of(prefix.field, value, problem)


class _TextRange:
    """The range of a string key, or of a binary key read as a text of one character per byte.

    Attributes:
        beginnings: the texts that every wanted key begins with, without the head of a version.
        comparisons: the comparisons with the text of the bounded field.
        texts: the interval of texts that the bounded field may have.
    """

    def __init__(self, part: KeyPart, equal: Mapping[str, Any], bounds: Sequence[Bound]) -> None:
        assert part.template is not None
        self._part, self._template, self._version = part, part.template, part.version
        self._is_binary = part.attribute.kind == "B"
        # A binary key is one field, which is not given here.
        self._level = "" if self._is_binary else self._template.prefix(equal)
        pieces = self._template.pieces
        self._place = next(
            place for place, piece in enumerate(pieces) if equal.get(piece.placeholder.field) is None
        )
        self._piece = pieces[self._place]
        self._refuse_later(bounds)
        prefixes = [bound for bound in bounds if bound.operator == "begins_with"]
        self.beginnings = [self._level, *(self._beginning(equal, prefix) for prefix in prefixes)]
        self.comparisons = [(sign, self._packed(text)) for sign, text in _comparisons(self._piece, bounds)]
        self.texts = EVERYTHING
        for sign, text in self.comparisons:
            self.texts = self.texts.cut(sign, text)
        self._check_lengths()
        self._may_end_anywhere = self._piece.placeholder.raw and self._is_followed

    def key_range(self) -> KeyRange:
        attribute, head = self._part.attribute, self._head
        keys = self._interval().shifted(head).closed(attribute.kind)
        # No key is empty, and DynamoDB refuses to compare a key with an empty text.
        if keys.is_empty or keys.high == "" or self.texts.is_empty:
            return _NOTHING
        if self.comparisons:
            keys = keys if keys.low else replace(keys, low=None)
            own = keys if not self._after and not self._is_followed else None
            return KeyRange(attribute, keys, self.admits, own=own)
        if head or any(self.beginnings):
            return KeyRange(attribute, keys, self.admits, is_prefix=True)
        return EVERY_KEY

    def admits(self, stored: AttributeValue) -> bool:
        """Whether a stored key is wanted."""
        key: str | bytes | None = stored[self._part.attribute.kind]
        if self._version is not None and key is not None:
            key = self._version.inside(key)
        own = key.decode(BYTEWISE) if isinstance(key, bytes) else key
        if own is None:
            return False
        for beginning in self.beginnings:
            if not own.startswith(beginning):
                return False
        if not self.comparisons:
            return True
        if self._may_end_anywhere:
            return any(text in self.texts for text in self._texts_of(own))
        found = self._patterns[0].fullmatch(own, len(self._level))
        return found is not None and found[1] in self.texts

    # -- the wanted texts

    def _refuse_later(self, bounds: Sequence[Bound]) -> None:
        missing = self._piece.placeholder.field
        for bound in bounds:
            if bound.field != missing:
                raise self._template.gap(missing, bound.field, bound.values[0])

    def _beginning(self, equal: Mapping[str, Any], prefix: Bound) -> str:
        value, python = prefix.values[0], self._piece.placeholder.scalar.python
        if self._is_binary and (python not in (str, bytes) or not isinstance(value, python)):
            raise _no_beginning(self._part, prefix)
        if isinstance(value, bytes) and self._is_binary:
            return value.decode(BYTEWISE)
        try:
            text = STR.to_text(value)
        except ValueError as problem:
            raise KeyValueError.of(prefix.field, value, problem) from problem
        return self._packed(text) if self._is_binary else self._template.prefix(equal, (prefix.field, text))

    def _packed(self, text: str) -> str:
        packing = self._template.packing
        return text if packing is None else packing.pack(text).decode(BYTEWISE)

    def _check_lengths(self) -> None:
        """Refuse a text longer than any key, for which DynamoDB would refuse the request."""
        shortest = [*self.beginnings, *(self._level + text + self._after for _, text in self.comparisons)]
        for one in shortest:
            if key := self._head + one:
                self._part.checked(key.encode(BYTEWISE) if self._is_binary else key)

    # -- the interval of keys

    @property
    def _head(self) -> str:
        return self._beside(self._version.latest_head) if self._version is not None else ""

    @property
    def _after(self) -> str:
        """The literal after the bounded field."""
        pieces, following = self._template.pieces, self._place + 1
        if following < len(pieces):
            return pieces[following].before
        tail = self._beside(self._version.latest_tail) if self._version is not None else ""
        return self._template.after + tail

    @property
    def _is_followed(self) -> bool:
        """Whether another field comes after the bounded one."""
        return self._place + 1 < len(self._template.pieces)

    def _beside(self, literal: str) -> str:
        return literal.encode().decode(BYTEWISE) if self._is_binary else literal

    def _interval(self) -> Interval:
        """The smallest interval that has all wanted keys, without the head."""
        found = EVERYTHING
        for beginning in self.beginnings:
            found = found.cut(">=", beginning)
            if end := successor(beginning):
                found = found.cut("<", end)
        for sign, text in self.comparisons:
            found = found.cut(*(self._from(sign, text) if sign in (">", ">=") else self._to(sign, text)))
        return found

    @property
    def _grows(self) -> bool:
        """Whether one text of the bounded field can be the beginning of another."""
        return self._piece.placeholder.open or bool(self._piece.placeholder.grows)

    def _from(self, sign: str, text: str) -> tuple[str, str]:
        low = self._level + text
        if sign == ">" and not self._grows and (self._after or self._is_followed):
            return ">=", successor(low + self._after)
        return sign if not self._after else ">=", low

    def _to(self, sign: str, text: str) -> tuple[str, str]:
        high = self._level + text
        if not self._after:
            return ("<", successor(high)) if self._is_followed and sign == "<=" else (sign, high)
        # A prefix of this text comes before it, but is followed by the literal in its key.
        shorter = [text[:length] for length in range(len(text))] if self._grows else []
        if sign == "<=":
            shorter.append(text)
        ends = [successor(self._level + one + self._after) for one in shorter]
        # Nothing follows the last code point, so there is no end besides that of the level.
        return ("<", max([high, *ends])) if all(ends) else (">=", self._level)

    # -- parsing a key

    @cached_property
    def _patterns(self) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
        """Regular expressions of a key from the bounded field on, of the field's text, and of all after it."""
        text, following = ANY_TEXT, ""
        if not self._is_binary:
            own, *later = self._template.pieces[self._place :]
            after = "".join(f"{re.escape(piece.before)}{piece.pattern}" for piece in later)
            text, following = own.pattern, after + re.escape(self._template.after)
        return re.compile(f"({text}){following}"), re.compile(text), re.compile(following)

    def _texts_of(self, own: str) -> Iterator[str]:
        """The texts that the bounded field may have in a key whose end of a raw text is ambiguous."""
        rest = own[len(self._level) :]
        _, text, following = self._patterns
        ends = (end for end in range(len(rest) + 1) if following.fullmatch(rest, end))
        return (rest[:end] for end in ends if text.fullmatch(rest[:end]))
