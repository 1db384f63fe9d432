"""The codecs of pydantic models, dataclasses and typed dicts, which are stored as M, and of unions.

Rule 1. Encoding reads each attribute of the instance. It never uses ``model_dump``, which serializers and ``exclude``
        change.
Rule 2. A map is decoded to a dict of field names, which pydantic validates by name. Strict types accept only instances;
        for those the codec creates the instance (``InstanceCodec``).
Rule 3. If a value changes, members of its map that the class does not know are preserved. A member that was absent
        stays absent until its value changes.
Rule 4. The type of the attribute value decides the member of a plain union. Two members with the same type are refused.
Rule 5. The discriminator decides the member as it does in pydantic, so pydantic validates the member that was decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import pydantic
from pydantic import ValidationError

from dynaorm.entity.codec.container import DictCodec
from dynaorm.entity.codec.value import (
    NULL,
    TEXT,
    Codec,
    CodecError,
    Member,
    StandInCodec,
    StoredField,
    UnsupportedType,
    WrapperCodec,
    content,
    inside,
    mistyped,
)
from dynaorm.entity.failing import of_user
from dynaorm.entity.state import LOADING
from dynaorm.failure import shown, with_article
from dynaorm.item.value import AttributeValue, same
from dynaorm.record import record


class ModelCodec(Codec):
    """The codec of a model or dataclass.

    Args:
        kind: the class. An instance of a subclass is refused, because it would be loaded without the subclass's fields.
        fields: its fields.
        extra: the codec of extra fields, if a model allows them.

    Raises:
        UnsupportedType: two fields have the same attribute name.
    """

    tags = frozenset({"M"})
    _keeps_unknown = True

    def __init__(self, kind: type, fields: Sequence[StoredField], *, extra: Codec | None = None) -> None:
        taken: dict[str, str] = {}
        for one in fields:
            for attribute in one.attributes:
                if attribute in taken:
                    owner = kind.__name__
                    raise UnsupportedType(
                        f"{owner}.{one.name} is stored as {attribute!r}, and so is {owner}.{taken[attribute]}; "
                        f"rename one with Attribute(...)"
                    )
                taken[attribute] = one.name
        self._kind, self._known = kind, frozenset(taken)
        self._extra = None if extra is None else DictCodec(TEXT, extra, "str")
        self.members = self._fields = {one.name: one for one in fields}
        self._required = frozenset(one.name for one in fields if one.required)
        self.parts = [*(one.codec for one in fields), *([extra] if extra else [])]

    @cached_property
    def _steps(self) -> Sequence[tuple[str, str, Callable[[Any], AttributeValue | None]]]:
        """The name, attribute and function of each field. It is asked for once the codecs are complete."""
        return [
            (one.name, one.attribute, one.encode if one.can_be_absent else one.codec.encode)
            for one in self._fields.values()
        ]

    def encode(self, value: Any) -> AttributeValue:
        if type(value) is not self._kind:
            refuse_other_class(value, self._kind)
        found: dict[str, AttributeValue] = {}
        name = ""
        try:
            for name, attribute, encode in self._steps:
                encoded = encode(getattr(value, name))
                if encoded is not None:
                    found[attribute] = encoded
        except (AttributeError, ValueError) as problem:
            raise inside(name, problem) from problem
        if self._extra is not None:
            found |= self._encoded_extra(value.__pydantic_extra__ or {})
        return {"M": found}

    def _encoded_extra(self, values: Mapping[str, Any]) -> dict[str, AttributeValue]:
        if self._extra is None:
            return {}
        if taken := next((name for name in values if name in self._known), None):
            raise CodecError(
                f"has an extra field {taken!r}, and a declared field is stored under this name",
                remedy="rename one",
            )
        return dict(self._extra.encode(values)["M"])

    def decode(self, stored: AttributeValue) -> Any:
        found = content(stored, "M")
        values: dict[str, Any] = {}
        for member in self._fields.values():
            member.decode_into(values, found)
        if self._extra is not None:
            values |= self._extra.decode({"M": self._unknown_in(found)})
        return values

    def combine(self, stored: AttributeValue, loaded: AttributeValue, now: AttributeValue) -> AttributeValue:
        """The map to store for a changed value (rule 3); the stored one if nothing in it changed."""
        held, was, new = stored["M"], loaded["M"], now["M"]
        unknown = self._unknown_in(held)
        found = dict(unknown)
        if self._extra is not None:
            found = dict(self._extra.combine({"M": unknown}, loaded, {"M": self._unknown_in(new)})["M"])
        is_changed = found != unknown
        for member in self._fields.values():
            one = member.merge(held, was, new)
            is_changed |= one is not member.stored_in(held)
            if one is not None:
                found[member.attribute] = one
        return {"M": found} if is_changed else stored

    def _unknown_in(self, found: Mapping[str, AttributeValue]) -> dict[str, AttributeValue]:
        """The members of a map that are none of the fields."""
        return {name: one for name, one in found.items() if name not in self._known}


class TypedDictCodec(ModelCodec):
    """The codec of a TypedDict. An absent key is not stored."""

    def encode(self, value: Any) -> AttributeValue:
        kind, fields = self._kind.__name__, self._fields
        if not isinstance(value, dict):
            raise mistyped(value, kind)
        if missing := self._required - value.keys():
            raise CodecError(
                f"is {shown(value)}, {with_article(kind)} without {', '.join(map(repr, sorted(missing)))}"
            )
        beyond = {key: held for key, held in value.items() if key not in fields}
        if beyond and self._extra is None:
            raise CodecError(
                f"has keys that {kind} does not declare: {', '.join(map(repr, beyond))}",
                remedy="remove or declare them",
            )
        found, key = dict[str, AttributeValue](), ""
        try:
            for key, held in value.items():
                if key in fields and (encoded := fields[key].encode(held)) is not None:
                    found[fields[key].attribute] = encoded
        except ValueError as problem:
            raise inside(key, problem) from None
        return {"M": found | self._encoded_extra(beyond)}


class RootCodec(StandInCodec):
    """The codec of a RootModel, stored as its root."""

    def __init__(self, kind: type, inner: Codec) -> None:
        super().__init__(inner)
        self._kind = kind

    def encode(self, value: Any) -> AttributeValue:
        if type(value) is not self._kind:
            refuse_other_class(value, self._kind)
        return self.inner.encode(value.root)


class InstanceCodec(WrapperCodec):
    """A codec that decodes to a validated instance."""

    def __init__(self, annotation: Any, inner: Codec) -> None:
        super().__init__(inner)
        self._annotation = annotation

    @cached_property
    def _adapter(self) -> pydantic.TypeAdapter[Any]:
        return pydantic.TypeAdapter(self._annotation)

    def decode(self, stored: AttributeValue) -> Any:
        values = self.inner.decode(stored)
        try:
            return self._adapter.validate_python(
                values, strict=False, context=LOADING, by_alias=False, by_name=True
            )
        except ValidationError as problem:
            first = problem.errors(include_url=False, include_input=False)[0]
            raise CodecError(first["msg"], first["loc"]) from problem


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


# -- unions ------------------------------------------------------------------------------------------------------------


class _UnionBase(Codec):
    """The codec of a union. A class of it says which member a stored value is of.

    Args:
        members: their codecs, by name or tag.
        wanted: what a value of the union is.
    """

    deeper = 0

    def __init__(self, members: Iterable[tuple[Hashable, Codec]], wanted: str = "") -> None:
        self._named = [*members]
        self._wanted = wanted or " or ".join(str(name) for name, _ in self._named)
        self._unknown = f"which is not {self._wanted}"
        self.parts = [codec for _, codec in self._named]
        self.tags = frozenset[str]().union(*(codec.tags for codec in self.parts))
        self._by_type: dict[type, Codec] = {}

    def member_of(self, stored: AttributeValue) -> Codec | None:
        raise NotImplementedError

    def encode(self, value: Any) -> AttributeValue:
        known = self._by_type.get(type(value))
        if known is not None:
            return known.encode(value)
        within: CodecError | None = None
        for codec in self.parts:
            try:
                found = codec.encode(value)
            except CodecError as problem:
                # A problem inside the value means that the value itself belongs to this member.
                within = within or (problem if problem.path else None)
            except ValueError:
                continue
            else:
                # Several typed dicts may be members. Every other class belongs to one member.
                if type(value) is not dict:
                    self._by_type[type(value)] = codec
                return found
        raise within or CodecError(f"is {shown(value)}, not {self._wanted}")

    def decode(self, stored: AttributeValue) -> Any:
        codec = self.member_of(stored)
        if codec is None:
            raise CodecError(f"is stored as {', '.join(stored)}, {self._unknown}")
        return codec.decode(stored)

    def combine(self, stored: AttributeValue, loaded: AttributeValue, now: AttributeValue) -> AttributeValue:
        """A value of another member replaces what is stored."""
        codec = self.member_of(stored)
        return codec.merge(stored, loaded, now) if codec is not None and codec is self.member_of(now) else now


class UnionCodec(_UnionBase):
    """The codec of a plain union (rule 4)."""

    def __init__(self, members: Iterable[tuple[str, Codec]]) -> None:
        super().__init__(members)
        self._refuse_same_tags()

    def _refuse_same_tags(self) -> None:
        owners: dict[str, Hashable] = {}
        for name, codec in self._named:
            for tag in sorted(codec.tags):
                if tag in owners:
                    raise UnsupportedType(
                        f"{owners[tag]} and {name} are both stored as {tag}, so loading could not choose between them; "
                        f"keep one of them, make each a model with a Literal field and name that in "
                        f"Field(discriminator=...), or use Attribute(encode=..., decode=...)"
                    )
                owners[tag] = name

    def check(self) -> None:
        """Raises UnsupportedType for what only shows once all codecs are complete."""
        self._refuse_same_tags()
        for name, codec in self._named:
            if not codec.tags:
                raise UnsupportedType(
                    f"{name} has its own encode=, so loading could not recognize it in a union; "
                    f"give encode= and decode= for the whole union"
                )

    @cached_property
    def _by_tag(self) -> Mapping[str, Codec]:
        return {tag: codec for codec in self.parts for tag in codec.tags}

    def member_of(self, stored: AttributeValue) -> Codec | None:
        return next((self._by_tag[tag] for tag in stored if tag in self._by_tag), None)


class DiscriminatedCodec(_UnionBase):
    """The codec of a union of models, dataclasses or typed dicts, chosen by the value of a field (rule 5)."""

    def __init__(self, members: Mapping[str, Codec], field: str) -> None:
        super().__init__(members.items())
        if any(codec.tags != {"M"} for codec in self.parts):
            raise UnsupportedType(
                f"a union with the discriminator {field!r} has a member without fields; leave the discriminator out, "
                f"or put the member into a model"
            )
        self._field = field
        self._known: dict[tuple[str, str, Hashable], Codec] = {}

    def check(self) -> None:
        """Find the fields once all codecs are complete. Raises UnsupportedType for one without them."""
        for name, codec in self._named:
            if self._field not in (codec.members or ()):
                raise UnsupportedType(
                    f"{name} has no field {self._field!r}, the discriminator; give it one of a Literal type"
                )
        self.members = _shared(self.parts)

    def decode(self, stored: AttributeValue) -> Any:
        codec = self.member_of(stored)
        if codec is None:
            members = ", ".join(str(name) for name, _ in self._named)
            raise CodecError(f"is stored with a {self._field!r} that none of {members} has")
        values = codec.decode(stored)
        if type(values) is dict:
            values.setdefault(self._field, None)  # pydantic chooses by what is given, not by defaults
        return values

    def member_of(self, stored: AttributeValue) -> Codec | None:
        found = content(stored, "M")
        for codec in self.parts:
            chosen_by = (codec.members or {})[self._field]
            attribute = str(chosen_by.attribute)
            for tag, held in found.get(attribute, NULL).items():
                token = (attribute, tag, held if isinstance(held, Hashable) else None)
                if token in self._known:
                    return self._known[token]
                if chosen_by.codec.decodes({tag: held}):
                    self._known[token] = codec
                    return codec
        return None


def _shared(codecs: Sequence[Codec]) -> Mapping[str, Member]:
    """The fields of several models, as far as all that have one store it under the same name."""
    named: dict[str, list[Member]] = {}
    for codec in codecs:
        for name, member in (codec.members or {}).items():
            named.setdefault(name, []).append(member)
    return {
        name: _SharedMember(
            name,
            found[0].attribute,
            found[0].codec if len(found) == 1 else _FirstFittingCodec([one.codec for one in found]),
            tuple(dict.fromkeys(former for one in found for former in one.formerly)),
            tuple(found),
        )
        for name, found in named.items()
        if len({one.attribute for one in found}) == 1
    }


@record
class _SharedMember(Member):
    """A member that several models have. Its absence means something if it means the same to all of them."""

    models: tuple[Member, ...] = ()

    def absent(self) -> AttributeValue | None:
        first, *others = [one.absent() for one in self.models]
        return first if all(same(first, other) for other in others) else None

    def is_absence(self, value: Any) -> bool:
        return all(one.is_absence(value) for one in self.models)


class _FirstFittingCodec(_UnionBase, StandInCodec):
    """The codec of a field that several models declare with different types: the first codec that fits."""

    def __init__(self, codecs: Sequence[Codec]) -> None:
        StandInCodec.__init__(self, codecs[0])
        _UnionBase.__init__(
            self, [("", one) for one in codecs], "a value of that field in any of the union's members"
        )
        self.nullable = any(codec.nullable for codec in codecs)

    def member_of(self, stored: AttributeValue) -> Codec:
        return next((codec for codec in self.parts if codec.decodes(stored)), self.inner)


class ChosenCodec(_UnionBase):
    """The codec of a union with a function as discriminator; ``members`` are its tags and their codecs.

    Pydantic will call the function with the decoded value, a dict of field names. A function written for instances may
    choose another member for the dict. Encoding refuses such a value.
    """

    def __init__(self, members: Mapping[Hashable, Codec], choose: Callable[[Any], Hashable]) -> None:
        super().__init__(members.items())
        self._choose = of_user("the discriminator", choose)
        self._unknown = "for which the discriminator chooses no member of the union"
        self.nullable = "NULL" in self.tags

    def member_of(self, stored: AttributeValue) -> Codec | None:
        fitting = ((tag, codec) for tag, codec in self._named if codec.decodes(stored))
        return next((codec for tag, codec in fitting if self._choose(codec.decode(stored)) == tag), None)

    def encode(self, value: Any) -> AttributeValue:
        members, tag = dict(self._named), self._choose(value)
        if tag not in members:
            raise CodecError(
                f"is {shown(value)}, for which the discriminator returns {tag!r}, which is not a Tag of the union"
            )
        stored = members[tag].encode(value)
        if self.member_of(stored) is not members[tag]:
            raise CodecError(
                f"is {shown(value)}, for which the discriminator chooses another member when it is a dict of field "
                f"names; make the discriminator accept such dicts"
            )
        return stored
