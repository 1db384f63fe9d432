"""The codecs of containers, from those of what they hold."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from dynaorm.entity.codec_value import Codec, Unstorable, content
from dynaorm.entity.scalar import Scalar
from dynaorm.item.value import AttributeValue

# An empty set, which DynamoDB has not: a list without members.
_EMPTY: Final[AttributeValue] = {"L": []}
_SETS: Final = {"S": "SS", "N": "NS", "B": "BS"}


def list_codec(kind: type, element: Codec) -> Codec:
    """``list[X]`` and ``tuple[X, ...]``, as L."""
    encode_one, decode_one = element.encode, element.decode

    def encode(value: Any) -> AttributeValue:
        _check(value, kind)
        return {"L": [encode_one(one) for one in value]}

    def decode(stored: AttributeValue) -> Any:
        return kind([decode_one(one) for one in content(stored, "L")])

    return Codec(encode, decode, frozenset({"L"}), element=element)


def tuple_codec(
    elements: Sequence[Codec], make: Callable[[Iterable[Any]], Any] = tuple, kind: type = tuple
) -> Codec:
    """``tuple[X, Y]`` and named tuples, as L."""

    def encode(value: Any) -> AttributeValue:
        _check(value, kind)
        if len(value) != len(elements):
            raise ValueError(f"has {len(value)} members, not {len(elements)}")
        return {"L": [codec.encode(one) for codec, one in zip(elements, value, strict=True)]}

    def decode(stored: AttributeValue) -> Any:
        members = content(stored, "L")
        if len(members) != len(elements):
            raise ValueError(f"is stored with {len(members)} members, not {len(elements)}")
        return make(codec.decode(one) for codec, one in zip(elements, members, strict=True))

    return Codec(encode, decode, frozenset({"L"}))


def set_codec(kind: type, element: Codec) -> Codec:
    """``set[X]`` and ``frozenset[X]`` of strings, numbers or bytes, as SS, NS or BS, members sorted."""
    tags = element.tags & _SETS.keys()
    if element.tags != tags or len(tags) != 1:
        raise Unstorable(
            f"a {kind.__name__} holds only strings, numbers or bytes in DynamoDB; use a list instead"
        )
    (tag,) = tags
    tag_of_set = _SETS[tag]
    encode_one, decode_one = element.encode, element.decode

    def encode(value: Any) -> AttributeValue:
        _check(value, kind)
        if not value:
            return _EMPTY
        members = {encode_one(one)[tag] for one in value}
        if len(members) != len(value):
            raise ValueError("holds different members that DynamoDB takes for one")
        return {tag_of_set: sorted(members)}

    def decode(stored: AttributeValue) -> Any:
        if stored == _EMPTY:
            return kind()
        return kind(decode_one({tag: one}) for one in content(stored, tag_of_set))

    return Codec(encode, decode, frozenset({tag_of_set}), is_set=True, element=element)


def dict_codec(key: Scalar, element: Codec) -> Codec:
    """``dict[K, V]`` with keys that have one text, as M."""
    encode_one, decode_one = element.encode, element.decode

    def encode(value: Any) -> AttributeValue:
        _check(value, dict)
        found = {key.to_text(name): encode_one(one) for name, one in value.items()}
        if len(found) != len(value):
            raise ValueError("has different keys with one text")
        return {"M": found}

    def decode(stored: AttributeValue) -> Any:
        return {key.from_text(name): decode_one(one) for name, one in content(stored, "M").items()}

    return Codec(encode, decode, frozenset({"M"}), element=element)


def union_codec(codecs: Sequence[Codec]) -> Codec:
    """``X | Y`` of types with different attribute value types: the stored one tells which."""
    by_tag: dict[str, Codec] = {}
    for codec in codecs:
        tags = codec.tags | ({"L"} if codec.is_set else set())
        for tag in tags:
            if tag in by_tag:
                raise Unstorable(
                    f"two members of the union are both stored as {tag} and could not be told apart; "
                    f"use one of them, or a discriminated union of models"
                )
            by_tag[tag] = codec

    def encode(value: Any) -> AttributeValue:
        problems = []
        for codec in codecs:
            try:
                return codec.encode(value)
            except ValueError as problem:
                problems.append(str(problem))
        raise ValueError(" and ".join(problems))

    def decode(stored: AttributeValue) -> Any:
        for tag in stored:
            if tag in by_tag:
                return by_tag[tag].decode(stored)
        raise ValueError(f"is stored as {', '.join(stored)}, not as one of {', '.join(sorted(by_tag))}")

    return Codec(encode, decode, frozenset(by_tag))


def _check(value: Any, kind: type) -> None:
    if not isinstance(value, kind):
        raise ValueError(f"is a {type(value).__name__}, not a {kind.__name__}")
