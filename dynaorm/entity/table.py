"""The declaration of a table, and what the rules of DynamoDB refuse in it.

A ``Table`` is compared by identity: two objects with one name are two declarations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from enum import Enum
from functools import cached_property
from typing import Any, Final, Generic, Literal, Self, TypeAlias, TypeVar, get_args

from dynaorm.argument import check_plain_function
from dynaorm.entity.expiry import Expiry
from dynaorm.entity.marker import Declaration, GivenWhen
from dynaorm.entity.revision import REVISION_ATTRIBUTE, NumberRevision, revision_of
from dynaorm.errors import DeclarationError, UsageError
from dynaorm.failure import counted, shown
from dynaorm.item.value import Item
from dynaorm.record import record

KeyKind: TypeAlias = Literal["S", "N", "B"]
Projection: TypeAlias = str | tuple[str, ...]
IndexKind: TypeAlias = Literal["global", "local", "vector"]
Distance: TypeAlias = Literal["cosine", "euclidean", "dot_product"]
"""How an index compares vectors."""

# Bytes in the name of a key attribute (Developer Guide, "Quotas", "Attribute names").
KEY_NAME_LIMIT: Final = 255
# A GSI's key may have up to 4 partition and 4 sort attributes (Developer Guide, "Multi-attribute keys").
_PARTS: Final = 4
_NEEDED_SIDES: Final[dict[IndexKind, str]] = {"global": "pk", "local": "sk", "vector": "pk"}


@record
class NumberKey:
    """A key attribute of type Number.

    Attributes:
        name: the attribute.

    Examples:
        >>> readings = Table("readings", sk=NumberKey("epoch"))
        >>> class Reading(Entity, table=readings, pk="SENSOR#{sensor}", sk="{at:epoch}"):
        ...     sensor: str
        ...     at: datetime
        >>> item_of(Reading(sensor="s1", at=datetime(2024, 5, 1, tzinfo=UTC)))["epoch"]
        {'N': '1714521600'}
    """

    name: str


@record
class BinaryKey:
    """A key attribute of type Binary.

    Attributes:
        name: the attribute.

    Examples:
        >>> class Blob(Entity, table=Table("blobs", pk=BinaryKey("digest"), sk=None), pk="{digest}"):
        ...     digest: bytes
        >>> item_of(Blob(digest=b"ab"))["digest"]
        {'B': b'ab'}
    """

    name: str


KeySpec: TypeAlias = str | NumberKey | BinaryKey
"""A key attribute: the name of a text, or the name and another type."""


@record
class KeyAttribute:
    """A key attribute's name and DynamoDB type (``S``, ``N`` or ``B``)."""

    name: str
    kind: KeyKind


class _Unset(Enum):
    UNSET = "unset"


UNSET: Final = _Unset.UNSET


def key_attribute(spec: KeySpec) -> KeyAttribute:
    if isinstance(spec, NumberKey):
        return KeyAttribute(spec.name, "N")
    if isinstance(spec, BinaryKey):
        return KeyAttribute(spec.name, "B")
    return KeyAttribute(spec, "S")


def _key_attributes(spec: KeySpec | tuple[KeySpec, ...] | None) -> tuple[KeyAttribute, ...]:
    if spec is None:
        return ()
    return tuple(key_attribute(one) for one in (spec if isinstance(spec, tuple) else (spec,)))


def _projection(projection: str | Iterable[str]) -> Projection:
    given: Any = projection  # a table refuses what is neither
    return given if isinstance(given, str) or not isinstance(given, Iterable) else tuple(given)


def _several(given: KeySpec | Iterable[KeySpec]) -> tuple[KeySpec, ...]:
    # A table refuses what names no attribute.
    return (given,) if isinstance(given, str) or not isinstance(given, Iterable) else tuple(given)


class GlobalIndex:
    """A global secondary index.

    Args:
        name: the index's name.
        pk: its partition key attribute (default ``<name>PK``); a tuple of up to four declares a native
            multi-attribute key.
        sk: its sort key attribute (default ``<name>SK``), a tuple likewise; None for none.
        projection: ``"ALL"``, ``"KEYS_ONLY"`` or the names of the attributes copied into the index.

    Examples:
        >>> Table("music", indexes=[GlobalIndex("by_year", pk=NumberKey("year"), sk=None, projection="KEYS_ONLY")]).name
        'music'
    """

    kind: Final = "global"

    def __init__(
        self,
        name: str,
        *,
        pk: KeySpec | tuple[KeySpec, ...] | None = None,
        sk: KeySpec | tuple[KeySpec, ...] | _Unset | None = UNSET,
        projection: str | Iterable[str] = "ALL",
    ) -> None:
        self.name = name
        self.pk = _key_attributes(pk if pk is not None else f"{name}PK")
        self.sk = _key_attributes(f"{name}SK" if isinstance(sk, _Unset) else sk)
        self.projection = _projection(projection)

    def __repr__(self) -> str:
        return f"GlobalIndex({self.name!r})"


