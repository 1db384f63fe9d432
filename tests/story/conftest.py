"""Two DynamoDBs to tell a story on: raw items come from a client beside the session, whose every call is heard.

The engines are dynaorm's, in this process, and ministack, in another. Sessions read a clock of the test's own.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from dynaorm.testing import FakeClock
from dynaorm.transport import DirectTransport, Transport
from tests.conftest import ROOT
from tests.memory import MEMORY
from tests.story.engine import Engine

PROGRAMS = Path(__file__).with_name("programs.py")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(jitter=0.0)


@pytest.fixture
def moto(clock: FakeClock, moto_line: tuple[Transport, Any]) -> Iterator[Engine]:
    """The engine in this process: tables and tokens have the very names of the documents."""
    with MEMORY.empty(clock=clock):
        yield Engine(*moto_line, clock, str)


@pytest.fixture
def ministack(
    ministack_line: tuple[Transport, Any], clock: FakeClock, unique_name: Callable[[str], str]
) -> Iterator[Engine]:
    """Ministack in another process, shared with other tests: tables and tokens have names of this test's own."""
    engine = Engine(*ministack_line, clock, unique_name)
    yield engine
    engine.drop()


@pytest.fixture
def direct(
    ministack_endpoint: str,
    ministack_line: tuple[Transport, Any],
    clock: FakeClock,
    unique_name: Callable[[str], str],
) -> Iterator[Engine]:
    """The same over the direct transport."""
    with closing(DirectTransport(endpoint=ministack_endpoint)) as transport:
        engine = Engine(transport, ministack_line[1], clock, unique_name)
        yield engine
        engine.drop()


# What is told over both transports in every run; with DYNAORM_TRANSPORT=direct, everything on ministack is.
_OVER_BOTH = {"test_unique_constraints", "test_versions"}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tell a story on either engine."""
    if "engine" in metafunc.fixturenames:
        direct = ["direct"] if metafunc.module.__name__.rpartition(".")[2] in _OVER_BOTH else []
        metafunc.parametrize("engine", ["moto", "ministack", *direct], indirect=True)


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Engine:
    """One of them."""
    found: Engine = request.getfixturevalue(request.param)
    return found


# -- programs ---------------------------------------------------------------------------------------------------------

Python: TypeAlias = Callable[[Path], tuple[int, str, str]]
"""Runs a program: its exit code, what it prints, and its errors."""


@pytest.fixture(scope="session")
def python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Python]:
    """Runs programs as a user would, with warnings as errors and dynaorm from this tree."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, "COLUMNS": "80"}
    files = [tmp_path_factory.mktemp("programs") / name for name in ("output", "errors")]
    command = [sys.executable, "-W", "error", str(PROGRAMS)]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as runner:
        assert runner.stdin is not None
        assert runner.stdout is not None
        asked, answers = runner.stdin, runner.stdout

        def run(program: Path) -> tuple[int, str, str]:
            asked.write("\t".join(map(str, [program, *files])) + "\n")
            code = int(answers.readline())
            output, errors = (file.read_text() for file in files)
            for file in files:
                file.unlink()
            return code, output, errors

        yield run
        asked.close()
