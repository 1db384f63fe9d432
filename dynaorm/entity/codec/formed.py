"""The codecs of fields with ``Attribute(codec=...)``: stored in the form of another library."""

from collections.abc import Callable
from typing import Any

from dynaorm.entity.annotation import accepts_none
from dynaorm.entity.codec.value import NULL, Codec, Unstorable, optional, text_codec
from dynaorm.entity.stored_form import StoredForm
from dynaorm.entity.text.of_type import scalar_of
from dynaorm.entity.text.scalar import Scalar
from dynaorm.failure import with_article
from dynaorm.item.value import AttributeValue
from dynaorm.record import replace


def formed_codec(annotation: Any, form: StoredForm, inner: Callable[[], Codec]) -> Codec:
    """The codec of a type in another form; ``inner`` gives the type's own codec.

    Raises:
        Unstorable: the form cannot hold the values of the type.
    """
    if form.scalar is not None:
        codec = _scalar_codec(annotation, form, form.scalar)
        return optional(codec) if accepts_none(annotation) else codec
    return _wrapped(form, inner())


def _scalar_codec(annotation: Any, form: StoredForm, scalar: Scalar) -> Codec:
    found = scalar_of(annotation)
    if found is None or found.python is not scalar.python:
        kind = scalar.python.__name__
        raise Unstorable(f"{form!r} is for {with_article(kind)}; use that type, or drop codec=")
    tag, bound = scalar.tag, scalar.bound
    codec = replace(text_codec(scalar.name, tag, scalar.to_text, scalar.from_text), form=repr(form))
    return codec if bound is None else replace(codec, bound=lambda value: {tag: bound(value)})


def _wrapped(form: StoredForm, inner: Codec) -> Codec:
    tags = inner.tags - {"NULL"}
    if form.inner and not (tags and tags <= form.inner):
        found = "/".join(sorted(tags)) or "values of any type"
        raise Unstorable(
            f"{form!r} holds {'/'.join(sorted(form.inner))}, and the type is stored as {found}; use another type"
        )
    encode, decode, wrap, unwrap = inner.encode, inner.decode, form.wrap, form.unwrap

    def encode_wrapped(value: Any) -> AttributeValue:
        if value is None and inner.nullable:
            return NULL
        return wrap(encode(value))

    def decode_wrapped(stored: AttributeValue) -> Any:
        return None if "NULL" in stored and inner.nullable else decode(unwrap(stored))

    made = frozenset({form.tag, "NULL"} if inner.nullable else {form.tag})
    return Codec(encode_wrapped, decode_wrapped, made, nullable=inner.nullable, form=repr(form), opaque=True)
