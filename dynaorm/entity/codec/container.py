"""The codecs of lists, tuples, sets and dicts, built from the codecs of their elements.

Rule 1. In a changed list, an element that equals a loaded one is that element, wherever it is now. Any other element is
        the loaded one in the same place (the first, or the one after the same element), if that one is gone.
Rule 2. A dict of sets that cannot be None is stored, and loaded, without its empty sets and their keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from dynaorm.entity.codec.field import EMPTY, StoredField
from dynaorm.entity.codec.value import (
    TEXT,
    Codec,
    CodecError,
    Member,
    Merge,
    UnsupportedType,
    codec_of_parts,
    content,
    encode_text_map,
    encode_texts,
    inside,
    merge,
    mistyped,
)
from dynaorm.entity.text.scalar import STR
from dynaorm.failure import ValueErrorWithRemedy, counted, remedy_of, shown, without_remedy
from dynaorm.item.value import SET_TAGS, AttributeValue
from dynaorm.record import replace


def list_codec(kind: type[list[Any] | tuple[Any, ...]], element: Codec) -> Codec:
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

    return codec_of_parts(encode, decode, {"L"}, [element], element=element, merge_parts=merge_list(element))


def merge_list(element: Codec) -> Merge:
    """Merges lists, element by element (rule 1)."""

    def merged(stored: AttributeValue, loaded: AttributeValue, now: AttributeValue) -> AttributeValue:
        was = loaded["L"]
        origins = _origins(was, now["L"])
        return {
            "L": [
                one if origin is None else merge(element, stored["L"][origin], was[origin], one)
                for one, origin in zip(now["L"], origins, strict=True)
            ]
        }

    return merged


def _origins(loaded: Sequence[AttributeValue], now: Sequence[AttributeValue]) -> list[int | None]:
    """For each element, the index of the loaded element that it is or was; None for a new one."""
    equal = [index < len(loaded) and one == loaded[index] for index, one in enumerate(now)]
    origins: list[int | None] = [index if is_equal else None for index, is_equal in enumerate(equal)]
    rest = {index for index in range(len(loaded)) if index >= len(now) or not equal[index]}
    by_text: dict[str, list[int]] = {}
    for index in sorted(rest, reverse=True):
        by_text.setdefault(repr(loaded[index]), []).append(index)
    for place, one in enumerate(now):
        if origins[place] is None and (found := by_text.get(repr(one))):
            origins[place] = found.pop()
    rest -= {index for index in origins if index is not None}
    previous: int | None = -1
    for place in range(len(now)):
        if origins[place] is None and previous is not None and previous + 1 in rest:
            origins[place] = previous + 1
            rest.remove(previous + 1)
        previous = origins[place]
    return origins


def tuple_codec(parts: Sequence[Codec]) -> Codec:
    """``tuple[X, Y]``, as L."""
    element = parts[0] if parts and all(part is parts[0] for part in parts) else None

    def encode(value: Any) -> AttributeValue:
        if not isinstance(value, tuple):
            raise mistyped(value, "tuple")
        return {"L": list(_each([part.encode for part in parts], value))}

    def decode(stored: AttributeValue) -> Any:
        return tuple(_each([part.decode for part in parts], content(stored, "L")))

    return codec_of_parts(encode, decode, {"L"}, parts, element=element, merge_parts=_merge_tuple(parts))


def _merge_tuple(parts: Sequence[Codec]) -> Merge:
    """Merges tuples, whose elements keep their places. Members with a default may be missing at the end."""

    def merged(stored: AttributeValue, loaded: AttributeValue, now: AttributeValue) -> AttributeValue:
        sides = zip(parts, stored["L"], loaded["L"], now["L"], strict=False)
        found = [merge(part, one, was, new) for part, one, was, new in sides]
        missing = len(found)
        if loaded["L"][missing:] != now["L"][missing:]:
            found += now["L"][missing:]
        return {"L": found}

    return merged


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

    members = {name: Member(name, index, part) for index, (name, part) in enumerate(parts.items())}
    merged = _merge_tuple(list(parts.values()))
    return codec_of_parts(encode, decode, {"L"}, parts.values(), members=members, merge_parts=merged)


def set_codec(kind: type[set[Any] | frozenset[Any]], element: Codec) -> Codec:
    """``set[X]`` and ``frozenset[X]`` of strings, numbers or bytes, as SS, NS or BS, sorted by their texts."""
    tag = _only_tag(element)
    if tag is None:
        raise UnsupportedType(
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
            raise CodecError("contains values with the same text, which would be stored as one")
        return {set_tag: sorted(texts)}

    def decode(stored: AttributeValue) -> Any:
        if stored == EMPTY:
            return kind()
        return kind([decode_one({tag: text}) for text in content(stored, set_tag)])

    return codec_of_parts(encode, decode, {set_tag, "L"}, [element], deeper=0, is_set=True, element=element)


def dict_codec(key: Codec, element: Codec, key_name: str) -> Codec:
    """``dict[K, X]``, as M. The keys must have one text."""
    tag = _only_tag(key)
    if tag is None or tag == "B":
        raise UnsupportedType(
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
            raise CodecError("has keys with the same text, which would be stored as one")
        return {"M": found}

    def decode(stored: AttributeValue) -> Any:
        found = content(stored, "M")
        try:
            return {from_name(name): decode_one(held) for name, held in found.items()}
        except ValueError:
            raise _misfit_in_dict(found, from_name, decode_one) from None

    name_of = None if key is TEXT else partial(_name_of, to_name, from_name)
    codec = codec_of_parts(
        encode, decode, {"M"}, [key, element], element=element, key=name_of, merge_parts=merge_map(element)
    )
    return _without_empty_sets(codec, element) if StoredField("", "", element).empty_is_absent else codec


def _without_empty_sets(codec: Codec, element: Codec) -> Codec:
    """The codec of a dict of sets (rule 2). The empty ones that older versions stored stay."""
    encode, decode, merge_members = codec.encode, codec.decode, merge_map(element)

    def filled(stored: AttributeValue) -> AttributeValue:
        return {"M": {name: one for name, one in content(stored, "M").items() if one != EMPTY}}

    def merged(stored: AttributeValue, loaded: AttributeValue, now: AttributeValue) -> AttributeValue:
        empty = {name: one for name, one in stored["M"].items() if one == EMPTY}
        return {"M": empty | merge_members(stored, loaded, now)["M"]}

    return replace(
        codec,
        encode=lambda value: filled(encode(value)),
        decode=lambda stored: decode(filled(stored)),
        merge_parts=merged,
        exact=False,
    )


def merge_map(element: Codec) -> Merge:
    """Merges maps whose members are all known."""

    def merged(stored: AttributeValue, loaded: AttributeValue, now: AttributeValue) -> AttributeValue:
        held, was = stored["M"], loaded["M"]
        return {
            "M": {
                name: merge(element, held[name], was[name], one) if name in held and name in was else one
                for name, one in now["M"].items()
            }
        }

    return merged


def _each_member(
    to_name: Callable[[Any], str], encode_one: Callable[[Any], AttributeValue]
) -> Callable[[Mapping[Any, Any]], dict[str, AttributeValue]]:
    return lambda values: {to_name(name): encode_one(held) for name, held in values.items()}


def _names(key: Codec, tag: str) -> tuple[Callable[[Any], str], Callable[[str], Any]]:
    """Functions from a dict's key to the name in the map, and back."""
    if key is TEXT:
        return STR.to_text, STR.from_text

    def to_name(value: Any) -> str:
        return str(key.encode(value)[tag])

    def from_name(name: str) -> Any:
        value = key.decode({tag: name})
        if to_name(value) != name:
            raise ValueErrorWithRemedy(
                f"is stored as {shown(name)}, another spelling than dynaorm writes", "rename it"
            )
        return value

    return to_name, from_name


