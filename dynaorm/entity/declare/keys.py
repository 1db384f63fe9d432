"""Compiles the key templates of a class statement into its primary key and its places in indexes."""

from __future__ import annotations

from collections.abc import Iterator

from dynaorm.entity.declare.draft import Draft
from dynaorm.entity.key_part import SORT_KEY_LIMIT, KeyPart, versioned
from dynaorm.entity.mapping.index_places import IndexMapping, UndeclaredKey, declared_when, places_of
from dynaorm.entity.marker import Attribute, InKey, OneOf, Vector, declarations_of
from dynaorm.entity.table import Index, KeyAttribute, Table, TemplateText, VectorIndex
from dynaorm.entity.template import TemplateError, is_template
from dynaorm.failure import counted, nearest, shown
from dynaorm.record import replace


def primary_key(draft: Draft) -> Iterator[str]:
    """Compiles the partition key and the sort key."""
    table, options = draft.table, draft.options
    pk = options.pk or _own_template(draft, table.pk)
    if pk is None:
        yield f'the class has no partition key template; add pk="...{{field}}..." for {table.pk.name!r}'
    else:
        draft.partition = draft.part("pk", pk, table.pk, sort=False)
    if options.versioned:
        yield from _versioned_sort_key(draft)
        return
    sk = options.sk or (_own_template(draft, table.sk) if table.sk is not None else None)
    if table.sk is None:
        if sk is not None:
            yield f"sk={sk!r}, but {table} has no sort key; drop sk=, or give the table one"
    elif sk is None:
        yield f'the class has no sort key template; add sk="..." for {table.sk.name!r}'
    else:
        draft.sort = draft.part("sk", sk, table.sk, sort=True)


def shards(draft: Draft) -> Iterator[str]:
    """Refuses a primary key that has shards of fields in it and no field itself."""
    keys = [(part, part.template.shards if part.template is not None else {}) for part in draft.primary]
    fields = list(dict.fromkeys(name for part, _ in keys for name in part.fields))
    is_sharded = all(name in own for part, own in keys for name in part.fields)
    if fields and is_sharded and len(keys) == len(draft.table.keys):
        where = "sk" if draft.table.sk is not None else "pk"
        yield (
            f"the primary key has only the shard of {' and '.join(fields)} in it, so two entities of one shard would "
            f'be one item; put the field itself into the key: {where}="...{{{fields[0]}}}"'
        )


def _versioned_sort_key(draft: Draft) -> Iterator[str]:
    table, options = draft.table, draft.options
    text = "v{version}_{sk}" if options.versioned is True else str(options.versioned)
    if table.sk is None or table.sk.kind == "N":
        yield f"versioned={options.versioned!r} needs a table with a string or binary sort key; give {table} one"
        return
    inner = draft.template("sk", options.sk, table.sk, sort=True) if options.sk is not None else None
    if options.sk is not None and inner is None:
        return
    try:
        template = versioned(text, inner, options.version_padding, kind=table.sk.kind)
    except TemplateError as error:
        yield from (f"versioned={text!r}: {problem}" for problem in error.problems)
        return
    draft.version_template = template
    # The keys of later versions, which have more digits, must fit, too.
    draft.sort = KeyPart(table.sk, inner, SORT_KEY_LIMIT - template.reserve, version=template)


def _own_template(draft: Draft, attribute: KeyAttribute) -> str | None:
    own = draft.own_field(attribute)
    return f"{{{own}}}" if own is not None else None


def indexes(draft: Draft) -> Iterator[str]:
    """Compiles the places of the class in the indexes of its table."""
    for name, declared in declarations_of(draft.entity, Index):
        if problems := [f"{name}: {problem}" for problem in _no_texts(declared)]:
            yield from problems
        else:
            yield from _index(draft, name, declared)


