"""Tables in a file with something to verify, and commands on them, also in other processes."""

import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pytest

from dynaorm import Session
from dynaorm.cli.entry import main
from dynaorm.testing.ministack import transport_to
from dynaorm.transport import Call, Transport
from tests.cast.seen import items
from tests.cli.desk import bare, desk, fill
from tests.conftest import ROOT
from tests.dynamodb_json import Item
from tests.integrity.conftest import created
from tests.integrity.zoo import TABLES, Raw
from tests.raw_tables import REGION, PlainClient

TARGETS = [f"tests.integrity.zoo:{name}" for name in ("app", "keepers", "far", "plain")]


@pytest.fixture(scope="session")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A DynamoDB in a file, shared with other tests."""
    return f"sqlite:{tmp_path_factory.mktemp('engine') / 'tables.db'}"


@pytest.fixture(scope="session")
def engine_line(endpoint: str) -> Iterator[tuple[Transport, Any]]:
    """A transport and a raw client to it."""
    with closing(transport_to(endpoint)) as transport:
        yield transport, PlainClient(transport)


@pytest.fixture
def zoo(engine_line: tuple[Transport, Any], unique_name: Any) -> Iterator[Raw]:
    for raw in created(Raw(engine_line[1], unique_name, engine_line[0])):
        raw.fill()
        yield raw


@pytest.fixture
def where(endpoint: str, zoo: Raw) -> list[str]:
    names = [f"{table.name}={zoo.name(table.name)}" for table in TABLES]
    return ["--endpoint", endpoint, *(part for name in names for part in ("--table-name", name))]


@dataclass
class Run:
    returncode: int
    stdout: str
    stderr: str


Command = Callable[..., Run]


@pytest.fixture
def dynaorm(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs a command in this process, from the root of the project. Its lines are wide, so that none is wrapped."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "10000")
    monkeypatch.setattr(sys, "path", list(sys.path))

    def run(*arguments: str) -> Run:
        status = main(arguments)
        return Run(status, *capfd.readouterr())

    return run


_FILLED: dict[str, list[Item]] = {}
"""The items of the tables of ``desk``: saving them takes longer than storing them."""


@pytest.fixture
def desk_session(engine_line: tuple[Transport, Any], unique_name: Callable[[str], str]) -> Iterator[Session]:
    """A session on the tables of ``desk``, filled."""
    transport, _ = engine_line
    with Session(transport=transport, table_names=unique_name) as session:
        for table in (desk, bare):
            session.create_table(table)
        if not _FILLED:
            fill(session)
            for table in (desk, bare):
                _FILLED[table.name] = [*items(transport, unique_name(table.name)).values()]
        else:
            stored = {
                unique_name(name): [{"PutRequest": {"Item": one}} for one in found]
                for name, found in _FILLED.items()
            }
            transport.call(Call("BatchWriteItem", {"RequestItems": stored}))
        yield session
        for table in (desk, bare):
            session.delete_table(table, name=unique_name(table.name))


@pytest.fixture
def at_desk(desk_session: Session, unique_name: Callable[[str], str], endpoint: str) -> list[str]:
    """The options of a command on the tables of ``desk``, filled."""
    names = [part for one in (desk, bare) for part in ("--table-name", f"{one.name}={unique_name(one.name)}")]
    return ["--endpoint", endpoint, "--region", REGION, *names]


@pytest.fixture
def ask(dynaorm: Command, at_desk: list[str]) -> Command:
    """Runs a command on the tables of ``desk``, filled."""
    return lambda command, *arguments: dynaorm(command, *at_desk, *arguments)
