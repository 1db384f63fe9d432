"""``Codec``, and the codecs of single values: strings, numbers, times, bytes, secrets, addresses.

Rule 1. A value is stored as the text it has in keys. Fields also accept values that keys refuse: times with a time
        zone, and an int for a float or Decimal, because ``5 == 5.0``.
Rule 2. Messages continue the field's name: ``is an int, not a str``, ``at address.city: is an int, not a str``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Any, Final, TypeAlias

from pydantic import SecretBytes

from dynaorm.entity.text.scalar import STR, Scalar, only_written
from dynaorm.failure import ValueErrorWithRemedy, remedy_of, shown, with_article, without_remedy
from dynaorm.item.value import AttributeValue, same
from dynaorm.record import record, replace

NULL: Final[AttributeValue] = {"NULL": True}

ANY_DEPTH: Final = 1_000_000
"""The ``levels`` of a codec whose values can be nested as deeply as they like."""

_LARGEST_INT: Final = 10**38 - 1
_SMALLEST_INT: Final = -_LARGEST_INT


class UnsupportedType(ValueError):
    """A type has no codec. The message ends with the remedy."""


class CodecError(ValueErrorWithRemedy):
    """A value or attribute value does not fit its codec. ``path`` leads to the wrong part."""

    def __init__(self, problem: str, path: tuple[str | int, ...] = (), remedy: str = "") -> None:
        steps = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
        super().__init__(f"at {steps.removeprefix('.')}: {problem}" if path else problem, remedy)
        self.problem = problem
        self.path = path


def inside(step: str | int, problem: Exception) -> CodecError:
    """The same problem with a longer path, which begins at the container."""
    if isinstance(problem, CodecError):
        return CodecError(problem.problem, (step, *problem.path), problem.remedy)
    return CodecError(without_remedy(problem), (step,), remedy_of(problem))


@record
class Member:
    """A part of a value that has a name, such as a field of a nested model.

    Attributes:
        name: its name in the class.
        attribute: its name in the map, or its index in the list.
        codec: its type's codec.
        formerly: older names in the map, read if it has none under ``attribute``.
    """

    name: str
    attribute: str | int
    codec: Codec
    formerly: tuple[str, ...] = ()

    def absent(self) -> AttributeValue | None:
        """The value that its absence stands for; None where that is no fixed value."""
        return None

    def is_absence(self, value: Any) -> bool:  # noqa: ARG002  # a member of a named tuple is always stored
        """Whether a value is stored as absence."""
        return False


@record(eq=False)
class Codec:
    """Converts the values of one type to attribute values and back.

    Attributes:
        encode: value to attribute value; raises ValueError for a value of another type.
        decode: attribute value to value. Models and dataclasses are decoded to dicts of field names, which pydantic
            validates by name. Raises ValueError for an attribute value that encode never returns.
        tags: the types of attribute value that encode returns: ``{"S"}``. Empty for an application's own encode.
        nullable: None is one of the values.
        is_set: the values are sets. The empty set is encoded as ``{"L": []}``, because DynamoDB has no empty sets.
        is_text: every str is one of the values, and is stored unchanged.
        element: the codec of the elements of a list, tuple, set or dict; None if they have different codecs.
        key: converts the key of a dict, or its text, to the name of the member in the map; raises ValueError for what
            is neither. None if the keys are plain str.
        members: the fields of a model, dataclass, TypedDict or NamedTuple, by name.
        from_text: converts the text under the only tag to the value ``decode`` returns; None if decoding needs more.
        bound: encodes a value to compare with, if not every value is stored exactly; None for ``encode``.
        form: the form of another library that the value is stored in (``codecs.ISO_SECONDS``); empty for none.
        opaque: DynamoDB cannot compare or search what is stored, because other content may mean the same.
        exact: decoding gives back the very value that was encoded. False if the value, or a part of it, is stored in
            another form, or by functions of the application.
        levels: how deeply its values can be nested: 1 for a scalar, 2 for a list of scalars (see ``depth``).
        merge_parts: writes a changed value over the stored one, part by part (see ``merge``); None if the value has no
            parts that could be preserved.
        is_open: its values have maps that may hold members that no class knows, which ``merge_parts`` preserves.
        has_spellings: equal values may be stored differently, so conditions are judged in Python.
    """

    encode: Callable[[Any], AttributeValue] = field(repr=False)
    decode: Callable[[AttributeValue], Any] = field(repr=False)
    tags: frozenset[str]
    nullable: bool = False
    is_set: bool = False
    is_text: bool = False
    element: Codec | None = field(default=None, repr=False)
    key: Callable[[Any], str] | None = field(default=None, repr=False)
    members: Mapping[str, Member] | None = field(default=None, repr=False)
    from_text: Callable[[str], Any] | None = field(default=None, repr=False)
    bound: Callable[[Any], AttributeValue] | None = field(default=None, repr=False)
    form: str = ""
    opaque: bool = False
    exact: bool = True
    levels: int = 1
    merge_parts: Merge | None = field(default=None, repr=False)
    is_open: bool = False
    has_spellings: bool = False


def codec_of_parts(
    encode: Callable[[Any], AttributeValue],
    decode: Callable[[AttributeValue], Any],
    tags: Iterable[str],
    parts: Iterable[Codec],
    *,
    deeper: int = 1,
    is_open: bool = False,
    **more: Any,
) -> Codec:
    """The codec of values that contain others, which are ``deeper`` levels below them; 0 for those they stand for."""
    parts = [*parts]
    return Codec(
        encode,
        decode,
        frozenset(tags),
        levels=deeper + max((part.levels for part in parts), default=1 - deeper),
        exact=all(part.exact for part in parts),
        is_open=is_open or any(part.is_open for part in parts),
        has_spellings=any(part.has_spellings for part in parts),
        **more,
    )


class Reference(Codec):
    """The codec of a type inside of that type: it stands for the codec, once that is complete.

    Until then only its ``tags`` are known. Whoever asks for its functions before gets ones that wait for the codec.
    """

    __slots__ = ("_of",)

    def __init__(self, tags: frozenset[str]) -> None:
        def encode(value: Any) -> AttributeValue:
            return self.encode(value)

        def decode(stored: AttributeValue) -> Any:
            return self.decode(stored)

        def merged(stored: AttributeValue, loaded: AttributeValue, now: AttributeValue) -> AttributeValue:
            return merge(self, stored, loaded, now)

        self.complete(Codec(encode, decode, tags, levels=ANY_DEPTH, merge_parts=merged, is_open=True))

    def complete(self, codec: Codec) -> None:
        """Let it stand for this codec."""
        object.__setattr__(self, "_of", codec)

    def __getattr__(self, name: str) -> Any:
        # Python asks this for each field of a codec that is not set.
        return getattr(self._of, name)


def varied(codec: Codec, **changes: Any) -> Codec:
    """A codec with other values in some fields; of a reference, the rest is known once its codec is complete."""
    if not isinstance(codec, Reference):
        return replace(codec, **changes)
    found = Reference(frozenset())
    found.complete(codec)
    for name, value in changes.items():
        object.__setattr__(found, name, value)
    return found


Merge: TypeAlias = Callable[[AttributeValue, AttributeValue, AttributeValue], AttributeValue]
"""Takes a value as stored, as loaded (its value encoded again) and as it is now; returns the value to store."""


def merge(
    codec: Codec, stored: AttributeValue, loaded: AttributeValue, now: AttributeValue
) -> AttributeValue:
    """The value to store for a changed one, so that only what changed is different from the stored value.

    A part that did not change stays as it is stored: its spelling, its absence, and the members of maps that no class
    knows.

    Args:
        codec: the codec of the value.
        stored: the value as it is stored.
        loaded: what the codec encodes for the value that was loaded. It is ``stored`` itself if that is compared with
            what it loads as (see ``restore``); a part that both decode alike then stays as it is stored.
        now: what the codec encodes for the value now.
    """
    if same(loaded, now):
        return stored
    if not stored.keys() == loaded.keys() == now.keys():
        return now
    if codec.merge_parts is None:
        return stored if loaded is stored and _decode_alike(codec, stored, now) else now
    return codec.merge_parts(stored, loaded, now)


def restore(codec: Codec, stored: AttributeValue, loads: AttributeValue) -> AttributeValue:
    """The value to store for one that validation changes whenever it is loaded, so that it loads as it is stored.

    It is the stored value itself if that is only spelled differently, or lacks members that have their default.
    ``loads`` is what the codec encodes for the value that was loaded.
    """
    found = merge(codec, stored, stored, loads)
    return stored if same(found, stored) else found


def _decode_alike(codec: Codec, one: AttributeValue, other: AttributeValue) -> bool:
    try:
        return bool(codec.decode(one) == codec.decode(other))
    except ValueError:
        return False


def mistyped(value: object, wanted: str) -> CodecError:
    """The error for a value of another type."""
    found = "None" if value is None else with_article(type(value).__name__)
    return CodecError(f"is {found}, not {with_article(wanted)}")


def content(stored: AttributeValue, tag: str) -> Any:
    """The content of an attribute value of this type. Raises ValueError for another type."""
    try:
        return stored[tag]
    except KeyError:
        # The message does not show the content, which may be a secret.
        raise CodecError(f"is stored as {', '.join(stored)}, not as {tag}") from None


def optional(codec: Codec) -> Codec:
    """``X | None``."""
    if codec.nullable:
        return codec
    if "NULL" in codec.tags:
        raise UnsupportedType("two kinds of None would both be stored as NULL; drop one of them")
    encode, decode = codec.encode, codec.decode
    return varied(
        codec,
        encode=lambda value: NULL if value is None else encode(value),
        decode=lambda stored: None if "NULL" in stored else decode(stored),
        tags=codec.tags | {"NULL"},
        nullable=True,
    )


def text_codec(name: str, tag: str, to_text: Callable[[Any], str], from_text: Callable[[str], Any]) -> Codec:
    """The codec of a type whose values have one text."""

    def encode(value: Any) -> AttributeValue:
        return {tag: to_text(value)}

    def decode(stored: AttributeValue) -> Any:
        text = content(stored, tag)
        try:
            return from_text(text)
        except ValueErrorWithRemedy as problem:
            raise CodecError(
                f"is stored as {shown(text)}, {without_remedy(problem)}", remedy=problem.remedy
            ) from problem
        except (ValueError, ArithmeticError) as problem:
            raise CodecError(f"is stored as {shown(text)}, which is not {with_article(name)}") from problem

    return Codec(encode, decode, frozenset({tag}), from_text=from_text)


def printed_codec(name: str, kinds: tuple[type, ...], from_text: Callable[[str], Any]) -> Codec:
    """The codec of classes that ``str()`` converts without loss, such as URLs and network addresses."""

    def to_text(value: Any) -> str:
        if not isinstance(value, kinds):
            raise mistyped(value, name)
        return str(value)

    return text_codec(name, "S", to_text, only_written(name, to_text, from_text))


def scalar_codec(scalar: Scalar) -> Codec:
    """The codec of a type whose values can be keys."""
    own = _OWN.get(scalar.python)
    if own is not None:
        return own(scalar)
    to_text, from_text = scalar.in_attribute or (scalar.to_text, scalar.from_text)
    return text_codec(scalar.name, scalar.tag, to_text, from_text)


# -- DynamoDB's own types -------------------------------------------------------


def _encode_text(value: Any) -> AttributeValue:
    return {"S": value if type(value) is str and value.isascii() else STR.to_text(value)}


def encode_texts(values: Iterable[Any]) -> list[AttributeValue]:
    """``TEXT.encode`` for each value, without a call for each ASCII str."""
    return [{"S": one} if type(one) is str and one.isascii() else _encode_text(one) for one in values]


def encode_text_map(values: Mapping[Any, Any]) -> dict[str, AttributeValue]:
    """The content of a map from str to str, without a call for each ASCII str."""
    return {
        (name if type(name) is str and name.isascii() else STR.to_text(name)):
        ({"S": one} if type(one) is str and one.isascii() else _encode_text(one))
        for name, one in values.items()
    }  # fmt: skip


def _decode_text(stored: AttributeValue) -> Any:
    try:
        return stored["S"]
    except KeyError:
        return content(stored, "S")


TEXT: Final = Codec(_encode_text, _decode_text, frozenset({"S"}), is_text=True)
"""The codec of every plain str."""


def _int(scalar: Scalar) -> Codec:
    to_text, slow = scalar.to_text, text_codec("int", "N", scalar.to_text, scalar.from_text).decode

    def encode(value: Any) -> AttributeValue:
        if type(value) is int and _SMALLEST_INT <= value <= _LARGEST_INT:
            return {"N": f"{value}"}
        return {"N": to_text(value)}

    def decode(stored: AttributeValue) -> Any:
        try:
            return int(stored["N"])
        except (KeyError, ValueError):
            return slow(stored)

    return Codec(encode, decode, frozenset({"N"}))


def _bool(_: Scalar) -> Codec:
    def encode(value: Any) -> AttributeValue:
        if not isinstance(value, bool):
            raise mistyped(value, "bool")
        return {"BOOL": value}

    return Codec(encode, lambda stored: content(stored, "BOOL"), frozenset({"BOOL"}))


def binary_codec(to_bytes: Callable[[Any], bytes], from_bytes: Callable[[bytes], Any]) -> Codec:
    """The codec of a type that is stored as B."""

    def decode(stored: AttributeValue) -> Any:
        found = content(stored, "B")
        if not isinstance(found, bytes | bytearray | memoryview):
            raise CodecError(f"is stored as B with {with_article(type(found).__name__)}, not bytes")
        return from_bytes(bytes(found))

    return Codec(lambda value: {"B": to_bytes(value)}, decode, frozenset({"B"}))


def _bytes_of(value: Any) -> bytes:
    if not isinstance(value, bytes):
        raise mistyped(value, "bytes")
    return bytes(value)


def _secret_bytes(value: Any) -> bytes:
    if not isinstance(value, SecretBytes):
        raise mistyped(value, "SecretBytes")
    return value.get_secret_value()


_OWN: Final[Mapping[type, Callable[[Scalar], Codec]]] = {
    str: lambda _: TEXT,
    int: _int,
    bool: _bool,
    bytes: lambda _: binary_codec(_bytes_of, bytes),
}

SECRET_BYTES: Final = binary_codec(_secret_bytes, SecretBytes)


def _nothing(value: Any) -> AttributeValue:
    if value is not None:
        raise CodecError(f"is {shown(value)}, not None")
    return NULL


def _is_null(stored: AttributeValue) -> None:
    content(stored, "NULL")


NONE: Final = Codec(_nothing, _is_null, frozenset({"NULL"}), nullable=True)
