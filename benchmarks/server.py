"""A stub of DynamoDB's HTTP server with kept-alive connections, in a process of its own.

One event loop serves all connections in turn, so that no caller waits for the stub longer than another. The answers
have the headers of the real service, with their checksum.
"""

import asyncio
import contextlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

ROOT = Path(__file__).parents[1]

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_OPERATION = re.compile(rb"\r\nx-amz-target: *DynamoDB_20120810\.(\w+)", re.IGNORECASE)
_END = b"\r\n\r\n"


def response(body: bytes, status: str = "200 OK") -> bytes:
    """An answer of HTTP."""
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


class StubConnection(asyncio.Protocol):
    """One connection; a subclass knows the answers."""

    def reply(self, operation: bytes, body: bytes) -> bytes:
        """The ``response`` to a request. The name of the operation is empty if it is no request of DynamoDB."""
        raise NotImplementedError

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.received = b""

    def data_received(self, data: bytes) -> None:
        self.received += data
        while (end := self.received.find(_END)) >= 0:
            head = self.received[:end]
            body_at = end + len(_END)
            next_at = body_at + int(found_in(head, _LENGTH, b"0"))
            if len(self.received) < next_at:
                return
            body, self.received = self.received[body_at:next_at], self.received[next_at:]
            self.transport.write(self.reply(found_in(head, _OPERATION, b""), body))


def found_in(text: bytes, pattern: re.Pattern[bytes], otherwise: bytes) -> bytes:
    """The first group of the first match."""
    match = pattern.search(text)
    return match[1] if match else otherwise


def serve(connection: type[StubConnection]) -> None:
    """Serve until the process is killed. The first line on stdout is the port."""

    async def main() -> None:
        server = await asyncio.get_running_loop().create_server(connection, "127.0.0.1", 0, backlog=256)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()

    asyncio.run(main())


@contextlib.contextmanager
def running(module: str, *arguments: str) -> Iterator[str]:
    """Run a module that calls ``serve`` in a process of its own, and yield its endpoint."""
    command = [sys.executable, "-m", module, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.kill()