def _name_of(to_name: Callable[[Any], str], from_name: Callable[[str], Any], key: Any) -> str:
    """The name of a member that is named by its key, or by the text of that."""
    try:
        return to_name(key)
    except ValueError:
        if not isinstance(key, str):
            raise
        from_name(key)
        return key


def _misfit_in_dict(
    values: Mapping[Any, Any], convert_key: Callable[[Any], Any], convert: Callable[[Any], Any]
) -> CodecError:
    for name in values:
        try:
            convert_key(name)
        except ValueError as problem:
            return CodecError(f"has a key that {without_remedy(problem)}", remedy=remedy_of(problem))
    return _first_misfit(convert, ((str(name), held) for name, held in values.items()))


def _only_tag(codec: Codec) -> str | None:
    return next(iter(codec.tags)) if len(codec.tags) == 1 and codec.tags <= SET_TAGS.keys() else None


def _each(convert: Sequence[Callable[[Any], Any]], values: Sequence[Any]) -> Iterator[Any]:
    if len(values) != len(convert):
        raise CodecError(f"has {counted(len(values), 'member')}, not {len(convert)}")
    for index, (one, value) in enumerate(zip(convert, values, strict=True)):
        try:
            yield one(value)
        except ValueError as problem:
            raise inside(index, problem) from None


def _first_misfit(
    convert: Callable[[Any], Any], values: Iterable[tuple[int, Any] | tuple[str, Any]]
) -> CodecError:
    """The problem with the place where it is. Converts the values again, so that the usual path need not keep track."""
    for step, value in values:
        try:
            convert(value)
        except ValueError as problem:
            return inside(step, problem)
    return CodecError(
        "contains a value that was refused only the first time",
        remedy="make encode= and decode= pure functions",
    )
