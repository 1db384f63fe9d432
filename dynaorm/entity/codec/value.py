"""``Codec``, the codecs of other codecs, and those of DynamoDB's own types.

Rule 1. A value is stored as the text it has in keys. Fields also accept values that keys refuse: times with a time
        zone, and an int for a float or Decimal, because ``5 == 5.0``.
Rule 2. Messages continue the field's name: ``is an int, not a str``, ``at address.city: is an int, not a str``.
Rule 3. The value of an attribute is on level 1, and the parts of a list or map are one level below it. DynamoDB stores
        32 levels: a text inside of 31 lists, not inside of 32. Whether a type can have more levels is known when its
        class is declared. Only its values are checked.

Source: Amazon DynamoDB Developer Guide, "Constraints in DynamoDB": nested attributes up to 32 levels deep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from pydantic import SecretBytes

from dynaorm.entity.text.scalar import STR, Scalar, only_written
from dynaorm.failure import ValueErrorWithRemedy, remedy_of, shown, with_article, without_remedy
from dynaorm.item.value import AttributeValue, same
from dynaorm.record import record

NULL: Final[AttributeValue] = {"NULL": True}

LEVELS: Final = 32
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


class Codec:
    """Converts the values of one type to attribute values and back: by two functions, or as a class of its own does.

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
        parts: the codecs of what the values contain.
        deeper: how many levels the parts are below the value; 0 for those it stands for.
    """

    encode: Callable[[Any], AttributeValue]
    decode: Callable[[AttributeValue], Any]
    tags: frozenset[str] = frozenset()
    nullable: bool = False
    is_set: bool = False
    is_text: bool = False
    element: Codec | None = None
    key: Callable[[Any], str] | None = None
    members: Mapping[str, Member] | None = None
    from_text: Callable[[str], Any] | None = None
    bound: Callable[[Any], AttributeValue] | None = None
    form: str = ""
    opaque: bool = False
    parts: Sequence[Codec] = ()
    deeper: int = 1
    _keeps_unknown = False

    def __init__(
        self,
        encode: Callable[[Any], AttributeValue],
        decode: Callable[[AttributeValue], Any],
        tags: frozenset[str],
        **more: Any,
    ) -> None:
        vars(self).update(encode=encode, decode=decode, tags=tags, **more)

    def _nodes(self) -> Iterator[Codec]:
        """The codec, and those of all its parts, each once."""
        waiting, known = [self], {self}
        while waiting:
            yield (codec := waiting.pop())
            waiting += (new := {*codec.parts} - known)
            known |= new

    @cached_property
    def levels(self) -> int:
        """How deeply its values can be nested: 1 for a scalar, 2 for a list of scalars (rule 3)."""
        vars(self)["levels"] = ANY_DEPTH  # that of the same type inside of it
        return self.deeper + max([part.levels for part in self.parts], default=1 - self.deeper)

    @cached_property
    def exact(self) -> bool:
        """Whether decoding gives back the very value that was encoded.

        It does not if the value, or a part of it, is stored in another form, or by functions of the application.
        """
        return all(vars(one).get("exact", True) for one in self._nodes())

    @cached_property
    def is_open(self) -> bool:
        """Whether its values have maps that may hold members that no class knows, which ``merge`` preserves."""
        return any(one._keeps_unknown for one in self._nodes())

    @cached_property
    def has_spellings(self) -> bool:
        """Whether equal values may be stored differently, so that conditions are judged in Python."""
        return any(vars(one).get("has_spellings") for one in self._nodes())

    def merge(self, stored: AttributeValue, loaded: AttributeValue, now: AttributeValue) -> AttributeValue:
        """The value to store for a changed one, so that only what changed is different from the stored value.

        A part that did not change stays as it is stored: its spelling, its absence, and the members of maps that no
        class knows.

        Args:
            stored: the value as it is stored.
            loaded: what the codec encodes for the value that was loaded. It is ``stored`` itself if that is compared
                with what it loads as (see ``restore``); a part that both decode alike then stays as it is stored.
            now: what the codec encodes for the value now.
        """
        if same(loaded, now):
            return stored
        if not stored.keys() == loaded.keys() == now.keys():
            return now
        return self.combine(stored, loaded, now)

    def combine(self, stored: AttributeValue, loaded: AttributeValue, now: AttributeValue) -> AttributeValue:
        """``merge`` for a changed value of the same type of attribute value: part by part, if it has parts."""
        try:
            is_respelled = loaded is stored and bool(self.decode(stored) == self.decode(now))
        except ValueError:
            is_respelled = False
        return stored if is_respelled else now

    def restore(self, stored: AttributeValue, loads: AttributeValue) -> AttributeValue:
        """The value to store for one that validation changes whenever it is loaded, so that it loads as it is stored.

        It is the stored value itself if that is only spelled differently, or lacks members that have their default.
        ``loads`` is what the codec encodes for the value that was loaded.
        """
        found = self.merge(stored, stored, loads)
        return stored if same(found, stored) else found

    def decodes(self, stored: AttributeValue) -> bool:
        """Whether an attribute value is one of a value of the type."""
        try:
            self.decode(stored)
        except ValueError:
            return False
        return True


class WrapperCodec(Codec):
    """A codec that is as another one, except for what is given, and what its class does differently."""

    inner: Codec
    deeper = 0

    def __init__(self, inner: Codec, **changes: Any) -> None:
        vars(self).update(inner=inner, parts=(inner,), **changes)


class _FromInner:
    """An attribute of the inner codec, which need not be complete yet. An object's own one precedes it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, codec: WrapperCodec, kind: object = None) -> Any:
        found = getattr(codec.inner, self._name)
        if self._name in ("encode", "decode") and not isinstance(codec, Reference):
            vars(codec)[self._name] = found
        return found