def _index(draft: Draft, name: str, declared: Index) -> Iterator[str]:
    index = draft.table.indexes.get(declared.index_name)
    if index is None:
        close = nearest(declared.index_name, draft.table.indexes)
        remedy = (
            f"did you mean {close!r}?"
            if close
            else f"declare it: Table(..., indexes=[GlobalIndex({declared.index_name!r})])"
        )
        yield f"{name}: {draft.table} has no index {declared.index_name!r}; {remedy}"
        return
    if index.kind == "local":
        if declared.pk_text is not None:
            yield f"{name}: a local index has the table's partition key; drop pk="
        partition: tuple[KeyPart | None, ...] = (draft.partition and _as_table_key(draft.partition),)
    else:
        partition = _index_parts(draft, f"{name}: pk", index.pk, declared.pk_text, sort=False)
    sort = _index_parts(draft, f"{name}: sk", index.sk, declared.sk_text, sort=True)
    parts = [part for part in (*partition, *sort) if part is not None]
    if len(parts) == len(partition) + len(sort):
        fields = {field for part in parts for field in part.fields}
        synthetic = {field for part in parts if part.synthetic for field in part.fields}
        draft.indexes[name] = IndexMapping(
            index.name,
            name,
            tuple(parts[: len(partition)]),
            tuple(parts[len(partition) :]),
            draft.stored(fields),
            not fields.isdisjoint(draft.computed),
            declared_when(f"{draft.entity.__name__}.{name}", declared.when, frozenset(draft.attributes)),
            frozenset(fields - draft.stored(synthetic) - draft.nullable - draft.computed.keys()),
        )


def undeclared_keys(draft: Draft) -> tuple[()]:
    """Compiles the fields that are keys of an index in which the class declares no place."""
    parts = [*draft.primary, *(part for place in draft.indexes.values() for part in place.parts)]
    declared = {part.attribute for part in parts}
    for attribute in (key for index in draft.table.indexes.values() for key in (*index.pk, *index.sk)):
        name = draft.own_field(attribute)
        if name is None or attribute in declared or attribute.kind == "N":
            continue
        if name not in draft.undeclared and (name in draft.scalars or name in draft.encoded):
            part = draft.part(name, f"{{{name}}}", attribute, sort=False)
            if part is not None and not part.synthetic:
                draft.undeclared[name] = UndeclaredKey(
                    f"the key {name}", name, (part,), (), frozenset({name})
                )
    return ()


def _no_texts(declared: Index) -> Iterator[str]:
    """Why the arguments of an index name no index and no templates."""
    name: object = declared.index_name
    if not isinstance(name, str):
        yield f"{shown(name)} is not the name of an index; give a str"
    for side, given in (("pk", declared.pk_text), ("sk", declared.sk_text)):
        texts: object = (given,) if given is None or isinstance(given, str) else given
        if not isinstance(texts, tuple | list) or not all(one is None or is_template(one) for one in texts):
            yield f'{side}={shown(given)} is not a key template; write {side}="..."'


def places(draft: Draft) -> Iterator[str]:
    """Refuses places that an entity could not be kept out of."""
    for index in places_of(draft.indexes.values()).values():
        for place in index.places:
            if place.when is not None and not place.synthetic:
                yield (
                    f"{place.attribute_name}: when= cannot keep an item out of {index.name!r}, whose keys are fields "
                    f"of the class; give the index a key attribute of its own"
                )
            fields = {name for part in place.parts for name in part.fields}
            if len(index.places) > 1 and place.when is None and draft.nullable.isdisjoint(fields):
                others = [other.attribute_name for other in index.places if other is not place]
                yield (
                    f"{place.attribute_name}: the class is in index {index.name!r} by {', '.join(others)}, too, and an "
                    f"item has one place in an index; give {place.attribute_name} a condition (when=), or drop it"
                )


def _index_parts(
    draft: Draft,
    where: str,
    attributes: tuple[KeyAttribute, ...],
    text: TemplateText | None,
    *,
    sort: bool,
) -> tuple[KeyPart | None, ...]:
    texts: tuple[str | None, ...] = (text,) if isinstance(text, str) else text or (None,) * len(attributes)
    if not attributes and texts:
        draft.problems.append(f"{where}={text!r}, but the index has no sort key; drop sk=")
        return (None,)
    if len(texts) != len(attributes):
        names = ", ".join(attribute.name for attribute in attributes)
        draft.problems.append(
            f"{where}={text!r}: the key is made of {names}; write a tuple of {counted(len(attributes), 'template')}"
            if len(attributes) > 1
            else f"{where}={text!r}: the key is {names} alone; write one template"
        )
        return (None,)
    return tuple(
        _index_part(draft, where, attribute, one, sort=sort)
        for attribute, one in zip(attributes, texts, strict=True)
    )


