"""Start a ministack server for tests: a second DynamoDB engine, in another process.

ministack has real transactions over HTTP. It pins botocore, so it is installed in a separate virtual environment, and
only its executable is needed here.
"""

import os
import shutil
import socket
import ssl
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterable
from http.client import HTTPException
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from dynaorm.argument import check_amount, check_kind
from dynaorm.embedded.address import IN_PROCESS, engine_at
from dynaorm.embedded.engine import Engine
from dynaorm.errors import UsageError
from dynaorm.failure import counted
from dynaorm.transport.async_pynamodb import AsyncPynamoTransport
from dynaorm.transport.asynchronous import AsyncDefaultTransport, AsyncDirectTransport
from dynaorm.transport.default import DefaultTransport
from dynaorm.transport.direct import DirectTransport
from dynaorm.transport.pynamodb import PynamoTransport
from dynaorm.transport.settings import without_password

# Opens a transport to a DynamoDB in another process. The environment variable DYNAORM_TRANSPORT chooses its kind.
#
# So a project's tests, and dynaorm's own, run over each transport without a change. moto is only reached over
# pynamodb, which the default transport does by itself. ``memory:`` and ``sqlite:`` are reached without any.

# An engine on a busy machine answers late. Under a FakeClock, whose pauses take no time, the retries would be spent
# while it still works on the first attempt, and the outcome would be unknown.
_PATIENCE = 60.0
# An endpoint that never answered would use up this time at every attempt. So it is asked for a sign of life first.
_GREETING = 20.0

TRANSPORT_VARIABLE = "DYNAORM_TRANSPORT"


def transport_to(endpoint: str, *, greeting: float = _GREETING) -> DirectTransport | PynamoTransport | Engine:
    """A transport to an endpoint. The caller must close it.

    ``greeting``: for how many seconds to wait for any answer of the endpoint.

    Raises:
        UsageError: DYNAORM_TRANSPORT is none of ``default``, ``direct`` and ``pynamodb``; or nothing answers.
    """
    if endpoint.startswith(IN_PROCESS):
        return engine_at(endpoint)
    named = _named_transport(endpoint, greeting)
    if named == "pynamodb":
        return PynamoTransport(endpoint=endpoint, read_timeout=_PATIENCE)
    kind = DirectTransport if named == "direct" else DefaultTransport
    return kind(endpoint=endpoint, timeout=_PATIENCE)


def async_transport_to(
    endpoint: str, *, greeting: float = _GREETING
) -> AsyncDirectTransport | AsyncPynamoTransport:
    """The same for an asynchronous session."""
    named = _named_transport(endpoint, greeting)
    if named == "pynamodb":
        return AsyncPynamoTransport(endpoint=endpoint, read_timeout=_PATIENCE)
    kind = AsyncDirectTransport if named == "direct" else AsyncDefaultTransport
    return kind(endpoint=endpoint, timeout=_PATIENCE)


def _named_transport(endpoint: str, greeting: float) -> str:
    """The name of the transport to take, after checking that something answers."""
    named = os.environ.get(TRANSPORT_VARIABLE) or "default"
    if named not in ("default", "direct", "pynamodb"):
        raise UsageError(
            problem=f"{TRANSPORT_VARIABLE} is {named!r}, which is not the name of a transport",
            remedy="set it to default, direct or pynamodb, or leave it out",
        )
    _check_answers(endpoint, greeting)
    return named


def _check_answers(endpoint: str, seconds: float) -> None:
    try:
        urllib.request.urlopen(endpoint, timeout=seconds).close()
    except urllib.error.HTTPError as answer:
        answer.close()
    except (OSError, HTTPException, ValueError) as trouble:
        reason = getattr(trouble, "reason", trouble)
        # Only the transport knows which certificates to trust.
        if isinstance(reason, ssl.SSLError):
            return
        raise UsageError(
            problem=f"nothing answers at {without_password(endpoint)} within {counted(seconds, 'second')} "
            f"({type(reason).__name__})",
            remedy="start a DynamoDB there, or give its URL with --dynaorm-endpoint or DYNAORM_ENDPOINT; without "
            "either, tests run on moto",
        ) from trouble


