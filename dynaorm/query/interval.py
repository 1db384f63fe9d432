"""Intervals of keys, in the order of their texts, bytes or numbers, and the conditions that DynamoDB has for them."""

from collections.abc import Callable
from decimal import Context, Decimal
from typing import Any, Final, NamedTuple

from dynaorm.entity.table_index import KeyAttribute, KeyKind
from dynaorm.entity.template.key_part import SORT_KEY_LIMIT
from dynaorm.item.condition import Attr, BeginsWith, Between, Compare, Condition
from dynaorm.item.value import AttributeValue, number_text

BYTEWISE: Final = "latin-1"  # one character for each byte, in the same order
_LAST: Final = 0x10FFFF
_SURROGATES: Final = range(0xD800, 0xE000)
_FILL: Final = ("", "\x7f", "\u07ff", "\uffff")
"""The last texts of 0, 1, 2 and 3 bytes."""
# Amazon DynamoDB Developer Guide, "Supported data types": 38 digits, 1E-130 to 9.99E+125 and their negatives.
_NUMBERS: Final = Context(prec=38, Emin=-130, Emax=125)
_TINY: Final = Decimal("1E-130")
_LAST_BYTES: Final = "\xff" * SORT_KEY_LIMIT


def successor(text: str) -> str:
    """The first text after all texts that begin with this one; the empty text if there is none.

    DynamoDB sorts texts by their UTF-8 bytes, which is the order of code points.
    """
    text = text.rstrip(chr(_LAST))
    if not text:
        return ""
    following = ord(text[-1]) + 1
    return text[:-1] + chr(_SURROGATES.stop if following in _SURROGATES else following)


def key_after(key: Any, kind: KeyKind) -> Any:
    """The first sort key after one, of those that DynamoDB can hold; None if there is none."""
    if kind == "N":
        return _possible(_NUMBERS.next_plus(key), _TINY if key == 0 else Decimal(0))
    if len(key.encode(BYTEWISE if kind == "B" else "utf-8")) < SORT_KEY_LIMIT:
        return key + "\0"
    if kind == "B":
        head = key.rstrip("\xff")
        return head[:-1] + chr(ord(head[-1]) + 1) if head else None
    while len((found := successor(key)).encode()) > SORT_KEY_LIMIT:
        key = key[:-1]
    return found or None


def key_before(key: Any, kind: KeyKind) -> Any:
    """The last sort key before one, of those that DynamoDB can hold; None if there is none."""
    if kind == "N":
        return _possible(_NUMBERS.next_minus(key), -_TINY if key == 0 else Decimal(0))
    head, last = key[:-1], ord(key[-1])
    if not last:
        return head or None
    if kind == "B":
        return (head + chr(last - 1)).ljust(SORT_KEY_LIMIT, "\xff")
    head += chr(_SURROGATES.start - 1 if last == _SURROGATES.stop else last - 1)
    characters, rest = divmod(SORT_KEY_LIMIT - len(head.encode()), 4)
    return head + chr(_LAST) * characters + _FILL[rest]


def _possible(found: Decimal, beside_zero: Decimal) -> Decimal | None:
    """A number that DynamoDB can hold; ``beside_zero`` where the next one is too small."""
    if not found.is_finite():
        return None
    return found if found.copy_abs() >= _TINY else beside_zero


