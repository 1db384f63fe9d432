"""The tutorial grows one program: after each step it runs, and prints what the pages show."""

import itertools
import re
from pathlib import Path

import pytest

from dynaorm.cli.entry import main
from tests.conftest import ROOT
from tests.story.conftest import Python

FOLDER = ROOT / "docs" / "tutorial"
STEPS = sorted(FOLDER.glob("*.md"))
TESTS = """
import sys, pytest
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "-o", "dynaorm_tables=desk", sys.path[0]]))
"""


def write(folder: Path, steps: list[Path]) -> None:
    """Write the files of some steps, as somebody who types them: what comes later is added at the end."""
    for step in steps:
        for name, text in re.findall(
            r"^```python\n# (\w+\.py)\n(.*?)^```$", step.read_text(), re.MULTILINE | re.DOTALL
        ):
            with (folder / name).open("a") as file:
                file.write(f"{text}\n\n")


@pytest.mark.parametrize("count", range(1, len(STEPS)))
def test_the_program_prints_what_the_pages_show(count: int, tmp_path: Path, python: Python) -> None:
    write(tmp_path, STEPS[:count])
    code, printed, errors = python(tmp_path / "play.py")
    assert code == 0, errors
    shown = [
        re.findall(r"^```text\n(.*?)^```$", step.read_text(), re.MULTILINE | re.DOTALL) for step in STEPS
    ]
    assert printed == "".join(itertools.chain(*shown[:count]))


def test_the_tests_of_the_fourth_step_pass(tmp_path: Path, python: Python) -> None:
    write(tmp_path, STEPS[:4])
    (tmp_path / "play.py").unlink()
    (tmp_path / "run.py").write_text(TESTS)
    code, printed, errors = python(tmp_path / "run.py")
    assert (code, "2 passed" in printed) == (0, True), printed + errors


def test_the_commands_of_the_last_step_read_the_file(
    tmp_path: Path, python: Python, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, STEPS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    page = STEPS[-1].read_text()
    (tmp_path / "create.py").write_text(
        (tmp_path / "create.py").read_text().replace("sqlite:", f"sqlite:{tmp_path}/")
    )
    for name in ("create", "policy"):
        code, _, errors = python(tmp_path / f"{name}.py")
        assert code == 0, errors
    commands = re.findall(r"^venv/bin/dynaorm (.*sqlite:desk\.db)$", page, re.MULTILINE)
    assert [main(command.split()) for command in commands] == [0, 0]
    assert "liz@example.com" in capsys.readouterr().out


def test_the_page_about_installing_runs(tmp_path: Path, python: Python) -> None:
    (program,) = re.findall(
        r"^```python\n(.*?)^```$", (ROOT / "docs" / "install.md").read_text(), re.MULTILINE | re.DOTALL
    )
    (tmp_path / "install.py").write_text(program)
    assert python(tmp_path / "install.py") == (0, "", "")


def test_each_step_leads_to_the_next() -> None:
    for step, following in itertools.pairwise(STEPS):
        assert f"]({following.name})" in step.read_text()
