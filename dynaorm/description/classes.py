"""The description of one class, from its mapping."""

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from types import NoneType
from typing import Any, Literal, Union, get_args

from pydantic_core import PydanticUndefined

from dynaorm.description.description import (
    ClassDescription,
    FieldDescription,
    FieldPart,
    IndexKeyDescription,
    LiteralPart,
    Piece,
    TemplateDescription,
    TotalDescription,
    UniqueDescription,
)
from dynaorm.entity.declare.catalog import cached_per_table, catalog_of
from dynaorm.entity.key_part import KeyPart
from dynaorm.entity.mapping.constraint import Constraint
from dynaorm.entity.mapping.field import FieldMapping
from dynaorm.entity.mapping.index_places import IndexMapping, When
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.marker import OneOf, parse_markers
from dynaorm.entity.table import Table
from dynaorm.entity.template import KeyTemplate
from dynaorm.entity.type_tree import TypeTree, type_tree


def name_of(mapping: EntityMapping) -> str:
    """The name of a class: its Python name. Of two with one name, it is followed by the stored name in parentheses."""
    # A class that was declared again is no longer among those of its table.
    return cached_per_table(mapping.table, _names).get(mapping.entity, mapping.entity.__name__)


def _names(table: Table) -> Mapping[type, str]:
    mappings = catalog_of(table).mappings.values()
    count = Counter(mapping.entity.__name__ for mapping in mappings)
    return {
        mapping.entity: mapping.entity.__name__
        if count[mapping.entity.__name__] == 1
        else f"{mapping.entity.__name__} ({mapping.name})"
        for mapping in mappings
    }


def type_text(annotation: Any) -> str:
    """A type without markers and modules: ``str | None``, ``list[Address]``."""
    return _text(type_tree(annotation), ())


def _text(tree: TypeTree, around: tuple[TypeTree, ...]) -> str:
    # A type may contain itself.
    if tree in around:
        return "..."
    around = (*around, tree)
    if tree.origin is Union:
        return " | ".join(_text(part, around) for part in tree.parts)
    if tree.origin is Literal:
        return f"Literal[{', '.join(map(value_text, tree.arguments))}]"
    if tree.plain is NoneType:
        return "None"
    if not isinstance(tree.origin, type):
        return str(tree.plain).replace("typing.", "")
    parts = [_text(part, around) for part in tree.parts]
    if Ellipsis in get_args(tree.plain):
        parts.append("...")
    return f"{tree.origin.__name__}[{', '.join(parts)}]" if parts else tree.origin.__name__


def value_text(value: object) -> str:
    """A value as Python text."""
    return f"{type(value).__name__}.{value.name}" if isinstance(value, Enum) else repr(value)


def class_description(mapping: EntityMapping) -> ClassDescription:
    """What a class is."""
    entity, secret = mapping.entity, mapping.secrets.fields
    return ClassDescription(
        name=name_of(mapping),
        module=entity.__module__,
        stored_name=mapping.name,
        formerly=mapping.formerly,
        root=_root_name(mapping),
        subclasses=tuple(map(name_of, _subclasses(mapping))),
        doc=_first_line(entity),
        fields=(*(_field(mapping, field) for field in mapping.fields.values()), *_computed(mapping)),
        key_fields=mapping.key_fields,
        partition=template_of(mapping.partition),
        sort=None if mapping.sort is None else template_of(mapping.sort),
        places=tuple(_place(mapping, index) for index in mapping.indexes.values()),
        unique=tuple(_unique(mapping, constraint) for constraint in mapping.constraints.values()),
        versions=None if mapping.versioning is None else mapping.versioning.template.text,
        expires=None if mapping.expires is None else mapping.expires.name,
        totals=tuple(
            TotalDescription(
                name=aggregate.name,
                target=name_of(mapping_of(aggregate.target)),
                key=dict(aggregate.key),
                count=aggregate.count,
                sums=dict(aggregate.sums),
                when=_condition(aggregate.when, secret),
                restrict=aggregate.restrict,
            )
            for aggregate in mapping.aggregates.values()
        ),
        totals_kept=dict(mapping.maintained),
    )


def _root_name(mapping: EntityMapping) -> str:
    known = catalog_of(mapping.table).mappings.values()
    return next((name_of(one) for one in known if one.entity is mapping.root), mapping.root.__name__)


def _subclasses(mapping: EntityMapping) -> Iterator[EntityMapping]:
    for one in catalog_of(mapping.table).mappings.values():
        if one.entity is not mapping.entity and issubclass(one.entity, mapping.entity):
            yield one


def _first_line(entity: type[Any]) -> str:
    return inspect.cleandoc(entity.__doc__ or "").partition("\n")[0].strip()


