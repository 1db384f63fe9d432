"""Finds the codec of a type, once, when a class is declared.

Rule 1. ``load(save(x)) == x`` for every type that has a codec. A type that cannot keep this promise has none.
Rule 2. Values are checked, not converted: a str field with the value 5 is refused, and so is a bool for an int.
Rule 3. A type may contain itself. Inside of itself it is a reference, which stands for the codec once that is complete.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, ForwardRef, Literal, Required, TypeVar, Union

import pydantic
from pydantic import BaseModel, Discriminator, InstanceOf, JsonValue, SkipValidation
from pydantic.fields import FieldInfo
from pydantic.types import EncodedBytes, EncodedStr, Strict, Tag
from pydantic_core import PydanticUndefined
from typing_extensions import ReadOnly, is_typeddict

from dynaorm.entity.codec.container import (
    ANY,
    JSON,
    NUMBER,
    PLAIN,
    AnyValue,
    DictCodec,
    FilledSetsCodec,
    ListCodec,
    TupleCodec,
    set_codec,
)
from dynaorm.entity.codec.leaf import (
    SecretCodec,
    foreign_codec,
    formed_codec,
    leaf_codec,
    literal_codec,
    of_json,
)
from dynaorm.entity.codec.value import Codec, Reference, StoredField, UnsupportedType, limited, optional
from dynaorm.entity.marker import Attribute, parse_markers
from dynaorm.entity.type_tree import CONTAINERS, TypeTree, hints_of, is_record, substituted, type_tree
from dynaorm.late import late
from dynaorm.record import record, replace

if TYPE_CHECKING:
    from dynaorm.entity.codec import model
else:
    late(globals(), model="dynaorm.entity.codec.model")

__all__ = ["Codec", "UnsupportedType", "codec_of"]


# -- declarations: models, dataclasses, typed dicts and named tuples all become ``FieldOf`` values ---------------------

# To a type checker, Json[X] is X and JsonValue is a union.
_JSON: Any = pydantic.Json
_ANY_JSON: Any = JsonValue
# To a type checker, InstanceOf[X] and SkipValidation[X] are X.
_UNMADE: Any = (InstanceOf, SkipValidation)


@record
class Meta:
    """The metadata of a type that affects how it is stored.

    Attributes:
        discriminator: the field name or function that chooses the member of a union.
        attribute: the ``Attribute`` marker.
        strict: whether pydantic accepts only instances.
        formed: the ``codec=`` of the marker has been applied.
        unmade: pydantic makes no instances of what is decoded (``InstanceOf``, ``SkipValidation``).
    """

    discriminator: Any = None
    attribute: Attribute | None = None
    strict: bool = False
    formed: bool = False
    unmade: bool = False

    def beside(self, outer: Meta) -> Meta:
        """The metadata of an ``Annotated`` inside another one; the inner one takes precedence."""
        return Meta(
            self.discriminator or outer.discriminator,
            self.attribute or outer.attribute,
            self.strict or outer.strict,
            self.formed or outer.formed,
            self.unmade or outer.unmade,
        )


def meta_of(metadata: Sequence[object]) -> Meta:
    """The metadata that affects storing. Raises UnsupportedType for what decodes the value on each validation."""
    found = Meta()
    for one in metadata:
        _refuse_decoding(one)
        if isinstance(one, FieldInfo):
            found = found.beside(Meta(one.discriminator)).beside(meta_of(one.metadata))
        elif isinstance(one, Discriminator):
            found = found.beside(Meta(one))
        elif isinstance(one, Attribute):
            found = found.beside(Meta(attribute=one))
        elif isinstance(one, Strict):
            found = found.beside(Meta(strict=one.strict))
        elif isinstance(one, _UNMADE):
            found = found.beside(Meta(unmade=True))
    return found


def _refuse_decoding(one: object) -> None:
    if one is _JSON or isinstance(one, _JSON):
        raise UnsupportedType(
            "Json[...] parses text, and a loaded value is not text any more; declare the type inside of Json[...]"
        )
    if isinstance(one, EncodedBytes | EncodedStr):
        raise UnsupportedType(
            f"{type(one).__name__} decodes on every validation, so a loaded value would be decoded twice; "
            f"declare plain bytes or str, and decode the value before validation"
        )


@record(eq=False)
class FieldOf:
    """A field as declared: its type, its metadata and its static default (None if there is none, or a factory).

    ``default_depends``: the default is a function of the fields before it.
    """

    name: str
    tree: TypeTree
    meta: Meta = Meta()
    default: Any = None
    required: bool = True
    defaults_to_none: bool = False
    default_depends: bool = False


def fields_of(kind: Any, arguments: Mapping[Any, Any]) -> Iterator[FieldOf]:
    """The fields of a model, dataclass, TypedDict or NamedTuple, in order; ``arguments`` replace its type variables.

    Raises:
        UnsupportedType: an annotation cannot be resolved, or a stored field could not be passed to the constructor.
    """
    if issubclass(kind, BaseModel):
        yield from _model_fields(kind)
    elif dataclasses.is_dataclass(kind):
        yield from _dataclass_fields(kind, arguments)
    elif is_typeddict(kind):
        yield from _keys(kind, arguments)
    else:
        hints = _hints_of(kind)
        for name in kind._fields:
            yield FieldOf(name, type_tree(substituted(hints.get(name, Any), arguments)))


def unresolved(name: str, problem: NameError) -> UnsupportedType:
    """The error for a class or alias with an annotation that cannot be resolved."""
    return UnsupportedType(
        f"the annotations of {name} cannot be resolved ({problem}); define {name} and the names in it at the "
        f"top of a module"
    )


def _hints_of(kind: Any) -> Mapping[str, Any]:
    try:
        return hints_of(kind)
    except NameError as problem:
        raise unresolved(kind.__name__, problem) from problem


def _model_fields(model: type[BaseModel]) -> Iterator[FieldOf]:
    if not model.__pydantic_complete__:
        model.model_rebuild(raise_errors=False)
    for name, info in model.model_fields.items():
        yield _field(model, name, info, info.annotation)


def _field(owner: type, name: str, info: FieldInfo, annotation: Any) -> FieldOf:
    mark = parse_markers(name, info)
    if mark.problems:
        raise UnsupportedType(f"{owner.__name__}.{mark.problems[0]}")
    attributes = mark.find(Attribute)
    return FieldOf(
        name=name,
        tree=type_tree(annotation),
        meta=meta_of((*attributes, info)),
        default=None if info.default is PydanticUndefined else info.default,
        required=info.is_required(),
        defaults_to_none=not info.is_required() and info.default_factory is None and info.default is None,
        default_depends=bool(info.default_factory_takes_validated_data),
    )


def _dataclass_fields(kind: Any, arguments: Mapping[Any, Any]) -> Iterator[FieldOf]:
    for name, info in _field_infos(kind).items():
        if info.init_var:
            if info.is_required():
                raise UnsupportedType(
                    f"{kind.__name__}.{name} is an InitVar, which is not stored but needed to load; "
                    f"give it a default"
                )
        elif info.init is not False:
            yield _field(kind, name, info, substituted(info.annotation, arguments))
    for one in dataclasses.fields(kind):
        if not one.init and one.compare:
            raise UnsupportedType(
                f"{kind.__name__}.{one.name} has init=False, so a stored value could not be passed to the class; "
                f"write compare=False if it follows from the other fields, or drop init=False"
            )


def _field_infos(kind: Any) -> Mapping[str, FieldInfo]:
    if pydantic.dataclasses.is_pydantic_dataclass(kind):
        pydantic.dataclasses.rebuild_dataclass(kind, raise_errors=False)
        found: Mapping[str, FieldInfo] = kind.__pydantic_fields__
        return found
    hints = _hints_of(kind)
    infos = {
        name: FieldInfo.from_annotated_attribute(hint.type, getattr(kind, name, ...))
        for name, hint in hints.items()
        if isinstance(hint, dataclasses.InitVar)
    }
    for info in infos.values():
        info.init_var = True
    for one in dataclasses.fields(kind):
        default = one.default if isinstance(one.default, FieldInfo) else one
        infos[one.name] = FieldInfo.from_annotated_attribute(hints[one.name], default)
    return infos


def _keys(kind: Any, arguments: Mapping[Any, Any]) -> Iterator[FieldOf]:
    for name, hint in _hints_of(kind).items():
        tree = type_tree(substituted(hint, arguments))
        # With `from __future__ import annotations`, __required_keys__ ignores these.
        told = [one is Required for one in tree.qualifiers if one is not ReadOnly]
        required = told[-1] if told else name in kind.__required_keys__
        yield FieldOf(name, tree, meta_of(tree.metadata), required=required)


def extra_of(kind: type) -> TypeTree:
    """The type of a model's extra fields (``__pydantic_extra__: dict[str, int]``), or Any."""
    for base in kind.__mro__:
        if base is not BaseModel and "__pydantic_extra__" in inspect.get_annotations(base):
            return type_tree(_hints_of(base)["__pydantic_extra__"]).parts[1]
    return type_tree(Any)


