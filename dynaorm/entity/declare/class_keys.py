"""The fields of a class as its key templates see them, and the keys that could be compiled of these."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any

from pydantic import BaseModel

from dynaorm.entity.annotation import Marked
from dynaorm.entity.declaration import declarations_of
from dynaorm.entity.declare.computed import computed_fields, nested_fields, nested_names
from dynaorm.entity.declare.options import ClassOptions
from dynaorm.entity.encoded import encoded_scalar
from dynaorm.entity.index import Index
from dynaorm.entity.mapping.aggregate import Aggregate
from dynaorm.entity.mapping.computed import ComputedValue
from dynaorm.entity.mapping.place import IndexMapping, UndeclaredKey, places_of
from dynaorm.entity.marker import Attribute, InKey, Unique, Vector
from dynaorm.entity.table import Table
from dynaorm.entity.table_index import KeyAttribute, VectorIndex
from dynaorm.entity.template.compile import compile_template
from dynaorm.entity.template.key_part import PARTITION_KEY_LIMIT, SORT_KEY_LIMIT, KeyPart, key_part
from dynaorm.entity.template.template import KeyTemplate, TemplateError
from dynaorm.entity.template.version import VersionTemplate
from dynaorm.entity.text.of_type import scalar_of
from dynaorm.entity.text.scalar import Scalar
from dynaorm.item.prefix import prefix_of
from dynaorm.record import record


@record(frozen=False)
class KeysOf:
    """The fields of a class as its keys see them, and the keys that could be compiled.

    Attributes:
        entity: the name of the class.
        table: the table of the class.
        scalars: the types of its fields that have a text form.
        attributes: the stored names of its fields.
        nullable: the fields that accept None.
        encoded: the fields with their own ``encode=`` that are stored in a key attribute.
        texts: all fields with their own ``encode=``, as they stand in string keys.
        computed: the computed fields, and the nested fields that declarations name.
        in_key: the fields with ``InKey()``.
        problems: what is wrong with the declaration, one sentence each. Every step adds its own to this one list, whose
            order is that of the error.
    """

    entity: str
    table: Table
    scalars: Mapping[str, Scalar]
    attributes: Mapping[str, str]
    nullable: frozenset[str]
    encoded: Mapping[str, Scalar]
    texts: Mapping[str, Scalar]
    computed: Mapping[str, ComputedValue]
    problems: list[str]
    in_key: frozenset[str] = frozenset()
    partition: KeyPart | None = None
    sort: KeyPart | None = None
    version_template: VersionTemplate | None = None
    indexes: dict[str, IndexMapping] = field(default_factory=dict)
    undeclared: dict[str, UndeclaredKey] = field(default_factory=dict)

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
        found = set(self.in_primary_key)
        for index in places_of(self.indexes.values()).values():
            # An index with a condition has not every item, so its key may be absent.
            for part in index.places[0].parts if index.is_plain else ():
                # If one field of an index key is None, the key is absent, and the other fields are lost with it.
                others = {name: index.fields - {name} for name in part.lossless if part.made_up}
                found |= {name for name, rest in others.items() if not rest & self.nullable}
        return frozenset(found)

    @property
    def made_up(self) -> frozenset[str]:
        """The key attributes that no field may be stored under."""
        parts = [*self.primary, *(part for index in self.indexes.values() for part in index.parts)]
        return frozenset(part.attribute.name for part in parts if part.made_up)

    def has(self, name: str) -> bool:
        """Whether the class has such a field, computed field or nested field."""
        return name in self.attributes or name in self.computed

    def stored(self, names: Iterable[str]) -> frozenset[str]:
        """The fields that some fields, computed fields and nested fields are made of."""
        return frozenset().union(
            *(self.computed[name].fields if name in self.computed else (name,) for name in names)
        )

    def own_field(self, attribute: KeyAttribute) -> str | None:
        """The field stored under a key attribute."""
        return next((name for name, stored in self.attributes.items() if stored == attribute.name), None)

    def template(self, where: str, text: str, attribute: KeyAttribute, *, sort: bool) -> KeyTemplate | None:
        scalars = {**self.scalars, **self.texts} if attribute.kind == "S" else self.scalars
        if (own := self._own(text, attribute)) is not None and own in self.encoded:
            scalars = {**scalars, own: self.encoded[own]}
        try:
            return compile_template(
                text,
                scalars,
                kind=attribute.kind,
                sort=sort,
                known=self.attributes.keys(),
                escape=self.table.escape,
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
        return key_part(attribute, template, limit, made_up=self._own(text, attribute) is None)

    def _own(self, text: str, attribute: KeyAttribute) -> str | None:
        """The field stored in a key attribute, if the template is that field alone."""
        own = self.own_field(attribute)
        # The field that is stored in the primary key alone does not write the attribute, so the index does.
        if own is None or (attribute not in self.table.keys and self._is_in_key(own)):
            return None
        return own if text in (f"{{{own}}}", f"{{{own}:raw}}") else None

    def _is_in_key(self, name: str) -> bool:
        return name in self.in_key or (self.table.key_fields == "in_key" and name in self.in_primary_key)


def fields_for_keys(
    entity: type[BaseModel], options: ClassOptions, marks: Mapping[str, Marked], problems: list[str]
) -> KeysOf:
    """The fields of a class as its templates see them; no key is compiled yet. ``problems``: those found so far."""
    table = options.table
    assert table is not None
    scalars = {name: found for name, mark in marks.items() if (found := _scalar(mark)) is not None}
    attributes = {name: attribute_of(name, mark, table) for name, mark in marks.items()}
    nullable = frozenset(name for name, mark in marks.items() if mark.tree.accepts_none)
    own = [
        (name, mark, one)
        for name, mark in marks.items()
        for one in mark.find(Attribute)
        if one.encode and one.decode
    ]
    encoded = {
        name: encoded_scalar(one.encode, one.decode, kind)
        for name, _, one in own
        if (kind := table.kinds.get(attributes[name]))
    }
    texts = {
        name: encoded_scalar(one.encode, one.decode, "S", scalar_of(mark.tree)) for name, mark, one in own
    }
    computed = {one.name: one for one in _computed(entity, options, marks)}
    scalars |= {name: one.scalar for name, one in computed.items()}
    nullable |= {name for name, one in computed.items() if one.nullable}
    in_key = frozenset(name for name, mark in marks.items() if mark.find(InKey))
    name = entity.__name__
    return KeysOf(
        name, table, scalars, attributes, nullable, encoded, texts, computed, problems, in_key=in_key
    )


def _computed(
    entity: type[BaseModel], options: ClassOptions, marks: Mapping[str, Marked]
) -> Iterator[ComputedValue]:
    """The computed fields of a class, and the nested fields that its declarations name."""
    templates: list[Any] = [options.pk, options.sk, options.versioned]
    for _, index in declarations_of(entity, Index):
        templates += [index.pk_text, index.sk_text]
    names: list[Any] = [name for members in options.unique.values() for name in members]
    for unique in (one for mark in marks.values() for one in mark.find(Unique)):
        templates += [unique.pk, unique.sk]
        names += unique.scope
    for _, aggregate in declarations_of(entity, Aggregate):
        key: Any = aggregate.key
        sums: Any = aggregate.sums
        names += [
            *(key.values() if isinstance(key, Mapping) else ()),
            *(sums if isinstance(sums, Mapping) else ()),
        ]
    for text in templates:
        names += nested_names(text)
    yield from nested_fields({name: mark.tree for name, mark in marks.items()}, names)
    yield from computed_fields(entity)


def _scalar(mark: Marked) -> Scalar | None:
    """The scalar of a field's type, or of the form it is stored in."""
    form = next((one.codec for one in mark.find(Attribute)), None)
    return mark.scalar if form is None else form.scalar


def attribute_of(name: str, mark: Marked, table: Table) -> str:
    """The stored name of a field."""
    if (index := vector_index_of(mark, table)) is not None:
        return index.vector
    found = mark.find(Attribute)
    if found and found[0].prefix is not None:
        return prefix_of(found[0].prefix)
    return found[0].name if found and found[0].name is not None else name


def vector_index_of(mark: Marked, table: Table) -> VectorIndex | None:
    """The index whose vectors a field holds; None if it holds none, or if there is no such index."""
    named = [table.indexes.get(one.index) for one in mark.find(Vector)]
    return next((one for one in named if isinstance(one, VectorIndex)), None)