for _name in (Codec.__annotations__.keys() | {"combine"}) - {"parts", "deeper"}:
    setattr(WrapperCodec, _name, _FromInner(_name))


class Reference(WrapperCodec):
    """The codec of a type inside of that type: it stands for the codec, once that is complete.

    Until then only its ``tags`` are known. Whoever asks for its functions before gets ones that wait for the codec.
    """

    def __init__(self, tags: frozenset[str]) -> None:
        def encode(value: Any) -> AttributeValue:
            return self.encode(value)

        def decode(stored: AttributeValue) -> Any:
            return self.decode(stored)

        super().__init__(Codec(encode, decode, tags))

    def complete(self, codec: Codec) -> None:
        """Let it stand for this codec."""
        self.inner, self.parts = codec, (codec,)


class _OptionalCodec(WrapperCodec):
    def encode(self, value: Any) -> AttributeValue:
        return NULL if value is None else self.inner.encode(value)

    def decode(self, stored: AttributeValue) -> Any:
        return None if "NULL" in stored else self.inner.decode(stored)


def optional(codec: Codec) -> Codec:
    """``X | None``."""
    if codec.nullable:
        return codec
    if "NULL" in codec.tags:
        raise UnsupportedType("two kinds of None would both be stored as NULL; drop one of them")
    return _OptionalCodec(codec, tags=codec.tags | {"NULL"}, nullable=True)


class StandInCodec(WrapperCodec):
    """A codec of values that stand for others. What those mean to a field does not hold for it."""

    def __init__(self, inner: Codec, **changes: Any) -> None:
        own = {"nullable": False, "is_set": False, "is_text": False, "opaque": False}
        super().__init__(inner, **own, form="", from_text=None, bound=None, **changes)


# -- the fields of a class, in an item or in the map of a nested value -------------------------------------------------
#
# Rule 4. None is absent where it is the default, or the field has no default. Otherwise it is NULL.
# Rule 5. The empty set is absent, unless absence means None. Then it is ``{"L": []}``.
# Rule 6. Items of older versions have NULL or ``{"L": []}`` in maps where these rules say absence. They stay until the
#         field changes.

EMPTY: Final[AttributeValue] = {"L": []}


