"""Finds the codec of a type, once, when a class is declared.

Rule 1. ``load(save(x)) == x`` for every type that has a codec. A type that cannot keep this promise has none.
Rule 2. Values are checked, not converted: a str field with the value 5 is refused, and so is a bool for an int.
Rule 3. A type may contain itself. Inside of itself it is a reference, which becomes the codec once that is complete.
"""

from collections.abc import Callable, Hashable, Mapping, MutableMapping, MutableSet, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import is_dataclass
from functools import partial
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    ForwardRef,
    Literal,
    NewType,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

import pydantic
from pydantic import BaseModel
from pydantic.types import Tag
from typing_extensions import is_typeddict

from dynaorm.entity.codec.choice import literal_codec
from dynaorm.entity.codec.container import dict_codec, list_codec, named_tuple_codec, set_codec, tuple_codec
from dynaorm.entity.codec.declared import (
    FieldOf,
    Meta,
    default_of,
    extra_of,
    fields_of,
    flat,
    meta_of,
    name_of,
    value_of,
)
from dynaorm.entity.codec.depth import limited
from dynaorm.entity.codec.formed import foreign_codec, formed_codec, of_json
from dynaorm.entity.codec.json import ANY, JSON, NUMBER, PLAIN, AnyValue
from dynaorm.entity.codec.leaf import leaf_codec, secret_codec
from dynaorm.entity.codec.model import (
    Member,
    check_names,
    class_codec,
    instance_codec,
    root_codec,
    typed_dict_codec,
)
from dynaorm.entity.codec.union import chosen_codec, discriminated_codec, union_codec
from dynaorm.entity.codec.value import ANY_DEPTH, Codec, Unstorable, merge, optional
from dynaorm.entity.text.of_type import ALIASES
from dynaorm.item.value import AttributeValue
from dynaorm.record import replace

__all__ = ["Codec", "Unstorable", "codec_of"]

_NOTHING: Final = Meta()
_OWN: Final = "or Attribute(encode=..., decode=...)"
_REMEDY: Final = f"use a type that DynamoDB has, {_OWN}"
_ANY_REMEDY: Final = (
    "it does not say how to load a value. Use dynaorm.AnyValue for whatever DynamoDB has, pydantic.JsonValue for None, "
    "bool, numbers, str, and lists and dicts of these, or a union of the types it can have, such as str | set[str]"
)
_BARE: Final[Mapping[Any, str]] = {
    list: "a list without the type of its elements cannot be loaded; write list[...],",
    tuple: "a tuple without the types of its elements cannot be loaded; write tuple[..., ...],",
    set: "a set without the type of its elements cannot be loaded; write set[...],",
    frozenset: "a frozenset without the type of its elements cannot be loaded; write frozenset[...],",
    dict: "a dict without the types of its keys and values cannot be loaded; write dict[str, ...], or a model,",
    Sequence: "a tuple would be loaded as a list; write list[...] or tuple[..., ...] instead of Sequence,",
}


def codec_of(annotation: Any, metadata: Sequence[object] = (), *, strict: bool = False) -> Codec:
    """The codec of an attribute of a type.

    Args:
        annotation: the type.
        metadata: its metadata in ``Annotated``. A pydantic FieldInfo stands for its own metadata and discriminator.
        strict: its model has ``strict=True``, so pydantic accepts only instances of dataclasses.

    Raises:
        Unstorable: the type has no codec. The message ends with the remedy.
    """
    resolution = _Resolution()
    codec = resolution.of(annotation, meta_of(metadata), strict=strict)
    resolution.finish()
    return limited(codec)


