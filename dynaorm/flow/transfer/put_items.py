"""Items as they are, by BatchWriteItem, which replaces whatever is stored under their keys.

A Put that got no answer, or was left out, is sent again: a second Put of the same item does no harm.
"""

from collections.abc import Sequence
from typing import TypeVar

from dynaorm.entity.ident import Ident, contents_of
from dynaorm.entity.table import Table
from dynaorm.errors import DynaormError, Throttled
from dynaorm.flow.bulk.windows import CODES_OF_AN_ITEM
from dynaorm.flow.protocol.call import Call, Flow, Refusal
from dynaorm.flow.protocol.context import Context
from dynaorm.flow.protocol.retry import waited
from dynaorm.flow.protocol.together import gather
from dynaorm.flow.read import answered, refused
from dynaorm.item.batch import packed, puts_of
from dynaorm.item.json_body import encode_body
from dynaorm.item.value import Item

T = TypeVar("T")

Puts = dict[Ident, tuple[T, tuple[Item, bytes]]]
"""What is put under each key: what the caller knows it by, and the item with the JSON of it."""


def put_items(
    table: Table, items: Sequence[tuple[T, Item]], context: Context, concurrency: int
) -> Flow[list[tuple[T, DynaormError]]]:
    """Put items, of two with one key the last one. Returns those that DynamoDB refused.

    Raises:
        StoreError: no more items can be put.
    """
    puts: Puts[T] = {contents_of(table, item): (one, (item, encode_body(item))) for one, item in items}
    portions = packed(puts.items(), lambda entry: entry[1][1])
    ended = yield from gather([_put(table, dict(some), context) for some in portions], concurrency)
    return [failure for failures in ended for failure in failures]


def _put(table: Table, waiting: Puts[T], context: Context) -> Flow[list[tuple[T, DynaormError]]]:
    name = context.table_name(table.name)
    pauses = context.retry.pauses(context.clock)
    while waiting:
        call = Call("BatchWriteItem", puts_of(name, [some for _, some in waiting.values()]))
        try:
            reply = yield from answered(call, context, pauses)
        except Refusal as refusal:
            if refusal.code not in CODES_OF_AN_ITEM:
                raise refused(refusal, call) from refusal
            if len(waiting) == 1:
                return [(one, refused(refusal, call)) for one, _ in waiting.values()]
            return (yield from _one_by_one(table, waiting, context))
        left = reply.get("UnprocessedItems", {}).get(name, [])
        keys = {contents_of(table, one["PutRequest"]["Item"]) for one in left}
        if len(keys) < len(waiting):
            # As long as DynamoDB takes some, it is not failing: retries count anew.
            pauses = context.retry.pauses(context.clock)
        waiting = {ident: one for ident, one in waiting.items() if ident in keys}
        if waiting and not (yield from waited(pauses)):
            raise Throttled(attempts=context.retry.attempts, code="UnprocessedItems")
    return []


def _one_by_one(table: Table, puts: Puts[T], context: Context) -> Flow[list[tuple[T, DynaormError]]]:
    failures: list[tuple[T, DynaormError]] = []
    for ident, one in puts.items():
        failures += yield from _put(table, {ident: one}, context)
    return failures
