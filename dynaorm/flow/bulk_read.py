"""``get_many``: BatchGetItem for batches of 100 keys; ``snapshot``: one TransactGetItems, as of one moment.

Both return the entities in the order of the keys.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

from dynaorm.argument import check_flag
from dynaorm.entity.classify import live_class
from dynaorm.entity.declare.catalog import check_not_redeclared
from dynaorm.entity.key import Key
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.reader import ReplyReader, reader_of
from dynaorm.entity.state import is_entity
from dynaorm.entity.table import Ident, contents_of
from dynaorm.errors import DecodeError, UsageError
from dynaorm.failure import counted
from dynaorm.flow.call import Context, Flow, gather
from dynaorm.flow.read import BATCH_GET_LIMIT, TRANSACT_GET_LIMIT, find_items, get_items_at_once, target_of
from dynaorm.flow.windows import CONCURRENCY, check_many, windows
from dynaorm.item.value import Item

_Place: TypeAlias = tuple[str, Ident]
"""Where an item is: the physical name of its table, and the contents of its primary key."""


class _Wanted(NamedTuple):
    """What one key names: a class, the place of an item, and the rendered key."""

    mapping: EntityMapping
    place: _Place
    key: Item


# Faster than the class itself.
_named: Final[Callable[[tuple[EntityMapping, _Place, Item]], _Wanted]] = partial(tuple.__new__, _Wanted)


def get_many(
    keys: Iterable[Key[Any]],
    context: Context,
    *,
    consistent: bool | None = None,
    concurrency: int = CONCURRENCY,
) -> Flow[list[Any | None]]:
    """Read the entity with each key, None if there is none. A key given twice returns the same object twice.

    Raises:
        DecodeError: an item does not fit its class, and the session has no ``on_decode_error``.
        UsageError: one of the keys is not a ``Key``.
    """
    check_many(keys, concurrency)
    wanted = _wanted(keys, "get_many", context)
    asked: dict[str, dict[_Place, _Wanted]] = {}
    for one in wanted:
        name, _ = one.place
        # By physical name: two declared tables may be one. And by place, because BatchGetItem refuses one key twice.
        asked.setdefault(name, {})[one.place] = one
    consistent = context.consistent if consistent is None else consistent
    check_flag("consistent={}", consistent)
    batches = [
        (name, batch)
        for name, of_table in asked.items()
        for batch in windows(of_table.values(), BATCH_GET_LIMIT)
    ]
    read = yield from gather(
        [_read(batch, context, consistent=consistent) for _, batch in batches], concurrency
    )
    stored = {
        (name, ident): one for (name, _), found in zip(batches, read, strict=True) for ident, one, _ in found
    }
    return _entities(wanted, stored, context)


def snapshot(keys: Iterable[Key[Any]], context: Context) -> Flow[list[Any | None]]:
    """Read the entity with each key as they all are at one moment, None if there is none.

    Raises:
        DecodeError: an item does not fit its class, and the session has no ``on_decode_error``.
        UsageError: one of the keys is not a ``Key``, or there are more than 100.
        Contention: other writers changed the items during every attempt.
    """
    check_many(keys, CONCURRENCY)
    wanted = _wanted(keys, "snapshot", context)
    asked = {one.place: one for one in wanted}
    if not asked:
        return []
    if len(asked) > TRANSACT_GET_LIMIT:
        number = counted(len(asked), "entity", "entities")
        raise UsageError(
            problem=f"snapshot() reads {number}, and one moment has at most {TRANSACT_GET_LIMIT} "
            "(TransactGetItems, Amazon DynamoDB API Reference)",
            remedy="read fewer, or read with get_many(), one after the other",
        )
    items = yield from get_items_at_once([(one.mapping.table, one.key) for one in asked.values()], context)
    stored = {place: item for place, item in zip(asked, items, strict=True) if item is not None}
    return _entities(wanted, stored, context)


def _wanted(keys: Iterable[object], verb: str, context: Context) -> list[_Wanted]:
    """What the keys name. Raises UsageError for anything but the key of a class."""
    # A class is looked up once, not with each key.
    known: dict[type[Any] | None, tuple[EntityMapping, str]] = {}
    wanted: list[_Wanted] = []
    for key in keys:
        if not isinstance(key, Key):
            raise UsageError(problem=f"{verb}() takes keys, not {key!r}", remedy="give Key(Class, ...)")
        if key.entity not in known:
            mapping = target_of(key).mapping
            known[key.entity] = mapping, context.table_name(mapping.table.name)
        mapping, name = known[key.entity]
        place = name, contents_of(mapping.table, key.primary_key)
        wanted.append(_named((mapping, place, key.primary_key)))
    return wanted


def _read(
    batch: Sequence[_Wanted], context: Context, *, consistent: bool
) -> Flow[list[tuple[Ident, Any, Item]]]:
    """Read the items with the keys: entities, and items for the codecs, each after the contents of its key."""
    mappings = list(dict.fromkeys(one.mapping for one in batch))
    keys = [one.key for one in batch]
    return find_items(mappings[0].table, keys, context, _reader_of(mappings), consistent=consistent)


def _reader_of(mappings: Sequence[EntityMapping]) -> ReplyReader | None:
    """The reader for all classes; None if two declared tables have the same physical name."""
    table = mappings[0].table
    if any(mapping.table is not table for mapping in mappings):
        return None
    # Sorted, because readers are kept by their arguments, and the keys come in any order.
    return reader_of(table, tuple(sorted((mapping.entity for mapping in mappings), key=id)), "BatchGetItem")


def _entities(wanted: Sequence[_Wanted], stored: Mapping[_Place, Any], context: Context) -> list[Any | None]:
    now = context.clock.now()
    made: dict[_Place, Any | None] = {}
    entities: list[Any | None] = []
    for mapping, place, _ in wanted:
        found = stored.get(place)
        if found is not None and is_entity(found):
            if not isinstance(found, mapping.entity):
                check_not_redeclared(mapping)
                found = None
            entities.append(found)
        elif found is None or (live := live_class(mapping, found, now)) is None:
            entities.append(None)
        else:
            # A key given twice gives one object, and ``on_decode_error`` hears of its item once.
            if place not in made:
                made[place] = _entity(live, found, context)
            entities.append(made[place])
    return entities


def _entity(mapping: EntityMapping, item: Item, context: Context) -> Any | None:
    try:
        return mapping.loader.hydrate(item)
    except DecodeError as problem:
        if context.on_decode_error is None:
            raise
        context.on_decode_error(problem)
        return None
