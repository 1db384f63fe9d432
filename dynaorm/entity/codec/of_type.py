"""Finds the codec of a type, once, when a class is declared.

Rule 1. ``load(save(x)) == x`` for every type that has a codec. A type that cannot keep this promise has none.
Rule 2. Values are checked, not converted: a str field with the value 5 is refused, and so is a bool for an int.
Rule 3. A type may contain itself. Inside of itself it is a reference, which stands for the codec once that is complete.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import is_dataclass
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, ForwardRef, Literal, TypeVar, Union

import pydantic
from pydantic import BaseModel
from pydantic.types import Tag
from typing_extensions import is_typeddict

from dynaorm.entity.codec.choice import literal_codec
from dynaorm.entity.codec.container import dict_codec, list_codec, named_tuple_codec, set_codec, tuple_codec
from dynaorm.entity.codec.declared import (
    FieldOf,
    Meta,
    extra_of,
    fields_of,
    flat,
    meta_of,
    unresolved,
)
from dynaorm.entity.codec.depth import limited
from dynaorm.entity.codec.field import StoredField
from dynaorm.entity.codec.formed import foreign_codec, formed_codec, of_json
from dynaorm.entity.codec.json import ANY, JSON, NUMBER, PLAIN, AnyValue
from dynaorm.entity.codec.leaf import leaf_codec, secret_codec
from dynaorm.entity.codec.value import Codec, Reference, UnsupportedType, optional
from dynaorm.entity.type_tree import CONTAINERS, TypeTree, is_record, type_tree
from dynaorm.late import late
from dynaorm.record import replace

if TYPE_CHECKING:
    from dynaorm.entity.codec import model, union
else:
    late(globals(), model="dynaorm.entity.codec.model", union="dynaorm.entity.codec.union")

__all__ = ["Codec", "UnsupportedType", "codec_of"]

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
        annotation: the type, or its tree.
        metadata: its metadata in ``Annotated``. A pydantic FieldInfo stands for its own metadata and discriminator.
        strict: its model has ``strict=True``, so pydantic accepts only instances of dataclasses.

    Raises:
        UnsupportedType: the type has no codec. The message ends with the remedy.
    """
    resolution = _Resolution()
    codec = resolution.of(type_tree(annotation), meta_of(metadata), strict=strict)
    resolution.finish()
    return limited(codec)


