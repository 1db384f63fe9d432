"""Compiles the key templates of a class statement into its primary key and index keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any

from pydantic import BaseModel

from dynaorm.entity.declare.computed import computed_fields, nested_fields, nested_names
from dynaorm.entity.declare.options import ClassOptions
from dynaorm.entity.encoded import encoded_scalar
from dynaorm.entity.mapping.aggregate import Aggregate
from dynaorm.entity.mapping.computed import ComputedValue
from dynaorm.entity.mapping.place import IndexMapping, UndeclaredKey, places_of
from dynaorm.entity.mapping.when import declared_when
from dynaorm.entity.marker import AnnotatedField, Attribute, InKey, Unique, Vector, declarations_of
from dynaorm.entity.table import Index, KeyAttribute, Table, TemplateText, VectorIndex
from dynaorm.entity.template import (
    PARTITION_KEY_LIMIT,
    SORT_KEY_LIMIT,
    KeyPart,
    KeyTemplate,
    TemplateError,
    VersionTemplate,
    compile_template,
    is_template,
    versioned,
)
from dynaorm.entity.text.scalar import Scalar, scalar_of
from dynaorm.failure import counted, nearest, shown
from dynaorm.record import record, replace


@record(frozen=False)
class KeyBuilder:
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


def fields_for_keys(
    entity: type[BaseModel], options: ClassOptions, marks: Mapping[str, AnnotatedField], problems: list[str]
) -> KeyBuilder:
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
    return KeyBuilder(
        name, table, scalars, attributes, nullable, encoded, texts, computed, problems, in_key=in_key
    )


def _computed(
    entity: type[BaseModel], options: ClassOptions, marks: Mapping[str, AnnotatedField]
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


def _scalar(mark: AnnotatedField) -> Scalar | None:
    """The scalar of a field's type, or of the form it is stored in."""
    form = next((one.codec for one in mark.find(Attribute)), None)
    return mark.scalar if form is None else form.scalar


def attribute_of(name: str, mark: AnnotatedField, table: Table) -> str:
    """The stored name of a field."""
    if (index := vector_index_of(mark, table)) is not None:
        return index.vector
    found = mark.find(Attribute)
    return found[0].name if found and found[0].name is not None else name


def vector_index_of(mark: AnnotatedField, table: Table) -> VectorIndex | None:
    """The index whose vectors a field holds; None if it holds none, or if there is no such index."""
    named = [table.indexes.get(one.index) for one in mark.find(Vector)]
    return next((one for one in named if isinstance(one, VectorIndex)), None)


def keys_of(entity: type, options: ClassOptions, keys: KeyBuilder) -> None:
    """Compile every key of a class into ``keys``."""
    _primary_key(keys, options)
    keys.problems += _shard_problems(keys)
    for name, index in declarations_of(entity, Index):
        _index(keys, name, index)
    keys.problems += _place_problems(keys)
    _undeclared_keys(keys)


def _primary_key(keys: KeyBuilder, options: ClassOptions) -> None:
    table = keys.table
    pk = options.pk or _own_template(keys, table.pk)
    if pk is None:
        keys.problems.append(
            f'the class has no partition key template; add pk="...{{field}}..." for {table.pk.name!r}'
        )
    else:
        keys.partition = keys.part("pk", pk, table.pk, sort=False)
    if options.versioned:
        _versioned_sort_key(keys, options)
        return
    sk = options.sk or (_own_template(keys, table.sk) if table.sk is not None else None)
    if table.sk is None:
        if sk is not None:
            keys.problems.append(f"sk={sk!r}, but {table} has no sort key; drop sk=, or give the table one")
    elif sk is None:
        keys.problems.append(f'the class has no sort key template; add sk="..." for {table.sk.name!r}')
    else:
        keys.sort = keys.part("sk", sk, table.sk, sort=True)


