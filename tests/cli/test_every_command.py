"""Every command, with what people type and with what nobody should: how it ends, what it says, and how wide that is."""

import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm import Session, Table
from dynaorm.cli.commands import COMMANDS, Group
from dynaorm.cli.entry import main
from dynaorm.description import Entry, describe, samples, values_of
from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.testing.ministack import transport_to
from dynaorm.transport import Call, Transport
from tests.conftest import ROOT
from tests.dynamodb_json import Item
from tests.raw_tables import REGION

CAST: Final = [
    f"tests.cast.{name}" for name in ("documents", "events", "orders", "others", "people", "tickets")
]
EXAMPLES: Final = sorted(
    f"examples.{one.stem}"
    for one in (ROOT / "examples").glob("*.py")
    if "Table(" in one.read_text(encoding="utf-8") and one.stem != "lambda_function"
)
STORED: Final = (*CAST, "tests.cli.desk", "examples.online_shop", "examples.deals", "examples.issues")

WIDE: Final = re.compile(r"\S{60,}")
"""A value that cannot be broken."""

PYTHON: Final = re.compile(r"session\.|\bF\.|Key\(|any_of|=\.\.\.|\.\w+\(\)|\w+\(\.\.\.\)")
"""What is typed in Python, and not on the command line."""


@pytest.fixture(autouse=True)
def _here(credentials: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # A command may write a file of any name.
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(ROOT), str(ROOT / "examples"), *sys.path])
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setenv("AWS_REGION", REGION)
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", f"memory:{tmp_path}")


class Target(NamedTuple):
    """A table, the name that commands know it by, and some items of it."""

    table: Table
    name: str
    module: str
    entries: Sequence[Entry]


@cache
def targets_in(module: str) -> tuple[Target, ...]:
    """The tables of a module, each once."""
    name = module.removeprefix("examples.")
    found = {
        id(one): (one, label) for label, one in vars(import_module(name)).items() if isinstance(one, Table)
    }
    return tuple(
        Target(table, f"{name}:{label}", name, samples(table))
        for table, label in found.values()
        if catalog_of(table).mappings
    )


# -- what people type --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("module", [*EXAMPLES, *CAST, "tests.cli.desk"])
def test_no_line_of_a_picture_or_a_question_is_wider_than_80_columns(
    module: str, capfd: pytest.CaptureFixture[str]
) -> None:
    for target in targets_in(module):
        views = [["--index", one] for one in target.table.indexes]
        for command in (
            ["questions"],
            ["layout"],
            ["layout", "--whole"],
            *(["layout", *one] for one in views),
        ):
            assert main([command[0], target.name, *command[1:]]) == 0
            assert too_wide(capfd.readouterr().out) == []


def too_wide(shown: str) -> list[str]:
    return [line for line in shown.splitlines() if len(line) > 80 and not WIDE.search(line)]


def typed(values: Any) -> list[str]:
    """Values as people type them."""
    shown = {}
    for name, value in values.items():
        plain = (
            value.get_secret_value() if hasattr(value, "get_secret_value") else getattr(value, "value", value)
        )
        shown[name] = plain.isoformat() if hasattr(plain, "isoformat") else plain
    return [f"{name}={value}" for name, value in shown.items()]


@cache
def usual() -> tuple[tuple[str, ...], ...]:
    """Commands that find something in the stored tables."""
    return tuple(
        tuple(one) for module in STORED for target in targets_in(module) for one in _of_target(target)
    )


def _of_target(target: Target) -> Iterator[list[str]]:
    for command in ("layout", "questions", "verify", "repair", "backfill", "diff", "apply"):
        yield [command, target.name]
    yield from ([command, target.name, "--yes"] for command in ("repair", "backfill", "apply"))
    yield from (["dump", target.name, file] for file in ("new.json", "folder", "-"))
    yield from (["load", target.name, file, "--yes"] for file in ("lines.json", "bytes", "empty", "new.json"))
    yield ["layout", target.name, "--from-table", "3"]
    yield ["export", target.name, "--format", "create-table"]
    for entry in target.entries:
        if all(name in entry.item for name in target.table.key_names):
            key = [str(next(iter(entry.item[name].values()))) for name in target.table.key_names]
            yield from (["show", target.name, *key], ["show", target.name, key[0]])
            yield from _of_entry(target, entry)