def _index_part(
    draft: Draft, where: str, attribute: KeyAttribute, text: str | None, *, sort: bool
) -> KeyPart | None:
    of_table = next((key for key in draft.table.keys if key.name == attribute.name), None)
    if of_table is not None:
        if text is not None:
            draft.problems.append(
                f"{where}: {attribute.name!r} is a key of the table and has its template; drop it"
            )
        part = draft.partition if of_table is draft.table.pk else draft.sort
        return _as_table_key(part) if part is not None else None
    is_field = attribute.name == draft.table.type_attribute and attribute.name in draft.attributes.values()
    if not is_field and attribute.name in (draft.table.type_attribute, draft.table.revision_attribute):
        draft.problems.append(
            f"{where}: {attribute.name!r} is the type or revision attribute of {draft.table}; "
            f"key the index by another one"
        )
        return None
    text = text if text is not None else _own_template(draft, attribute)
    if text is None:
        draft.problems.append(
            f"{where}: no template for {attribute.name!r}; add one, or a field stored under that name"
        )
        return None
    return draft.part(where, text, attribute, sort=sort)


def _as_table_key(part: KeyPart) -> KeyPart:
    # The primary key writes the attribute; the index only reads it.
    return replace(part, synthetic=False)


def vectors(draft: Draft) -> Iterator[str]:
    """Refuses a vector without a place in its index, a place without a vector, and wrong markers."""
    held: set[str] = set()
    for name, mark in draft.marks.items():
        for one in mark.find(Vector):
            index = draft.vector_index_of(mark)
            if index is None:
                yield (
                    f"{name}: {draft.table} has no vector index {one.index!r}; declare it: "
                    f"Table(..., indexes=[VectorIndex({one.index!r}, dimensions=...)])"
                )
                continue
            held.add(index.vector)
            if mark.find(Attribute) or mark.find(InKey):
                yield (
                    f"{name}: Vector() says how the field is stored, under {index.vector!r}; drop the other marker, or "
                    f"name the attribute in VectorIndex({index.name!r}, vector=...)"
                )
            if not any(
                _vector_of(draft.table, place.name) == index.vector for place in draft.indexes.values()
            ):
                yield (
                    f"{name}: the class has no place in {index}, so no search would find it; write "
                    f'{index.name} = Index({index.name!r}, pk="...")'
                )
    for place in draft.indexes.values():
        declared = draft.table.indexes[place.name]
        if isinstance(declared, VectorIndex) and declared.vector not in held:
            yield (
                f"{place.attribute_name}: the class has no vector for {declared}; write "
                f"embedding: Annotated[list[float], Vector({declared.name!r})]"
            )


def _vector_of(table: Table, name: str) -> str | None:
    """The attribute of the vectors of an index; None for an index of another kind."""
    index = table.indexes[name]
    return index.vector if isinstance(index, VectorIndex) else None


def choices(draft: Draft) -> Iterator[str]:
    """Refuses fields with ``OneOf`` that no query would ask for."""
    partitions = [draft.partition, *(part for place in draft.indexes.values() for part in place.partition)]
    asked = {name for part in partitions if part is not None for name in part.fields}
    for name, mark in {**draft.marks, **draft.computed_marks}.items():
        if not mark.find(OneOf):
            continue
        if any(one.encode or one.codec for one in mark.find(Attribute)):
            yield f"{name}: OneOf() says the values as they are stored; drop the codec of Attribute(...)"
        if draft.partition is not None and name not in asked:
            yield (
                f"{name}: OneOf() lets a query ask each value, and no partition key of the class has the field; "
                f"name it in pk=, or write a Literal"
            )
