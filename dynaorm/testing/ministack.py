"""Start a ministack server for tests: a second DynamoDB engine, in another process.

ministack has real transactions over HTTP. It pins botocore, so it is installed in a separate virtual environment, and
only its executable is needed here.
"""

import os
import shutil
import socket
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from dynaorm.argument import check_amount, check_kind
from dynaorm.errors import UsageError

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
