"""The codecs of what has named fields: pydantic models, dataclasses and typed dicts, all stored as M.

Rule 1. Values are read attribute by attribute and never through ``model_dump``: what an application shows of a model
    is not what is stored of it.
Rule 2. A map is decoded to a dict of field names, for pydantic to validate by name. Where its types are strict they
    take instances only, and the codec makes them (``instance_codec``).
Rule 3. A field absent from the map is left out, so that its default applies; but without a default, None stands for
    an absent field that may be None, and the empty set for an absent set.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import pydantic
from pydantic import ValidationError

from dynaorm.entity.codec.value import (
    Codec,
    Misfit,
    Unstorable,
    content,
    inside,
    mistyped,
)
from dynaorm.entity.state import LOADING
from dynaorm.failure import shown, with_article
from dynaorm.item.value import AttributeValue
from dynaorm.record import record, replace

_EMPTY: Final[AttributeValue] = {"L": []}


@record
class Member:
    """A field as it is stored in a map.

    Attributes:
        name: its name in the class.
        attribute: its name in the map.
        codec: its type's codec.
        formerly: older names in the map.
        required: it has no default.
        defaults_to_none: its default is None.
        is_key: it is a key of a TypedDict, where absence is not a default but a value.
    """

    name: str
    attribute: str
    codec: Codec
    formerly: tuple[str, ...] = ()
    required: bool = True
    defaults_to_none: bool = False
    is_key: bool = False

    @property
    def encoder(self) -> Callable[[Any], AttributeValue | None]:
        """``encode``, or what it comes to where None is no absence."""
        return self.encode if self.defaults_to_none else self.codec.encode

    def encode(self, value: Any) -> AttributeValue | None:
        """The attribute value; None for absence, where the default says None but the type does not."""
        if value is None and self.defaults_to_none and not self.codec.nullable:
            return None
        return self.codec.encode(value)

    def stored_in(self, found: Mapping[str, AttributeValue]) -> AttributeValue | None:
        """The attribute value in a map, under the present or a former name; where there is none, what absence means."""
        for name in (self.attribute, *self.formerly):
            if name in found:
                return found[name]
        return None

    def decode_into(self, values: dict[str, Any], found: Mapping[str, AttributeValue]) -> None:
        """Adds the value to those of other fields, if the map or rule 3 gives one."""
        stored = found.get(self.attribute) if not self.formerly else self.stored_in(found)
        try:
            if stored is not None:
                values[self.name] = self.codec.decode(stored)
            elif self.is_key and not self.required:
                return
            elif self.required and self.codec.nullable:
                values[self.name] = None
            elif self.codec.is_set and not self.defaults_to_none:
                values[self.name] = self.codec.decode(_EMPTY)
        except ValueError as problem:
            raise inside(self.name, problem) from None


def check_names(owner: str, members: Sequence[Member]) -> None:
    """Refuses two fields with one attribute name. Raises Unstorable."""
    taken: dict[str, str] = {}
    for member in members:
        for attribute in (member.attribute, *member.formerly):
            if attribute in taken:
                raise Unstorable(
                    f"{owner}.{member.name} is stored as {attribute!r}, and so is {owner}.{taken[attribute]}; "
                    f"rename one with Attribute(...)"
                )
            taken[attribute] = member.name


@record
class _Plan:
    """How fields become a map and come back."""

    members: tuple[Member, ...]
    known: frozenset[str]
    extra: Codec | None

    @classmethod
    def of(cls, members: Sequence[Member], extra: Codec | None) -> "_Plan":
        names = frozenset(name for member in members for name in (member.attribute, *member.formerly))
        return cls(tuple(members), names, extra)

    def add_extra(self, found: dict[str, AttributeValue], values: Mapping[str, Any]) -> None:
        assert self.extra is not None
        for name, value in values.items():
            if name in self.known:
                raise Misfit(
                    f"has an extra field {name!r}, under whose name a field of its own is stored; rename one"
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

    def codec(self, encode: Callable[[Any], AttributeValue]) -> Codec:
        members = {member.name: (member.attribute, member.codec) for member in self.members}
        return Codec(encode, self.decode, frozenset({"M"}), members=members)


def class_codec(kind: type, members: Sequence[Member], *, extra: Codec | None = None) -> Codec:
    """A model or dataclass, its values being instances of the class itself.

    Args:
        kind: the class. An instance of a subclass is refused: it would come back without what the subclass adds.
        members: its fields.
        extra: the codec of fields beyond those, where a model allows them.
    """
    plan = _Plan.of(members, extra)
    steps = [(member.name, member.attribute, member.encoder) for member in members]

    def encode(value: Any) -> AttributeValue:
        if type(value) is not kind:
            _refuse_other_class(value, kind)
        found: dict[str, AttributeValue] = {}
        name = ""
        try:
            for name, attribute, encode_one in steps:
                encoded = encode_one(getattr(value, name))
                if encoded is not None:
                    found[attribute] = encoded
        except (AttributeError, ValueError) as problem:
            raise inside(name, problem) from problem
        if extra is not None:
            plan.add_extra(found, value.__pydantic_extra__ or {})
        return {"M": found}

    return plan.codec(encode)


def typed_dict_codec(name: str, members: Sequence[Member], *, extra: Codec | None = None) -> Codec:
    """A TypedDict. A key that is not required may be absent, which is then how it is stored."""
    plan = _Plan.of(members, extra)
    by_name = {member.name: member for member in members}
    required = frozenset(member.name for member in members if member.required)

    def encode(value: Any) -> AttributeValue:
        if not isinstance(value, dict):
            raise mistyped(value, name)
        missing = required - value.keys()
        if missing:
            raise Misfit(
                f"is {shown(value)}, {with_article(name)} without {', '.join(map(repr, sorted(missing)))}"
            )
        beyond = {key: held for key, held in value.items() if key not in by_name}
        if beyond and extra is None:
            raise Misfit(
                f"has keys that {name} has not and that would be lost: {', '.join(map(repr, beyond))}"
            )
        found: dict[str, AttributeValue] = {}
        for key, held in value.items():
            if key in by_name:
                found[by_name[key].attribute] = _encoded(by_name[key], held)
        if extra is not None:
            plan.add_extra(found, beyond)
        return {"M": found}

    return plan.codec(encode)


def _encoded(member: Member, value: Any) -> AttributeValue:
    try:
        return member.codec.encode(value)
    except ValueError as problem:
        raise inside(member.name, problem) from None


def root_codec(kind: type, inner: Codec) -> Codec:
    """A RootModel, stored as what it holds."""

    def encode(value: Any) -> AttributeValue:
        if type(value) is not kind:
            _refuse_other_class(value, kind)
        return inner.encode(value.root)

    return Codec(encode, inner.decode, inner.tags, element=inner.element, members=inner.members)


def instance_codec(annotation: Any, codec: Codec) -> Codec:
    """The same, decoded to a validated instance."""
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
            raise Misfit(first["msg"], first["loc"]) from problem

    return replace(codec, decode=decode)


def _refuse_other_class(value: Any, kind: type) -> None:
    """A generic model and its parametrization count as one class, as in pydantic's ``==``; nothing else does."""
    if _generic_origin(type(value)) is _generic_origin(kind):
        return
    if isinstance(value, kind):
        raise Misfit(
            f"is {with_article(type(value).__name__)} and would come back as {with_article(kind.__name__)}; "
            f"declare a discriminated union of both, or give {with_article(kind.__name__)}"
        )
    raise mistyped(value, kind.__name__)


def _generic_origin(kind: type) -> Any:
    generic: Mapping[str, Any] = getattr(kind, "__pydantic_generic_metadata__", {})
    return generic.get("origin") or kind
