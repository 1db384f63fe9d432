"""Ranges of keys, in the order of their texts, bytes or numbers."""

from typing import Any, Final

from dynaorm.record import record, replace

_LAST: Final = 0x10FFFF
_SURROGATES: Final = range(0xD800, 0xE000)


def successor(text: str) -> str:
    """The first text after all that begin with this one; the empty text where there is none.

    DynamoDB sorts texts by their UTF-8 bytes, which is the order of code points.
    """
    text = text.rstrip(chr(_LAST))
    if not text:
        return ""
    following = ord(text[-1]) + 1
    return text[:-1] + chr(_SURROGATES.stop if following in _SURROGATES else following)


@record
class Interval:
    """Everything from one key to another.

    Attributes:
        low: where it begins; None for no beginning.
        high: where it ends; None for no end.
        has_low: it includes its beginning.
        has_high: it includes its end.
    """

    low: Any = None
    high: Any = None
    has_low: bool = True
    has_high: bool = True

    def cut(self, sign: str, bound: Any) -> "Interval":
        """What of it is ``<``, ``<=``, ``>`` or ``>=`` a bound."""
        if sign in (">", ">="):
            has_low = sign == ">="
            if self.low is None or bound > self.low or (bound == self.low and not has_low):
                return replace(self, low=bound, has_low=has_low)
            return self
        has_high = sign == "<="
        if self.high is None or bound < self.high or (bound == self.high and not has_high):
            return replace(self, high=bound, has_high=has_high)
        return self

    @property
    def is_empty(self) -> bool:
        """Whether nothing can be in it."""
        if self.low is None or self.high is None:
            return False
        return bool(self.low > self.high) or (self.low == self.high and not (self.has_low and self.has_high))

    def __contains__(self, key: Any) -> bool:
        if self.low is not None and not (key > self.low or (self.has_low and key == self.low)):
            return False
        return self.high is None or bool(key < self.high) or (self.has_high and key == self.high)

    def shifted(self, head: str) -> "Interval":
        """The same with a text before every key."""
        if not head:
            return self
        low = head if self.low is None else head + self.low
        high = (successor(head) or None) if self.high is None else head + self.high
        return replace(self, low=low, high=high, has_high=self.has_high and self.high is not None)


EVERYTHING: Final = Interval()
