"""DynamoDB's updates in moto: an UpdateItem that is refused changes nothing, and one without changes succeeds."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any
from unittest.mock import patch

from moto.dynamodb.models import DynamoDBBackend
from moto.dynamodb.models.dynamo_type import Item
from moto.dynamodb.parsing.executors import UpdateExpressionExecutor


@contextmanager
def whole_updates() -> Iterator[None]:
    """Let moto make an UpdateItem as a whole, also if it is only a condition."""
    make, put = UpdateExpressionExecutor.execute, Item.update_with_attribute_updates

    def execute(executor: UpdateExpressionExecutor, node: Any = None) -> None:
        # moto calls this for each part of an update, and leaves behind the parts before one that is refused.
        if node is not None:
            make(executor, node)
            return
        attributes = executor.item.attrs
        before = {name: deepcopy(value) for name, value in attributes.items()}
        try:
            make(executor)
        except Exception:
            attributes.clear()
            dict.update(attributes, before)
            raise

    def put_attributes(item: Item, updates: Any) -> None:
        # Without an expression, moto expects a parameter that was used before there were expressions.
        put(item, updates or {})

    with (
        patch.object(DynamoDBBackend, "update_item", _of_absent_items(DynamoDBBackend.update_item)),
        patch.object(UpdateExpressionExecutor, "execute", execute),
        patch.object(Item, "update_with_attribute_updates", put_attributes),
    ):
        yield


def _of_absent_items(update: Callable[..., Item]) -> Callable[..., Item]:
    """An update that deletes what moto has put, an absent item with its key alone, if the update is refused."""

    def update_item(backend: DynamoDBBackend, name: str, key: Any, **given: Any) -> Item:
        table = backend.get_table(name)
        keys = backend.get_keys_value(table, key)
        is_absent, shard = table.get_item(*keys) is None, table.stream_shard
        events = [*shard.items] if shard is not None else []
        try:
            return update(backend, name, key, **given)
        except Exception:
            if is_absent:
                table.delete_item(*keys)
                if shard is not None:
                    shard.items = events
            raise

    return update_item