def template_of(part: KeyPart) -> TemplateDescription:
    """The template of a key attribute."""
    template, version = part.template, part.version
    return TemplateDescription(
        attribute=part.attribute.name,
        text=part.text if version is None else "" if template is None else template.text,
        pieces=() if template is None else tuple(_pieces(template)),
        version_text=None if version is None else version.text,
    )


def _pieces(template: KeyTemplate) -> Iterator[Piece]:
    for piece in template.pieces:
        if piece.before:
            yield LiteralPart(piece.before)
        # Only a spec after a colon is written without its sign: {n!s} has the spec "!s".
        spec = piece.source.removeprefix("{" + piece.field).removesuffix("}").removeprefix(":")
        yield FieldPart(piece.field, spec, piece.shards)
    if template.after:
        yield LiteralPart(template.after)


def _field(mapping: EntityMapping, field: FieldMapping) -> FieldDescription:
    info, is_secret = mapping.entity.model_fields[field.name], field.name in mapping.secrets.fields
    has_default = (
        not field.required and info.default_factory is None and info.default is not PydanticUndefined
    )
    return FieldDescription(
        name=field.name,
        attribute=field.attribute,
        type=type_text(info.annotation),
        dynamodb_types=_dynamodb_types(mapping, field),
        required=field.required,
        default=value_text(info.default) if has_default and not is_secret else None,
        stored_in_key=field.in_key,
        marks=tuple(_marks(mapping, field)),
        secret=is_secret,
        formerly=field.formerly,
        doc=info.description or "",
    )


def _computed(mapping: EntityMapping) -> Iterator[FieldDescription]:
    """The computed fields that are stored."""
    for name, one in mapping.stored.items():
        info = mapping.entity.model_computed_fields[name]
        yield FieldDescription(
            name=name,
            attribute=one.attribute,
            type=type_text(info.return_type),
            dynamodb_types=tuple(sorted(one.codec.tags - {"NULL"})),
            required=False,
            marks=("computed",),
            secret=name in mapping.secrets.fields,
            doc=info.description or "",
        )


def _dynamodb_types(mapping: EntityMapping, field: FieldMapping) -> tuple[str, ...]:
    if field.in_key:
        parts = (part for part in mapping.key_parts() if field.name in part.lossless)
        return tuple(dict.fromkeys(part.attribute.kind for part in parts))
    absent = {"NULL"} if field.none_is_absent else set[str]()
    return tuple(sorted(field.codec.tags - absent))


def _marks(mapping: EntityMapping, field: FieldMapping) -> Iterator[str]:
    versioning = mapping.versioning
    marks: Mapping[str, bool] = {
        "unique": any(field.name in constraint.fields for constraint in mapping.constraints.values()),
        "versioned": versioning is not None and field.name in (versioning.fields or ()),
        "one of": bool(parse_markers(field.name, mapping.entity.model_fields[field.name]).find(OneOf)),
        "expires": mapping.expires is field and mapping.table.ttl_attribute is not None,
        "expires in ms": mapping.expires is field and mapping.table.ttl_attribute is None,
        "created at": field in mapping.created,
        "updated at": field in mapping.updated,
        "total": field.name in mapping.maintained,
    }
    yield from (mark for mark, is_so in marks.items() if is_so)


def _place(mapping: EntityMapping, place: IndexMapping) -> IndexKeyDescription:
    names = dict.fromkeys(name for part in place.parts for name in part.fields)
    return IndexKeyDescription(
        name=place.attribute_name,
        index=place.name,
        partition=tuple(map(template_of, place.partition)),
        sort=tuple(map(template_of, place.sort)),
        when=_condition(place.when, mapping.secrets.fields),
        absent_if=tuple(name for name in names if _may_be_none(mapping, name)),
    )


def _may_be_none(mapping: EntityMapping, name: str) -> bool:
    field = mapping.fields.get(name)
    return mapping.computed[name].nullable if field is None else field.codec.nullable


def _condition(when: When | None, secret: frozenset[str]) -> str | None:
    return None if when is None else when.text(secret) or "a function"


def _unique(mapping: EntityMapping, constraint: Constraint) -> UniqueDescription:
    home = mapping.table.guards
    text = f"{constraint.name}#{'#'.join(f'{{{name}}}' for name in constraint.fields)}"
    own = {part.attribute.name: part.text for part in constraint.parts}
    return UniqueDescription(
        name=constraint.name,
        fields=constraint.fields,
        normalize=None if constraint.normalize is None else _function_name(constraint.normalize),
        when=_condition(constraint.when, mapping.secrets.fields),
        shared=constraint.shared,
        guard_key=own or dict.fromkeys(home.key_names, text),
    )


def _function_name(function: Callable[..., Any]) -> str:
    return getattr(function, "__qualname__", type(function).__name__)


def fields_in(parts: Iterable[KeyPart]) -> tuple[str, ...]:
    """The fields in some key parts, each once, in order."""
    return tuple(dict.fromkeys(name for part in parts for name in part.fields))