def _of_entry(target: Target, entry: Entry) -> Iterator[list[str]]:
    for question in describe(target.table).questions:
        values = values_of(question, entry)
        if values is None or entry.cls is None or question.kind == "collection":
            continue
        of, given_ = f"{entry.cls.__module__}:{entry.cls.__name__}", typed(values)
        if question.kind == "get":
            yield ["plan", of, "--delete", *given_]
        ((_, place),) = question.sources
        method = {"get_by": "get"}.get(question.kind, question.kind)
        yield [method, of if place is None else f"{of}.{place}", *given_]


# -- what nobody should type -------------------------------------------------------------------------------------------


def command_named(name: str) -> click.Command:
    found = Group().get_command(click.Context(Group()), name)
    assert found is not None
    return found


# A browser would open, and other processes have no access to memory.
UNTOUCHED: Final = {"--open", "--processes"}
OPTIONS: Final[dict[str, list[click.Option]]] = {
    name: [
        option
        for option in command_named(name).params
        if isinstance(option, click.Option) and UNTOUCHED.isdisjoint(option.opts)
    ]
    for name in COMMANDS
}
EVERY_OPTION: Final = sorted({name for some in OPTIONS.values() for one in some for name in one.opts})
FILES: Final = st.sampled_from(
    [
        "new.json",
        "empty",
        "text",
        "object.json",
        "lines.json",
        "bytes",
        "folder",
        "missing/file",
        "locked",
        "-",
        "",
    ]
)
"""Files of a folder that is made for each command; some are not there."""

ENDPOINTS: Final = st.sampled_from(
    [
        "",
        "nonsense",
        "http://",
        "ftp://x",
        "http://[::1",
        "127.0.0.1:8000",
        "http://x:99999",
    ]
)
_SIGNS: Final = "a= =b :=  = a:=[ null \x07 \x1b[31m 💥 \udcff {} % -- PK status=open a.b=1 é=1"
_NUMBERS: Final = "-1 0 1 1e999 nan 2024-13-45 true"
TEXTS: Final = st.sampled_from([*f"{_SIGNS} {_NUMBERS}".split(" "), "9" * 400, "x" * 3000])


@st.composite
def arguments(draw: st.DrawFn) -> list[str]:
    """A usual command, changed in some places."""
    found = list(draw(st.sampled_from(usual())))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(1, len(found)))
        match draw(
            st.sampled_from(["value", "text", "option", "own option", "own option", "less", "command"])
        ):
            case "value" if at < len(found) and "=" in found[at]:
                found[at] = found[at].partition("=")[0] + draw(st.sampled_from(["=", ":="])) + draw(TEXTS)
            case "text":
                found.insert(at, draw(TEXTS))
            case "option":
                found.append(draw(st.sampled_from(EVERY_OPTION)))
                found += draw(st.lists(TEXTS, max_size=1))
            case "own option":
                found += draw(_option(found[0]))
            case "less" if at < len(found):
                del found[at]
            case "command":
                found[0] = draw(st.sampled_from(sorted(COMMANDS)))
    return found


@st.composite
def _option(draw: st.DrawFn, command: str) -> list[str]:
    """An option of a command, usually with a value of its kind."""
    options = OPTIONS.get(command)
    if not options:
        return []
    one = draw(st.sampled_from(options))
    found = [draw(st.sampled_from(one.opts))]
    if one.is_flag:
        return found
    if isinstance(one.type, click.Path):
        return [*found, draw(FILES)]
    if "--endpoint" in one.opts:
        return [*found, draw(ENDPOINTS)]
    if isinstance(one.type, click.Choice):
        return [*found, draw(st.sampled_from(one.type.choices) | TEXTS)]
    return found + [draw(TEXTS) for _ in range(one.nargs)]


