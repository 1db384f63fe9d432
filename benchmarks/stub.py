"""A server that answers every DynamoDB request at once, so that only the client's own cost is measured.

A Scan is answered with pages of events, everything else with ``{}``.
"""

import contextlib
import json
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from zlib import crc32

PAGE = 1000
"""Items in a page of a Scan."""

_BEGINS_AFTER = re.compile(rb'"ExclusiveStartKey": *\{"PK": *\{"S": *"EVENT#(\d+)"')


def page_of_events(first: int, last: int, *, more: bool) -> bytes:
    """The body of a page: events from one number to another, both included; ``more`` if the table has others."""
    body: dict[str, object] = {"Items": [_event(number) for number in range(first, last + 1)]}
    if more:
        body["LastEvaluatedKey"] = {name: _event(last)[name] for name in ("PK", "SK")}
    return json.dumps(body, separators=(",", ":")).encode()


def _event(number: int) -> dict[str, dict[str, object]]:
    return {
        "PK": {"S": f"EVENT#{number:09d}"},
        "SK": {"S": "EVENT"},
        "_type": {"S": "Event"},
        "_rev": {"S": "2Z4kYVzqV0nY0yRk3nYJ2n3c9nB"},
        "number": {"N": str(number)},
        "kind": {"S": "page opened"},
        "visitor": {"S": "Bobby Tables"},
        "tags": {"L": [{"S": "new"}, {"S": "gift"}]},
    }


def _answer(head: bytes, body: bytes, total: int) -> bytes:
    content = b"{}"
    if b"DynamoDB_20120810.Scan" in head:
        found = _BEGINS_AFTER.search(body)
        first = int(found[1]) + 1 if found else 0
        last = min(first + PAGE, total) - 1
        content = page_of_events(first, last, more=last + 1 < total)
    return (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\n"
        b"x-amz-crc32: %d\r\nContent-Length: %d\r\n\r\n" % (crc32(content), len(content))
    ) + content


def _serve(connection: socket.socket, total: int) -> None:
    received = b""
    with connection:
        while True:
            while b"\r\n\r\n" not in received:
                more = connection.recv(65536)
                if not more:
                    return
                received += more
            head, _, received = received.partition(b"\r\n\r\n")
            length = next(
                int(line.split(b":")[1])
                for line in head.lower().split(b"\r\n")
                if line.startswith(b"content-length:")
            )
            while len(received) < length:
                received += connection.recv(65536)
            body, received = received[:length], received[length:]
            connection.sendall(_answer(head, body, total))


def main(total: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        print(server.getsockname()[1], flush=True)
        while True:
            connection, _ = server.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=_serve, args=(connection, total), daemon=True).start()


@contextlib.contextmanager
def stub_server(items: int = 0) -> Iterator[str]:
    """The endpoint of a stub in a process of its own; a Scan finds so many items."""
    with subprocess.Popen(
        [sys.executable, __file__, str(items)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.kill()


if __name__ == "__main__":
    main(int(sys.argv[1]))