class LocalIndex:
    """A local secondary index: the table's partition key with another sort key. Only at the table's creation.

    Args:
        name: the index's name.
        sk: its sort key attribute (default ``<name>SK``).
        projection: as for ``GlobalIndex``.

    Examples:
        >>> Table("music", indexes=[LocalIndex("by_title", sk="title")]).name
        'music'
    """

    kind: Final = "local"

    def __init__(
        self, name: str, *, sk: KeySpec | None = None, projection: str | Iterable[str] = "ALL"
    ) -> None:
        self.name = name
        self.pk: tuple[KeyAttribute, ...] = ()
        self.sk = _key_attributes(sk if sk is not None else f"{name}SK")
        self.projection = _projection(projection)

    def __repr__(self) -> str:
        return f"LocalIndex({self.name!r})"


class VectorIndex:
    """A vector index: finds the items whose vectors are nearest to a given one (``session.search``).

    DynamoDB has one only in tables with on-demand billing, at most five in a table. Its entries have the numbers of a
    vector as 32-bit floats. Source: Amazon DynamoDB API Reference, CreateTable (``VectorIndexes``), SearchVectors.

    Args:
        name: the index's name.
        dimensions: how many numbers a vector has: 1 to 4096.
        distance: what "near" means: ``"cosine"``, ``"euclidean"`` or ``"dot_product"``.
        pk: its partition key attribute (default ``<name>PK``). A search looks at one partition. Only entities have
            the attribute: guard items and versions are in no vector index.
        vector: the attribute that holds the vector (default ``<name>Vector``).
        filters: the attributes that a search can filter by: names (of texts), ``NumberKey(name)``,
            ``BinaryKey(name)``.
        projection: as for ``GlobalIndex``. Whole items are fetched by key, so ``"KEYS_ONLY"`` is enough for dynaorm.

    Examples:
        >>> papers = Table("papers", indexes=[VectorIndex("semantic", dimensions=3, filters=["category"])])
        >>> papers.indexes["semantic"].vector
        'semanticVector'
    """

    kind: Final = "vector"

    def __init__(
        self,
        name: str,
        *,
        dimensions: int,
        distance: Distance = "cosine",
        pk: KeySpec | None = None,
        vector: str | None = None,
        filters: Iterable[KeySpec] = (),
        projection: str | Iterable[str] = "KEYS_ONLY",
    ) -> None:
        self.name = name
        self.dimensions = dimensions
        self.distance: Distance = distance
        self.pk = _key_attributes(pk if pk is not None else f"{name}PK")
        self.sk: tuple[KeyAttribute, ...] = ()
        self.vector = vector if vector is not None else f"{name}Vector"
        self.filters = _key_attributes(_several(filters))
        self.projection = _projection(projection)

    def __repr__(self) -> str:
        return f"VectorIndex({self.name!r})"


AnyIndex: TypeAlias = GlobalIndex | LocalIndex | VectorIndex
"""An index of a table."""


def named_attributes(index: AnyIndex) -> tuple[KeyAttribute, ...]:
    """The attributes of an index that have a type of their own: CreateTable defines each."""
    return (*index.pk, *index.sk, *(index.filters if isinstance(index, VectorIndex) else ()))


def is_name(name: object) -> bool:
    """Whether an attribute with this name can be a key."""
    if not isinstance(name, str):
        return False
    try:
        return 1 <= len(name.encode()) <= KEY_NAME_LIMIT
    except UnicodeEncodeError:  # half a surrogate pair, which no request can hold
        return False


def is_one_of(given: object, choices: tuple[str, ...]) -> bool:
    """Whether it is one of these texts. Comparing other objects may raise anything."""
    return isinstance(given, str) and given in choices


def count_problems(index: AnyIndex) -> Iterator[str]:
    """Why the key of an index has too many attributes, or too few."""
    most = _PARTS if isinstance(index, GlobalIndex) else 1
    for side, attributes in (("pk", index.pk), ("sk", index.sk)):
        if len(attributes) > most:
            yield f"{index}: {side} has {counted(len(attributes), 'attribute')}; DynamoDB allows {most}, drop some"
        if not attributes and side == _NEEDED_SIDES[index.kind]:
            yield f"{index}: {side} has no attribute; name one"


