"""Stored text that is printed cannot steer a terminal or begin a line of its own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm.item.text import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, é and 漢", "plain text, é and 漢"),
        ("a\nb\r\tc", "a\\nb\\r\\tc"),
        ("\x1b[2J\x9b", "\\x1b[2J\\x9b"),
        ("\u202eevil\u2028", "\\u202eevil\\u2028"),
        ("\ud800", "\\ud800"),
        ("", ""),
    ],
)
def test_characters_that_a_terminal_obeys_are_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text())
def test_what_is_shown_is_one_printable_line(text: str) -> None:
    shown = printable(text)
    assert shown.isprintable()
    assert shown.splitlines() == ([shown] if shown else [])
    shown.encode()
