"""What a query asks of one key attribute: a condition DynamoDB can judge, and a check of what it cannot say exactly.

Rule 1. A condition on a field compares what the template renders for it, within the fields given before it: ``{country}
        #{state}`` with the country US never meets USA. A field written backwards (``desc``) is compared as a value.
Rule 2. DynamoDB takes one condition on a sort key, and BETWEEN includes both ends. The condition may let more through
        than was asked for, never less; ``admits`` takes the key apart again and is exact.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Literal, TypeAlias

from dynaorm.entity.interval import EVERYTHING, Interval, successor
from dynaorm.entity.keys import KeyPart
from dynaorm.entity.ksuid import Ksuid, KsuidMs
from dynaorm.entity.template import KeyTemplate, KeyValueError, Piece
from dynaorm.item.condition import Attr, BeginsWith, Between, Compare, Condition, equals
from dynaorm.item.value import AttributeValue

Operator: TypeAlias = Literal["<", "<=", ">", ">=", "between", "begins_with"]


@dataclass(frozen=True, slots=True)
class Bound:
    """A condition on one field of a key; ``between`` has two values, both included."""

    field: str
    operator: Operator
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
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
        bounds: conditions on one field of the key.

    Raises:
        KeyValueError: a value cannot be part of the key, or is not given in order.
    """
    if all(equal.get(name) is not None for name in part.fields):
        value = part.value(equal)
        assert value is not None
        return KeyRange(equals(part.attribute.name, value), is_equal=True)
    if part.attribute.kind != "S":
        return _of_values(part, bounds)
    return _of_texts(part, equal, bounds)


def _comparisons(bounds: Sequence[Bound], *, is_reversed: bool = False) -> list[tuple[str, Any]]:
    """Every bound as a comparison with one value, in the order of the keys."""
    found: list[tuple[str, Any]] = []
    for bound in bounds:
        if bound.operator == "between":
            found += [(">=", bound.values[0]), ("<=", bound.values[1])]
        elif bound.operator != "begins_with":
            found.append((bound.operator, bound.values[0]))
    return [(_REVERSED[sign], value) for sign, value in found] if is_reversed else found


def _ranged(name: str, kind: str, interval: Interval) -> Condition | None:
    """The closest condition there is."""
    # No key is empty, and DynamoDB refuses to compare one with an empty text.
    low, high = interval.low or None if kind != "N" else interval.low, interval.high
    operand = Attr((name,))
    if low is not None and high is not None:
        return Between(operand, {kind: _content(low)}, {kind: _content(high)})
    if low is not None:
        return Compare(operand, ">=" if interval.has_low else ">", {kind: _content(low)})
    if high is not None:
        return Compare(operand, "<=" if interval.has_high else "<", {kind: _content(high)})
    return None


def _content(bound: Any) -> Any:
    return f"{bound:f}" if isinstance(bound, Decimal) else bound


# -- keys that are numbers or binary: one bare field -------------------------------------------------------------------


def _of_values(part: KeyPart, bounds: Sequence[Bound]) -> KeyRange:
    name, kind = part.attribute.name, part.attribute.kind
    if prefix := next((bound for bound in bounds if bound.operator == "begins_with"), None):
        return _of_bytes(part, prefix, bounds)
    interval = EVERYTHING
    for sign, value in _comparisons(bounds):
        interval = interval.cut(sign, _comparable(kind, _value_of(part, value)))
    if interval.is_empty:
        return _NOTHING
    is_exact = interval.low is None or interval.high is None or (interval.has_low and interval.has_high)
    return KeyRange(
        _ranged(name, kind, interval),
        None if is_exact else lambda stored: _comparable(kind, stored[kind]) in interval,
    )


def _value_of(part: KeyPart, value: Any) -> Any:
    assert part.template is not None
    value = _spoken(part.template.pieces[0], value)
    ((_, content),) = (part.value({part.fields[0]: value}) or {}).items()
    return content


def _spoken(piece: Piece, value: Any) -> Any:
    """A bound as its field's type: the texts of ``ksuid_range`` bound a Ksuid, too."""
    scalar = piece.slot.scalar
    if not isinstance(value, str) or scalar.python not in (Ksuid, KsuidMs):
        return value
    try:
        return scalar.from_text(value)
    except ValueError as problem:
        raise KeyValueError(piece.slot.field, value, str(problem)) from problem


def _comparable(kind: str, content: Any) -> Any:
    return Decimal(content) if kind == "N" else content


def _of_bytes(part: KeyPart, prefix: Bound, bounds: Sequence[Bound]) -> KeyRange:
    name, beginning = part.attribute.name, prefix.values[0]
    if isinstance(beginning, str) and part.template is not None and part.template.pieces[0].slot.open:
        beginning = beginning.encode()
    if part.attribute.kind != "B" or not isinstance(beginning, bytes) or len(bounds) > 1:
        raise KeyValueError(
            prefix.field, prefix.values[0], f"is no beginning of a key {part.text!r}; ask with ge= and lt="
        )
    if not beginning:
        return EVERY_KEY
    return KeyRange(
        BeginsWith((name,), {"B": beginning}), lambda stored: bool(stored["B"].startswith(beginning))
    )