class _Resolution:
    """Finds the codecs of one type and of all types inside of it."""

    def __init__(self) -> None:
        self._finished: dict[Any, Codec] = {}
        self._open: dict[Any, list[Codec]] = {}
        self._later: list[Callable[[], None]] = []

    def finish(self) -> None:
        """Run the steps that need complete codecs of the types that contain themselves."""
        for wait in self._later:
            wait()

    def of(self, annotation: Any, meta: Meta = _NOTHING, *, strict: bool) -> Codec:
        """The codec of a type."""
        if get_origin(annotation) is Annotated:
            inner_type, *metadata = get_args(annotation)
            return self.of(inner_type, meta_of(metadata).beside(meta), strict=strict)
        if isinstance(annotation, NewType):
            return self.of(annotation.__supertype__, meta, strict=strict)
        if meta.attribute is not None and (meta.attribute.encode or meta.attribute.decode):
            return foreign_codec(annotation, meta.attribute)
        if meta.attribute is not None and meta.attribute.codec is not None and not meta.formed:
            inner, form = replace(meta, attribute=None, formed=True), meta.attribute.codec
            return formed_codec(
                annotation, form, lambda: self.of(of_json(annotation, form), inner, strict=strict)
            )
        if meta.unmade:
            return instance_codec(annotation, self.of(annotation, replace(meta, unmade=False), strict=strict))
        return self._of_type(annotation, meta, strict=strict)

    def _of_type(self, annotation: Any, meta: Meta, *, strict: bool) -> Codec:
        origin, arguments = get_origin(annotation), get_args(annotation)
        if isinstance(annotation, ALIASES) or isinstance(origin, ALIASES):
            return self._alias(annotation, origin, arguments, meta, strict=strict)
        if origin in (Union, UnionType):
            # An alias of a union may be among its own members; flattening it must end.
            key = (annotation, meta, strict)
            return self._once(key, frozenset(), lambda: self._union(annotation, meta, strict=strict))
        if origin is Literal:
            return literal_codec(arguments)
        return self._class(annotation, origin or annotation or NoneType, arguments, meta, strict=strict)

    # -- types that contain themselves ---------------------------------------------------------------------------------

    def _once(self, key: Any, tags: frozenset[str], build: Callable[[], Codec]) -> Codec:
        """The codec of a key, built on the first call; meanwhile a reference to it, with the tags known so far."""
        try:
            hash(key)
        except TypeError:  # metadata may be anything
            key = repr(key)
        if key in self._finished:
            return self._finished[key]
        if key in self._open:
            return self._reference(self._open[key], tags)
        references = self._open[key] = []
        codec = self._finished[key] = build()
        del self._open[key]
        for reference in references:
            _become(reference, codec)
        return codec

    def _reference(self, references: list[Codec], tags: frozenset[str]) -> Codec:
        def encode(value: Any) -> AttributeValue:
            return reference.encode(value)

        def decode(stored: AttributeValue) -> Any:
            return reference.decode(stored)

        def merged(stored: AttributeValue, loaded: AttributeValue, now: AttributeValue) -> AttributeValue:
            return merge(reference, stored, loaded, now)

        reference = Codec(encode, decode, tags, levels=ANY_DEPTH, merge_parts=merged, is_open=True)
        references.append(reference)
        return reference

    def _alias(self, alias: Any, origin: Any, arguments: Any, meta: Meta, *, strict: bool) -> Codec:
        if alias is pydantic.JsonValue:
            return JSON
        if alias is AnyValue:
            return ANY
        value = value_of(alias) if origin is None else value_of(origin)[arguments]
        if meta != _NOTHING:
            return self.of(value, meta, strict=strict)
        return self._once((alias, strict), frozenset(), lambda: self.of(value, strict=strict))

    # -- unions --------------------------------------------------------------------------------------------------------

    def _union(self, annotation: Any, meta: Meta, *, strict: bool) -> Codec:
        discriminator = getattr(meta.discriminator, "discriminator", meta.discriminator)
        everything = get_args(annotation) if discriminator is not None else tuple(flat(annotation))
        members = [one for one in dict.fromkeys(everything) if one is not NoneType]
        if len(members) == 1 or discriminator is None:
            codec = self._plain_union(members, Meta(strict=meta.strict, formed=meta.formed), strict=strict)
        elif isinstance(discriminator, str):
            codec = self._discriminated(members, discriminator, strict=strict)
        else:
            codec = self._chosen(members, discriminator, strict=strict)
        if len(members) == len(set(everything)):
            return codec
        nullable = optional(codec)
        if nullable is not codec:
            self._later.append(lambda: _adopt(nullable, codec))
        return nullable

    def _plain_union(self, members: Sequence[Any], meta: Meta, *, strict: bool) -> Codec:
        both = int in members and float in members
        others = [one for one in members if not both or one not in (int, float)]
        codecs = [(name_of(one), self.of(one, meta, strict=strict)) for one in others]
        if both:
            codecs.append(("int | float", NUMBER))
        return codecs[0][1] if len(codecs) == 1 else union_codec(codecs, self._later.append)

    def _discriminated(self, members: Sequence[Any], field: str, *, strict: bool) -> Codec:
        codecs = {name_of(one): self.of(one, strict=strict) for one in members}

        def check() -> None:
            for name, codec in codecs.items():
                if field not in (codec.members or ()):
                    raise Unstorable(
                        f"{name} has no field {field!r}, the discriminator; give it one of a Literal type"
                    )

        self._later.append(check)
        return discriminated_codec(codecs, field)

    def _chosen(self, members: Sequence[Any], choose: Callable[[Any], Any], *, strict: bool) -> Codec:
        tagged = {
            one.tag: member for member in members for one in get_args(member)[1:] if isinstance(one, Tag)
        }
        if len(tagged) < len(members):
            raise Unstorable(
                "a union with a function as discriminator has a member without Tag(...); give it one"
            )
        codecs: dict[Hashable, Codec] = {tag: self.of(one, strict=strict) for tag, one in tagged.items()}
        return chosen_codec(codecs, choose)

    # -- classes -------------------------------------------------------------------------------------------------------

    def _class(
        self, annotation: Any, kind: Any, arguments: tuple[Any, ...], meta: Meta, *, strict: bool
    ) -> Codec:
        # tuple[()] has no arguments either, but it has types for all of its elements.
        if (
            kind in _BARE
            and (not arguments or kind is Sequence)
            and (kind is not tuple or annotation != tuple[()])
        ):
            raise Unstorable(f"{_BARE[kind]} {_OWN}")
        if not isinstance(kind, type):
            raise Unstorable(_unresolved(kind))
        if kind in _CONTAINERS:
            return self._container(kind, arguments, strict=strict)
        if issubclass(kind, pydantic.Secret) and arguments:
            return secret_codec(annotation, self.of(arguments[0], strict=False))
        if issubclass(kind, BaseModel) and kind.__pydantic_root_model__:
            return self._root(kind)
        if _has_fields(kind):
            return self._record(annotation, kind, arguments, meta, strict=strict)
        codec = leaf_codec(kind)
        if codec is None:
            raise Unstorable(_no_codec(kind))
        return codec

    def _container(self, kind: type, arguments: tuple[Any, ...], *, strict: bool) -> Codec:
        kind = _CONTAINERS[kind]
        parts = [self.of(one, strict=strict) for one in arguments if one is not Ellipsis]
        if kind is dict:
            return dict_codec(parts[0], parts[1], name_of(arguments[0]))
        if kind is tuple and Ellipsis not in arguments:
            return tuple_codec(parts)
        return (list_codec if kind in (list, tuple) else set_codec)(kind, parts[0])

    def _root(self, kind: type[BaseModel]) -> Codec:
        (root,) = fields_of(kind, {})
        inner_strict = bool(kind.model_config.get("strict"))
        return self._once(
            kind, frozenset(), lambda: root_codec(kind, self._field(kind, root, strict=inner_strict))
        )

    def _record(
        self, annotation: Any, kind: Any, arguments: tuple[Any, ...], meta: Meta, *, strict: bool
    ) -> Codec:
        config = (
            kind.model_config if issubclass(kind, BaseModel) else getattr(kind, "__pydantic_config__", {})
        )
        if not issubclass(kind, BaseModel):
            strict = bool(
                config.get("strict", strict and not pydantic.dataclasses.is_pydantic_dataclass(kind))
            )
        by_instance = meta.strict or (strict and is_dataclass(kind))
        # instance_codec validates leniently, so nothing inside needs to be an instance.
        inner_strict = not by_instance and bool(config.get("strict", strict))

        def build() -> Codec:
            parts = {
                one: self._field(kind, one, strict=inner_strict)
                for one in fields_of(
                    kind, dict(zip(getattr(kind, "__parameters__", ()), arguments, strict=False))
                )
            }
            if issubclass(kind, tuple):
                return named_tuple_codec(kind, {one.name: codec for one, codec in parts.items()})
            codec = _mapped(kind, parts, self._extra(kind, config))
            return instance_codec(annotation, codec) if by_instance else codec

        tags = frozenset({"L"}) if issubclass(kind, tuple) else frozenset({"M"})
        return self._once((annotation, by_instance, inner_strict), tags, build)

    def _field(self, owner: type, one: FieldOf, *, strict: bool) -> Codec:
        try:
            return self.of(one.annotation, one.meta, strict=strict)
        except Unstorable as problem:
            raise Unstorable(f"{owner.__name__}.{one.name}: {problem}") from None

    def _extra(self, kind: type, config: Mapping[str, Any]) -> Codec | None:
        if config.get("extra") != "allow":
            return None
        if is_dataclass(kind):
            raise Unstorable(
                f"{kind.__name__} is a dataclass with extra='allow', which keeps extra values beside its fields; "
                f"write a model with extra='allow', or drop it"
            )
        declared = extra_of(kind)
        return PLAIN if declared is Any else self.of(declared, strict=False)


