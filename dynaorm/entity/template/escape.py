"""Escaping in keys: a character of a value that the template's literals use is written as ``%XX``.

Every UTF-8 byte of the character becomes ``%`` and two upper-case hexadecimal digits. ``%`` itself is always escaped,
so unescaping is unambiguous.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from dynaorm.entity.text.shape import listed

ALWAYS: Final = frozenset("%#")

_ESCAPED: Final = re.compile("(?:%[0-9A-F]{2})+")


def finder(special: frozenset[str]) -> Callable[[str], object]:
    """A function that finds the first of these characters in a text; None for none."""
    return re.compile(f"[{listed(special)}]").search


def escaper(special: frozenset[str]) -> Callable[[str], str]:
    """A function that escapes these characters in a text."""
    find = finder(special)
    table = {ord(one): "".join(f"%{byte:02X}" for byte in one.encode()) for one in special}

    def escape(text: str) -> str:
        return text.translate(table) if find(text) else text

    return escape


def unescape(text: str) -> str:
    """The text before escaping, for any set of characters. Raises ValueError where the bytes are not UTF-8."""
    if "%" not in text:
        return text
    return _ESCAPED.sub(lambda run: bytes.fromhex(run[0].replace("%", "")).decode(), text)


def escaped_pattern(special: frozenset[str]) -> str:
    """A regular expression of escaped texts."""
    plain = f"[^{listed(special)}]*"
    return f"{plain}(?:%[0-9A-F]{{2}}{plain})*"
