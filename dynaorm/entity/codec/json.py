"""The codecs of values without a declared type: ``pydantic.JsonValue``, ``int | float``, and extra fields of a model.

A stored number becomes an int if its text is a whole number, otherwise a float. A float whose text is that of another
int (``1e23``) is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from typing_extensions import TypeAliasType

from dynaorm.entity.codec.container import merge_list, merge_map
from dynaorm.entity.codec.value import ANY_DEPTH, NULL, Codec, CodecError, content, inside
from dynaorm.entity.text.scalar import STR, whole
from dynaorm.failure import shown
from dynaorm.item.value import AttributeValue, number_text, set_of


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


_DECODE: Final[Mapping[str, Callable[[Any], Any]]] = {
    "NULL": lambda _: None,
    "BOOL": bool,
    "N": _from_number,
    "S": str,
    "B": bytes,
    "L": lambda found: [_part(decode, index, one) for index, one in enumerate(found)],
    "M": lambda found: {name: _part(decode, name, one) for name, one in found.items()},
    "SS": set,
    "NS": lambda found: set(map(_from_number, found)),
    "BS": lambda found: set(map(bytes, found)),
}


def decode(stored: AttributeValue) -> Any:
    """The Python value of any attribute value."""
    for tag, found in stored.items():
        if tag in _DECODE:
            return _DECODE[tag](found)
    return content(stored, "one of DynamoDB's types")


def _part(convert: Callable[[Any], Any], step: str | int, value: Any) -> Any:
    try:
        return convert(value)
    except ValueError as problem:
        raise inside(step, problem) from None


def _merge(stored: AttributeValue, loaded: AttributeValue, now: AttributeValue) -> AttributeValue:
    merged = {"L": merge_list(PLAIN), "M": merge_map(PLAIN)}.get(next(iter(stored)))
    return now if merged is None else merged(stored, loaded, now)


_TYPES: Final = frozenset({"NULL", "BOOL", "N", "S", "L", "M"})


def _decode_json(stored: AttributeValue) -> Any:
    """The JSON value of an attribute value. Raises CodecError for a part that JSON has not."""
    for tag, found in stored.items():
        if tag in ("L", "M"):
            if tag == "L":
                return [_part(_decode_json, index, one) for index, one in enumerate(found)]
            return {name: _part(_decode_json, name, one) for name, one in found.items()}
        if tag not in _TYPES:
            raise CodecError(f"is stored as {tag}, which JsonValue cannot hold; {_DECLARE}")
    return decode(stored)


_DECLARE: Final = "use AnyValue, or declare its type"


def _of_limited_depth(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The same, with a CodecError for a stored value that is nested too deeply for Python."""

    def converted(value: Any) -> Any:
        try:
            return convert(value)
        except RecursionError:
            raise CodecError("is nested too deeply: DynamoDB has 32 levels") from None

    return converted


JSON: Final = Codec(
    encode, _of_limited_depth(_decode_json), _TYPES, nullable=True, levels=ANY_DEPTH, merge_parts=_merge
)


def _checked_number(value: Any) -> AttributeValue:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise CodecError(f"is {shown(value)}, not a number")
    return _number(value)


PLAIN: Final = Codec(encode, decode, frozenset(), levels=ANY_DEPTH, merge_parts=_merge)
"""The codec of a model's extra fields without a declared type."""

AnyValue = TypeAliasType("AnyValue", Any)
"""The type of an attribute that may hold anything DynamoDB has.

A whole number is loaded as int, another number as float, or as Decimal if it has more digits than a float. A set is
loaded as set.
"""

ANY: Final = Codec(
    encode,
    _of_limited_depth(decode),
    _TYPES | {"B", "SS", "NS", "BS"},
    nullable=True,
    levels=ANY_DEPTH,
    merge_parts=_merge,
)

NUMBER: Final = Codec(_checked_number, lambda stored: _from_number(content(stored, "N")), frozenset({"N"}))
"""The codec of ``int | float``."""
