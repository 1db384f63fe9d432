"""The codecs of lists, tuples, sets and dicts, built from those of their elements, and of values of any type.

Rule 1. In a changed list, an element that equals a loaded one is that element, wherever it is now. Any other element is
        the loaded one in the same place (the first, or the one after the same element), if that one is gone.
Rule 2. A dict of sets that cannot be None is stored, and loaded, without its empty sets and their keys.
Rule 3. Without a declared type, a stored number becomes an int if its text is a whole number, otherwise a float. A
        float whose text is that of another int (``1e23``) is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any, Final

from typing_extensions import TypeAliasType

from dynaorm.entity.codec.value import (
    ANY_DEPTH,
    EMPTY,
    NULL,
    TEXT,
    Codec,
    CodecError,
    Member,
    UnsupportedType,
    WrapperCodec,
    content,
    encode_text_map,
    encode_texts,
    inside,
    mistyped,
)
from dynaorm.entity.text.scalar import STR, whole
from dynaorm.failure import ValueErrorWithRemedy, counted, remedy_of, shown, without_remedy
from dynaorm.item.value import SET_TAGS, AttributeValue, number_text, set_of


class ListCodec(Codec):
    """``list[X]`` and ``tuple[X, ...]``, as L."""

    def __init__(self, kind: type[list[Any] | tuple[Any, ...]], element: Codec) -> None:
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

        super().__init__(encode, decode, frozenset({"L"}), element=element, parts=(element,))

    def combine(self, stored: AttributeValue, loaded: AttributeValue, now: AttributeValue) -> AttributeValue:
        """Element by element (rule 1)."""
        element, was = self.parts[0], loaded["L"]
        return {
            "L": [
                one if origin is None else element.merge(stored["L"][origin], was[origin], one)
                for one, origin in zip(now["L"], _origins(was, now["L"]), strict=True)
            ]
        }


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


class TupleCodec(Codec):
    """``tuple[X, Y]`` and a NamedTuple, as L. Members with a default may be missing at the end of stored lists."""

    tags = frozenset({"L"})

    def __init__(self, kind: type[tuple[Any, ...]], parts: Mapping[str, Codec] | Sequence[Codec]) -> None:
        self._kind = kind
        self._least = len(parts) - len(getattr(kind, "_field_defaults", ()))
        if isinstance(parts, Mapping):
            self.members = {
                name: Member(name, index, part) for index, (name, part) in enumerate(parts.items())
            }
            self.parts = [*parts.values()]
        else:
            self.parts = parts
            self.element = parts[0] if parts and all(part is parts[0] for part in parts) else None

    def encode(self, value: Any) -> AttributeValue:
        if not (isinstance(value, tuple) if self._kind is tuple else type(value) is self._kind):
            raise mistyped(value, self._kind.__name__)
        return {"L": list(_each([part.encode for part in self.parts], value))}

    def decode(self, stored: AttributeValue) -> Any:
        found, parts = content(stored, "L"), self.parts
        if self._least <= len(found) <= len(parts):
            parts = parts[: len(found)]
        decoded = _each([part.decode for part in parts], found)
        return tuple(decoded) if self._kind is tuple else self._kind(*decoded)

    def combine(self, stored: AttributeValue, loaded: AttributeValue, now: AttributeValue) -> AttributeValue:
        sides = zip(self.parts, stored["L"], loaded["L"], now["L"], strict=False)
        found = [part.merge(one, was, new) for part, one, was, new in sides]
        missing = len(found)
        return {"L": found + now["L"][missing:] if loaded["L"][missing:] != now["L"][missing:] else found}


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

    tags = frozenset({set_tag, "L"})
    return Codec(encode, decode, tags, is_set=True, element=element, parts=(element,), deeper=0)


class DictCodec(Codec):
    """``dict[K, X]``, as M. The keys must have one text."""

    def __init__(self, key: Codec, element: Codec, key_name: str) -> None:
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
        super().__init__(encode, decode, frozenset({"M"}), element=element, parts=(key, element), key=name_of)

    def combine(self, stored: AttributeValue, loaded: AttributeValue, now: AttributeValue) -> AttributeValue:
        """Member by member; all of them are known."""
        element, held, was = self.parts[1], stored["M"], loaded["M"]
        return {
            "M": {
                name: element.merge(held[name], was[name], one) if name in held and name in was else one
                for name, one in now["M"].items()
            }
        }


class FilledSetsCodec(WrapperCodec):
    """A dict of sets (rule 2). The empty ones that older versions stored stay."""

    def encode(self, value: Any) -> AttributeValue:
        return _filled(self.inner.encode(value))

    def decode(self, stored: AttributeValue) -> Any:
        return self.inner.decode(_filled(stored))

    def combine(self, stored: AttributeValue, loaded: AttributeValue, now: AttributeValue) -> AttributeValue:
        """The sets that are filled, beside the empty ones."""
        empty = {name: one for name, one in stored["M"].items() if one == EMPTY}
        return {"M": empty | self.inner.combine(stored, loaded, now)["M"]}


def _filled(stored: AttributeValue) -> AttributeValue:
    return {"M": {name: one for name, one in content(stored, "M").items() if one != EMPTY}}


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


# -- values without a declared type (rule 3) ---------------------------------------------------------------------------


def _number(value: Any) -> AttributeValue:
    text = number_text(value)
    if _from_number(text) != value:
        raise CodecError(
            f"is {shown(value)}, which would be loaded as {_from_number(text)!r}",
            remedy="declare a type for it, or store text",
        )
    return {"N": text}


def _from_number(text: str) -> int | float | Decimal:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        exact = Decimal(text)
    except InvalidOperation:
        exact = Decimal("NaN")
    if not exact.is_finite():
        raise CodecError(f"is stored as {shown(text)}, which is not a number")
    if exact == exact.to_integral_value():
        return whole(exact)
    near = float(text)
    return near if Decimal(repr(near)) == exact else exact


def _list(value: list[Any]) -> AttributeValue:
    return {"L": [_part(encode, index, one) for index, one in enumerate(value)]}


def _dict(value: dict[Any, Any]) -> AttributeValue:
    strange = next((name for name in value if not isinstance(name, str)), None)
    if strange is not None:
        raise CodecError(f"has the key {shown(strange)}, not a str")
    return {"M": {STR.to_text(name): _part(encode, name, one) for name, one in value.items()}}


def _set(value: set[Any]) -> AttributeValue:
    if not value:
        raise CodecError("is an empty set, which DynamoDB does not have", remedy="give None")
    return set_of(map(encode, value))


_ENCODE: Final[Mapping[type, Callable[[Any], AttributeValue]]] = {
    str: lambda value: {"S": STR.to_text(value)},
    bool: lambda value: {"BOOL": value},
    int: _number,
    float: _number,
    Decimal: _number,
    bytes: lambda value: {"B": value},
    list: _list,
    dict: _dict,
    set: _set,
    type(None): lambda _: NULL,
}


def encode(value: Any) -> AttributeValue:
    """The attribute value of None, a bool, number, str, bytes, list or set, or a dict with str keys.

    Raises:
        ValueError: the value is none of these, or a number that would be loaded as another number.
    """
    way = _ENCODE.get(type(value)) or next(
        (found for kind, found in _ENCODE.items() if isinstance(value, kind)), None
    )
    if way is None:
        raise CodecError(f"is {shown(value)}, which is not a value of JSON or DynamoDB")
    return way(value)


_JSON_TAGS: Final = frozenset({"NULL", "BOOL", "N", "S", "L", "M"})
_ALL_TAGS: Final = _JSON_TAGS | {"B", "SS", "NS", "BS"}
_DECODE: Final[Mapping[str, Callable[[Any, frozenset[str]], Any]]] = {
    "NULL": lambda _, __: None,
    "BOOL": lambda found, _: bool(found),
    "N": lambda found, _: _from_number(found),
    "S": lambda found, _: str(found),
    "B": lambda found, _: bytes(found),
    "L": lambda found, tags: [_part(decode, index, one, tags) for index, one in enumerate(found)],
    "M": lambda found, tags: {name: _part(decode, name, one, tags) for name, one in found.items()},
    "SS": lambda found, _: set(found),
    "NS": lambda found, _: set(map(_from_number, found)),
    "BS": lambda found, _: set(map(bytes, found)),
}


def decode(stored: AttributeValue, tags: frozenset[str] = _ALL_TAGS) -> Any:
    """The Python value of any attribute value. ``tags``: those that it may have. Raises CodecError for others."""
    for tag, found in stored.items():
        if tags is _JSON_TAGS and tag not in tags:
            raise CodecError(
                f"is stored as {tag}, which JsonValue cannot hold; use AnyValue, or declare its type"
            )
        if tag in _DECODE:
            return _DECODE[tag](found, tags)
    return content(stored, "one of DynamoDB's types")


def _part(convert: Callable[..., Any], step: str | int, *given: Any) -> Any:
    try:
        return convert(*given)
    except ValueError as problem:
        raise inside(step, problem) from None


def _combine(stored: AttributeValue, loaded: AttributeValue, now: AttributeValue) -> AttributeValue:
    codec = _LIST if "L" in stored else _MAP if "M" in stored else None
    return now if codec is None else codec.combine(stored, loaded, now)


def _of_any_type(tags: frozenset[str]) -> Codec:
    def decode_any(stored: AttributeValue) -> Any:
        try:
            return decode(stored, tags)
        except RecursionError:
            raise CodecError("is nested too deeply: DynamoDB has 32 levels") from None

    return Codec(encode, decode_any, tags, nullable=True, levels=ANY_DEPTH, combine=_combine)


JSON: Final = _of_any_type(_JSON_TAGS)
ANY: Final = _of_any_type(_ALL_TAGS)
PLAIN: Final = Codec(encode, decode, frozenset(), levels=ANY_DEPTH, combine=_combine)
"""The codec of a model's extra fields without a declared type."""
_LIST, _MAP = ListCodec(list, PLAIN), DictCodec(TEXT, PLAIN, "str")

AnyValue = TypeAliasType("AnyValue", Any)
"""The type of an attribute that may hold anything DynamoDB has.

A whole number is loaded as int, another number as float, or as Decimal if it has more digits than a float. A set is
loaded as set.
"""


def _checked_number(value: Any) -> AttributeValue:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise CodecError(f"is {shown(value)}, not a number")
    return _number(value)


NUMBER: Final = Codec(_checked_number, lambda stored: _from_number(content(stored, "N")), frozenset({"N"}))
"""The codec of ``int | float``."""
