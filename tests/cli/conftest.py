"""Tables on ministack with something to verify, and commands on them."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from dynaorm import Transport
from dynaorm.cli.entry import main
from tests.conftest import ROOT
from tests.integrity.conftest import created
from tests.integrity.zoo import TABLES, Raw

TARGETS = [f"tests.integrity.zoo:{name}" for name in ("app", "keepers", "far", "plain")]


@pytest.fixture
def zoo(ministack_line: tuple[Transport, Any], unique_name: Any) -> Iterator[Raw]:
    for raw in created(Raw(ministack_line[1], unique_name, ministack_line[0])):
        raw.fill()
        yield raw


@pytest.fixture
def where(ministack_endpoint: str, zoo: Raw) -> list[str]:
    names = [f"{table.name}={zoo.name(table.name)}" for table in TABLES]
    return ["--endpoint", ministack_endpoint, *(part for name in names for part in ("--table-name", name))]


@dataclass
class Run:
    returncode: int
    stdout: str
    stderr: str


Command = Callable[..., Run]


@pytest.fixture
def dynaorm(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs a command in this process, from the root of the project."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def run(*arguments: str) -> Run:
        status = main(arguments)
        return Run(status, *capfd.readouterr())

    return run
