"""Reads declarations: the fields of a class, and the metadata in ``Annotated``.

Pydantic models and dataclasses, standard dataclasses, typed dicts and named tuples all become ``FieldOf`` values.
"""

import dataclasses
import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Required, Union

import pydantic
import typing_extensions
from pydantic import BaseModel, Discriminator, InstanceOf, JsonValue, SkipValidation
from pydantic.fields import FieldInfo
from pydantic.types import EncodedBytes, EncodedStr, Strict
from pydantic_core import PydanticUndefined
from typing_extensions import ReadOnly

from dynaorm.entity.codec.value import UnsupportedType
from dynaorm.entity.marker import Attribute, parse_markers
from dynaorm.entity.type_tree import TypeTree, hints_of, substituted, type_tree
from dynaorm.record import record

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

    def beside(self, outer: "Meta") -> "Meta":
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
    elif typing_extensions.is_typeddict(kind):
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