EXECUTABLE_VARIABLE = "DYNAORM_MINISTACK"
ATTEMPTS = 3
"""How many ports are tried: another process may take a free port before the server listens on it."""


def find_ministack(paths: Iterable[Path] = ()) -> Path:
    """The ministack executable: ``DYNAORM_MINISTACK``, the first of ``paths`` that exists, or on PATH.

    Raises:
        UsageError: there is none; the message explains how to install it.
    """
    named = os.environ.get(EXECUTABLE_VARIABLE)
    on_path = shutil.which("ministack")
    candidates = [Path(named)] if named else [*paths, *([Path(on_path)] if on_path else [])]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    looked = ", ".join(str(candidate) for candidate in candidates) or "PATH"
    raise UsageError(
        problem=f"No ministack executable was found (looked at: {looked})",
        remedy=(
            "run `python -m venv .venv-ministack && .venv-ministack/bin/pip install ministack`, "
            f"set {EXECUTABLE_VARIABLE} to the executable, or set DYNAORM_ENDPOINT to a DynamoDB that runs"
        ),
    )


class Ministack:
    """Runs a ministack server on a free port of 127.0.0.1, and ends it with the block.

    Args:
        executable: the server's executable; without it, what ``find_ministack()`` finds.
        patience: seconds to wait until the server answers.

    Examples:
        ```python
        with Ministack() as server, Session(endpoint=server.endpoint) as session:
            session.create_table(app)
        ```
    """

    def __init__(self, executable: Path | None = None, *, patience: float = 60.0) -> None:
        if executable is not None:
            check_kind("executable={}", executable, str | Path, "a path")
        check_amount("patience={}", patience)
        self.executable = find_ministack() if executable is None else Path(executable)
        self.patience = patience
        self.port: int | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._output: IO[bytes] | None = None

    @property
    def endpoint(self) -> str:
        """The server's URL. Only inside the block.

        Raises:
            UsageError: the server is not running.
        """
        if self.port is None:
            raise UsageError(
                problem="This ministack does not run", remedy="use it as `with Ministack() as server:`"
            )
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        for attempt in range(1, ATTEMPTS + 1):
            self._start()
            try:
                if self._answers():
                    return self
            except BaseException:
                self._stop()
                raise
            output = self._stop()
            if "already in use" not in output or attempt == ATTEMPTS:
                break
        raise UsageError(
            problem=f"{self.executable} did not answer within {self.patience} s; it said:\n{output}",
            remedy="run it by hand to see why, or set DYNAORM_ENDPOINT to a DynamoDB that runs",
        )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def reset(self) -> None:
        """Delete every table of the server.

        Examples:
            ```python
            server.reset()
            ```
        """
        request = urllib.request.Request(f"{self.endpoint}/_ministack/reset", method="POST")
        with urllib.request.urlopen(request, timeout=self.patience):
            pass

    def _start(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process; _stop closes it
        self._process = subprocess.Popen(
            [str(self.executable)],
            env={
                **os.environ,
                "BIND_HOST": "127.0.0.1",
                "GATEWAY_PORT": str(self.port),
                "LOG_LEVEL": "WARNING",
            },
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
        )

    def _answers(self) -> bool:
        """Ask until it answers; False if it ended, or did not answer in time."""
        assert self._process is not None
        pause = 0.05
        for _ in range(max(1, round(self.patience / pause))):
            try:
                with urllib.request.urlopen(f"{self.endpoint}/_ministack/health", timeout=self.patience):
                    return True
            except (urllib.error.URLError, ConnectionError):
                # Wait on the process, so that a server that cannot start is noticed at once.
                try:
                    self._process.wait(pause)
                except subprocess.TimeoutExpired:
                    continue
                return False
        return False

    def _stop(self) -> str:
        """End the process, and return its output."""
        process, output = self._process, self._output
        self._process = self._output = self.port = None
        if process is None or output is None:
            return ""
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        with output:
            output.seek(0)
            return output.read().decode(errors="replace")
