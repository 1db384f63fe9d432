"""The pages about the command line: every help and every output on them is what the commands say."""

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dynaorm import Session, Transport
from dynaorm.cli.commands import ALIASES, COMMANDS
from dynaorm.cli.entry import main
from dynaorm.testing import load_seeds
from tests.conftest import ROOT
from tests.raw_tables import REGION
from tools.make_command_line import PAGE, documented, with_help

TOUR = (ROOT / "docs" / "see-your-table.md").read_text("utf-8").partition("## From the command line")[2]


def test_the_page_has_the_help_of_every_command() -> None:
    page = PAGE.read_text("utf-8")
    assert documented(page) == [one.name for one in COMMANDS]
    assert with_help(page) == page, "run make commands"
    for name in (*(one.name for one in COMMANDS), *ALIASES):
        assert f"`{name}`" in page or f"[{name}](#{name})" in page


def test_every_help_has_an_example_of_its_command() -> None:
    for one in COMMANDS:
        assert f"Example: dynaorm {one.name} " in (one.help or "")


def test_no_line_of_a_help_is_wider_than_80_columns() -> None:
    assert [
        line for line in PAGE.read_text("utf-8").splitlines() if len(line) > 80 and line.startswith("  ")
    ] == []


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