class _Resolution:
    """Finds the codecs of one type and of all types inside of it."""

    def __init__(self) -> None:
        self._finished: dict[Any, Codec] = {}
        self._open: dict[Any, list[Reference]] = {}
        self._later: list[Callable[[], None]] = []

    def finish(self) -> None:
        """Run the checks that need complete codecs of the types that contain themselves."""
        for check in self._later:
            check()

    def of(self, tree: TypeTree, around: Meta = _NOTHING, *, strict: bool) -> Codec:
        """The codec of a type. ``around``: the metadata of what stands around it."""
        return self._with(tree, meta_of(tree.metadata).beside(around), strict=strict)

    def _with(self, tree: TypeTree, meta: Meta, *, strict: bool) -> Codec:
        """The codec of a type, as if it had this metadata instead of its own."""
        if meta.attribute is not None and (meta.attribute.encode or meta.attribute.decode):
            return foreign_codec(tree, meta.attribute)
        if meta.attribute is not None and meta.attribute.codec is not None and not meta.formed:
            inner, form = replace(meta, attribute=None, formed=True), meta.attribute.codec
            return formed_codec(tree, form, lambda: self._with(of_json(tree, form), inner, strict=strict))
        if meta.unmade:
            return model.instance_codec(
                tree.plain, self._with(tree, replace(meta, unmade=False), strict=strict)
            )
        if not tree.aliases:
            return self._of_type(tree, meta, strict=strict)
        for alias, codec in _NAMED:
            if alias in tree.aliases:
                return codec
        if tree.unresolved is not None:
            raise unresolved(tree.plain.__name__, tree.unresolved)
        key = (tree.aliases[0], meta, strict)
        return self._once(key, frozenset(), lambda: self._of_type(tree, meta, strict=strict))

    def _of_type(self, tree: TypeTree, meta: Meta, *, strict: bool) -> Codec:
        if tree.origin is Union:
            # A union may be among its own members; flattening it must end.
            key = (tree.plain, meta, strict)
            return self._once(key, frozenset(), lambda: self._union(tree, meta, strict=strict))
        if tree.origin is Literal:
            return literal_codec(tree.arguments)
        return self._class(tree, tree.origin, meta, strict=strict)

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
            self._open[key].append(reference := Reference(tags))
            return reference
        references = self._open[key] = []
        codec = self._finished[key] = build()
        del self._open[key]
        for reference in references:
            reference.complete(codec)
        return codec

    # -- unions --------------------------------------------------------------------------------------------------------

    def _union(self, tree: TypeTree, meta: Meta, *, strict: bool) -> Codec:
        discriminator = getattr(meta.discriminator, "discriminator", meta.discriminator)
        everything = tree.parts if discriminator is not None else flat(tree)
        different = [*{one.written: one for one in everything}.values()]
        # What has no other members than None has one member, however often it is written.
        members = [one for one in different if one.plain is not NoneType] or different[:1]
        if len(members) == 1 or discriminator is None:
            codec = self._plain_union(members, Meta(strict=meta.strict, formed=meta.formed), strict=strict)
        elif isinstance(discriminator, str):
            codec = self._discriminated(members, discriminator, strict=strict)
        else:
            codec = self._chosen(members, discriminator, strict=strict)
        return codec if len(members) == len(different) else optional(codec)

    def _plain_union(self, members: Sequence[TypeTree], meta: Meta, *, strict: bool) -> Codec:
        written = [one.written for one in members]
        both = int in written and float in written
        others = [one for one in members if not both or one.written not in (int, float)]
        codecs = [(one.name, self.of(one, meta, strict=strict)) for one in others]
        if both:
            codecs.append(("int | float", NUMBER))
        return codecs[0][1] if len(codecs) == 1 else union.union_codec(codecs, self._later.append)

    def _discriminated(self, members: Sequence[TypeTree], field: str, *, strict: bool) -> Codec:
        codecs = {one.name: self.of(one, strict=strict) for one in members}

        def check() -> None:
            for name, codec in codecs.items():
                if field not in (codec.members or ()):
                    raise UnsupportedType(
                        f"{name} has no field {field!r}, the discriminator; give it one of a Literal type"
                    )

        self._later.append(check)
        return union.discriminated_codec(codecs, field)

    def _chosen(self, members: Sequence[TypeTree], choose: Callable[[Any], Any], *, strict: bool) -> Codec:
        tagged = {one.tag: member for member in members for one in member.metadata if isinstance(one, Tag)}
        if len(tagged) < len(members):
            raise UnsupportedType(
                "a union with a function as discriminator has a member without Tag(...); give it one"
            )
        codecs: dict[Hashable, Codec] = {tag: self.of(one, strict=strict) for tag, one in tagged.items()}
        return union.chosen_codec(codecs, choose)

    # -- classes -------------------------------------------------------------------------------------------------------

    def _class(self, tree: TypeTree, kind: Any, meta: Meta, *, strict: bool) -> Codec:
        # tuple[()] has no arguments either, but it has types for all of its elements.
        is_bare = not tree.arguments or kind is Sequence
        if kind in _BARE and is_bare and (kind is not tuple or tree.plain != tuple[()]):
            raise UnsupportedType(f"{_BARE[kind]} {_OWN}")
        if not isinstance(kind, type):
            raise UnsupportedType(_not_a_class(tree))
        if kind in CONTAINERS:
            return self._container(tree, CONTAINERS[kind], strict=strict)
        if issubclass(kind, pydantic.Secret) and tree.parts:
            return secret_codec(tree.plain, self.of(tree.parts[0], strict=False))
        if issubclass(kind, BaseModel) and kind.__pydantic_root_model__:
            return self._root(kind)
        if is_record(kind):
            return self._record(tree, kind, meta, strict=strict)
        codec = leaf_codec(kind)
        if codec is None:
            raise UnsupportedType(_no_codec(tree))
        return codec

    def _container(self, tree: TypeTree, kind: type, *, strict: bool) -> Codec:
        parts = [self.of(one, strict=strict) for one in tree.parts]
        if kind is dict:
            return dict_codec(parts[0], parts[1], tree.parts[0].name)
        if kind is tuple and Ellipsis not in tree.arguments:
            return tuple_codec(parts)
        return (list_codec if kind in (list, tuple) else set_codec)(kind, parts[0])

    def _root(self, kind: type[BaseModel]) -> Codec:
        (root,) = fields_of(kind, {})
        inner_strict = bool(kind.model_config.get("strict"))
        return self._once(
            kind, frozenset(), lambda: model.root_codec(kind, self._field(kind, root, strict=inner_strict))
        )

    def _record(self, tree: TypeTree, kind: Any, meta: Meta, *, strict: bool) -> Codec:
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
            fields = fields_of(kind, tree.variables)
            parts = {one: self._field(kind, one, strict=inner_strict) for one in fields}
            if issubclass(kind, tuple):
                return named_tuple_codec(kind, {one.name: codec for one, codec in parts.items()})
            codec = _mapped(kind, parts, self._extra(kind, config))
            return model.instance_codec(tree.plain, codec) if by_instance else codec

        tags = frozenset({"L"}) if issubclass(kind, tuple) else frozenset({"M"})
        return self._once((tree.plain, by_instance, inner_strict), tags, build)

    def _field(self, owner: type, one: FieldOf, *, strict: bool) -> Codec:
        try:
            return self.of(one.tree, one.meta, strict=strict)
        except UnsupportedType as problem:
            raise UnsupportedType(f"{owner.__name__}.{one.name}: {problem}") from None

    def _extra(self, kind: type, config: Mapping[str, Any]) -> Codec | None:
        if config.get("extra") != "allow":
            return None
        if is_dataclass(kind):
            raise UnsupportedType(
                f"{kind.__name__} is a dataclass with extra='allow', which keeps extra values beside its fields; "
                f"write a model with extra='allow', or drop it"
            )
        declared = extra_of(kind)
        return PLAIN if declared.written is Any else self.of(declared, strict=False)


