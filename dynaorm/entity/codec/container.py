"""The codecs of lists, tuples, sets and dicts, built from the codecs of their elements."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from dynaorm.entity.codec.value import (
    TEXT,
    Codec,
    Misfit,
    Unstorable,
    content,
    encode_text_map,
    encode_texts,
    inside,
    mistyped,
)
from dynaorm.entity.text.scalar import STR
from dynaorm.item.value import SET_TAGS, AttributeValue

_EMPTY: Final[list[AttributeValue]] = []


def list_codec(kind: type[list[Any]] | type[tuple[Any, ...]], element: Codec) -> Codec:
    """``list[X]`` and ``tuple[X, ...]``, as L."""
    encode_one, decode_one = element.encode, element.decode
    # The fast path, because most lists contain text.
    encode_all = encode_texts if element is TEXT else lambda values: [encode_one(one) for one in values]

    def encode(value: Any) -> AttributeValue:
        if not isinstance(value, kind):
            raise mistyped(value, kind.__name__)
        try:
            return {"L": encode_all(value)}
        except ValueError:
            raise _first_misfit(encode_one, enumerate(value)) from None

    def decode(stored: AttributeValue) -> Any:
        found = content(stored, "L")
        try:
            decoded = [decode_one(one) for one in found]
        except ValueError:
            raise _first_misfit(decode_one, enumerate(found)) from None
        return decoded if kind is list else kind(decoded)

    return Codec(encode, decode, frozenset({"L"}), element=element)


def tuple_codec(parts: Sequence[Codec]) -> Codec:
    """``tuple[X, Y]``, as L."""
    element = parts[0] if parts and all(part is parts[0] for part in parts) else None

    def encode(value: Any) -> AttributeValue:
        if not isinstance(value, tuple):
            raise mistyped(value, "tuple")
        return {"L": list(_each([part.encode for part in parts], value))}

    def decode(stored: AttributeValue) -> Any:
        return tuple(_each([part.decode for part in parts], content(stored, "L")))

    return Codec(encode, decode, frozenset({"L"}), element=element)


def named_tuple_codec(kind: type[tuple[Any, ...]], parts: Mapping[str, Codec]) -> Codec:
    """A NamedTuple, as L. Members added at the end with a default may be missing from stored lists."""
    encoders = [part.encode for part in parts.values()]
    decoders = [part.decode for part in parts.values()]
    defaults: Mapping[str, Any] = getattr(kind, "_field_defaults", {})

    def encode(value: Any) -> AttributeValue:
        if type(value) is not kind:
            raise mistyped(value, kind.__name__)
        return {"L": list(_each(encoders, value))}

    def decode(stored: AttributeValue) -> Any:
        found = content(stored, "L")
        least = len(decoders) - len(defaults)
        used = decoders[: len(found)] if least <= len(found) <= len(decoders) else decoders
        return kind(*_each(used, found))

    members = {name: (index, part) for index, (name, part) in enumerate(parts.items())}
    return Codec(encode, decode, frozenset({"L"}), members=members)


def set_codec(kind: type[set[Any]] | type[frozenset[Any]], element: Codec) -> Codec:
    """``set[X]`` and ``frozenset[X]`` of strings, numbers or bytes, as SS, NS or BS, sorted by their texts."""
    tag = _only_tag(element)
    if tag is None:
        raise Unstorable(
            f"a DynamoDB set holds only strings, only numbers or only bytes, so {kind.__name__}[...] of anything else "
            f"cannot be stored; use list[...]"
        )
    encode_one, decode_one, set_tag = element.encode, element.decode, SET_TAGS[tag]

    def encode(value: Any) -> AttributeValue:
        if not isinstance(value, set | frozenset):
            raise mistyped(value, kind.__name__)
        if not value:
            return {"L": []}
        texts = {encode_one(one)[tag] for one in value}
        if len(texts) < len(value):
            raise Misfit("contains values with the same text, which would be stored as one")
        return {set_tag: sorted(texts)}

    def decode(stored: AttributeValue) -> Any:
        if stored.get("L") == _EMPTY:
            return kind()
        return kind([decode_one({tag: text}) for text in content(stored, set_tag)])

    return Codec(encode, decode, frozenset({set_tag, "L"}), is_set=True, element=element)


def dict_codec(key: Codec, element: Codec, key_name: str) -> Codec:
    """``dict[K, X]``, as M. The keys must have one text."""
    tag = _only_tag(key)
    if tag is None or tag == "B":
        raise Unstorable(
            f"the keys of a DynamoDB map are strings, and the values of {key_name} do not have one text each; "
            f"use dict[str, ...], or a list of pairs"
        )
    to_name, from_name = _names(key, tag)
    encode_one, decode_one = element.encode, element.decode
    encode_all = encode_text_map if key is TEXT and element is TEXT else _each_member(to_name, encode_one)

    def encode(value: Any) -> AttributeValue:
        if not isinstance(value, dict):
            raise mistyped(value, "dict")
        try:
            found = encode_all(value)
        except ValueError:
            raise _misfit_in_dict(value, to_name, encode_one) from None
        if len(found) < len(value):
            raise Misfit("has keys with the same text, which would be stored as one")
        return {"M": found}

    def decode(stored: AttributeValue) -> Any:
        found = content(stored, "M")
        try:
            return {from_name(name): decode_one(held) for name, held in found.items()}
        except ValueError:
            raise _misfit_in_dict(found, from_name, decode_one) from None

    return Codec(encode, decode, frozenset({"M"}), element=element)


def _each_member(
    to_name: Callable[[Any], str], encode_one: Callable[[Any], AttributeValue]
) -> Callable[[Mapping[Any, Any]], dict[str, AttributeValue]]:
    return lambda values: {to_name(name): encode_one(held) for name, held in values.items()}


def _names(key: Codec, tag: str) -> tuple[Callable[[Any], str], Callable[[str], Any]]:
    """Functions from a dict's key to the name in the map, and back."""
    if key is TEXT:
        return STR.to_text, STR.from_text
    return lambda value: str(key.encode(value)[tag]), lambda name: key.decode({tag: name})


def _misfit_in_dict(
    values: Mapping[Any, Any], convert_key: Callable[[Any], Any], convert: Callable[[Any], Any]
) -> Misfit:
    for name in values:
        try:
            convert_key(name)
        except ValueError as problem:
            return Misfit(f"has a key that {problem}")
    return _first_misfit(convert, ((str(name), held) for name, held in values.items()))


def _only_tag(codec: Codec) -> str | None:
    return next(iter(codec.tags)) if len(codec.tags) == 1 and codec.tags <= SET_TAGS.keys() else None


def _each(convert: Sequence[Callable[[Any], Any]], values: Sequence[Any]) -> Iterator[Any]:
    if len(values) != len(convert):
        raise Misfit(f"has {len(values)} members, not {len(convert)}")
    for index, (one, value) in enumerate(zip(convert, values, strict=True)):
        try:
            yield one(value)
        except ValueError as problem:
            raise inside(index, problem) from None


def _first_misfit(
    convert: Callable[[Any], Any], values: Iterable[tuple[int, Any] | tuple[str, Any]]
) -> Misfit:
    """The problem with the place where it is. Converts the values again, so that the usual path need not keep track."""
    for step, value in values:
        try:
            convert(value)
        except ValueError as problem:
            return inside(step, problem)
    return Misfit(
        "contains a value that was refused only the first time; make encode= and decode= pure functions"
    )
