"""A stub of DynamoDB with fixed answers, so that only the client's own cost is measured.

The answer depends on the operation, the table and the partition in the request. ``GET /`` returns the
requests since the last ``GET /`` (the newest eight): the benchmark uses them to check what a client sends.
"""

import contextlib
import json
import re
from collections import deque
from collections.abc import Iterator
from functools import cache
from typing import ClassVar

from benchmarks.peers import order
from benchmarks.server import StubConnection, found_in, response, running, serve

_TABLE = re.compile(rb'"(orders(?:-\w+)?)"')
_PARTITION = re.compile(rb'"CUSTOMER#(\d{4})"')


@cache
def _answer(operation: bytes, table: bytes, size: bytes, counted: bool) -> bytes:
    try:
        return response(order.answer(operation.decode(), table.decode(), int(size), counted))
    except (ValueError, KeyError) as error:
        body = {"__type": "com.amazon.coral.validate#ValidationException", "message": str(error)}
        return response(json.dumps(body).encode(), "400 Bad Request")


class Stub(StubConnection):
    """A connection to the tables of orders."""

    requests: ClassVar[deque[tuple[bytes, bytes]]] = deque(maxlen=8)  # of all connections

    def reply(self, operation: bytes, body: bytes) -> bytes:
        if not operation:
            heard = [[name.decode(), json.loads(request)] for name, request in self.requests]
            self.requests.clear()
            return response(json.dumps(heard).encode())
        self.requests.append((operation, body))
        table = found_in(body, _TABLE, b"orders")
        return _answer(operation, table, found_in(body, _PARTITION, b"0100"), b'"TOTAL"' in body)


@contextlib.contextmanager
def stub_server() -> Iterator[str]:
    """Run the stub in a process of its own, and yield its endpoint."""
    with running("benchmarks.peers.stub") as endpoint:
        yield endpoint


if __name__ == "__main__":
    serve(Stub)
