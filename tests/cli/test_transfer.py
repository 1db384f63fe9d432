"""``dump`` and ``load``: whole tables to files and back."""

import json
import os
import pty
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import SecretStr

from dynaorm import Entity, Session, Table, Unique, tools
from dynaorm.transport import Transport
from tests.cli.conftest import Command
from tests.raw_tables import REGION

box = Table("transfer-box")
AT = "tests.cli.test_transfer:box"


class Note(Entity, table=box, pk="NOTE#{number}", sk="NOTE"):
    number: str
    slug: Annotated[str, Unique()]
    secret: SecretStr = SecretStr("hunter2")


@pytest.fixture
def live(engine_line: tuple[Transport, Any], unique_name: Callable[[str], str]) -> Iterator[Session]:
    name = unique_name(box.name)
    with Session(transport=engine_line[0], table_names={box.name: name}) as session:
        session.create_table(box)
        session.save_many([Note(number=str(one), slug=f"s{one}") for one in range(3)])
        yield session
        session.delete_table(box, name=name)


@pytest.fixture
def where(endpoint: str, live: Session) -> list[str]:
    name = live._context.table_name(box.name)
    return ["--endpoint", endpoint, "--region", REGION, "--table-name", f"{box.name}={name}"]


def empty(live: Session) -> None:
    name = live._context.table_name(box.name)
    live.delete_table(box, name=name)
    live.create_table(box)


def test_a_table_is_dumped_and_loaded(
    dynaorm: Command, live: Session, where: list[str], tmp_path: Path
) -> None:
    file = str(tmp_path / "box.json.gz")
    run = dynaorm("dump", AT, file, *where)
    name = where[-1].partition("=")[2]
    assert (run.returncode, run.stdout) == (0, "")
    assert f"dump: table {box.name} = {name}, account 000000000000, Region {REGION}" in run.stderr
    assert "dump: 6 lines; " in run.stderr
    empty(live)
    run = dynaorm("load", AT, file, *where)
    assert (run.returncode, live.scan(Note).count()) == (1, 0)
    assert f"{file}: saves every entity anew" in run.stderr
    assert "load: nothing was written; give --yes to write" in run.stderr
    run = dynaorm("load", AT, file, *where, "--yes")
    assert run.returncode == 0
    assert "load: 6 items, 3 stored, 3 guard items left out; " in run.stderr
    assert list(tools.verify(live, box)) == []
    assert live.get_one(Note, number="1").secret.get_secret_value() == "hunter2"
    run = dynaorm("load", AT, file, *where, "--yes", "--json")
    place, result = map(json.loads, run.stdout.splitlines())
    assert (place["kind"], place["command"], place["name"]) == ("run", "load", name)
    used = ("read_units", "write_units", "seconds")
    assert {key: value for key, value in result.items() if key not in used} == {
        "kind": "result",
        "command": "load",
        "items": 6,
        "stored": 0,
        "present": 3,
        "left_out": {"guard": 3},
        "refused": 0,
        "findings": 0,
    }


def test_each_refused_line_is_told_with_its_place_and_the_reason(
    dynaorm: Command, live: Session, where: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "box"
    assert dynaorm("dump", AT, str(file), *where).returncode == 0
    empty(live)
    live.save(Note(number="9", slug="s1"))
    run = dynaorm("load", AT, str(file), *where, "--yes")
    assert run.returncode == 1
    assert "load: 6 items, 2 stored, 3 guard items left out, 1 refused; " in run.stderr
    (line,) = run.stdout.splitlines()
    number = 1 + next(n for n, one in enumerate(file.read_text().splitlines()) if '"slug":{"S":"s1"}' in one)
    assert line.startswith(f"{file}, line {number}: UniqueViolation: ")
    assert "hunter2" not in run.stderr + run.stdout
    *_, refused, _ = map(
        json.loads, dynaorm("load", AT, str(file), *where, "--yes", "--json").stdout.splitlines()
    )
    assert (refused["kind"], refused["file"], refused["line"]) == ("refused", str(file), number)
    file.write_text("nonsense")
    run = dynaorm("load", AT, str(file), *where, "--yes")
    assert run.returncode == 2
    assert f"nothing in {file} can be loaded: line 1: it is not JSON; give lines such as" in run.stderr


def test_a_reason_of_several_lines_is_printed_as_lines(
    dynaorm: Command, where: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "box"
    file.write_text(
        json.dumps({"Item": {name: {"S": "x"} for name in box.key_names} | {"_type": {"S": "Nobody"}}})
    )
    run = dynaorm("load", AT, str(file), *where, "--yes")
    assert "its _type is 'Nobody'\nGive items of entities" in run.stdout


def test_what_is_put_as_it_is_is_verified(
    dynaorm: Command, live: Session, where: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "box"
    assert dynaorm("dump", AT, str(file), *where).returncode == 0
    empty(live)
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(line for line in lines if b'"slug#s1"' not in line))
    run = dynaorm("load", AT, str(file), *where, "--yes", "--raw")
    assert run.returncode == 1
    assert run.stdout.startswith("missing guard")
    assert "load: 5 items, 5 stored, 1 finding of verify; " in run.stderr
    run = dynaorm("load", AT, str(file), *where, "--yes", "--raw", "--json")
    assert [json.loads(line)["kind"] for line in run.stdout.splitlines()] == [
        "run",
        "missing guard",
        "result",
    ]


def test_entities_go_to_a_pipe_and_never_to_a_terminal(
    dynaorm: Command, where: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = dynaorm("dump", AT, "-", "--entities", *where)
    shown = [json.loads(line) for line in run.stdout.splitlines()]
    assert sorted(one["Item"]["number"]["S"] for one in shown) == ["0", "1", "2"]  # each has a secret
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as terminal, monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", terminal)
        run = dynaorm("dump", AT, "-", *where)
    os.close(ours)
    assert run.returncode == 2
    assert "not shown on a terminal" in run.stderr