@record
class StoredField(Member):
    """A field of a class.

    Attributes:
        attribute: its name in the item or map.
        default: the static default; None if there is none, or a factory.
        required: it has no default and no factory.
        defaults_to_none: its default is None.
        can_be_missing: it is a key of a TypedDict that may be missing, which no value stands for.
        default_depends: its default is a function of the fields before it.
    """

    attribute: str
    default: Any = None
    required: bool = True
    defaults_to_none: bool = False
    can_be_missing: bool = False
    default_depends: bool = False

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """The names that it has in items, the present one first."""
        return (self.attribute, *self.formerly)

    @cached_property
    def none_is_absent(self) -> bool:
        """None is stored as an absent attribute (rule 4)."""
        return self.defaults_to_none or (self.required and self.codec.nullable)

    @cached_property
    def empty_is_absent(self) -> bool:
        """What is empty is stored as an absent attribute: a set (rule 5)."""
        return self.codec.is_set and not (self.none_is_absent or self.can_be_missing)

    @property
    def can_be_absent(self) -> bool:
        """Whether some value is stored as an absent attribute."""
        return self.none_is_absent or self.empty_is_absent

    @property
    def empty(self) -> AttributeValue:
        """The attribute value of an empty set, or of a dict without members."""
        return {"M": {}} if self.codec.tags == {"M"} else EMPTY

    @property
    def is_always_stored(self) -> bool:
        """Whether every item that loads has the attribute."""
        return self.required and not self.can_be_absent

    @cached_property
    def absent_value(self) -> AttributeValue | None:
        """The attribute value that absence stands for, unless that is the default or no fixed value."""
        return self.empty if self.empty_is_absent else NULL if self.none_is_absent else None

    @cached_property
    def implied(self) -> AttributeValue | None:
        """The attribute value that is loaded where there is none; None if pydantic takes the default."""
        return None if self.defaults_to_none else self.absent_value

    def absent(self) -> AttributeValue | None:
        value = self.absent_value
        if value is not None or self.default is None:
            return value
        try:
            return self.codec.encode(self.default)
        except ValueError:
            return None

    def encode(self, value: Any) -> AttributeValue | None:
        """The attribute value; None for an absent one. Raises ValueError if the value is not of the field's type."""
        if value is None and self.none_is_absent:
            return None
        if self.empty_is_absent and value is not None and not value:
            # For its errors alone: the empty value may be of another type.
            self.codec.encode(value)
            return None
        return self.codec.encode(value)

    def is_absence(self, value: Any) -> bool:
        try:
            return self.can_be_absent and not value and self.encode(value) is None
        except ValueError:
            return False

    def stored_in(self, item: Mapping[str, AttributeValue]) -> AttributeValue | None:
        """The attribute value in an item or map, under its present name or a former one."""
        found = item.get(self.attribute)
        if found is None and self.formerly:
            return next((item[name] for name in self.formerly if name in item), None)
        return found

    def decode_into(self, values: dict[str, Any], stored: Mapping[str, AttributeValue]) -> None:
        """Add the value to those of a map; nothing if pydantic takes the default. Raises CodecError."""
        value = self.stored_in(stored) or self.implied
        if value is not None:
            try:
                values[self.name] = self.codec.decode(value)
            except ValueError as problem:
                raise inside(self.name, problem) from None

    def merge(
        self,
        stored: Mapping[str, AttributeValue],
        loaded: Mapping[str, AttributeValue],
        now: Mapping[str, AttributeValue],
    ) -> AttributeValue | None:
        """What becomes of it in a map as stored, as loaded and as it is now; None for absence."""
        one, before, value = self.stored_in(stored), self.stored_in(loaded), now.get(self.attribute)
        if value is None:
            is_spelling = before is None or (before is one and same(one, self.absent_value))
            return one if is_spelling else None
        if one is None and before is not None:
            return None if not self.default_depends and same(before, value) else value
        if one is None:
            absent = self.absent()
            # A default factory makes it each time it is loaded.
            is_made = absent is None and not self.can_be_missing
            return None if is_made or same(absent, value) else value
        return value if before is None else self.codec.merge(one, before, value)


# -- depth (rule 3) ----------------------------------------------------------------------------------------------------


def limited(codec: Codec) -> Codec:
    """The codec of an attribute: the same, but it refuses a value that DynamoDB does not store in an attribute."""
    if codec.levels <= LEVELS:
        return codec
    return WrapperCodec(codec, encode=lambda value: encode_at(codec, value, 1), levels=LEVELS)


def encode_at(codec: Codec, value: Any, level: int) -> AttributeValue:
    """The attribute value of a value on this level of an attribute. Raises ValueError."""
    if level + codec.levels - 1 <= LEVELS:
        return codec.encode(value)
    try:
        found = codec.encode(value)
    except RecursionError:
        raise _too_deep() from None
    row = [found]
    while row:
        if level > LEVELS:
            raise _too_deep()
        row = [part for one in row for part in (one["M"].values() if "M" in one else one.get("L", ()))]
        level += 1
    return found


def _too_deep() -> CodecError:
    return CodecError(
        f"is nested too deeply: DynamoDB has {LEVELS} levels, and the attribute itself is the first",
        remedy="nest it less deeply, or store it as text: Attribute(codec=PYNAMODB_JSON)",
    )


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


def text_codec(
    name: str, tag: str, to_text: Callable[[Any], str], from_text: Callable[[str], Any], /, **more: Any
) -> Codec:
    """The codec of a type whose values have one text. ``more``: other attributes of it."""

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

    return Codec(encode, decode, frozenset({tag}), **{"from_text": from_text, **more})


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
