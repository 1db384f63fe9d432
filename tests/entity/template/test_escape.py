"""What is escaped comes back, and holds none of the characters that were to be escaped."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm.entity.template.template import ALWAYS, escaped_pattern, escaper, unescape

TEXTS = st.text(st.characters(codec="utf-8") | st.sampled_from("%#-^]\\é2F"))
SPECIAL = st.frozensets(st.sampled_from("-^]\\é2F/ "), max_size=3).map(ALWAYS.union)


@given(SPECIAL, TEXTS)
def test_an_escaped_text_comes_back(special: frozenset[str], text: str) -> None:
    assert unescape(escaper(special)(text)) == text


@given(SPECIAL, TEXTS)
def test_outside_of_escapes_no_special_character_is_left(special: frozenset[str], text: str) -> None:
    escaped = escaper(special)(text)
    assert re.fullmatch(escaped_pattern(special), escaped)
    assert not special & set(re.sub("%[0-9A-F]{2}", "", escaped))


@pytest.mark.parametrize(
    ("text", "escaped"),
    [("a#b", "a%23b"), ("100%", "100%25"), ("%23", "%2523"), ("né", "n%C3%A9"), ("abc", "abc")],
)
def test_escapes_are_upper_case_bytes_of_utf8(text: str, escaped: str) -> None:
    assert escaper(ALWAYS | {"é"})(text) == escaped


@pytest.mark.parametrize("text", ["%FF", "a%C3", "%80%80"])
def test_bytes_that_are_no_text_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="utf-8"):
        unescape(text)