def _shard_problems(keys: KeyBuilder) -> Iterator[str]:
    """A primary key that has shards of fields in it and no field itself."""
    fields = list(dict.fromkeys(name for part in keys.primary for name in part.fields))
    shards = [part.template.shards if part.template is not None else {} for part in keys.primary]
    told = [
        name
        for part, own in zip(keys.primary, shards, strict=True)
        for name in part.fields
        if name not in own
    ]
    if fields and not told and len(keys.primary) == len(keys.table.keys):
        where = "sk" if keys.table.sk is not None else "pk"
        yield (
            f"the primary key has only the shard of {' and '.join(fields)} in it, so two entities of one shard would "
            f'be one item; put the field itself into the key: {where}="...{{{fields[0]}}}"'
        )


def _versioned_sort_key(keys: KeyBuilder, options: ClassOptions) -> None:
    table = keys.table
    text = "v{version}_{sk}" if options.versioned is True else str(options.versioned)
    if table.sk is None or table.sk.kind == "N":
        keys.problems.append(
            f"versioned={options.versioned!r} needs a table with a string or binary sort key; give {table} one"
        )
        return
    inner = keys.template("sk", options.sk, table.sk, sort=True) if options.sk is not None else None
    if options.sk is not None and inner is None:
        return
    try:
        template = versioned(text, inner, options.version_padding, kind=table.sk.kind)
    except TemplateError as error:
        keys.problems += [f"versioned={text!r}: {problem}" for problem in error.problems]
        return
    keys.version_template = template
    # The keys of later versions, which have more digits, must fit, too.
    keys.sort = KeyPart(table.sk, inner, SORT_KEY_LIMIT - template.reserve, version=template)


def _own_template(keys: KeyBuilder, attribute: KeyAttribute) -> str | None:
    own = keys.own_field(attribute)
    return f"{{{own}}}" if own is not None else None


def _index(keys: KeyBuilder, name: str, declared: Index) -> None:
    if problems := [f"{name}: {problem}" for problem in _no_texts(declared)]:
        keys.problems += problems
        return
    index = keys.table.indexes.get(declared.index_name)
    if index is None:
        close = nearest(declared.index_name, keys.table.indexes)
        remedy = (
            f"did you mean {close!r}?"
            if close
            else f"declare it: Table(..., indexes=[GlobalIndex({declared.index_name!r})])"
        )
        keys.problems.append(f"{name}: {keys.table} has no index {declared.index_name!r}; {remedy}")
        return
    if index.kind == "local":
        if declared.pk_text is not None:
            keys.problems.append(f"{name}: a local index has the table's partition key; drop pk=")
        partition: tuple[KeyPart | None, ...] = (keys.partition and _as_table_key(keys.partition),)
    else:
        partition = _index_parts(keys, f"{name}: pk", index.pk, declared.pk_text, sort=False)
    sort = _index_parts(keys, f"{name}: sk", index.sk, declared.sk_text, sort=True)
    parts = [part for part in (*partition, *sort) if part is not None]
    if len(parts) == len(partition) + len(sort):
        made_up = {name for part in parts if part.made_up for name in part.fields}
        fields = {name for part in parts for name in part.fields}
        keys.indexes[name] = IndexMapping(
            index.name,
            name,
            tuple(parts[: len(partition)]),
            tuple(parts[len(partition) :]),
            keys.stored(fields),
            any(name in keys.computed for name in fields),
            declared_when(f"{keys.entity}.{name}", declared.when, frozenset(keys.attributes)),
            frozenset(fields - keys.stored(made_up) - keys.nullable - keys.computed.keys()),
        )


def _undeclared_keys(keys: KeyBuilder) -> None:
    """Compile the fields that are keys of an index in which the class declares no place."""
    parts = [*keys.primary, *(part for place in keys.indexes.values() for part in place.parts)]
    declared = {part.attribute for part in parts}
    for attribute in (key for index in keys.table.indexes.values() for key in (*index.pk, *index.sk)):
        name = keys.own_field(attribute)
        if name is None or attribute in declared or attribute.kind == "N":
            continue
        if name not in keys.undeclared and (name in keys.scalars or name in keys.encoded):
            part = keys.part(name, f"{{{name}}}", attribute, sort=False)
            if part is not None and not part.made_up:
                keys.undeclared[name] = UndeclaredKey(f"the key {name}", name, (part,), (), frozenset({name}))


