"""The codecs of types that contain no others, and of fields with an ``Attribute`` that says how they are stored.

Scalars, secrets, URLs, addresses and paths are stored as texts, an Enum or Literal by value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from enum import Enum, Flag
from ipaddress import (
    IPv4Address,
    IPv4Interface,
    IPv4Network,
    IPv6Address,
    IPv6Interface,
    IPv6Network,
    ip_address,
    ip_interface,
    ip_network,
)
from pathlib import PurePath
from types import NoneType
from typing import Any, Final

import pydantic
from pydantic import JsonValue
from pydantic_core import MultiHostUrl, Url

from dynaorm.entity.codec.container import AnyValue
from dynaorm.entity.codec.value import (
    ANY_DEPTH,
    NONE,
    NULL,
    SECRET_BYTES,
    Codec,
    CodecError,
    StandInCodec,
    UnsupportedType,
    WrapperCodec,
    mistyped,
    optional,
    printed_codec,
    scalar_codec,
    text_codec,
)
from dynaorm.entity.failing import of_user
from dynaorm.entity.marker import Attribute, StoredForm
from dynaorm.entity.text.scalar import ISO_REMEDY, STR, Scalar, is_of_networks, only_written, scalar_of
from dynaorm.entity.type_tree import TypeTree, substituted, type_tree
from dynaorm.failure import ValueErrorWithRemedy, shown, with_article
from dynaorm.item.value import AttributeValue, unstorable

_ADDRESSES: Final = (IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network)
_SUBCLASSED: Final = (str, int, float, Decimal, bytes)


def leaf_codec(kind: type) -> Codec | None:
    """The codec of a class; None if it has none."""
    if kind is NoneType:
        return NONE
    if issubclass(kind, pydantic.SecretBytes):
        return SECRET_BYTES
    if issubclass(kind, Enum):
        return _flag_codec(kind) if issubclass(kind, Flag) else _enum_codec(kind)
    if kind in _ADDRESSES or issubclass(kind, (Url, MultiHostUrl, PurePath)):
        return printed_codec(kind.__name__, (kind,), kind)
    if is_of_networks(kind) and (codec := _network_codec(kind)) is not None:
        return codec
    scalar = scalar_of(kind)
    if scalar is None:
        return None
    # For a subclass (pydantic's ByteSize, a user's subclass of str), decoding must return an instance of it.
    if kind is scalar.python or not issubclass(kind, scalar.python):
        return scalar_codec(scalar)
    return _made(kind, scalar_codec(scalar)) if scalar.python in _SUBCLASSED else None


def _network_codec(kind: type) -> Codec | None:
    """The codec of a class of ``pydantic.networks``."""
    any_address: Mapping[Any, tuple[tuple[type, ...], Callable[[str], Any]]] = {
        pydantic.IPvAnyAddress: ((IPv4Address, IPv6Address), ip_address),
        pydantic.IPvAnyInterface: ((IPv4Interface, IPv6Interface), ip_interface),
        pydantic.IPvAnyNetwork: ((IPv4Network, IPv6Network), ip_network),
    }
    if kind in any_address:
        return printed_codec(kind.__name__, *any_address[kind])
    # All URL classes derive from one of two private classes, for URLs with one host and with several.
    known = (*pydantic.AnyUrl.__mro__, *pydantic.PostgresDsn.__mro__)
    urls = tuple(base for base in known if base is not object)
    return printed_codec(kind.__name__, (kind,), kind) if issubclass(kind, urls) else None


class SecretCodec(StandInCodec):
    """``pydantic.Secret[X]``, stored as X."""

    def __init__(self, annotation: Any, inner: Codec) -> None:
        super().__init__(inner, element=None, key=None, members=None)
        self._annotation = annotation

    def encode(self, value: Any) -> AttributeValue:
        if not isinstance(value, pydantic.Secret):
            raise mistyped(value, "Secret")
        return self.inner.encode(value.get_secret_value())

    def decode(self, stored: AttributeValue) -> Any:
        return self._annotation(self.inner.decode(stored))


def _made(kind: type, codec: Codec) -> Codec:
    if codec.is_text:
        read = only_written(kind.__name__, STR.to_text, kind)
        return text_codec(kind.__name__, "S", STR.to_text, read, is_text=True, from_text=None)
    return WrapperCodec(codec, decode=lambda stored: kind(codec.decode(stored)), from_text=None)


# -- choices -----------------------------------------------------------------------------------------------------------


def _enum_codec(kind: type[Enum]) -> Codec:
    """The codec of an Enum, whose members may have values of several types.

    A plain value is encoded as its member is, because with ``use_enum_values`` pydantic stores the value instead of the
    member. A stored value that no member has is passed to the class's ``_missing_``.
    """
    return _choice_codec(kind.__name__, ((member, member.value) for member in kind), missing=kind)


def literal_codec(values: Iterable[Any]) -> Codec:
    """The codec of a Literal, whose values may have several types and include None."""
    return _choice_codec(
        "Literal", ((one, one.value if isinstance(one, Enum) else one) for one in values), missing=None
    )


def _choice_codec(
    name: str, choices: Iterable[tuple[Any, Any]], *, missing: Callable[[Any], Any] | None
) -> Codec:
    stored_as: dict[tuple[type, Any], AttributeValue] = {}
    by_stored: dict[tuple[str, Any], Any] = {}
    by_tag: dict[str, Codec] = {}
    for choice, value in choices:
        codec = _codec_of_value(name, value)
        encoded = codec.encode(value)
        ((tag, _),) = encoded.items()
        other = by_stored.setdefault(_token(encoded), choice)
        if other is not choice:
            raise UnsupportedType(
                f"{choice!r} and {other!r} of {name} have the same attribute value; give them different values"
            )
        by_tag[tag] = codec
        stored_as[type(choice), choice] = encoded
        stored_as.setdefault((type(value), value), encoded)

    def encode(value: Any) -> AttributeValue:
        try:
            return stored_as[type(value), value]
        except (KeyError, TypeError):
            raise CodecError(f"is {shown(value)}, not a value of {name}") from None

    def decode(stored: AttributeValue) -> Any:
        try:
            return by_stored[_token(stored)]
        except (KeyError, TypeError, ArithmeticError):
            return _decode_missing(name, stored, by_tag, missing)

    # Its own _missing_ reads other values than those of its members.
    bases = missing.__mro__ if isinstance(missing, type) else ()
    has_spellings = any("_missing_" in vars(base) for base in bases if base is not Enum)
    return Codec(encode, decode, frozenset(by_tag), nullable="NULL" in by_tag, has_spellings=has_spellings)


def _codec_of_value(name: str, value: Any) -> Codec:
    if value is None:
        return NONE
    scalar = None if isinstance(value, Enum) else scalar_of(type(value))
    if scalar is None:
        raise UnsupportedType(
            f"the value {value!r} of {name} cannot be stored; give its members str or int values, "
            f"or use Attribute(encode=..., decode=...)"
        )
    return scalar_codec(scalar)


def _token(stored: AttributeValue) -> tuple[str, Any]:
    ((tag, found),) = stored.items()
    return tag, Decimal(found) if tag == "N" else found


def _decode_missing(
    name: str, stored: AttributeValue, by_tag: dict[str, Codec], missing: Callable[[Any], Any] | None
) -> Any:
    ((tag, found),) = stored.items()
    if missing is not None and tag in by_tag:
        try:
            return missing(by_tag[tag].decode(stored))
        except ValueError:
            pass
    raise CodecError(f"is stored as {tag} {shown(found)}, which is not a value of {name}")


def _flag_codec(kind: type[Flag]) -> Codec:
    def encode(value: Any) -> AttributeValue:
        if not isinstance(value, kind):
            raise CodecError(f"is {shown(value)}, not a value of {kind.__name__}")
        return {"N": str(value.value)}

    def decode(stored: AttributeValue) -> Any:
        found = stored.get("N")
        try:
            return kind(int(str(found)))
        except ValueError:
            raise CodecError(
                f"is stored as {shown(dict(stored))}, which is not a value of {kind.__name__}"
            ) from None

    return Codec(encode, decode, frozenset({"N"}))


# -- fields with a form or functions of their own ---------------------------------------------------------------------


def foreign_codec(tree: TypeTree, attribute: Attribute) -> Codec:
    """The codec of ``Attribute(encode=, decode=)``. Its functions never receive None if the type is ``X | None``."""
    if attribute.codec is not None:
        raise UnsupportedType("Attribute() has codec= beside encode= or decode=; keep one way")
    if attribute.encode is None or attribute.decode is None:
        raise UnsupportedType("Attribute() has only one of encode= and decode=; give both")
    decode = of_user("decode=", attribute.decode, "cannot be decoded, because")
    codec = Codec(checked(attribute.encode), decode, frozenset(), levels=ANY_DEPTH, exact=False)
    return optional(codec) if tree.accepts_none else codec


def checked(encode: Callable[[Any], AttributeValue]) -> Callable[[Any], AttributeValue]:
    """The function, which raises ValueError if it fails, or returns what DynamoDB does not store."""
    called = of_user("encode=", encode, "cannot be encoded, because")

    def encoded(value: Any) -> AttributeValue:
        found = called(value)
        if problem := unstorable(found):
            raise ValueErrorWithRemedy(
                f"is encoded as {problem}",
                "let encode= return what DynamoDB stores, such as {'S': 'text'} or {'N': '1.5'}",
            )
        return found

    return encoded


def formed_codec(tree: TypeTree, form: StoredForm, inner: Callable[[], Codec]) -> Codec:
    """The codec of a type in another form; ``inner`` gives the type's own codec.

    Raises:
        UnsupportedType: the form cannot hold the values of the type.
    """
    if form.scalar is not None or form.spellings_of:
        codec = _spelled_codec(tree, form) if form.scalar is None else _scalar_codec(tree, form, form.scalar)
        return optional(codec) if tree.accepts_none else codec
    return _wrapped(form, inner())


def of_json(tree: TypeTree, form: StoredForm) -> TypeTree:
    """The type with ``JsonValue`` in place of ``Any`` if the form is JSON, which says how to load a value."""
    if "M" not in form.inner or AnyValue in tree.aliases:
        return tree
    found = substituted(tree.plain, {Any: JsonValue})
    return tree if found is tree.plain else type_tree(found)


def _spelled_codec(tree: TypeTree, form: StoredForm) -> Codec:
    """The codec that writes a value as its type does, and reads it in every spelling."""
    scalar = scalar_of(tree)
    if scalar is None or scalar.python not in form.spellings_of:
        kinds = ", ".join(kind.__name__ for kind in form.spellings_of)
        raise UnsupportedType(f"{form!r} is for {kinds}; use one of these types, or drop codec=")
    to_text = (scalar.in_attribute or (scalar.to_text,))[0]
    more = {"form": repr(form), "exact": False, "has_spellings": True}
    return text_codec(scalar.name, scalar.tag, to_text, scalar.from_text, **more)


def _scalar_codec(tree: TypeTree, form: StoredForm, scalar: Scalar) -> Codec:
    found = scalar_of(tree)
    if found is None or found.python is not scalar.python:
        kind = scalar.python.__name__
        raise UnsupportedType(f"{form!r} is for {with_article(kind)}; use that type, or drop codec=")
    tag, bound, from_text = scalar.tag, scalar.bound, scalar.from_text
    if tag == "S":
        from_text = only_written(f"time in {form!r}", scalar.to_text, from_text, ISO_REMEDY)
    more = {} if bound is None else {"bound": lambda value: {tag: bound(value)}}
    return text_codec(scalar.name, tag, scalar.to_text, from_text, form=repr(form), exact=False, **more)


def _wrapped(form: StoredForm, inner: Codec) -> Codec:
    tags = inner.tags - {"NULL"}
    if form.inner and not (tags and tags <= form.inner):
        found = "/".join(sorted(tags)) or "values of any type"
        raise UnsupportedType(
            f"{form!r} holds {'/'.join(sorted(form.inner))}, and the type is stored as {found}; use another type"
        )
    wrap, unwrap = form.wrap, form.unwrap

    def encode_wrapped(value: Any) -> AttributeValue:
        if value is None and inner.nullable:
            return NULL
        try:
            return wrap(inner.encode(value))
        except RecursionError:
            raise CodecError("is nested too deeply to be converted", remedy="nest it less deeply") from None

    def decode_wrapped(stored: AttributeValue) -> Any:
        return None if "NULL" in stored and inner.nullable else inner.decode(unwrap(stored))

    made = frozenset({form.tag, "NULL"} if inner.nullable else {form.tag})
    return Codec(
        encode_wrapped,
        decode_wrapped,
        made,
        nullable=inner.nullable,
        form=repr(form),
        opaque=True,
        exact=False,
    )
