"""Text in the cells of a terminal: its width, and how it is shortened to one."""

from typing import Final
from unicodedata import combining, east_asian_width

from dynaorm.item.printable import printable

ELLIPSIS: Final = "…"


def one_line(text: str) -> str:
    """The text as a terminal may show it: without control characters, line breaks and marks of direction."""
    return printable(text)


def width_of(text: str) -> int:
    """How many cells of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(_width(one) for one in text)


def _width(one: str) -> int:
    if combining(one):
        return 0
    return 2 if east_asian_width(one) in "WF" else 1


def beginning(text: str, width: int) -> str:
    """As much of a text as a width has room for."""
    if text.isascii():
        return text[:width]
    left = width
    for at, one in enumerate(text):
        left -= _width(one)
        if left < 0:
            return text[:at]
    return text


def shortened(text: str, width: int) -> str:
    """The text if it has the width, otherwise its beginning and an ellipsis."""
    if width_of(text) <= width:
        return text
    return f"{beginning(text, width - 1)}{ELLIPSIS}" if width > 0 else ""


def padded(text: str, width: int) -> str:
    """The text with spaces up to the width."""
    return text + " " * (width - width_of(text))
