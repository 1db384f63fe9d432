"""A stub of DynamoDB with fixed answers, so that only the client's own cost is measured.

One process that speaks HTTP/1.1 with kept-alive connections, and sends the headers of the real service with their
checksum. The answer depends on the operation, the table and the partition in the request. ``GET /`` returns the
requests since the last ``GET /`` (the newest eight): the benchmark uses them to check what a client sends.
"""

import asyncio
import contextlib
import json
import re
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import ClassVar
from zlib import crc32

from benchmarks.peers import order

ROOT = Path(__file__).parents[2]

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_OPERATION = re.compile(rb"\r\nx-amz-target: *DynamoDB_20120810\.(\w+)", re.IGNORECASE)
_TABLE = re.compile(rb'"(orders(?:-\w+)?)"')
_PARTITION = re.compile(rb'"CUSTOMER#(\d{4})"')
_END = b"\r\n\r\n"


def _response(body: bytes, status: str = "200 OK") -> bytes:
    head = (
        f"HTTP/1.1 {status}\r\n"
        "Server: Server\r\n"
        "Date: Fri, 17 May 2024 09:30:15 GMT\r\n"
        "Content-Type: application/x-amz-json-1.0\r\n"
        f"Content-Length: {len(body)}\r\n"
        "Connection: keep-alive\r\n"
        "x-amzn-RequestId: BENCHMARK0BENCHMARK0BENCHMARK0BENCHMARK0BENCHMARK0BM\r\n"
        f"x-amz-crc32: {crc32(body)}\r\n\r\n"
    )
    return head.encode() + body


@cache
def _answer(operation: bytes, table: bytes, size: bytes, counted: bool) -> bytes:
    try:
        return _response(order.answer(operation.decode(), table.decode(), int(size), counted))
    except (ValueError, KeyError) as error:
        body = {"__type": "com.amazon.coral.validate#ValidationException", "message": str(error)}
        return _response(json.dumps(body).encode(), "400 Bad Request")


def _found(pattern: re.Pattern[bytes], text: bytes, otherwise: bytes) -> bytes:
    match = pattern.search(text)
    return match[1] if match else otherwise


class Stub(asyncio.Protocol):
    """One connection."""

    requests: ClassVar[deque[tuple[bytes, bytes]]] = deque(maxlen=8)  # of all connections

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.received = b""

    def data_received(self, data: bytes) -> None:
        self.received += data
        while (end := self.received.find(_END)) >= 0:
            head = self.received[:end]
            body_at = end + len(_END)
            next_at = body_at + int(_found(_LENGTH, head, b"0"))
            if len(self.received) < next_at:
                return
            body, self.received = self.received[body_at:next_at], self.received[next_at:]
            operation = _found(_OPERATION, head, b"")
            self.transport.write(self._reply(operation, body) if operation else self._overheard())

    def _reply(self, operation: bytes, body: bytes) -> bytes:
        self.requests.append((operation, body))
        table = _found(_TABLE, body, b"orders")
        return _answer(operation, table, _found(_PARTITION, body, b"0100"), b'"TOTAL"' in body)

    def _overheard(self) -> bytes:
        heard = [[operation.decode(), json.loads(body)] for operation, body in self.requests]
        self.requests.clear()
        return _response(json.dumps(heard).encode())


async def _serve() -> None:
    server = await asyncio.get_running_loop().create_server(Stub, "127.0.0.1", 0, backlog=256)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextlib.contextmanager
def stub_server() -> Iterator[str]:
    """Run the stub in a process of its own, and yield its endpoint."""
    command = [sys.executable, "-m", "benchmarks.peers.stub"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.kill()


if __name__ == "__main__":
    asyncio.run(_serve())
