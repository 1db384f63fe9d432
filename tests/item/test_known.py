"""An item of which only a part is known: whoever asks for more gets ``UnknownAttribute``."""

from collections.abc import Callable
from typing import Any

import pytest

from dynaorm.item.condition import PartialItem, UnknownAttribute, with_more

PART = PartialItem({"a": {"S": "x"}}, {"b"})


def test_what_is_known_is_answered() -> None:
    assert PART["a"] == PART.get("a") == {"S": "x"}
    assert "a" in PART
    assert "b" not in PART
    assert PART.get("b") is None
    with pytest.raises(KeyError):
        PART["b"]


ASKED: dict[str, Callable[[Any], object]] = {
    "an attribute": lambda item: item["c"],
    "get": lambda item: item.get("c"),
    "in": lambda item: "c" in item,
    "list": list,
    "unpacked": lambda item: {**item},
    "dict": dict,
    "len": len,
    "bool": bool,
    "equal": lambda item: item == {},
    "unequal": lambda item: item != {},
    "or": lambda item: item | {},
    "or into": lambda item: {} | item,
    "keys": lambda item: item.keys(),
    "values": lambda item: item.values(),
    "items": lambda item: item.items(),
    "copy": lambda item: item.copy(),
}


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_what_is_not_known_is_never_taken_for_absent(ask: Callable[[Any], object]) -> None:
    with pytest.raises(UnknownAttribute):
        ask(PART)


def test_more_attributes_leave_the_others_unknown() -> None:
    more = with_more(PART, {"a": {"S": "y"}, "d": {"S": "z"}})
    assert more["a"] == {"S": "y"}
    assert more["d"] == {"S": "z"}
    assert "b" not in more
    with pytest.raises(UnknownAttribute):
        more["c"]
    assert PART["a"] == {"S": "x"}
    assert with_more({"a": {"S": "x"}}, {"b": {"S": "y"}}) == {"a": {"S": "x"}, "b": {"S": "y"}}
