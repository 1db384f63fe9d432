"""Reading many entities by key: batches of 100 keys, several at once, and the answers in the order of the keys."""

from collections.abc import Iterable
from typing import Any

from dynaorm.entity.key import Key
from dynaorm.entity.mapping import EntityMapping
from dynaorm.entity.table import Table
from dynaorm.errors import DecodeError, UsageError
from dynaorm.flow.bulk import CONCURRENCY, check_concurrency, windows
from dynaorm.flow.call import Flow
from dynaorm.flow.context import Context
from dynaorm.flow.read import BATCH_GET_LIMIT, get_items, visible
from dynaorm.flow.target import Target, target_of
from dynaorm.flow.together import gather
from dynaorm.item.value import Item
from dynaorm.plan.known import Ident, ident_of


def get_many(
    keys: Iterable[Key[Any]],
    context: Context,
    *,
    consistent: bool | None = None,
    concurrency: int = CONCURRENCY,
) -> Flow[list[Any | None]]:
    """The entity under each key, None where there is none; one object for a key that is given twice.

    Raises:
        DecodeError: an item does not fit its class, and the session has no ``on_decode_error``.
        UsageError: something is no key.
    """
    check_concurrency(concurrency)
    targets = [_target(key) for key in keys]
    wanted: dict[str, tuple[Table, dict[Ident, Item]]] = {}
    for target in targets:
        table = target.mapping.table
        _, of_table = wanted.setdefault(context.table_name(table.name), (table, {}))
        of_table[_place(target.mapping.table, target.key)] = target.key
    consistent = context.consistent if consistent is None else consistent
    batches = [
        (name, table, batch)
        for name, (table, of_table) in wanted.items()
        for batch in windows(of_table.values(), BATCH_GET_LIMIT)
    ]
    read = yield from gather(
        [get_items(name, batch, context, consistent=consistent) for name, _, batch in batches], concurrency
    )
    stored = {
        (name, _place(table, item)): item
        for (name, table, _), items in zip(batches, read, strict=True)
        for item in items
    }
    return _hydrated(targets, stored, context)


def _target(key: object) -> Target:
    if not isinstance(key, Key):
        raise UsageError(problem=f"get_many() takes keys, and got {key!r}", remedy="give Key(Class, ...)")
    return target_of(key)


def _place(table: Table, key: Item) -> Ident:
    """The identity of an item within its table: two declared tables may be one where it counts."""
    return ident_of(table, key)[1:]


def _hydrated(
    targets: list[Target], stored: dict[tuple[str, Ident], Item], context: Context
) -> list[Any | None]:
    now = context.clock.now()
    made: dict[tuple[str, Ident], Any | None] = {}
    found: list[Any | None] = []
    for target in targets:
        table = target.mapping.table
        place = context.table_name(table.name), _place(table, target.key)
        item = stored.get(place)
        mapping = visible(target.mapping, item, now)
        if mapping is None or item is None:
            found.append(None)
            continue
        if place not in made:
            made[place] = _entity(mapping, item, context)
        found.append(made[place])
    return found


def _entity(mapping: EntityMapping, item: Item, context: Context) -> Any | None:
    try:
        return mapping.hydrate(item)
    except DecodeError as problem:
        if context.on_decode_error is None:
            raise
        context.on_decode_error(problem)
        return None
