"""What a query asks of one key attribute: a condition DynamoDB can judge, and a check of what it cannot say exactly.

Rule 1. A condition on a field compares what the template renders for it, within the fields given before it: ``{country}
        #{state}`` with the country US never meets USA. A field written backwards (``desc``) is compared as a value.
Rule 2. DynamoDB takes one condition on a sort key, and BETWEEN includes both ends. The condition may let more through
        than was asked for, never less; ``admits`` takes the key apart again and is exact.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, Literal, TypeAlias

from dynaorm.entity.template.key_part import KeyPart
from dynaorm.entity.template.template import KeyTemplate, KeyValueError, Piece
from dynaorm.entity.text.ksuid import Ksuid, KsuidMs
from dynaorm.entity.text.scalar import ANY_TEXT, STR
from dynaorm.item.condition import Attr, BeginsWith, Between, Compare, Condition, equals
from dynaorm.item.value import AttributeValue, number_text
from dynaorm.query.interval import EVERYTHING, Interval, successor
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
    """What is asked of a key attribute.

    Attributes:
        condition: in stored names; None for every key.
        admits: whether a stored value of the attribute is what was asked for; None where the condition is exact.
        is_empty: no key can be.
        is_equal: the key is given whole.
    """

    condition: Condition | None
    admits: Callable[[AttributeValue], bool] | None = None
    is_empty: bool = False
    is_equal: bool = False


EVERY_KEY: Final = KeyRange(None)
_NOTHING: Final = KeyRange(None, is_empty=True)
_REVERSED: Final[Mapping[str, str]] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def key_range(part: KeyPart, equal: Mapping[str, Any], bounds: Sequence[Bound]) -> KeyRange:
    """What is asked of a key whose leading fields are equal to values and whose next one is bounded.

    Args:
        part: the key attribute.
        equal: field values; those of other keys do not matter.
        bounds: conditions on one field of the key that is not among ``equal``.

    Raises:
        KeyValueError: a value cannot be part of the key, or is not given in order.
    """
    if all(equal.get(name) is not None for name in part.fields):
        value = part.value(equal)
        assert value is not None
        return KeyRange(equals(part.attribute.name, value), is_equal=True)
    return (
        _of_numbers(part, bounds) if part.attribute.kind == "N" else _Asked(part, equal, bounds).key_range()
    )


def _comparisons(piece: Piece, bounds: Sequence[Bound]) -> list[tuple[str, str]]:
    """Every bound as a comparison with one text, in the order of the keys."""
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
        spoken = isinstance(value, str) and placeholder.scalar.python in (Ksuid, KsuidMs)
        return piece.write(placeholder.scalar.from_text(value) if spoken else value)
    except ValueError as problem:
        raise KeyValueError(placeholder.field, value, str(problem)) from problem


def _ranged(name: str, interval: Interval, content: Callable[[Any], AttributeValue]) -> Condition | None:
    """The closest condition there is."""
    low, high, operand = interval.low, interval.high, Attr((name,))
    if low is not None and high is not None:
        return Between(operand, content(low), content(high))
    if low is not None:
        return Compare(operand, ">=" if interval.has_low else ">", content(low))
    if high is not None:
        return Compare(operand, "<=" if interval.has_high else "<", content(high))
    return None


def _of_numbers(part: KeyPart, bounds: Sequence[Bound]) -> KeyRange:
    assert part.template is not None
    if prefix := next((bound for bound in bounds if bound.operator == "begins_with"), None):
        raise _no_beginning(part, prefix)
    interval = EVERYTHING
    for sign, text in _comparisons(part.template.pieces[0], bounds):
        interval = interval.cut(sign, Decimal(text))
    if interval.is_empty:
        return _NOTHING
    condition = _ranged(part.attribute.name, interval, lambda number: {"N": number_text(number)})
    is_exact = not isinstance(condition, Between) or (interval.has_low and interval.has_high)
    return KeyRange(condition, None if is_exact else lambda stored: Decimal(stored["N"]) in interval)


def _no_beginning(part: KeyPart, prefix: Bound) -> KeyValueError:
    value = prefix.values[0]
    return KeyValueError(prefix.field, value, f"is no beginning of a key {part.text!r}; ask with ge= and lt=")


_BYTEWISE: Final = "latin-1"  # one character for each byte, in the same order


class _Asked:
    """What is asked of a key that is a text, or of a binary one, taken for a text bytewise.

    Attributes:
        beginnings: what every key in question begins with, without a version's head: the level, and each prefix.
        comparisons: what is asked of the bounded field's text.
        texts: the texts it may have.
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
        text, following = _patterns(self._template, self._place)
        self._whole, self._text = re.compile(f"({text}){following}"), re.compile(text)
        self._following = re.compile(following)

    def key_range(self) -> KeyRange:
        name, head = self._part.attribute.name, self._head
        keys = self._interval().shifted(head)
        # No key is empty, and DynamoDB refuses to compare one with nothing.
        if keys.is_empty or keys.high == "" or self.texts.is_empty:
            return _NOTHING
        if self.comparisons:
            keys = keys if keys.low else replace(keys, low=None)
            return KeyRange(_ranged(name, keys, self._content), self.admits)
        if beginning := head + max(self.beginnings, key=len):
            return KeyRange(BeginsWith((name,), self._content(beginning)), self.admits)
        return EVERY_KEY

    def admits(self, stored: AttributeValue) -> bool:
        """Whether a stored key is what is asked."""
        key: str | bytes | None = stored[self._part.attribute.kind]
        if self._version is not None and key is not None:
            key = self._version.inside(key)
        own = key.decode(_BYTEWISE) if isinstance(key, bytes) else key
        if own is None or not all(own.startswith(one) for one in self.beginnings):
            return False
        return not self.comparisons or any(text in self.texts for text in self._texts_of(own))

    # -- what is asked, as texts

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
            return value.decode(_BYTEWISE)
        try:
            text = STR.to_text(value)
        except ValueError as problem:
            raise KeyValueError(prefix.field, value, str(problem)) from problem
        return self._packed(text) if self._is_binary else self._template.prefix(equal, (prefix.field, text))

    def _packed(self, text: str) -> str:
        packing = self._template.packing
        return text if packing is None else packing.pack(text).decode(_BYTEWISE)

    def _check_lengths(self) -> None:
        """No key is as long as what would be asked: DynamoDB refuses the request."""
        shortest = [*self.beginnings, *(self._level + text + self._after for _, text in self.comparisons)]
        for one in shortest:
            if key := self._head + one:
                self._part.checked(key.encode(_BYTEWISE) if self._is_binary else key)

    def _content(self, text: str) -> AttributeValue:
        return {"B": text.encode(_BYTEWISE)} if self._is_binary else {"S": text}

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

    def _beside(self, literal: str) -> str:
        return literal.encode().decode(_BYTEWISE) if self._is_binary else literal

    def _interval(self) -> Interval:
        """Keys that may be what is asked, without the head: no fewer than are, and as few as can be said."""
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
        if sign == ">" and self._after and not self._grows:
            return ">=", successor(low + self._after)
        return sign if not self._after else ">=", low

    def _to(self, sign: str, text: str) -> tuple[str, str]:
        high = self._level + text
        if not self._after:
            return sign, high
        # A text that is a beginning of this one comes before it, but its key goes on with the literal.
        shorter = [text[:length] for length in range(len(text))] if self._grows else []
        if sign == "<=":
            shorter.append(text)
        ends = [successor(self._level + one + self._after) for one in shorter]
        # Only the last character there is leaves no end, and then none is added to that of the level.
        return ("<", max([high, *ends])) if all(ends) else (">=", self._level)

    # -- a key taken apart

    def _texts_of(self, own: str) -> Iterator[str]:
        """The texts that the bounded field may have in a key: several only where raw text hides its own end."""
        rest = own[len(self._level) :]
        if not self._piece.placeholder.raw or self._place == len(self._template.pieces) - 1:
            found = self._whole.fullmatch(rest)
            return iter(() if found is None else (found[1],))
        ends = (end for end in range(len(rest) + 1) if self._following.fullmatch(rest, end))
        return (rest[:end] for end in ends if self._text.fullmatch(rest[:end]))


def _patterns(template: KeyTemplate, place: int) -> tuple[str, str]:
    """Regular expressions of a field's text in the key, and of all that follows it."""
    if template.kind == "B":
        return ANY_TEXT, ""
    own, *later = template.pieces[place:]
    following = "".join(f"{re.escape(piece.before)}{piece.pattern}" for piece in later)
    return own.pattern, following + re.escape(template.after)
