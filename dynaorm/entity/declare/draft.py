"""The draft of a class: what its statement says, and what the rules of ``entity`` have compiled of it so far."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from dynaorm.entity.declare.options import ClassOptions
from dynaorm.entity.encoded import encoded_scalar
from dynaorm.entity.key_part import BOOKKEEPING, PARTITION_KEY_LIMIT, SORT_KEY_LIMIT, KeyPart, VersionTemplate
from dynaorm.entity.mapping.aggregate import Aggregate, AggregateMapping
from dynaorm.entity.mapping.computed import ComputedValue, computed_field_value, nested_value
from dynaorm.entity.mapping.constraint import Constraint
from dynaorm.entity.mapping.field import FieldMapping
from dynaorm.entity.mapping.place import IndexMapping, StoredComputedField, UndeclaredKey, places_of
from dynaorm.entity.marker import (
    AnnotatedField,
    Attribute,
    Computed,
    InKey,
    Unique,
    Vector,
    declarations_of,
    parse_markers,
)
from dynaorm.entity.table import Index, KeyAttribute, Table, VectorIndex
from dynaorm.entity.template import KeyTemplate, TemplateError, compile_template
from dynaorm.entity.text.scalar import Scalar, scalar_of
from dynaorm.entity.type_tree import TypeTree

_IN_BRACES: Final = re.compile(r"\{([^\W\d]\w*(?:\.[^\W\d]\w*)+)")


class Draft:
    """A class that is being declared.

    Attributes:
        entity: the class.
        options: the keywords of its statement.
        problems: what is wrong with the declaration, one sentence each.
        partition: its partition key, and so on: what could be compiled, as in ``EntityMapping``.
    """

    def __init__(self, entity: type[BaseModel], options: ClassOptions) -> None:
        self.entity = entity
        self.options = options
        self.problems: list[str] = []
        self.partition: KeyPart | None = None
        self.sort: KeyPart | None = None
        self.version_template: VersionTemplate | None = None
        self.indexes: dict[str, IndexMapping] = {}
        self.undeclared: dict[str, UndeclaredKey] = {}
        self.aggregates: dict[str, AggregateMapping] = {}
        self.fields: dict[str, FieldMapping] = {}
        self.constraints: dict[str, Constraint] = {}
        self.stored_places: dict[str, StoredComputedField] = {}

    # -- what is declared ----------------------------------------------------------------------------------------------

    @property
    def table(self) -> Table:
        assert self.options.table is not None
        return self.options.table

    @cached_property
    def marks(self) -> Mapping[str, AnnotatedField]:
        """The fields of the class, as they are annotated."""
        return {name: parse_markers(name, info) for name, info in self.entity.model_fields.items()}

    @cached_property
    def computed_marks(self) -> Mapping[str, AnnotatedField]:
        """The types of computed fields without their markers, and the markers."""
        fields = self.entity.model_computed_fields.items()
        return {
            name: parse_markers(name, FieldInfo.from_annotation(info.return_type)) for name, info in fields
        }

    @cached_property
    def computed(self) -> Mapping[str, ComputedValue]:
        """The computed fields, and the nested fields that declarations name, if their values have one text."""
        return {value.name: value for value in (*self._nested_fields(), *self._computed_fields())}

    @cached_property
    def scalars(self) -> Mapping[str, Scalar]:
        """The types of the fields that have a text form, or of the forms they are stored in."""
        scalars = {name: _scalar(mark) for name, mark in self.marks.items()}
        scalars |= {name: value.scalar for name, value in self.computed.items()}
        return {name: scalar for name, scalar in scalars.items() if scalar is not None}

    @cached_property
    def attributes(self) -> Mapping[str, str]:
        """The stored names of the fields."""
        return {name: self._attribute_of(name, mark) for name, mark in self.marks.items()}

    @cached_property
    def nullable(self) -> frozenset[str]:
        """The fields that accept None."""
        nullable = {name for name, mark in self.marks.items() if mark.tree.accepts_none}
        return frozenset(nullable | {name for name, value in self.computed.items() if value.nullable})

    @cached_property
    def in_key(self) -> frozenset[str]:
        """The fields with ``InKey()``."""
        return frozenset(name for name, mark in self.marks.items() if mark.find(InKey))

    @cached_property
    def reserved(self) -> Mapping[str, str]:
        """The attributes that dynaorm writes into every item of the class, and what each holds."""
        revision = self.table.revision
        known = (
            (None if self.options.own_type else self.table.type_attribute, "the entity's name"),
            (None if revision is None else revision.attribute, "the revision"),
        )
        reserved = {name: what for name, what in known if name is not None}
        return {**reserved, **BOOKKEEPING} if self.options.versioned else reserved

    def _attribute_of(self, name: str, mark: AnnotatedField) -> str:
        if (index := self.vector_index_of(mark)) is not None:
            return index.vector
        markers = mark.find(Attribute)
        return markers[0].name if markers and markers[0].name is not None else name

    def vector_index_of(self, mark: AnnotatedField) -> VectorIndex | None:
        """The index whose vectors a field holds; None if it holds none, or if there is no such index."""
        named = [self.table.indexes.get(vector.index) for vector in mark.find(Vector)]
        return next((index for index in named if isinstance(index, VectorIndex)), None)

    def has(self, name: str) -> bool:
        """Whether the class has such a field, computed field or nested field."""
        return name in self.attributes or name in self.computed

    def stored(self, names: Iterable[str]) -> frozenset[str]:
        """The fields that some fields, computed fields and nested fields are made of."""
        fields = (self.computed[name].fields if name in self.computed else (name,) for name in names)
        return frozenset().union(*fields)

    def own_field(self, attribute: KeyAttribute) -> str | None:
        """The field stored under a key attribute."""
        return next((name for name, stored in self.attributes.items() if stored == attribute.name), None)

    # -- computed and nested fields ------------------------------------------------------------------------------------

    def _computed_fields(self) -> Iterator[ComputedValue]:
        for name, mark in self.computed_marks.items():
            if (scalar := mark.scalar) is not None:
                named = [field for marker in mark.find(Computed) for field in marker.of]
                fields = frozenset(named or self.entity.model_fields)
                value = computed_field_value(self.entity, name, fields)
                yield ComputedValue(name, scalar, mark.tree.accepts_none, fields, value, is_told=bool(named))

    def _nested_fields(self) -> Iterator[ComputedValue]:
        for name in dict.fromkeys(name for name in self._named() if isinstance(name, str) and "." in name):
            path = tuple(name.split("."))
            tree: TypeTree | None = self.marks[path[0]].tree if path[0] in self.marks else None
            nullable = False
            for step in path[1:]:
                nullable |= tree is not None and tree.accepts_none
                part = tree.without_none.member(step) if tree is not None else None
                tree = None if part is None else part.tree
            if tree is not None and (scalar := scalar_of(tree)) is not None:
                nullable, fields = nullable or tree.accepts_none, frozenset(path[:1])
                yield ComputedValue(name, scalar, nullable, fields, nested_value(path), is_told=True)

    def _named(self) -> Iterator[Any]:
        """What its declarations name; what they are given may be of any type."""
        options = self.options
        templates: list[Any] = [options.pk, options.sk, options.versioned]
        for _, index in declarations_of(self.entity, Index):
            templates += [index.pk_text, index.sk_text]
        for members in options.unique.values():
            yield from members
        for unique in (marker for mark in self.marks.values() for marker in mark.find(Unique)):
            templates += [unique.pk, unique.sk]
            yield from unique.scope
        for _, aggregate in declarations_of(self.entity, Aggregate):
            key: Any = aggregate.key
            sums: Any = aggregate.sums
            yield from key.values() if isinstance(key, Mapping) else ()
            yield from sums if isinstance(sums, Mapping) else ()
        for template in templates:
            for text in template if isinstance(template, tuple) else (template,):
                yield from _IN_BRACES.findall(text) if isinstance(text, str) else ()

    # -- keys ----------------------------------------------------------------------------------------------------------

    @property
    def primary(self) -> tuple[KeyPart, ...]:
        return tuple(part for part in (self.partition, self.sort) if part is not None)

    @property
    def in_primary_key(self) -> frozenset[str]:
        """The fields that can be read back exactly from the rendered parts of the primary key."""
        return frozenset(name for part in self.primary if part.made_up for name in part.lossless)

    @property
    def lossless(self) -> frozenset[str]:
        """The fields that can be read back exactly from a key whenever they are not None."""
        lossless = set(self.in_primary_key)
        for index in places_of(self.indexes.values()).values():
            # An index with a condition has not every item, so its key may be absent.
            for part in index.places[0].parts if index.is_plain else ():
                # If one field of an index key is None, the key is absent, and the other fields are lost with it.
                others = {name: index.fields - {name} for name in part.lossless if part.made_up}
                lossless |= {name for name, rest in others.items() if not rest & self.nullable}
        return frozenset(lossless)

    @property
    def made_up(self) -> frozenset[str]:
        """The key attributes that no field may be stored under."""
        parts = [*self.primary, *(part for index in self.indexes.values() for part in index.parts)]
        return frozenset(part.attribute.name for part in parts if part.made_up)

    @cached_property
    def _own_codecs(self) -> list[tuple[str, Any]]:
        markers = ((name, marker) for name, mark in self.marks.items() for marker in mark.find(Attribute))
        return [(name, marker) for name, marker in markers if marker.encode and marker.decode]

    @cached_property
    def encoded(self) -> Mapping[str, Scalar]:
        """The fields with their own ``encode=`` that are stored in a key attribute."""
        kinds = self.table.kinds
        return {
            name: encoded_scalar(marker.encode, marker.decode, kind)
            for name, marker in self._own_codecs
            if (kind := kinds.get(self.attributes[name]))
        }

    @cached_property
    def texts(self) -> Mapping[str, Scalar]:
        """All fields with their own ``encode=``, as they stand in string keys."""
        return {
            name: encoded_scalar(marker.encode, marker.decode, "S", scalar_of(self.marks[name].tree))
            for name, marker in self._own_codecs
        }

    def template(
        self, where: str, text: str, attribute: KeyAttribute, *, sort: bool, home: Table | None = None
    ) -> KeyTemplate | None:
        """A compiled template; None if it is refused. ``home``: the table with the key, if it is another one."""
        scalars = {**self.scalars, **self.texts} if attribute.kind == "S" else self.scalars
        if home is None and (own := self._own(text, attribute)) is not None and own in self.encoded:
            scalars = {**scalars, own: self.encoded[own]}
        try:
            return compile_template(
                text,
                scalars,
                kind=attribute.kind,
                sort=sort,
                known=self.attributes.keys(),
                escape=(home or self.table).escape,
            )
        except TemplateError as error:
            self.problems += [f"{where}={text!r}: {problem}" for problem in error.problems]
            return None

    def part(self, where: str, text: str, attribute: KeyAttribute, *, sort: bool) -> KeyPart | None:
        template = self.template(where, text, attribute, sort=sort)
        if template is None:
            return None
        # An attribute may be the partition key here and a sort key there.
        is_sort_key = sort or any(attribute in index.sk for index in self.table.indexes.values())
        limit = SORT_KEY_LIMIT if is_sort_key else PARTITION_KEY_LIMIT
        return KeyPart(attribute, template, limit, made_up=self._own(text, attribute) is None)

    def _own(self, text: str, attribute: KeyAttribute) -> str | None:
        """The field stored in a key attribute, if the template is that field alone."""
        own = self.own_field(attribute)
        # The field that is stored in the primary key alone does not write the attribute, so the index does.
        if own is None or (attribute not in self.table.keys and self._is_in_key(own)):
            return None
        return own if text in (f"{{{own}}}", f"{{{own}:raw}}") else None

    def _is_in_key(self, name: str) -> bool:
        return name in self.in_key or (self.table.key_fields == "in_key" and name in self.in_primary_key)


def _scalar(mark: AnnotatedField) -> Scalar | None:
    form = next((marker.codec for marker in mark.find(Attribute)), None)
    return mark.scalar if form is None else form.scalar
