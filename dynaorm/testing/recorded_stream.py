"""``stream_events``: the events of a stream that the writes of a test would cause, for the tests of handlers.

Sources: "Using AWS Lambda with Amazon DynamoDB" (AWS Lambda Developer Guide); "Record" and "StreamRecord" (Amazon
DynamoDB Streams API Reference).
"""

import json
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, Final

from dynaorm.argument import check_flag, check_kind
from dynaorm.embedded.streams import record_of
from dynaorm.testing.store import Store
from dynaorm.testing.tables import Source, tables_of
from dynaorm.testing.transports import ItemWrite

_TTL: Final = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}


@contextmanager
def stream_events(store: Store, *sources: Source, expired: bool = False) -> Iterator[dict[str, Any]]:
    """The event that AWS Lambda would get for the writes of a block: a record for each item that a write changed.

    Give it to your handler after the block. It is plain JSON, with the images that the table's ``stream`` declares; of
    a table that declares none, with both. The records name the declared tables, whatever the tables of the test are
    called. What other programs write does not count: only the sessions of the store do.

    Args:
        store: the fixture ``dynaorm_store``.
        *sources: the tables, as for ``tables_of``; by default those of the store.
        expired: what the block deletes was deleted by DynamoDB, because it had expired.

    Raises:
        UsageError: a source names no table.

    Examples:
        ```python
        def test_a_new_user_is_indexed(dynaorm_session, dynaorm_store):
            with stream_events(dynaorm_store) as event:
                dynaorm_session.save(User(user_id="bob", email="bob@x.com"))
            assert lambda_handler(event, None) == {"batchItemFailures": []}
        ```
    """
    check_kind("stream_events({})", store, Store, "a Store", remedy="give the fixture dynaorm_store")
    check_flag("expired={}", expired)
    tables = tables_of(*sources) if sources else store.tables
    event: dict[str, Any] = {"Records": []}
    sequence = count(1)

    def record(write: ItemWrite) -> None:
        if write.table in tables:
            event["Records"].append(_record(write, next(sequence), store.now(), is_by_ttl=expired))

    with store.watching(record):
        yield event


def _record(write: ItemWrite, number: int, at: float, *, is_by_ttl: bool) -> dict[str, Any]:
    table, view = write.table, write.table.stream or "NEW_AND_OLD_IMAGES"
    content = record_of(number, view, table.key_names, before=write.old, after=write.new)
    # DynamoDB gives whole seconds.
    content["dynamodb"]["ApproximateCreationDateTime"] = float(int(at))
    if is_by_ttl and write.new is None:
        content["userIdentity"] = _TTL
    stream = "stream/2024-01-01T00:00:00.000"
    content["eventSourceARN"] = f"arn:aws:dynamodb:us-east-1:123456789012:table/{table.name}/{stream}"
    # As Lambda gives it: binary values are base64.
    found: dict[str, Any] = json.loads(json.dumps(content, default=_base64))
    return found


def _base64(value: Any) -> str:
    return b64encode(bytes(value)).decode()