_CONTAINERS: Final[Mapping[Any, type]] = {
    list: list,
    tuple: tuple,
    set: set,
    frozenset: frozenset,
    dict: dict,
    AbstractSet: set,
    MutableSet: set,
    Mapping: dict,
    MutableMapping: dict,
}


def _has_fields(kind: type) -> bool:
    return (
        issubclass(kind, BaseModel)
        or is_dataclass(kind)
        or is_typeddict(kind)
        or (issubclass(kind, tuple) and hasattr(kind, "_fields"))
    )


def _mapped(kind: Any, parts: Mapping[FieldOf, Codec], extra: Codec | None) -> Codec:
    members = [
        Member(
            name=one.name,
            attribute=(one.meta.attribute and one.meta.attribute.name) or one.name,
            codec=codec,
            formerly=one.meta.attribute.formerly if one.meta.attribute else (),
            required=one.required,
            defaults_to_none=one.defaults_to_none,
            is_key=is_typeddict(kind),
            default=partial(default_of, kind, one.name),
            can_stay_absent=not one.default_depends,
        )
        for one, codec in parts.items()
    ]
    check_names(kind.__name__, members)
    if is_typeddict(kind):
        return typed_dict_codec(kind.__name__, members, extra=extra)
    return class_codec(kind, members, extra=extra)


def _unresolved(kind: Any) -> str:
    if isinstance(kind, TypeVar):
        return f"{kind} is a type variable; write a type instead, as in Page[int]"
    if isinstance(kind, str | ForwardRef):
        return f"{kind!r} could not be resolved; define it before the class that uses it"
    return _no_codec(kind)


def _no_codec(kind: Any) -> str:
    remedy = _ANY_REMEDY if kind in (Any, object) else _REMEDY
    return f"{name_of(kind)} cannot be stored; {remedy}"


def _become(reference: Codec, codec: Codec) -> None:
    """Turn a reference into the codec. Only codecs that are still being built have seen the reference."""
    names = "encode decode tags nullable is_set bound form opaque levels merge_parts is_open"
    for name in names.split():
        object.__setattr__(reference, name, getattr(codec, name))
    _adopt(reference, codec)


def _adopt(codec: Codec, source: Codec) -> None:
    object.__setattr__(codec, "element", source.element)
    object.__setattr__(codec, "key", source.key)
    object.__setattr__(codec, "members", source.members)
    object.__setattr__(codec, "absent", source.absent)
