"""Compiles the key templates of a class statement into its primary key and index keys."""

from __future__ import annotations

from collections.abc import Iterator

from dynaorm.entity.declaration import declarations_of
from dynaorm.entity.declare.class_keys import KeysOf
from dynaorm.entity.declare.options import ClassOptions
from dynaorm.entity.index import Index, TemplateText
from dynaorm.entity.mapping.place import IndexMapping, UndeclaredKey, places_of
from dynaorm.entity.mapping.when import declared_when
from dynaorm.entity.table_index import KeyAttribute
from dynaorm.entity.template.grammar import is_template
from dynaorm.entity.template.key_part import KeyPart, versioned_key_part
from dynaorm.entity.template.template import TemplateError
from dynaorm.entity.template.version import versioned
from dynaorm.failure import counted, nearest, shown
from dynaorm.record import replace


def keys_of(entity: type, options: ClassOptions, keys: KeysOf) -> None:
    """Compile every key of a class into ``keys``."""
    _primary_key(keys, options)
    keys.problems += _shard_problems(keys)
    for name, index in declarations_of(entity, Index):
        _index(keys, name, index)
    keys.problems += _place_problems(keys)
    _undeclared_keys(keys)


def _primary_key(keys: KeysOf, options: ClassOptions) -> None:
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


def _shard_problems(keys: KeysOf) -> Iterator[str]:
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


def _versioned_sort_key(keys: KeysOf, options: ClassOptions) -> None:
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
    keys.sort = versioned_key_part(table.sk, template, inner)


def _own_template(keys: KeysOf, attribute: KeyAttribute) -> str | None:
    own = keys.own_field(attribute)
    return f"{{{own}}}" if own is not None else None


def _index(keys: KeysOf, name: str, declared: Index) -> None:
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
        keys.indexes[name] = IndexMapping(
            index.name,
            name,
            tuple(parts[: len(partition)]),
            tuple(parts[len(partition) :]),
            keys.stored(name for part in parts for name in part.fields),
            any(name in keys.computed for part in parts for name in part.fields),
            declared_when(f"{keys.entity}.{name}", declared.when, frozenset(keys.attributes)),
        )


def _undeclared_keys(keys: KeysOf) -> None:
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


def _can_be_none(keys: KeysOf, place: IndexMapping) -> bool:
    return any(name in keys.nullable for part in place.parts for name in part.fields)


def _place_problems(keys: KeysOf) -> Iterator[str]:
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
    keys: KeysOf,
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
    keys: KeysOf, where: str, attribute: KeyAttribute, text: str | None, *, sort: bool
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
