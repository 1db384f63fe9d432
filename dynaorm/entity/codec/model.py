"""The codecs of pydantic models, dataclasses and typed dicts, which are stored as M.

Rule 1. Encoding reads each attribute of the instance. It never uses ``model_dump``, which serializers and ``exclude``
        change.
Rule 2. A map is decoded to a dict of field names, which pydantic validates by name. Strict types accept only instances;
        for those the codec creates the instance (``instance_codec``).
Rule 3. If a value changes, members of its map that the class does not know are preserved. A member that was absent
        stays absent until its value changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import pydantic
from pydantic import ValidationError

from dynaorm.entity.codec.container import merge_map
from dynaorm.entity.codec.field import StoredField
from dynaorm.entity.codec.value import (
    Codec,
    CodecError,
    UnsupportedType,
    codec_of_parts,
    content,
    inside,
    merge,
    mistyped,
    varied,
)
from dynaorm.entity.state import LOADING
from dynaorm.failure import shown, with_article
from dynaorm.item.value import AttributeValue
from dynaorm.record import record


def check_names(owner: str, members: Sequence[StoredField]) -> None:
    """Raises UnsupportedType if two fields have the same attribute name."""
    taken: dict[str, str] = {}
    for member in members:
        for attribute in member.attributes:
            if attribute in taken:
                raise UnsupportedType(
                    f"{owner}.{member.name} is stored as {attribute!r}, and so is {owner}.{taken[attribute]}; "
                    f"rename one with Attribute(...)"
                )
            taken[attribute] = member.name


@record
class _Plan:
    """The fields of a class, and the codec of its extra fields if it allows them."""

    members: tuple[StoredField, ...]
    known: frozenset[str]
    extra: Codec | None

    @classmethod
    def of(cls, members: Sequence[StoredField], extra: Codec | None) -> _Plan:
        names = frozenset(name for member in members for name in member.attributes)
        return cls(tuple(members), names, extra)

    @cached_property
    def steps(self) -> Sequence[tuple[str, str, Callable[[Any], AttributeValue | None]]]:
        """The name, attribute and function of each field. It is asked for once the codecs are complete."""
        return [
            (one.name, one.attribute, one.encode if one.can_be_absent else one.codec.encode)
            for one in self.members
        ]

    def add_extra(self, found: dict[str, AttributeValue], values: Mapping[str, Any]) -> None:
        assert self.extra is not None
        for name, value in values.items():
            if name in self.known:
                raise CodecError(
                    f"has an extra field {name!r}, and a declared field is stored under this name",
                    remedy="rename one",
                )
            try:
                found[name] = self.extra.encode(value)
            except ValueError as problem:
                raise inside(name, problem) from None

    def decode(self, stored: AttributeValue) -> dict[str, Any]:
        found = content(stored, "M")
        values: dict[str, Any] = {}
        for member in self.members:
            member.decode_into(values, found)
        if self.extra is not None:
            values |= {name: self.extra.decode(one) for name, one in found.items() if name not in self.known}
        return values

    def merge(self, stored: AttributeValue, loaded: AttributeValue, now: AttributeValue) -> AttributeValue:
        """The map to store for a changed value (rule 3); the stored one if nothing in it changed."""
        held, was, new = stored["M"], loaded["M"], now["M"]
        unknown = {name: one for name, one in held.items() if name not in self.known}
        found = dict(unknown)
        if self.extra is not None:
            extra = {name: one for name, one in new.items() if name not in self.known}
            found = dict(merge_map(self.extra)({"M": found}, loaded, {"M": extra})["M"])
        is_changed = found != unknown
        for member in self.members:
            one = member.merge(held, was, new)
            is_changed |= one is not member.stored_in(held)
            if one is not None:
                found[member.attribute] = one
        return {"M": found} if is_changed else stored

    def codec(self, encode: Callable[[Any], AttributeValue]) -> Codec:
        parts = [*(one.codec for one in self.members), *([self.extra] if self.extra else [])]
        members = {member.name: member for member in self.members}
        return codec_of_parts(
            encode, self.decode, {"M"}, parts, members=members, merge_parts=self.merge, is_open=True
        )


def class_codec(kind: type, members: Sequence[StoredField], *, extra: Codec | None = None) -> Codec:
    """The codec of a model or dataclass.

    Args:
        kind: the class. An instance of a subclass is refused, because it would be loaded without the subclass's fields.
        members: its fields.
        extra: the codec of extra fields, if a model allows them.
    """
    plan = _Plan.of(members, extra)

    def encode(value: Any) -> AttributeValue:
        if type(value) is not kind:
            refuse_other_class(value, kind)
        found: dict[str, AttributeValue] = {}
        name = ""
        try:
            for name, attribute, encode_one in plan.steps:
                encoded = encode_one(getattr(value, name))
                if encoded is not None:
                    found[attribute] = encoded
        except (AttributeError, ValueError) as problem:
            raise inside(name, problem) from problem
        if extra is not None:
            plan.add_extra(found, value.__pydantic_extra__ or {})
        return {"M": found}

    return plan.codec(encode)


def typed_dict_codec(name: str, members: Sequence[StoredField], *, extra: Codec | None = None) -> Codec:
    """The codec of a TypedDict. An absent key is not stored."""
    plan = _Plan.of(members, extra)
    by_name = {member.name: member for member in members}
    required = frozenset(member.name for member in members if member.required)

    def encode(value: Any) -> AttributeValue:
        if not isinstance(value, dict):
            raise mistyped(value, name)
        missing = required - value.keys()
        if missing:
            raise CodecError(
                f"is {shown(value)}, {with_article(name)} without {', '.join(map(repr, sorted(missing)))}"
            )
        beyond = {key: held for key, held in value.items() if key not in by_name}
        if beyond and extra is None:
            raise CodecError(
                f"has keys that {name} does not declare: {', '.join(map(repr, beyond))}",
                remedy="remove or declare them",
            )
        found: dict[str, AttributeValue] = {}
        for key, held in value.items():
            if key in by_name and (encoded := _encoded(by_name[key], held)) is not None:
                found[by_name[key].attribute] = encoded
        if extra is not None:
            plan.add_extra(found, beyond)
        return {"M": found}

    return plan.codec(encode)


def _encoded(member: StoredField, value: Any) -> AttributeValue | None:
    try:
        return member.encode(value)
    except ValueError as problem:
        raise inside(member.name, problem) from None


def root_codec(kind: type, inner: Codec) -> Codec:
    """The codec of a RootModel, stored as its root."""

    def encode(value: Any) -> AttributeValue:
        if type(value) is not kind:
            refuse_other_class(value, kind)
        return inner.encode(value.root)

    return codec_of_parts(
        encode,
        inner.decode,
        inner.tags,
        [inner],
        deeper=0,
        element=inner.element,
        key=inner.key,
        members=inner.members,
        merge_parts=partial(merge, inner),
    )


def instance_codec(annotation: Any, codec: Codec) -> Codec:
    """A codec that decodes to a validated instance."""
    adapters: list[pydantic.TypeAdapter[Any]] = []

    def decode(stored: AttributeValue) -> Any:
        values = codec.decode(stored)
        if not adapters:
            adapters.append(pydantic.TypeAdapter(annotation))
        try:
            return adapters[0].validate_python(
                values, strict=False, context=LOADING, by_alias=False, by_name=True
            )
        except ValidationError as problem:
            first = problem.errors(include_url=False, include_input=False)[0]
            raise CodecError(first["msg"], first["loc"]) from problem

    return varied(codec, decode=decode)


def refuse_other_class(value: Any, kind: type) -> None:
    """Raises CodecError, except for a generic model and its parametrization, which pydantic treats as one class."""
    if _generic_origin(type(value)) is _generic_origin(kind):
        return
    if isinstance(value, kind):
        raise CodecError(
            f"is {with_article(type(value).__name__)} and would be loaded as {with_article(kind.__name__)}",
            remedy=f"declare a discriminated union of both, or give {with_article(kind.__name__)}",
        )
    raise mistyped(value, kind.__name__)


def _generic_origin(kind: type) -> Any:
    generic: Mapping[str, Any] = getattr(kind, "__pydantic_generic_metadata__", {})
    return generic.get("origin") or kind