def make_files(folder: Path) -> None:
    """The files that ``FILES`` names, as they are before each command."""
    for one in folder.iterdir():
        one.chmod(0o700)
        shutil.rmtree(one) if one.is_dir() else one.unlink()
    for name, content in {
        "empty": b"",
        "text": b"{not json",
        "object.json": b'{"org": "acme", "number": 1}',
        "lines.json": b'{"Org": {"org": "o", "name": "n"}}\n{"Item": {"PK": {"S": "a"}}}\n[]\n',
        "bytes": b"\xff\xfe\x00" * 9,
        "locked": b"{}",
    }.items():
        (folder / name).write_bytes(content)
    (folder / "folder").mkdir()
    (folder / "locked").chmod(0)


@pytest.fixture
def stored(tmp_path: Path) -> Transport:
    """The tables of ``STORED`` with their items."""
    memory = transport_to(f"memory:{tmp_path}")
    with Session(transport=memory) as session:
        for target in (one for module in STORED for one in targets_in(module)):
            for table in dict.fromkeys((target.table, target.table.guards)):
                session.create_table(table)
            for entry in target.entries:
                _put(memory, target.table, entry.item)
    return memory


def _put(memory: Transport, table: Table, item: Item) -> None:
    home = table if all(name in item for name in table.key_names) else table.guards
    memory.call(Call("PutItem", {"TableName": home.name, "Item": item}))


def test_whatever_is_typed_a_command_ends_as_documented(
    stored: Transport, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    @given(arguments())
    def ends_as_documented(given_: list[str]) -> None:
        make_files(tmp_path)
        status = main(given_)
        told = capfd.readouterr()
        assert status in (0, 1, 2, 3)
        assert "Traceback" not in told.out + told.err
        if not {"--json", "json", "--format", "--request", "export", "dump"} & {*given_}:
            assert too_wide(told.out) == []
        if status == 2 and "left out: " not in told.err:
            said = told.err.removesuffix("\n").split("\n")[-1]
            assert said.startswith("dynaorm: ")
            _, sign, remedy = said.rpartition("; ") if "did you mean" not in said else ("", "?", "")
            assert sign, said
            assert not PYTHON.search(remedy), said

    ends_as_documented()


@pytest.mark.parametrize(
    ("command", "remedy"),
    [
        (["layout"], "run the same command again"),
        (["dump", "file.json"], "run the same command again"),
        (["verify"], "run the same command again: with --checkpoint, it goes on where it was"),
    ],
)
def test_an_interrupted_command_says_how_to_go_on(
    command: list[str], remedy: str, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / f"stopped_{command[0]}.py").write_text("raise KeyboardInterrupt")
    assert main([command[0], f"stopped_{command[0]}:app", *command[1:]]) == 2
    assert capfd.readouterr().err.lstrip("\n") == f"dynaorm: interrupted; {remedy}\n"


@pytest.mark.parametrize("option", ["--endpoint", "--region", "--profile"])
def test_an_empty_option_is_not_taken_for_none(option: str, capfd: pytest.CaptureFixture[str]) -> None:
    """As where a variable of the shell is not set: the command would go somewhere else."""
    assert main(["get", "tests.cli.desk:Org", "org=acme", option, ""]) == 2
    assert capfd.readouterr().err.startswith("dynaorm: ")


def test_a_file_that_is_no_text_is_named(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    make_files(tmp_path)
    assert main(["plan", "tests.cli.desk:Org", "--values", "bytes"]) == 2
    said = capfd.readouterr().err
    assert said.startswith("dynaorm: --values bytes is not JSON (")
    assert said.endswith('; give an object: {"user_id": "u1"}\n')
