"""DynamoDB's writes in moto: what is refused changes nothing, and an UpdateItem without changes succeeds.

moto changes an item where it lies, and copies the whole table before a transaction, once for each of its actions.
Inside ``whole_writes``, an update changes a copy of the item: a table that holds the items that it held is as it was.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy, deepcopy
from typing import Any
from unittest.mock import patch

from moto.dynamodb.models import DynamoDBBackend
from moto.dynamodb.models.dynamo_type import Item
from moto.dynamodb.models.table import Table


@contextmanager
def whole_writes() -> Iterator[None]:
    """Let moto make an UpdateItem and a transaction as a whole, and an UpdateItem also if it is only a condition."""
    put = Item.update_with_attribute_updates

    def put_attributes(item: Item, updates: Any) -> None:
        # Without an expression, moto expects a parameter that was used before there were expressions.
        put(item, updates or {})

    with (
        patch.object(DynamoDBBackend, "update_item", _whole_update(DynamoDBBackend.update_item)),
        patch.object(
            DynamoDBBackend,
            "transact_write_items",
            _whole_transaction(DynamoDBBackend.transact_write_items),
        ),
        patch.object(Item, "update_with_attribute_updates", put_attributes),
    ):
        yield


def _whole_update(update: Callable[..., Item]) -> Callable[..., Item]:
    """An update of a copy of the item. If it is refused, what was stored is put back."""

    def update_item(backend: DynamoDBBackend, name: str, key: Any, **given: Any) -> Item:
        table = backend.get_table(name)
        keys = backend.get_keys_value(table, key)
        stored, put_back = table.get_item(*keys), _events(table)
        if stored is not None:
            _hold(table, keys, deepcopy(stored))
        try:
            return update(backend, name, key, **given)
        except Exception:
            if stored is not None:
                _hold(table, keys, stored)
            else:
                table.delete_item(*keys)
            put_back()
            raise

    return update_item


def _whole_transaction(write: Callable[..., None]) -> Callable[..., None]:
    """A transaction that puts back what its tables held if it is refused."""

    def transact_write_items(backend: DynamoDBBackend, actions: Sequence[Mapping[str, Any]]) -> None:
        named = {one.get("TableName") for action in actions for one in action.values()}
        undo = [_undo(table) for name, table in backend.tables.items() if name in named]
        try:
            with patch.object(Table, "__deepcopy__", lambda table, _memo: table, create=True):
                write(backend, actions)
        except Exception:
            for put_back in undo:
                put_back()
            raise

    return transact_write_items


def _undo(table: Table) -> Callable[[], None]:
    """A function that puts back the items and stream records that a table holds now."""
    items, put_back_events = copy(table.items), _events(table)
    if table.has_range_key:
        items.update({key: copy(held) for key, held in items.items()})

    def put_back() -> None:
        table.items = items
        put_back_events()

    return put_back


def _events(table: Table) -> Callable[[], None]:
    """A function that drops the stream records that a table gets from now on."""
    shard = table.stream_shard
    count = len(shard.items) if shard is not None else 0

    def put_back() -> None:
        if shard is not None:
            del shard.items[count:]

    return put_back


def _hold(table: Table, keys: tuple[Any, Any], item: Item) -> None:
    partition, sort = keys
    held: Any = table.items[partition] if table.has_range_key else table.items
    held[sort if table.has_range_key else partition] = item