# -- keys that are texts -----------------------------------------------------------------------------------------------


def _of_texts(part: KeyPart, equal: Mapping[str, Any], bounds: Sequence[Bound]) -> KeyRange:
    asked = _Asked(part, equal, bounds)
    own = asked.interval()
    if own.is_empty or asked.texts.is_empty or own.high == "":
        return _NOTHING
    name = part.attribute.name
    beginning = asked.head + asked.beginning
    if asked.is_prefix:
        condition: Condition | None = BeginsWith((name,), {"S": beginning}) if beginning else None
    else:
        condition = _ranged(name, "S", own.shifted(asked.head))
    if condition is None and asked.is_prefix:
        return EVERY_KEY
    return KeyRange(condition, lambda stored: asked.admits(stored["S"]))


class _Asked:
    """What is asked of a key that is a text.

    Attributes:
        beginning: what every key in question begins with.
        texts: which texts the bounded field may have.
        head: what a versioned class puts before its own sort key.
        is_prefix: nothing is asked but the beginning.
    """

    def __init__(self, part: KeyPart, equal: Mapping[str, Any], bounds: Sequence[Bound]) -> None:
        template = part.template
        self._version = part.version
        self.head = part.version.latest_head if part.version is not None else ""
        assert template is not None
        self._template: KeyTemplate = template
        self._prefix = template.prefix(equal)
        self._level = next(
            (level for level, piece in enumerate(template.pieces) if equal.get(piece.slot.field) is None),
            len(template.pieces),
        )
        self._piece = self._bounded(bounds)
        prefixes = [(bound.field, bound.values[0]) for bound in bounds if bound.operator == "begins_with"]
        self._beginnings = [self._prefix, *(template.prefix(equal, prefix) for prefix in prefixes)]
        self.beginning = max(self._beginnings, key=len)
        is_reversed = self._piece is not None and self._piece.slot.desc
        self._comparisons = [
            (sign, self._written(value)) for sign, value in _comparisons(bounds, is_reversed=is_reversed)
        ]
        self.texts = EVERYTHING
        for sign, text in self._comparisons:
            self.texts = self.texts.cut(sign, text)
        # Where the version stands at the end, its digits would be compared, too.
        self.is_prefix = not self._comparisons or (self._version is not None and bool(self._version.tail))

    def _bounded(self, bounds: Sequence[Bound]) -> Piece | None:
        if not bounds:
            return None
        pieces = self._template.pieces
        piece = pieces[self._level] if self._level < len(pieces) else None
        if piece is None or piece.slot.field != bounds[0].field:
            missing = piece.slot.field if piece is not None else "nothing"
            raise KeyValueError(
                bounds[0].field,
                bounds[0].values[0],
                f"comes after {missing} in {self._template.text!r}; give {missing} too",
            )
        return piece

    def _written(self, value: Any) -> str:
        assert self._piece is not None
        try:
            return self._piece.write(_spoken(self._piece, value))
        except ValueError as problem:
            raise KeyValueError(self._piece.slot.field, value, str(problem)) from problem

    @property
    def _after(self) -> str:
        """The literal after the bounded field."""
        pieces, following = self._template.pieces, self._level + 1
        return pieces[following].before if following < len(pieces) else self._template.after

    def interval(self) -> Interval:
        """Keys that may be what is asked, without the head: no fewer than are, and as few as can be said."""
        found = EVERYTHING
        if self._prefix:
            found = found.cut(">=", self._prefix)
        if end := successor(self._prefix):
            found = found.cut("<", end)
        for sign, text in self._comparisons:
            found = found.cut(*(self._from(sign, text) if sign in (">", ">=") else self._to(sign, text)))
        return found

    def _from(self, sign: str, text: str) -> tuple[str, str]:
        assert self._piece is not None
        low, slot = self._prefix + text, self._piece.slot
        if sign == ">" and not self._after:
            return ">", low
        if sign == ">" and not slot.open and not slot.grows:
            return ">=", low + successor(self._after)
        return ">=", low

    def _to(self, sign: str, text: str) -> tuple[str, str]:
        if not self._after:
            return sign, self._prefix + text
        # A text that is a beginning of this one comes before it, but its key goes on with the literal.
        shorter = [text[:length] for length in range(len(text) + (sign == "<="))]
        keys = [self._prefix + one + successor(self._after) for one in shorter]
        return "<", max([self._prefix + text, *keys])

    def admits(self, key: str) -> bool:
        """Whether a stored key is what is asked."""
        own = key if self._version is None else self._version.inside(key)
        if not isinstance(own, str) or not all(own.startswith(one) for one in self._beginnings):
            return False
        if not self._comparisons:
            return True
        if any(piece.slot.raw and piece.slot.open for piece in self._template.pieces[:-1]):
            return own in self.interval()
        found = self._template.pattern.fullmatch(own)
        return found is not None and found.group(self._level + 1) in self.texts
