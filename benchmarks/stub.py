"""A server that answers every DynamoDB request with ``{}``, so that only the client's own cost is measured."""

import contextlib
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

_ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\nx-amz-crc32: 2745614147\r\n"
    b"Content-Length: 2\r\n\r\n{}"
)


def _serve(connection: socket.socket) -> None:
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
            received = received[length:]
            connection.sendall(_ANSWER)


def main() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        print(server.getsockname()[1], flush=True)
        while True:
            connection, _ = server.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=_serve, args=(connection,), daemon=True).start()


@contextlib.contextmanager
def stub_server() -> Iterator[str]:
    """The endpoint of a stub in a process of its own."""
    with subprocess.Popen([sys.executable, __file__], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.kill()


if __name__ == "__main__":
    main()
