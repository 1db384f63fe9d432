"""A cursor comes back from outside: it is the one that was given out, or it is refused."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm.entity.table import KeyAttribute
from dynaorm.errors import InvalidCursor
from dynaorm.query.cursor import Position, decode_cursor, encode_cursor, fingerprint_of

KEYS = (KeyAttribute("PK", "S"), KeyAttribute("at", "N"), KeyAttribute("blob", "B"))
OWN = fingerprint_of([{"TableName": "app", "v": {"B": b"\x00"}}], ["Ticket", None])

_key = st.fixed_dictionaries(
    {
        "PK": st.fixed_dictionaries({"S": st.text(min_size=1).filter(lambda text: text.isprintable())}),
        "at": st.fixed_dictionaries({"N": st.integers().map(str)}),
        "blob": st.fixed_dictionaries({"B": st.binary(min_size=1)}),
    }
)
_positions = st.builds(
    Position, st.lists(st.none() | st.just(True) | _key, max_size=4).map(tuple), st.integers(0, 10**9)
)


@given(position=_positions, secret=st.none() | st.binary(min_size=1))
def test_a_cursor_leads_back_to_its_position(position: Position, secret: bytes | None) -> None:
    text = encode_cursor(position, OWN, secret)
    assert set(text) <= set(string.ascii_letters + string.digits + "-_")
    assert decode_cursor(text, OWN, KEYS, secret) == position


@given(position=_positions, secret=st.none() | st.binary(min_size=1), other=st.binary(min_size=1))
def test_a_cursor_works_for_its_query_and_its_secret_alone(
    position: Position, secret: bytes | None, other: bytes
) -> None:
    text = encode_cursor(position, OWN, secret)
    with pytest.raises(InvalidCursor):
        decode_cursor(text, fingerprint_of([{"TableName": "other"}]), KEYS, secret)
    if other != secret:
        with pytest.raises(InvalidCursor):
            decode_cursor(text, OWN, KEYS, other)


@given(position=_positions, place=st.integers(0, 300), change=st.characters())
def test_a_signed_cursor_cannot_be_changed(position: Position, place: int, change: str) -> None:
    text = encode_cursor(position, OWN, b"secret")
    changed = text[: place % len(text)] + change + text[place % len(text) + 1 :]
    if changed != text:
        with pytest.raises(InvalidCursor):
            decode_cursor(changed, OWN, KEYS, b"secret")


@given(
    text=st.text() | st.binary().map(lambda content: content.hex()) | st.from_regex(r"[A-Za-z0-9_\-]{0,80}"),
    secret=st.none() | st.just(b"s"),
)
def test_anything_else_is_an_invalid_cursor_and_nothing_worse(text: str, secret: bytes | None) -> None:
    with pytest.raises(InvalidCursor):
        decode_cursor(text, OWN, KEYS, secret)


@pytest.mark.parametrize(
    "key",
    [
        {"PK": {"S": "a"}},
        {"PK": {"S": "a"}, "at": {"S": "1"}, "blob": {"B": b"x"}},
        {"PK": {"S": "a"}, "at": {"N": "one"}, "blob": {"B": b"x"}},
        {"PK": {"S": "a"}, "at": {"N": "NaN"}, "blob": {"B": b"x"}},
        {"PK": {"S": ""}, "at": {"N": "1"}, "blob": {"B": b"x"}},
        {"PK": {"S": "a"}, "at": {"N": "1"}, "blob": {"B": b"x"}, "more": {"S": "b"}},
    ],
)
def test_a_key_that_is_none_of_the_query_s_is_refused(key: dict[str, dict[str, object]]) -> None:
    text = encode_cursor(Position((key,)), OWN)
    with pytest.raises(InvalidCursor, match="damaged"):
        decode_cursor(text, OWN, KEYS)


def test_what_is_no_text_is_refused_by_name() -> None:
    with pytest.raises(InvalidCursor, match="int is none"):
        decode_cursor(5, OWN, KEYS)


def test_a_fingerprint_is_the_same_in_every_process() -> None:
    assert fingerprint_of([{"v": {"B": b"\x00"}, "TableName": "app"}], ["Ticket", None]) == OWN
    assert fingerprint_of([{"a": 1}]) == "SdWgi5vc4UK_N465HY_5Fx"
