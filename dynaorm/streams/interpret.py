"""From the records of an event to the changes of entities.

Rule 1. A change is what a write did to entities. A tombstone in the place of an entity is a deletion, and a write of an
        internal item is no change.
Rule 2. Nothing is left out in silence: an item that is not valid for its class, or of no class, is unreadable.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias, overload

from dynaorm.argument import check_flag
from dynaorm.entity.classify import NotAnEntity, class_of, no_entity, shown_key
from dynaorm.entity.declare.catalog import catalog_of, version_class
from dynaorm.entity.key import Key, found_key, stored_key
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.table import Table, table_namer
from dynaorm.errors import DecodeError, UsageError
from dynaorm.failure import shown
from dynaorm.item.value import Item, same
from dynaorm.record import replace
from dynaorm.streams.event import (
    AnyChange,
    Changed,
    Deleted,
    Inserted,
    Internal,
    StreamChange,
    StreamRecord,
    Unreadable,
    records_of,
)

# What the item of a record was before the write and is after it: an entity, an internal item, or no item.
#
# Rule 1. An item is an entity, a tombstone, internal (a guard, a version, a token), or of no class.
# Rule 2. The view type of a stream may leave out an image. That image is one of an entity of the same class, unless
#         it may be a tombstone. If the change depends on that, the record does not say enough, and nothing is
#         guessed.


ItemKind: TypeAlias = EntityMapping | NotAnEntity | None
"""The class of an entity, or the kind of another item; None where there is no item."""


class BeforeAndAfter(NamedTuple):
    """The item of a record before the write and after it."""

    before: ItemKind
    after: ItemKind


def before_and_after(one: StreamRecord, table: Table) -> BeforeAndAfter:
    """What the item was and is.

    Raises:
        DecodeError: the stream does not carry the image that would say whether an entity was deleted.
    """
    before, after = (None if image is None else class_of(table, image) for image in (one.old, one.new))
    # The kind says which images a write has. One that is missing was left out by the view type of the stream.
    hides_old = one.old is None and one.kind != "INSERT"
    hides_new = one.new is None and one.kind != "REMOVE"
    if not hides_old and not hides_new:
        return BeforeAndAfter(before, after)
    known = before or after or class_of(table, one.key)
    hidden = _class_in(known, one, table) or known
    if isinstance(hidden, EntityMapping) and hidden.versioning is not None and _depends(one, before):
        raise DecodeError(
            entity=hidden.entity.__name__,
            key=hidden.key_of(one.key),
            problems=("the stream has no image that says whether it was deleted",),
            remedy="Switch the stream to NEW_AND_OLD_IMAGES, or read the entity by its key",
        )
    return BeforeAndAfter(hidden if hides_old else before, hidden if hides_new else after)


def _depends(one: StreamRecord, before: ItemKind) -> bool:
    """Whether the change depends on a hidden image of a versioned class being a tombstone.

    An insert is never one of a tombstone, TTL never deletes one, and a tombstone is never replaced by another. If the
    old image alone is hidden, the change says that the old entity is not known.
    """
    if one.kind == "REMOVE":
        return not one.expired
    return one.kind == "MODIFY" and one.new is None and before is not NotAnEntity.TOMBSTONE


def _class_in(known: ItemKind, one: StreamRecord, table: Table) -> EntityMapping | None:
    """The class of an entity or a tombstone; None for other items."""
    if isinstance(known, EntityMapping):
        return known
    if known is not NotAnEntity.TOMBSTONE:
        return None
    # The form of the key tells the family; the class is named by the tombstone, if its image is there.
    family = next(found for found in catalog_of(table).mappings.values() if found.key_matches(one.key))
    return version_class(family, one.new or one.old or one.key) or family


TableNames: TypeAlias = Mapping[str, str] | Callable[[str], str]
"""The physical names of tables, by the declared ones."""


@overload
def changes(
    event: object, /, *tables: Table, table_names: TableNames | None = None, internal: Literal[False] = False
) -> Iterator[StreamChange]: ...
@overload
def changes(
    event: object, /, *tables: Table, table_names: TableNames | None = None, internal: bool
) -> Iterator[AnyChange]: ...
def changes(
    event: object, /, *tables: Table, table_names: TableNames | None = None, internal: bool = False
) -> Iterator[AnyChange]:
    """The changes of entities in an event of a stream: ``Inserted``, ``Changed``, ``Deleted`` or ``Unreadable``.

    Takes a Lambda event of DynamoDB Streams or of Kinesis Data Streams, a reply of GetRecords, or the list of records
    of EventBridge Pipes, and keeps the order. Writes of guard items, version items and tombstones are no changes of
    their own: the deletion of a versioned entity is one ``Deleted``. An entity of another class in the place of the old
    one is a ``Deleted`` and an ``Inserted``.

    Args:
        *tables: the table of the records. With several tables, or with ``table_names``, the name of the table in each
            record decides. Records of other tables are left out, and those without a name are ``Unreadable``.
        table_names: physical table names, as for ``Session``.
        internal: also return an ``Internal`` for each write of an item that is no entity.

    Raises:
        UsageError: ``event`` is no event of a stream, or no table is given.

    Examples:
        >>> from dynaorm.testing import Store
        >>> store = Store(PynamoTransport(region="eu-west-1"))
        >>> store.create(app)
        >>> with stream_events(store) as event, store.session() as writing:
        ...     ada = writing.save(User(user_id="9", email="ada@x.com"))
        >>> [(type(change).__name__, change.key) for change in changes(event, app)]
        [('Inserted', Key(User, user_id='9'))]
    """
    check_flag("internal={}", internal)
    changes_of = interpreter(tables, table_names)
    found = (change for one in records_of(event) for change in changes_of(one))
    return (change for change in found if internal or not isinstance(change, Internal))


def interpreter(
    tables: tuple[Table, ...], table_names: TableNames | None
) -> Callable[[StreamRecord], Iterator[AnyChange]]:
    """A function that returns the changes in a record; none for a record of another table. Raises UsageError."""
    given: tuple[object, ...] = tables
    if not given or not all(isinstance(one, Table) for one in given):
        problem = f"{shown(given[0])} is not a table" if given else "no table is given"
        raise UsageError(problem=problem, remedy="give the Table of the classes: changes(event, app)")
    named = table_namer(table_names)
    if len(tables) == 1 and table_names is None:
        return lambda one: changes_in(one, tables[0])
    # A physical name may be an ARN. A record has only the name at its end.
    physical = {named(one.name).rpartition("/")[2]: one for one in tables}

    def changes_of(one: StreamRecord) -> Iterator[AnyChange]:
        if not one.table:
            # It may be of one of these tables, so it is not left out.
            one = replace(one, problem=one.problem or "it does not say which table it is of")
            return changes_in(one, tables[0])
        table = physical.get(one.table)
        return iter(()) if table is None else changes_in(one, table)

    return changes_of


# -- one record --------------------------------------------------------------------------------------------------------


def changes_in(one: StreamRecord, table: Table) -> Iterator[AnyChange]:
    """What one record says: one change, or two if an entity of another class took the place of the old one."""
    if problem := _malformation(one, table):
        error = DecodeError(entity="a stream record", key={}, problems=(problem,), remedy=_CHECK)
        yield Unreadable(one.raw, error, found_key({}, {}), one.sequence, one.at)
        return
    try:
        before, after = before_and_after(one, table)
    except DecodeError as unsaid:
        yield _unreadable(one, table, unsaid)
        return
    if isinstance(before, EntityMapping) and before is after:
        yield _changed(one, before)
        return
    if isinstance(before, EntityMapping):
        yield _deleted(one, before)
    if isinstance(after, EntityMapping):
        yield _inserted(one, after)
    elif after is NotAnEntity.UNKNOWN or (after is None and before is NotAnEntity.UNKNOWN):
        error = no_entity(table, one.new or one.old or one.key, NotAnEntity.UNKNOWN)
        yield _unreadable(one, table, error)
    elif not isinstance(before, EntityMapping):
        kind = after or before
        assert isinstance(kind, NotAnEntity)  # there is an item before or after
        key: Key[Any] = found_key({}, shown_key(table, one.key))
        yield Internal(kind.value, one.old, one.new, key, one.sequence, one.at)


def _malformation(one: StreamRecord, table: Table) -> str:
    """What is wrong with a record; empty if it can be a record of the table."""
    wrong = (key for key in table.keys if key.kind not in one.key.get(key.name, ()))
    if one.problem or (key := next(wrong, None)) is None:
        return one.problem
    return f"its Keys have no {key.name} of type {key.kind}, which is in the key of {table}"


_CHECK = "Check which stream and which table the event comes from"


def _inserted(one: StreamRecord, mapping: EntityMapping) -> Inserted[Any] | Unreadable:
    new, error = _entity(mapping, one.new)
    if error is not None:
        return _unreadable(one, mapping.table, error)
    return Inserted(new, stored_key(mapping, one.key), one.sequence, one.at)


def _deleted(one: StreamRecord, mapping: EntityMapping) -> Deleted[Any]:
    old, error = _entity(mapping, one.old)
    return Deleted(old, one.expired, stored_key(mapping, one.key), one.sequence, one.at, error)


def _changed(one: StreamRecord, mapping: EntityMapping) -> Changed[Any] | Unreadable:
    new, error = _entity(mapping, one.new)
    if error is not None:
        return _unreadable(one, mapping.table, error)
    old, error = _entity(mapping, one.old)
    fields, only = None, None
    if old is not None and new is not None:
        fields = _differing(mapping, (old, one.old or {}), (new, one.new or {}))
        # Without any field, as after a write of attributes that no class knows, it was no write of totals.
        only = bool(fields) and fields <= mapping.maintained.keys()
    return Changed(old, new, fields, only, stored_key(mapping, one.key), one.sequence, one.at, error)


def _entity(mapping: EntityMapping, image: Item | None) -> tuple[Any, DecodeError | None]:
    """The entity in an image, or why it is not valid; neither if there is no image."""
    if image is None:
        return None, None
    try:
        return mapping.loader.hydrate(image), None
    except DecodeError as error:
        return None, error


def _differing(mapping: EntityMapping, old: tuple[Any, Item], new: tuple[Any, Item]) -> frozenset[str]:
    """The fields whose values differ. A value that is only spelled in another way does not."""
    found = set()
    for name, field in mapping.fields.items():
        # It has no attribute of its own that could be compared as stored.
        if field.in_key:
            differs = getattr(old[0], name) != getattr(new[0], name)
        else:
            differs = not same(field.stored_in(old[1]), field.stored_in(new[1])) and not same(
                field.encode(getattr(old[0], name)), field.encode(getattr(new[0], name))
            )
        if differs:
            found.add(name)
    return frozenset(found)


def _unreadable(one: StreamRecord, table: Table, error: DecodeError) -> Unreadable:
    key = found_key(catalog_of(table).mappings, one.key)
    if key.entity is None:
        key = found_key({}, shown_key(table, one.key))
    return Unreadable(one.raw, error, key, one.sequence, one.at)