def flat(tree: TypeTree) -> Iterator[TypeTree]:
    """The members of a union, with unions among them flattened, but not discriminated ones."""
    for one in tree.parts:
        if one.origin is Union and _ANY_JSON not in one.aliases and meta_of(one.metadata) == Meta():
            yield from flat(one)
        else:
            yield one


# -- the walk of a type ------------------------------------------------------------------------------------------------

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
        self._unions: list[model.UnionCodec | model.DiscriminatedCodec] = []

    def finish(self) -> None:
        """Check what needs complete codecs of the types that contain themselves."""
        for union in self._unions:
            union.check()

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
            return model.InstanceCodec(
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
        if len(codecs) == 1:
            return codecs[0][1]
        self._unions.append(codec := model.UnionCodec(codecs))
        return codec

    def _discriminated(self, members: Sequence[TypeTree], field: str, *, strict: bool) -> Codec:
        codecs = {one.name: self.of(one, strict=strict) for one in members}
        self._unions.append(codec := model.DiscriminatedCodec(codecs, field))
        return codec

    def _chosen(self, members: Sequence[TypeTree], choose: Callable[[Any], Any], *, strict: bool) -> Codec:
        tagged = {one.tag: member for member in members for one in member.metadata if isinstance(one, Tag)}
        if len(tagged) < len(members):
            raise UnsupportedType(
                "a union with a function as discriminator has a member without Tag(...); give it one"
            )
        codecs: dict[Hashable, Codec] = {tag: self.of(one, strict=strict) for tag, one in tagged.items()}
        return model.ChosenCodec(codecs, choose)

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
            return SecretCodec(tree.plain, self.of(tree.parts[0], strict=False))
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
            codec = DictCodec(parts[0], parts[1], tree.parts[0].name)
            has_no_empty_sets = StoredField("", "", parts[1]).empty_is_absent
            return FilledSetsCodec(codec, exact=False) if has_no_empty_sets else codec
        if kind is tuple and Ellipsis not in tree.arguments:
            return TupleCodec(tuple, parts)
        return ListCodec(kind, parts[0]) if kind in (list, tuple) else set_codec(kind, parts[0])

    def _root(self, kind: type[BaseModel]) -> Codec:
        (root,) = fields_of(kind, {})
        inner_strict = bool(kind.model_config.get("strict"))
        return self._once(
            kind, frozenset(), lambda: model.RootCodec(kind, self._field(kind, root, strict=inner_strict))
        )

    def _record(self, tree: TypeTree, kind: Any, meta: Meta, *, strict: bool) -> Codec:
        config = (
            kind.model_config if issubclass(kind, BaseModel) else getattr(kind, "__pydantic_config__", {})
        )
        if not issubclass(kind, BaseModel):
            strict = bool(
                config.get("strict", strict and not pydantic.dataclasses.is_pydantic_dataclass(kind))
            )
        by_instance = meta.strict or (strict and dataclasses.is_dataclass(kind))
        # instance_codec validates leniently, so nothing inside needs to be an instance.
        inner_strict = not by_instance and bool(config.get("strict", strict))

        def build() -> Codec:
            fields = fields_of(kind, tree.variables)
            parts = {one: self._field(kind, one, strict=inner_strict) for one in fields}
            if issubclass(kind, tuple):
                return TupleCodec(kind, {one.name: codec for one, codec in parts.items()})
            codec = _mapped(kind, parts, self._extra(kind, config))
            return model.InstanceCodec(tree.plain, codec) if by_instance else codec

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
        if dataclasses.is_dataclass(kind):
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
    made = model.TypedDictCodec if is_typeddict(kind) else model.ModelCodec
    return made(kind, members, extra=extra)


def _not_a_class(tree: TypeTree) -> str:
    if isinstance(tree.plain, TypeVar):
        return f"{tree.plain} is a type variable; write a type instead, as in Page[int]"
    if isinstance(tree.plain, str | ForwardRef):
        return f"{tree.plain!r} could not be resolved; define it before the class that uses it"
    return _no_codec(tree)


def _no_codec(tree: TypeTree) -> str:
    remedy = _ANY_REMEDY if tree.origin in (Any, object) else _REMEDY
    return f"{type_tree(tree.origin).name} cannot be stored; {remedy}"
