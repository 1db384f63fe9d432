"""The declaration of a table, and what the rules of DynamoDB refuse in it.

A ``Table`` is compared by identity: two objects with one name are two declarations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from functools import cached_property
from typing import Any, Final, Literal, Self, TypeAlias, get_args

from dynaorm.argument import check_plain_function
from dynaorm.entity.expiry import Expiry
from dynaorm.entity.revision import REVISION_ATTRIBUTE, NumberRevision, revision_of
from dynaorm.entity.table_index import (
    KEY_NAME_LIMIT,
    AnyIndex,
    Distance,
    KeyAttribute,
    KeyKind,
    KeySpec,
    LocalIndex,
    VectorIndex,
    count_problems,
    is_name,
    is_one_of,
    key_attribute,
    named_attributes,
    projection_problems,
)
from dynaorm.errors import DeclarationError, UsageError
from dynaorm.failure import counted, shown
from dynaorm.item.value import Item
from dynaorm.record import record

StreamView: TypeAlias = Literal["KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"]
"""Which images the records of a stream carry."""


@record(eq=False)
class TableRules:
    """What the classes of a table demand of its items. ``declare.catalog.Catalog`` adds the classes themselves.

    Attributes:
        expiry: how items expire; None where no class has a time for it.
        reserved: keys that no entity may have: the key attribute, how such keys begin, and what they are keys of.
        maintained: the fields that hold totals: class name to field to the ``Aggregate`` that maintains it.
        is_counted: whether a total, here or in another table, depends on the items of this table.
        types: the values of the type attribute that classes declare, each with the name of its class.
    """

    expiry: Expiry | None = None
    reserved: tuple[tuple[str, re.Pattern[str], str], ...] = ()
    maintained: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    is_counted: bool = False
    types: Mapping[str, str] = field(default_factory=dict)

    def name_in_a_pickle(self, table: Table) -> tuple[Any, ...]:
        """What finds the table in another process. Raises UsageError if nothing does."""
        raise UsageError(
            problem=f"{table!r} cannot be pickled: no class is stored in it, by which another process would find it",
            remedy="import the table there from the module that declares it",
        )

    def reserved_for(self, key: KeyAttribute, text: str) -> str | None:
        """What a key with this text would be taken for: a guard item or a version; None for neither."""
        for begins, what in self.reserved_in.get(key.name, ()):  # a loop, because every save asks
            if begins.match(text):
                return what
        return None

    @cached_property
    def reserved_in(self) -> Mapping[str, list[tuple[re.Pattern[str], str]]]:
        """The same by the name of the key attribute; most sort keys have none."""
        found: dict[str, list[tuple[re.Pattern[str], str]]] = {}
        for name, begins, what in self.reserved:
            found.setdefault(name, []).append((begins, what))
        return found


class Table:
    """Where entities are stored.

    Args:
        name: the table's declared name; a session may map it to another (``table_names=``).
        pk: the partition key: an attribute name (a string key), ``NumberKey(name)`` or ``BinaryKey(name)``.
        sk: the sort key likewise; None for a table with a partition key only.
        indexes: its ``GlobalIndex``, ``LocalIndex`` and ``VectorIndex`` declarations.
        type_attribute: the attribute that names an item's class; None for none.
        revision_attribute: the attribute that changes with every write: a name, or ``NumberRevision(name)`` for a
            number that other libraries keep too, which may be a member of a map; None for none.
        guard_table: another table for the guard items of this table's unique values.
        escape: whether key templates escape the values of their fields, so that different values have different keys.
            With False, keys have the values as they are, as other libraries write them; a value that contains the
            literal after its field is refused.
        key_fields: ``"stored"`` also stores the fields of the primary key as attributes; ``"in_key"`` stores them in
            the key alone.
        stream: what the records of the table's stream carry: ``"NEW_AND_OLD_IMAGES"``, ``"NEW_IMAGE"``,
            ``"OLD_IMAGE"`` or ``"KEYS_ONLY"``. ``create_table`` switches the stream on. With None, the stream is left
            as it is.

    Raises:
        DeclarationError: the declaration contradicts itself or DynamoDB's naming rules.

    Examples:
        >>> music = Table("music", pk="artist", sk=NumberKey("year"), indexes=[GlobalIndex("GSI1")])
        >>> list(music.indexes)
        ['GSI1']
    """

    def __init__(
        self,
        name: str,
        *,
        pk: KeySpec = "PK",
        sk: KeySpec | None = "SK",
        indexes: Iterable[AnyIndex] = (),
        type_attribute: str | None = "_type",
        revision_attribute: str | NumberRevision | None = REVISION_ATTRIBUTE,
        guard_table: Table | None = None,
        escape: bool = True,
        key_fields: Literal["stored", "in_key"] = "stored",
        stream: StreamView | None = None,
    ) -> None:
        self.name = name
        self.pk = key_attribute(pk)
        self.sk = key_attribute(sk) if sk is not None else None
        indexes = _given_indexes(name, indexes)
        self.indexes: dict[str, AnyIndex] = {index.name: index for index in indexes}
        self.type_attribute = type_attribute
        self.revision = revision_of(revision_attribute)
        self.revision_attribute = None if self.revision is None else self.revision.attribute
        self.guard_table = guard_table
        self.escape = escape
        self.key_fields = key_fields
        self.stream = stream
        # Replaced by the registry whenever a class joins the table.
        self.rules = TableRules()
        if problems := tuple(dict.fromkeys(_problems(self, indexes))):
            raise _undeclarable(name, problems)

    @cached_property
    def key_names(self) -> tuple[str, ...]:
        """The names of the key attributes."""
        return tuple(key.name for key in self.keys)

    @cached_property
    def keys(self) -> tuple[KeyAttribute, ...]:
        """The key attributes: the partition key, then the sort key if there is one."""
        return (self.pk,) if self.sk is None else (self.pk, self.sk)

    @property
    def kinds(self) -> dict[str, KeyKind]:
        """The type of every key attribute of the table and its indexes, and of those that a search filters by."""
        found = {key.name: key.kind for key in self.keys}
        for index in self.indexes.values():
            found |= {key.name: key.kind for key in (*index.pk, *index.sk)}
        return self.searched | found

    @property
    def searched(self) -> dict[str, KeyKind]:
        """The type of every attribute that a search filters by."""
        return {key.name: key.kind for index in self.vector_indexes for key in index.filters}

    @property
    def vector_indexes(self) -> tuple[VectorIndex, ...]:
        """The vector indexes of the table."""
        return tuple(index for index in self.indexes.values() if isinstance(index, VectorIndex))

    @property
    def guards(self) -> Table:
        """The table that holds the guard items: this one, or its ``guard_table``."""
        return self.guard_table or self

    @property
    def homes(self) -> tuple[Table, ...]:
        """The tables that its classes have items in: this one, and its ``guard_table``."""
        return (self,) if self.guard_table is None else (self, self.guard_table)

    @property
    def ttl_attribute(self) -> str | None:
        """The attribute by which DynamoDB expires items; None where no class has one."""
        return None if self.expiry is None else self.expiry.ttl

    @property
    def expiry_attributes(self) -> tuple[str, ...]:
        """The attribute that says when an item expires; nothing where none does."""
        return () if self.expiry is None else (self.expiry.attribute,)

    @property
    def expiry(self) -> Expiry | None:
        """How items expire, entities and guard items alike; None where no class has a time for it."""
        return self.rules.expiry

    def mark_of(self, item: Item) -> str | None:
        """The revision of an item if it names one write. A number does not: two writers may write the same."""
        return None if self.revision is None else self.revision.mark_of(item)

    def __repr__(self) -> str:
        return f"Table({self.name!r})"

    # A copy would be another declaration, which no class belongs to.

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return self.rules.name_in_a_pickle(self)


def table_namer(given: Mapping[str, str] | Callable[[str], str] | None) -> Callable[[str], str]:
    """The physical name of a declared table. Raises UsageError for what names no table."""
    if given is None:
        return str
    if isinstance(given, Mapping):
        # A copy: a mapping that is changed later must not redirect the writes of a session that threads share.
        names = {declared: _checked_name(declared, name) for declared, name in given.items()}
        return lambda declared: names.get(declared, declared)
    check_plain_function("table_names={}", given, takes=1)
    return lambda declared: _checked_name(declared, given(declared))


def _checked_name(declared: str, name: str) -> str:
    if is_table_name(name):
        return name
    raise UsageError(
        problem=f"table_names= names the table {shown(declared)} {shown(name)}, which is not {NAMES}",
        remedy="give the name of a table, or its ARN",
    )


def check_table(call: str, given: object) -> None:
    """Raises UsageError if what a call was given is no Table. ``call``: the name of its method."""
    if not isinstance(given, Table):
        raise UsageError(
            problem=f"{call}() takes a Table, not {shown(given)}", remedy="give the Table of the class"
        )


def _undeclarable(name: str, problems: tuple[str, ...]) -> DeclarationError:
    table = f"Table({shown(name)})"
    return DeclarationError(entity=table, problem=f"Cannot declare {table}", problems=problems)


_NAME = re.compile(r"[A-Za-z0-9_.\-]{3,255}")
NAMES: Final = "3 to 255 of A-Z a-z 0-9 _ . -"
"""What names of tables and indexes are (Developer Guide, "Naming rules")."""


def is_table_name(name: object) -> bool:
    """Whether DynamoDB takes it for the name of a table, or for its ARN."""
    return isinstance(name, str) and (_NAME.fullmatch(name) is not None or name.startswith("arn:"))


def _given_indexes(name: str, given: Any) -> tuple[AnyIndex, ...]:
    """The indexes of a table. Raises DeclarationError for anything else."""
    if not isinstance(given, Iterable):
        raise _undeclarable(name, (f"indexes={shown(given)} is no list of indexes; write indexes=[...]",))
    indexes = tuple(given)
    if wrong := [one for one in indexes if not isinstance(one, AnyIndex)]:
        remedy = "write GlobalIndex(name), LocalIndex(name) or VectorIndex(name, ...)"
        raise _undeclarable(name, tuple(f"indexes={shown(one)} is no index; {remedy}" for one in wrong))
    return indexes


def _problems(table: Table, indexes: tuple[AnyIndex, ...]) -> Iterator[str]:
    names: list[object] = [table.name, *(index.name for index in indexes)]
    for name in names:
        if not is_table_name(name):
            yield f"the name {shown(name)} is not {NAMES}; choose another"
    if len(table.indexes) != len(indexes):
        yield "two indexes have one name; rename one"
    if wrong := [*_key_name_problems(table, indexes)]:
        yield from wrong
    else:
        yield from _key_problems(table, indexes)
        yield from _vector_problems(table)
    yield from projection_problems(indexes)
    yield from _reserved_problems(table)
    yield from _guard_table_problems(table.guard_table)
    escape: object = table.escape
    if not isinstance(escape, bool):
        yield f"escape={shown(escape)} is neither True nor False; give one of them"
    if not is_one_of(table.key_fields, ("stored", "in_key")):
        yield f"key_fields={shown(table.key_fields)}; write 'stored' or 'in_key'"
    if table.stream is not None and not is_one_of(table.stream, get_args(StreamView)):
        yield f"stream={shown(table.stream)}; write one of {', '.join(map(repr, get_args(StreamView)))}, or None"


def _key_name_problems(table: Table, indexes: tuple[AnyIndex, ...]) -> Iterator[str]:
    names: list[object] = [
        key.name for key in (*table.keys, *(key for one in indexes for key in named_attributes(one)))
    ]
    names += [one.vector for one in indexes if isinstance(one, VectorIndex)]
    for name in names:
        if not is_name(name):
            yield f"{shown(name)} cannot name a key attribute; give a name of 1 to {KEY_NAME_LIMIT} bytes"


def _key_problems(table: Table, indexes: tuple[AnyIndex, ...]) -> Iterator[str]:
    if table.sk is not None and table.sk.name == table.pk.name:
        yield f"partition key and sort key are both called {table.pk.name!r}; name them differently"
    kinds = {key.name: key.kind for key in table.keys}
    for index in indexes:
        if isinstance(index, LocalIndex) and table.sk is None:
            yield f"{index}: a local index needs a table with a sort key; declare a GlobalIndex"
        yield from count_problems(index)
        names = [table.pk.name] if isinstance(index, LocalIndex) else []
        for attribute in named_attributes(index):
            if attribute.name in names:
                yield f"{index}: {attribute.name!r} is twice in its key; name another attribute"
            names.append(attribute.name)
            if kinds.setdefault(attribute.name, attribute.kind) != attribute.kind:
                yield f"{index}: {attribute.name!r} is a key of two types; use one type everywhere"
    if table.revision is not None and table.revision.is_nested and table.revision.attribute in kinds:
        yield f"{table.revision.attribute!r} is a key, and not the map of {table.revision.name!r}; name another map"


# Vector indexes of a table, and numbers of a vector (Amazon DynamoDB API Reference, CreateTable, SearchVectors).
_VECTOR_INDEXES: Final = 5
_DIMENSIONS: Final = 4096


def _vector_problems(table: Table) -> Iterator[str]:
    indexes, sizes = table.vector_indexes, dict[str, int]()
    if len(indexes) > _VECTOR_INDEXES:
        number = counted(len(indexes), "vector index", "vector indexes")
        yield f"{number}, and a table has at most {_VECTOR_INDEXES}; drop some"
    for index in indexes:
        dimensions: object = index.dimensions
        if type(dimensions) is not int or not 1 <= dimensions <= _DIMENSIONS:
            yield f"{index}: dimensions={shown(dimensions)}; give an int of 1 to {_DIMENSIONS}"
        elif sizes.setdefault(index.vector, dimensions) != dimensions:
            yield f"{index}: {index.vector!r} is a vector of two lengths; give each length an attribute of its own"
        if not is_one_of(index.distance, get_args(Distance)):
            yield f"{index}: distance={shown(index.distance)}; write one of {', '.join(map(repr, get_args(Distance)))}"
        if index.vector in table.kinds:
            yield f"{index}: {index.vector!r} is a vector, and a key or filter too; name another attribute"


def _guard_table_problems(guards: object) -> Iterator[str]:
    if guards is None:
        return
    if not isinstance(guards, Table):
        yield f"guard_table={shown(guards)} is no Table; write guard_table=Table(name)"
        return
    for key in guards.keys:
        if key.kind != "S":
            yield f"guard_table {guards.name!r}: its key {key.name!r} is not a string key; use one"


def _reserved_problems(table: Table) -> Iterator[str]:
    keys = [key.name for key in table.keys if is_name(key.name)]
    for label, reserved in (("type", table.type_attribute), ("revision", table.revision_attribute)):
        if reserved is None:
            continue
        if not is_name(reserved):
            yield (
                f"{label}_attribute={shown(reserved)} cannot name an attribute; give a name of 1 to {KEY_NAME_LIMIT} "
                "bytes, or None"
            )
        elif reserved in keys:
            yield f"{label}_attribute {reserved!r} is a key attribute; choose another name or None"
    if table.revision is not None:
        yield from table.revision.problems()
    names = (table.type_attribute, table.revision_attribute)
    if all(map(is_name, names)) and len(set(names)) == 1:
        yield f"type_attribute and revision_attribute are both {table.type_attribute!r}; name them differently"
