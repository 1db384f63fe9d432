"""A cursor comes back from outside: it is the one that was given out, or it is refused."""

import json
import string
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm.entity.table import KeyAttribute
from dynaorm.errors import InvalidCursor
from dynaorm.query.cursor import Position, decode_cursor, encode_cursor, fingerprint_of

KEYS = (KeyAttribute("PK", "S"), KeyAttribute("at", "N"), KeyAttribute("blob", "B"))
OWN = fingerprint_of(["app", "Ticket", None])

_ALPHABET = string.ascii_uppercase + string.ascii_lowercase + string.digits + "-_"

_key = st.fixed_dictionaries(
    {
        "PK": st.fixed_dictionaries({"S": st.text(st.characters(codec="utf-8"), min_size=1)}),
        "at": st.fixed_dictionaries({"N": st.integers(-(10**37), 10**37).map(str)}),
        "blob": st.fixed_dictionaries({"B": st.binary(min_size=1)}),
    }
)
_positions = st.builds(Position, st.integers(0, 10**6), st.none() | _key, st.integers(0, 10**9))

_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from([OWN, "S", "N", "B", "1e400", "sNaN", "\ud800", "====", "PK"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.just("PK"), inner, max_size=3),
    max_leaves=6,
)


def cursor(content: object) -> str:
    """A cursor as somebody else would write it."""
    written = content if isinstance(content, bytes) else json.dumps(content, separators=(",", ":")).encode()
    return urlsafe_b64encode(written).decode().rstrip("=")


def check_refused_or_whole(text: str) -> None:
    """Whatever a text is, it is refused as a cursor, or it is the one of the position that it tells of."""
    try:
        position = decode_cursor(text, OWN, KEYS)
    except InvalidCursor:
        return
    assert encode_cursor(position, OWN) == text
    assert position.key is None or position.key.keys() == {key.name for key in KEYS}


@given(position=_positions, secret=st.none() | st.binary(min_size=1))
def test_a_cursor_leads_back_to_its_position(position: Position, secret: bytes | None) -> None:
    text = encode_cursor(position, OWN, secret)
    assert set(text) <= set(_ALPHABET)
    assert decode_cursor(text, OWN, KEYS, secret) == position


@given(position=_positions, secret=st.none() | st.binary(min_size=1), other=st.binary(min_size=1))
def test_a_cursor_works_for_its_query_and_its_secret_alone(
    position: Position, secret: bytes | None, other: bytes
) -> None:
    text = encode_cursor(position, OWN, secret)
    with pytest.raises(InvalidCursor):
        decode_cursor(text, fingerprint_of(["other"]), KEYS, secret)
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


@given(content=_json | st.lists(_json, min_size=4, max_size=4) | st.tuples(st.just(OWN), _json, _json, _json))
def test_anything_written_as_a_cursor_is_refused_or_whole(content: object) -> None:
    check_refused_or_whole(cursor(content))


@given(position=_positions, data=st.data())
def test_a_cursor_with_a_part_exchanged_is_refused_or_whole(position: Position, data: st.DataObject) -> None:
    text = encode_cursor(position, OWN)
    content = json.loads(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    node: Any = content
    while True:
        place = data.draw(st.sampled_from(sorted(node) if isinstance(node, dict) else range(len(node))))
        if not isinstance(node[place], list | dict) or not node[place] or data.draw(st.booleans()):
            break
        node = node[place]
    node[place] = data.draw(_json)
    check_refused_or_whole(cursor(content))


@pytest.mark.parametrize(("returned", "secret"), [(1, None), (10, b"s")])
def test_no_other_base64_of_a_cursor_passes(returned: int, secret: bytes | None) -> None:
    text = encode_cursor(Position(0, None, returned), OWN, secret)
    assert len(text) % 4, "its last character has bits to spare"
    assert decode_cursor(text, OWN, KEYS, secret) == Position(0, None, returned)
    last = _ALPHABET[_ALPHABET.index(text[-1]) + 1]
    for other in (
        text + "=",
        text + "\n",
        f"{text[:5]} {text[5:]}",
        f"{text[:5]}+{text[5:]}",
        text[:-1] + last,
    ):
        with pytest.raises(InvalidCursor, match="damaged"):
            decode_cursor(other, OWN, KEYS, secret)


@pytest.mark.parametrize(
    "content",
    [
        [OWN, 0, None],
        [OWN, -1, None, 0],
        [OWN, 0, None, -1],
        [OWN, 0.0, None, 0],
        [OWN, "0", None, 0],
        [OWN, 0, None, 0, 0],
        b"",
        b"[" * 100_000,
        json.dumps([OWN, 0, None, 0], separators=(",", ":")).encode("utf-16"),
        json.dumps([OWN, 0, None, 0]).encode(),
        b'["%s",%s,null,0]' % (OWN.encode(), b"9" * 5000),
    ],
)
def test_each_position_has_one_text_and_every_other_is_damaged(content: object) -> None:
    with pytest.raises(InvalidCursor, match="damaged"):
        decode_cursor(cursor(content), OWN, KEYS)


@pytest.mark.parametrize("other", ["", "é", "\ud800", 5, None, [OWN]])
def test_another_query_is_told_before_its_keys_are_looked_at(other: object) -> None:
    with pytest.raises(InvalidCursor, match="another query"):
        decode_cursor(cursor([other, 0, ["a"], 0]), OWN, KEYS)


def test_a_number_in_a_key_is_written_canonically() -> None:
    spelled = Position(0, {"PK": {"S": "a"}, "at": {"N": "1.50"}, "blob": {"B": b"x"}})
    canonical = Position(0, {"PK": {"S": "a"}, "at": {"N": "1.5"}, "blob": {"B": b"x"}})
    assert encode_cursor(spelled, OWN) == encode_cursor(canonical, OWN)
    assert decode_cursor(encode_cursor(spelled, OWN), OWN, KEYS) == canonical


def test_what_is_no_text_is_refused_by_name() -> None:
    with pytest.raises(InvalidCursor, match="and got int"):
        decode_cursor(5, OWN, KEYS)


def test_a_fingerprint_is_the_same_in_every_process() -> None:
    assert fingerprint_of(["app", "Ticket", None]) == "3-6zdTxKjL1Gj_IDp5TUtN"
    assert fingerprint_of(["app", 1, True, None, "1"]) != fingerprint_of(["app", "1", True, None, 1])
