"""What the commands say and leave behind where the credentials lack a permission."""

import json
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.cli.conftest import TARGETS, Command
from tests.integrity.zoo import Raw, app, key_of, member, text


class Denying(ThreadingHTTPServer):
    """A server that passes requests on to ministack, except those of one operation once some were passed on."""

    def __init__(self, endpoint: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.behind = urlsplit(endpoint).netloc
        self.operation, self.passes = "", 0

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def denies(self, operation: str) -> bool:
        if operation != self.operation:
            return False
        self.passes -= 1
        return self.passes < 0


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        operation = self.headers["X-Amz-Target"].partition(".")[2]
        assert isinstance(self.server, Denying)
        if self.server.denies(operation):
            message = f"User: me is not authorized to perform: dynamodb:{operation}"
            denial = {"__type": "com.amazon.coral.service#AccessDeniedException", "Message": message}
            self._answer(400, json.dumps(denial).encode())
            return
        behind = HTTPConnection(self.server.behind, timeout=30)
        behind.request("POST", "/", body, dict(self.headers))
        found = behind.getresponse()
        self._answer(found.status, found.read())
        behind.close()

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@pytest.fixture
def denying(ministack_endpoint: str) -> Iterator[Denying]:
    with Denying(ministack_endpoint) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("command", "operation", "passes"),
    [
        (["verify"], "DescribeTable", 0),
        (["verify"], "Scan", 1),
        (["verify"], "TransactGetItems", 0),
        (["repair", "--yes"], "TransactWriteItems", 1),
        (["backfill", "--yes"], "TransactWriteItems", 1),
    ],
)
def test_a_missing_permission_is_one_line_with_its_remedy_and_the_run_can_go_on(
    dynaorm: Command,
    zoo: Raw,
    where: list[str],
    denying: Denying,
    tmp_path: Path,
    command: list[str],
    operation: str,
    passes: int,
) -> None:
    zoo.put(app, key_of("JUNK", "JUNK"))
    for name in ("ann", "bob"):
        zoo.delete(app, key_of(f"email#{name}@x"))
        zoo.change(app, member(name), GSI1PK=text("old"))
    checkpoint = tmp_path / "checkpoint"
    options = [*where[2:], "--checkpoint", str(checkpoint), "--segments", "4"]
    denying.operation, denying.passes = operation, passes
    denied = dynaorm(command[0], TARGETS[0], *command[1:], "--endpoint", denying.endpoint, *options)
    assert denied.returncode == 2
    (line,) = [one for one in denied.stderr.splitlines() if one.startswith("dynaorm: ")]
    assert denied.stderr.endswith(f"{line}\n")
    table = zoo.name(app.name)
    assert line.startswith(f"dynaorm: these credentials may not do {operation} on {table!r}")
    assert f"not authorized to perform: dynamodb:{operation}" in line
    assert "iam_policy" in line
    assert checkpoint.exists() is (operation != "DescribeTable")
    run = dynaorm(command[0], TARGETS[0], *command[1:], *where[:2], *options)
    assert run.returncode == (0 if command[0] == "backfill" else 1)  # the unknown item stays
    assert not checkpoint.exists()
    assert {one.kind.value for one in zoo.session.verify(app)} == {
        "unknown item",
        *(["missing guard", "index keys"] if command == ["verify"] else []),
    }
