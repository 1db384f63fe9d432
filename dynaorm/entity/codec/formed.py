"""The codecs of fields with an ``Attribute`` that says how they are stored: in another form, or by functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import JsonValue

from dynaorm.entity.codec.json import AnyValue
from dynaorm.entity.codec.value import (
    ANY_DEPTH,
    NULL,
    Codec,
    CodecError,
    UnsupportedType,
    optional,
    text_codec,
)
from dynaorm.entity.failing import of_user
from dynaorm.entity.marker import Attribute, StoredForm
from dynaorm.entity.text.scalar import ISO_REMEDY, Scalar, only_written, scalar_of
from dynaorm.entity.type_tree import TypeTree, substituted, type_tree
from dynaorm.failure import ValueErrorWithRemedy, with_article
from dynaorm.item.value import AttributeValue, unstorable
from dynaorm.record import replace


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
    codec = text_codec(scalar.name, scalar.tag, to_text, scalar.from_text)
    return replace(codec, form=repr(form), exact=False, has_spellings=True)


def _scalar_codec(tree: TypeTree, form: StoredForm, scalar: Scalar) -> Codec:
    found = scalar_of(tree)
    if found is None or found.python is not scalar.python:
        kind = scalar.python.__name__
        raise UnsupportedType(f"{form!r} is for {with_article(kind)}; use that type, or drop codec=")
    tag, bound, from_text = scalar.tag, scalar.bound, scalar.from_text
    if tag == "S":
        from_text = only_written(f"time in {form!r}", scalar.to_text, from_text, ISO_REMEDY)
    codec = replace(text_codec(scalar.name, tag, scalar.to_text, from_text), form=repr(form), exact=False)
    return codec if bound is None else replace(codec, bound=lambda value: {tag: bound(value)})


def _wrapped(form: StoredForm, inner: Codec) -> Codec:
    tags = inner.tags - {"NULL"}
    if form.inner and not (tags and tags <= form.inner):
        found = "/".join(sorted(tags)) or "values of any type"
        raise UnsupportedType(
            f"{form!r} holds {'/'.join(sorted(form.inner))}, and the type is stored as {found}; use another type"
        )
    encode, decode, wrap, unwrap = inner.encode, inner.decode, form.wrap, form.unwrap

    def encode_wrapped(value: Any) -> AttributeValue:
        if value is None and inner.nullable:
            return NULL
        try:
            return wrap(encode(value))
        except RecursionError:
            raise CodecError("is nested too deeply to be converted", remedy="nest it less deeply") from None

    def decode_wrapped(stored: AttributeValue) -> Any:
        return None if "NULL" in stored and inner.nullable else decode(unwrap(stored))

    made = frozenset({form.tag, "NULL"} if inner.nullable else {form.tag})
    codec = Codec(encode_wrapped, decode_wrapped, made, nullable=inner.nullable, form=repr(form), opaque=True)
    return replace(codec, exact=False)