# Aliases with a codec of their own. To a type checker, JsonValue is a union.
_NAMED: Final[tuple[tuple[Any, Codec], ...]] = ((pydantic.JsonValue, JSON), (AnyValue, ANY))


def _mapped(kind: Any, parts: Mapping[FieldOf, Codec], extra: Codec | None) -> Codec:
    members = [
        StoredField(
            name=one.name,
            attribute=(one.meta.attribute and one.meta.attribute.name) or one.name,
            codec=codec,
            formerly=one.meta.attribute.formerly if one.meta.attribute else (),
            required=one.required,
            defaults_to_none=one.defaults_to_none,
            can_be_missing=is_typeddict(kind) and not one.required,
            default=one.default,
            default_depends=one.default_depends,
        )
        for one, codec in parts.items()
    ]
    model.check_names(kind.__name__, members)
    if is_typeddict(kind):
        return model.typed_dict_codec(kind.__name__, members, extra=extra)
    return model.class_codec(kind, members, extra=extra)


def _not_a_class(tree: TypeTree) -> str:
    if isinstance(tree.plain, TypeVar):
        return f"{tree.plain} is a type variable; write a type instead, as in Page[int]"
    if isinstance(tree.plain, str | ForwardRef):
        return f"{tree.plain!r} could not be resolved; define it before the class that uses it"
    return _no_codec(tree)


def _no_codec(tree: TypeTree) -> str:
    remedy = _ANY_REMEDY if tree.origin in (Any, object) else _REMEDY
    return f"{type_tree(tree.origin).name} cannot be stored; {remedy}"
