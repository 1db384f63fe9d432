"""Intervals of keys, in the order of their texts, bytes or numbers."""

from typing import Any, Final

from dynaorm.record import record

_LAST: Final = 0x10FFFF
_SURROGATES: Final = range(0xD800, 0xE000)


def successor(text: str) -> str:
    """The first text after all texts that begin with this one; the empty text if there is none.

    DynamoDB sorts texts by their UTF-8 bytes, which is the order of code points.
    """
    text = text.rstrip(chr(_LAST))
    if not text:
        return ""
    following = ord(text[-1]) + 1
    return text[:-1] + chr(_SURROGATES.stop if following in _SURROGATES else following)


@record
class Interval:
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

    @property
    def is_point(self) -> bool:
        """Whether it contains exactly one key."""
        return self.low is not None and bool(self.low == self.high) and self.has_low and self.has_high

    @property
    def excluded(self) -> frozenset[Any]:
        """The bounds that it does not contain."""
        ends = ((self.low, self.has_low), (self.high, self.has_high))
        return frozenset(bound for bound, is_in in ends if bound is not None and not is_in)

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