class Interval(NamedTuple):
    """All keys from one to another.

    Attributes:
        low: the lower bound; None for none.
        high: the upper bound; None for none.
        has_low: the lower bound is included.
        has_high: the upper bound is included.
    """

    low: Any = None
    high: Any = None
    has_low: bool = True
    has_high: bool = True

    def cut(self, sign: str, bound: Any) -> "Interval":
        """The part that is ``<``, ``<=``, ``>`` or ``>=`` a bound."""
        if sign in (">", ">="):
            has_low = sign == ">="
            if self.low is None or bound > self.low or (bound == self.low and not has_low):
                return Interval(bound, self.high, has_low, self.has_high)
            return self
        has_high = sign == "<="
        if self.high is None or bound < self.high or (bound == self.high and not has_high):
            return Interval(self.low, bound, self.has_low, has_high)
        return self

    @property
    def is_empty(self) -> bool:
        """Whether it contains no key."""
        if self.low is None or self.high is None:
            return False
        return bool(self.low > self.high) or (self.low == self.high and not (self.has_low and self.has_high))

    def __contains__(self, key: Any) -> bool:
        if self.low is not None and not (key > self.low or (self.has_low and key == self.low)):
            return False
        return self.high is None or bool(key < self.high) or (self.has_high and key == self.high)

    def test(self) -> Callable[[Any], bool]:
        """Whether it contains a key: a function that is faster than ``in``."""
        low, high = self.low, self.high
        if high is None and low is not None:
            found: Callable[[Any], bool] = low.__le__ if self.has_low else low.__lt__
            return found
        if low is None or high is None or not self.has_low:
            return self.__contains__
        if self.has_high:
            return high.__eq__ if low == high else lambda key: bool(low <= key <= high)
        return lambda key: bool(low <= key < high)

    @property
    def is_point(self) -> bool:
        """Whether it contains exactly one key."""
        return self.low is not None and bool(self.low == self.high) and self.has_low and self.has_high

    @property
    def comparison(self) -> tuple[str, tuple[Any, ...]]:
        """DynamoDB's operator for its keys, and what it takes; an empty text for all keys."""
        low, high = self.low, self.high
        if low is None:
            return ("", ()) if high is None else ("<=" if self.has_high else "<", (high,))
        if high is None:
            return ">=" if self.has_low else ">", (low,)
        if low == high:
            return "=", (low,)
        if self.has_low and not self.has_high and type(low) is str and successor(low) == high:
            return "begins_with", (low,)
        return "between", (low, high)

    @property
    def is_read_with_end(self) -> bool:
        """Whether its condition matches its upper end, too, which is excluded: BETWEEN includes both."""
        return not self.has_high and self.comparison[0] == "between"

    def closed(self, kind: KeyKind) -> "Interval":
        """The same keys between ends as BETWEEN has them, which includes both.

        The last text before another one has 1,024 bytes. Such an end stays excluded, and is dropped after reading.
        """
        if kind == "B" and self.high is not None and self.high > _LAST_BYTES:
            return Interval(self.low, None, self.has_low, False)
        if self.low is None or self.high is None or (self.has_low and self.has_high):
            return self
        low, high, has_high = self.low, self.high, self.has_high
        if not self.has_low:
            low = key_after(low, kind)
        if not has_high and kind == "N":
            high, has_high = key_before(high, kind), True
        return Interval(low, high, True, has_high) if low is not None and high is not None else NOTHING

    def hull(self, other: "Interval") -> "Interval":
        """The smallest interval that contains both."""
        lows, highs = (self.low, other.low), (self.high, other.high)
        low = None if None in lows else min(lows)
        high = None if None in highs else max(highs)
        has_low = any(one.has_low for one in (self, other) if one.low == low)
        has_high = any(one.has_high for one in (self, other) if one.high == high)
        return Interval(low, high, has_low, has_high)

    def meets(self, other: "Interval") -> bool:
        """Whether a key is in both."""
        found = self
        if other.low is not None:
            found = found.cut(">=" if other.has_low else ">", other.low)
        if other.high is not None:
            found = found.cut("<=" if other.has_high else "<", other.high)
        return not found.is_empty

    def shifted(self, head: str) -> "Interval":
        """The interval with a text before every key."""
        if not head:
            return self
        low = head if self.low is None else head + self.low
        high = (successor(head) or None) if self.high is None else head + self.high
        return Interval(low, high, self.has_low, self.has_high and self.high is not None)


EVERYTHING: Final = Interval()
NOTHING: Final = Interval("b", "a")


# -- the conditions of intervals ---------------------------------------------------------------------------------------


def comparable(value: AttributeValue) -> Any:
    """The content of a key, in the order of keys: a str, one character for each byte of a binary, or a Decimal."""
    ((kind, content),) = value.items()
    return Decimal(content) if kind == "N" else content.decode(BYTEWISE) if kind == "B" else content


def key_in(kind: KeyKind, content: Any) -> AttributeValue:
    """The reverse of ``comparable``."""
    if kind == "N":
        return {"N": number_text(content)}
    return {"B": content.encode(BYTEWISE)} if kind == "B" else {"S": content}


def range_condition(attribute: KeyAttribute, interval: Interval) -> Condition | None:
    """The condition of a closed interval; None for all keys. BETWEEN matches an excluded upper end, too."""
    operator, contents = interval.comparison
    values = [key_in(attribute.kind, one) for one in contents]
    match operator:
        case "":
            return None
        case "begins_with":
            return BeginsWith((attribute.name,), values[0])
        case "between":
            return Between(Attr((attribute.name,)), *values)
        case _:
            return Compare(Attr((attribute.name,)), operator, values[0])
