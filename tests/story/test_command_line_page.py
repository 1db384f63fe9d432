"""The pages about the command line, and the help of the commands."""

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from dynaorm import Session
from dynaorm.cli.commands import ALIASES, COMMANDS, NAME, Group, commands
from dynaorm.cli.entry import main
from dynaorm.testing import load_seeds
from dynaorm.transport import Transport
from tests.conftest import ROOT
from tests.raw_tables import REGION

PAGE = ROOT / "docs" / "command-line.md"
TOUR = (ROOT / "docs" / "see-your-table.md").read_text("utf-8").partition("## From the command line")[2]


def help_of(name: str) -> str:
    """The help of a command on a terminal of 80 columns."""
    group = Group()
    found = group.get_command(click.Context(group), name)
    assert found is not None
    context = click.Context(found, info_name=name, parent=click.Context(commands, info_name=NAME))
    context.terminal_width = context.max_content_width = 80
    return found.get_help(context)


def test_the_page_names_every_command() -> None:
    page = PAGE.read_text("utf-8")
    for name in (*COMMANDS, *ALIASES):
        assert f"`{name}`" in page or f"[{name}](#{name})" in page


@pytest.mark.parametrize("name", COMMANDS)
def test_every_help_fits_80_columns_and_has_an_example(name: str) -> None:
    said = help_of(name)
    assert f"Example: dynaorm {name} " in said
    assert [line for line in said.splitlines() if len(line) > 80] == []


@pytest.fixture
def helpdesk(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    ministack_line: tuple[Transport, Any],
    unique_name: Callable[[str], str],
) -> Iterator[None]:
    """The module and the seeds of the page, in a folder of their own, and their table."""
    (program,) = re.findall(r"^```python\n(.*?)^```$", TOUR, re.MULTILINE | re.DOTALL)
    (seeds,) = re.findall(r"^```json\n(.*?)^```$", TOUR, re.MULTILINE | re.DOTALL)
    (tmp_path / "helpdesk.py").write_text(program)
    (tmp_path / "seeds.jsonl").write_text(seeds)
    assert [json.loads(line) for line in seeds.splitlines()]
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    import helpdesk  # type: ignore[import-not-found]  # noqa: PLC0415 - it was just written

    with Session(transport=ministack_line[0], table_names=unique_name) as session:
        session.create_table(helpdesk.desk)
        load_seeds(session, tmp_path / "seeds.jsonl", helpdesk.desk)
        yield
        session.delete_table(helpdesk.desk, name=unique_name("desk"))
    del sys.modules["helpdesk"]


def test_every_output_on_the_page_is_what_the_command_says(
    helpdesk: None,
    capfd: pytest.CaptureFixture[str],
    ministack_endpoint: str,
    unique_name: Callable[[str], str],
) -> None:
    shown = re.findall(r"^```text\n\$ dynaorm (.*)\n((?:.*\n)*?)```$", TOUR, re.MULTILINE)
    assert len(shown) == 6
    for command, output in shown:
        name, *arguments = command.split()
        where = ["--endpoint", ministack_endpoint, "--region", REGION]
        where += (
            ["--table-name", f"desk={unique_name('desk')}"] if name not in ("layout", "questions") else []
        )
        status = main([name, *arguments, *(where if name != "questions" else [])])
        said = capfd.readouterr().out
        assert status == 0
        # Every run has other revisions, and another table.
        said = re.sub(r"\b[0-9a-f]{32}\b", "5bfd…", said).replace(unique_name("desk"), "desk")
        assert said == output, command