def projection_problems(indexes: Iterable[AnyIndex]) -> Iterator[str]:
    """Why indexes cannot have these projections."""
    for index in indexes:
        given: object = index.projection
        are_names = isinstance(given, tuple) and given != () and all(map(is_name, given))
        if not are_names and not is_one_of(given, ("ALL", "KEYS_ONLY")):
            yield (
                f"{index}: projection={shown(given)}; write 'ALL', 'KEYS_ONLY', or a tuple of attribute names"
            )


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
        raise _undeclarable(name, (f"indexes={shown(given)} is not a list of indexes; write indexes=[...]",))
    indexes = tuple(given)
    if wrong := [index for index in indexes if not isinstance(index, AnyIndex)]:
        remedy = "write GlobalIndex(name), LocalIndex(name) or VectorIndex(name, ...)"
        raise _undeclarable(name, tuple(f"indexes={shown(one)} is not an index; {remedy}" for one in wrong))
    return indexes


def _problems(table: Table, indexes: tuple[AnyIndex, ...]) -> Iterator[str]:
    names: list[object] = [table.name, *(index.name for index in indexes)]
    for name in names:
        if not is_table_name(name):
            yield f"the name {shown(name)} is not {NAMES}; choose another"
    if len(table.indexes) != len(indexes):
        name = next(one.name for one in indexes if table.indexes.get(one.name) is not one)
        yield f"two indexes are named {name!r}; rename one"
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
        key.name for key in (*table.keys, *(key for index in indexes for key in named_attributes(index)))
    ]
    names += [index.vector for index in indexes if isinstance(index, VectorIndex)]
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


Ident: TypeAlias = tuple[object, ...]


def ident_of(table: Table, key: Item) -> Ident:
    """The identity of an item: its table's declared name and the contents of its primary key, in the table's order.

    Numbers are compared as texts: rendered and stored ones are both canonical.
    """
    return table.name, *contents_of(table, key)


def contents_of(table: Table, key: Item) -> Ident:
    """The identity of an item within its table, which may be declared twice under different names."""
    names = table.key_names
    if len(names) == 1:
        return (*key[names[0]].values(),)
    partition, sort = names
    return (*key[partition].values(), *key[sort].values())


TemplateText: TypeAlias = str | tuple[str, ...]
E = TypeVar("E")


class Index(Declaration):
    """The key templates under which a class appears in one of its table's indexes.

    ``by_status = Index("GSI1", pk="STATUS#{status}", sk="{created_at}")``. You can omit a template if the index's key
    attribute is a key of the table (whose template it takes) or the stored name of a field. An entity for which any
    part is None is not in the index.

    ``when`` is a condition (``F.status == "open"``) or a pure function of the entity: an entity for which it does not
    hold is not in the index. A class may declare several places in one index, if an entity is in at most one of them.

    Args:
        name: the name of an index of the table.
        pk: the template of the index's partition key; a tuple of templates for a multi-attribute key.
        sk: the template of its sort key likewise.
        when: a condition or a pure function of the entity.

    Examples:
        >>> class Task(Entity, table=app, pk="TASK#{id}", sk="TASK"):
        ...     id: str
        ...     owner: str | None = None
        ...     done: bool = False
        ...     open_of = Index("GSI1", pk="OPEN#{owner}", sk="{id}", when=F.done == False)
        >>> saved = session.save_many([Task(id="1", owner="liz"), Task(id="2", owner="liz", done=True)])
        >>> session.query(Task.open_of, owner="liz").all()
        [Task(id='1', owner='liz', done=False)]
    """

    def __init__(
        self,
        name: str,
        *,
        pk: TemplateText | None = None,
        sk: TemplateText | None = None,
        when: GivenWhen | None = None,
    ) -> None:
        super().__init__()
        self.index_name = name
        self.pk_text = pk
        self.sk_text = sk
        self.when = when

    def __get__(  # type: ignore[override]  # a property gives itself on the class; an index gives an IndexOf
        self, instance: object, owner: type[E] | None = None
    ) -> IndexOf[E]:
        entity: Any = type(instance) if owner is None else owner
        return IndexOf(entity, self)

    def __repr__(self) -> str:
        when = f", when={self.when!r}" if self.when is not None else ""
        return f"Index({self.index_name!r}, pk={self.pk_text!r}, sk={self.sk_text!r}{when})"


class IndexOf(Generic[E]):
    """A class's place in an index, as a query names it: ``Ticket.by_status``. Each subclass has its own.

    Attributes:
        entity: the class.
        index: the place, as the class declares it.
    """

    # Neither @record nor @dataclass: for type checkers, a field ``index`` of the class would be a descriptor, and a
    # dataclass takes half a percent of the first get of a process to declare.
    __slots__ = ("entity", "index")

    def __init__(self, entity: type[E], index: Index) -> None:
        self.entity = entity
        self.index = index

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, IndexOf):
            return NotImplemented
        return self.entity is other.entity and self.index is other.index

    def __hash__(self) -> int:
        return hash((self.entity, self.index))

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (self.entity, self.index.attribute_name)

    def __repr__(self) -> str:
        return f"{self.entity.__name__}.{self.index.attribute_name}"