def _no_texts(declared: Index) -> Iterator[str]:
    """Why the arguments of an index name no index and no templates."""
    name: object = declared.index_name
    if not isinstance(name, str):
        yield f"{shown(name)} is not the name of an index; give a str"
    for side, given in (("pk", declared.pk_text), ("sk", declared.sk_text)):
        texts: object = (given,) if given is None or isinstance(given, str) else given
        if not isinstance(texts, tuple | list) or not all(one is None or is_template(one) for one in texts):
            yield f'{side}={shown(given)} is not a key template; write {side}="..."'


def _can_be_none(keys: KeyBuilder, place: IndexMapping) -> bool:
    return any(name in keys.nullable for part in place.parts for name in part.fields)


def _place_problems(keys: KeyBuilder) -> Iterator[str]:
    """Why an entity could not be kept out of a place, one sentence each."""
    for index in places_of(keys.indexes.values()).values():
        for place in index.places:
            if place.when is not None and not place.made_up:
                yield (
                    f"{place.attribute_name}: when= cannot keep an item out of {index.name!r}, whose keys are fields "
                    f"of the class; give the index a key attribute of its own"
                )
            if len(index.places) > 1 and place.when is None and not _can_be_none(keys, place):
                others = [other.attribute_name for other in index.places if other is not place]
                yield (
                    f"{place.attribute_name}: the class is in index {index.name!r} by {', '.join(others)}, too, and an "
                    f"item has one place in an index; give {place.attribute_name} a condition (when=), or drop it"
                )


def _index_parts(
    keys: KeyBuilder,
    where: str,
    attributes: tuple[KeyAttribute, ...],
    text: TemplateText | None,
    *,
    sort: bool,
) -> tuple[KeyPart | None, ...]:
    texts: tuple[str | None, ...] = (text,) if isinstance(text, str) else text or (None,) * len(attributes)
    if not attributes and texts:
        keys.problems.append(f"{where}={text!r}, but the index has no sort key; drop sk=")
        return (None,)
    if len(texts) != len(attributes):
        names = ", ".join(attribute.name for attribute in attributes)
        keys.problems.append(
            f"{where}={text!r}: the key is made of {names}; write a tuple of {counted(len(attributes), 'template')}"
            if len(attributes) > 1
            else f"{where}={text!r}: the key is {names} alone; write one template"
        )
        return (None,)
    return tuple(
        _index_part(keys, where, attribute, one, sort=sort)
        for attribute, one in zip(attributes, texts, strict=True)
    )


def _index_part(
    keys: KeyBuilder, where: str, attribute: KeyAttribute, text: str | None, *, sort: bool
) -> KeyPart | None:
    of_table = next((key for key in keys.table.keys if key.name == attribute.name), None)
    if of_table is not None:
        if text is not None:
            keys.problems.append(
                f"{where}: {attribute.name!r} is a key of the table and has its template; drop it"
            )
        part = keys.partition if of_table is keys.table.pk else keys.sort
        return _as_table_key(part) if part is not None else None
    is_field = attribute.name == keys.table.type_attribute and attribute.name in keys.attributes.values()
    if not is_field and attribute.name in (keys.table.type_attribute, keys.table.revision_attribute):
        keys.problems.append(
            f"{where}: {attribute.name!r} is the type or revision attribute of {keys.table}; "
            f"key the index by another one"
        )
        return None
    text = text if text is not None else _own_template(keys, attribute)
    if text is None:
        keys.problems.append(
            f"{where}: no template for {attribute.name!r}; add one, or a field stored under that name"
        )
        return None
    return keys.part(where, text, attribute, sort=sort)


def _as_table_key(part: KeyPart) -> KeyPart:
    # The primary key writes the attribute; the index only reads it.
    return replace(part, made_up=False)
