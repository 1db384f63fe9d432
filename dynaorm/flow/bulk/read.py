"""``get_many``: BatchGetItem for batches of 100 keys; ``snapshot``: one TransactGetItems, as of one moment.

Both return the entities in the order of the keys.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dynaorm.entity.dispatch import live_class
from dynaorm.entity.key import Key
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.page import is_entity
from dynaorm.entity.reader import ReplyReader, reader_of
from dynaorm.entity.table import Table
from dynaorm.errors import DecodeError, UsageError
from dynaorm.flow.bulk.limits import CONCURRENCY, check_many, windows
from dynaorm.flow.protocol.call import Call, Flow
from dynaorm.flow.protocol.context import Context
from dynaorm.flow.protocol.reply_keys import items_at_once
from dynaorm.flow.protocol.together import gather
from dynaorm.flow.read import BATCH_GET_LIMIT, TRANSACT_GET_LIMIT, find_items, repeat
from dynaorm.flow.target import Target, target_of
from dynaorm.item.value import Item
from dynaorm.plan.reads import Ident, contents_of


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
    targets = [_target(key, "get_many") for key in keys]
    places = [_place_of(target, context) for target in targets]
    asked: dict[str, dict[Ident, Target]] = {}
    for target, (name, ident) in zip(targets, places, strict=True):
        asked.setdefault(name, {})[ident] = target
    consistent = context.consistent if consistent is None else consistent
    batches = [
        (name, batch)
        for name, of_table in asked.items()
        for batch in windows(of_table.values(), BATCH_GET_LIMIT)
    ]
    read = yield from gather(
        [_read(batch, context, consistent=consistent) for _, batch in batches], concurrency
    )
    stored = {
        (name, contents_of(batch[0].mapping.table, key)): found
        for (name, batch), pairs in zip(batches, read, strict=True)
        for found, key in pairs
    }
    return _entities(targets, places, stored, context)


def snapshot(keys: Iterable[Key[Any]], context: Context) -> Flow[list[Any | None]]:
    """Read the entity with each key as they all are at one moment, None if there is none.

    Raises:
        DecodeError: an item does not fit its class, and the session has no ``on_decode_error``.
        UsageError: one of the keys is not a ``Key``, or there are more than 100.
        Contention: other writers changed the items during every attempt.
    """
    check_many(keys, CONCURRENCY)
    targets = [_target(key, "snapshot") for key in keys]
    places = [_place_of(target, context) for target in targets]
    asked = dict(zip(places, targets, strict=True))
    if not asked:
        return []
    if len(asked) > TRANSACT_GET_LIMIT:
        raise UsageError(
            problem=f"snapshot() reads {len(asked)} entities, and one moment has at most {TRANSACT_GET_LIMIT} "
            "(TransactGetItems, Amazon DynamoDB API Reference)",
            remedy="read fewer, or read with get_many(), one after the other",
        )
    gets = [{"Get": {"TableName": name, "Key": dict(target.key)}} for (name, _), target in asked.items()]
    reply = yield from repeat(Call("TransactGetItems", {"TransactItems": gets}), context)
    items = items_at_once(reply, [target.mapping.table.keys for target in asked.values()])
    stored = {place: item for place, item in zip(asked, items, strict=True) if item is not None}
    return _entities(targets, places, stored, context)


def _read(targets: Sequence[Target], context: Context, *, consistent: bool) -> Flow[list[tuple[Any, Item]]]:
    """Read the items with the keys: entities, and items for the codecs, each with its key."""
    table, keys = targets[0].mapping.table, [target.key for target in targets]
    return find_items(table, keys, context, _reader_of(table, targets), consistent=consistent)


def _reader_of(table: Table, targets: Sequence[Target]) -> ReplyReader | None:
    """Return the reader for all classes; None if two declared tables have the same physical name."""
    if any(target.mapping.table is not table for target in targets):
        return None
    wanted = {target.mapping.entity: None for target in targets}
    return reader_of(table, tuple(sorted(wanted, key=id)), "BatchGetItem", ())


def _target(key: object, verb: str) -> Target:
    if not isinstance(key, Key):
        raise UsageError(problem=f"{verb}() takes keys, not {key!r}", remedy="give Key(Class, ...)")
    return target_of(key)


def _place_of(target: Target, context: Context) -> tuple[str, Ident]:
    table = target.mapping.table
    return context.table_name(table.name), contents_of(table, target.key)


def _entities(
    targets: Sequence[Target],
    places: Sequence[tuple[str, Ident]],
    stored: Mapping[tuple[str, Ident], Any],
    context: Context,
) -> list[Any | None]:
    now = context.clock.now()
    made: dict[tuple[str, Ident], Any | None] = {}
    entities: list[Any | None] = []
    for target, place in zip(targets, places, strict=True):
        found = stored.get(place)
        if found is not None and is_entity(found):
            entities.append(found if isinstance(found, target.mapping.entity) else None)
            continue
        mapping = live_class(target.mapping, found, now)
        if mapping is None or found is None:
            entities.append(None)
            continue
        if place not in made:
            made[place] = _entity(mapping, found, context)
        entities.append(made[place])
    return entities


def _entity(mapping: EntityMapping, item: Item, context: Context) -> Any | None:
    try:
        return mapping.hydrate(item)
    except DecodeError as problem:
        if context.on_decode_error is None:
            raise
        context.on_decode_error(problem)
        return None
